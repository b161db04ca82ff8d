package cli

import (
	"testing"

	"github.com/deedledger/deed/server/protocol"
)

// TestDoctorAttempts: an attempt is left behind when its state's deadline has
// passed and nobody holds a lease.
func TestDoctorAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		task protocol.Summary
		want string
	}{
		"in time":     {protocol.Summary{Task: "T-1", Attempt: "a1"}, checkOK},
		"held":        {protocol.Summary{Task: "T-1", Attempt: "a1", Actor: "impl", Overdue: 2}, checkOK},
		"no attempt":  {protocol.Summary{Task: "T-1", Overdue: 2}, checkOK},
		"left behind": {protocol.Summary{Task: "T-1", Attempt: "a1", Overdue: 1}, checkWarn},
	} {
		d := &doctor{}
		d.attempts(protocol.Tasks{Tasks: []protocol.Summary{c.task}})
		if len(d.list) != 1 || d.list[0].Outcome != c.want || d.list[0].Check != "attempts" {
			t.Errorf("%s: %+v", name, d.list)
		}
	}
}

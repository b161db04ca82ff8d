package cli_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
)

// TestDoctorLater looks at the same ledger with clocks that are days apart: an
// invitation that is open becomes one that expired, and the skew is named.
func TestDoctorLater(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.registry("owner", &events.Invitation{
		Actor: "late", Kind: events.KindAgent, Principal: "p-late", Roles: []events.Role{events.RoleImplementer},
		TokenHash: events.Sum([]byte("late")).String(), Expires: events.FormatTime(time.Now().Add(24 * time.Hour)),
	})
	for _, by := range []struct {
		skew           time.Duration
		invited, clock string
	}{{0, "ok", "ok"}, {48 * time.Hour, "warn", "warn"}, {-48 * time.Hour, "ok", "warn"}} {
		var stdout, stderr bytes.Buffer
		e := s.env(&stdout, &stderr)
		e.Now = func() time.Time { return time.Now().Add(by.skew) }
		root := cli.New(e)
		root.SetArgs([]string{"doctor", "-o", "json"})
		code := cli.Report(e, root, root.ExecuteContext(t.Context()))
		var d struct {
			Checks []struct{ Check, Outcome, Text string }
		}
		command{t, nil, code, stdout.String(), stderr.String()}.data(&d)
		for check, want := range map[string]string{"invited": by.invited, "clock": by.clock} {
			i := slices.IndexFunc(d.Checks, func(c struct{ Check, Outcome, Text string }) bool { return c.Check == check })
			if i < 0 || d.Checks[i].Outcome != want {
				t.Errorf("%v apart: check %s is not %s: %+v", by.skew, check, want, d.Checks)
			}
		}
	}
}

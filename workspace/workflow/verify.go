package workflow

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/projections"
)

// MaxFailures is how many rounds an item may fail before a person decides, where
// nobody says another number.
const MaxFailures = 5

// Proof is what one command gave: passed with exit status 0, failed with another;
// what did not run to its end, or executed nothing, proves nothing.
type Proof struct {
	Item   string   `json:"item"`
	ID     string   `json:"id"`
	Argv   []string `json:"command"`
	Status Status   `json:"status"` // Pending for nothing proven
	Exit   int      `json:"exit"`   // -1 when it did not exit by itself
	Rule   string   `json:"rule"`
	Error  string   `json:"error,omitzero"`  // the last line that says something, plain
	Output string   `json:"output,omitzero"` // a window of what it printed; untrusted
}

// Overwritten is a status that stood in the file and that the checks refuted.
type Overwritten struct {
	Item string `json:"item"`
	Was  Status `json:"was"`
	Now  Status `json:"now"`
}

// Judged returns a state after one round of verification. Items without a proof
// among proofs keep what is said of them, unless that is passed and all was run:
// nothing passed that nothing proves. Overwritten names each passed that no check
// bears out.
func Judged(s State, proofs []Proof, all bool) (State, []Overwritten) {
	s.Checks = slices.Clone(s.Checks)
	s.Iteration++
	var over []Overwritten
	passed := true
	for i := range s.Checks {
		c := &s.Checks[i]
		was := c.Status
		status, text, ran := judge(c.ID, proofs)
		switch {
		case ran:
			c.Status, c.LastError = status, text
			if status != Passed {
				c.Attempts++
			}
		case all && was == Passed:
			c.Status = Pending
		}
		if was == Passed && c.Status != Passed {
			over = append(over, Overwritten{c.ID, was, c.Status})
		}
		passed = passed && c.Status == Passed
	}
	if s.Phase == Clarify || s.Phase == Build || s.Phase == Verify || passed {
		s.Phase = Build
		if passed {
			s.Phase = Verify
		}
	}
	return s, over
}

// judge sums up the proofs of an item: a failure wins over what proves nothing,
// which wins over a pass.
func judge(id string, proofs []Proof) (status Status, text string, ran bool) {
	status = Passed
	for _, p := range proofs {
		if p.Item != id {
			continue
		}
		ran = true
		if p.Status == Failed && status != Failed || p.Status == Pending && status == Passed {
			status, text = p.Status, p.Error
		}
	}
	return status, text, ran
}

// AllPassed reports whether a state has items and each of them passed.
func (s State) AllPassed() bool {
	return len(s.Checks) > 0 && !slices.ContainsFunc(s.Checks, func(c Check) bool { return c.Status != Passed })
}

// Exhausted returns the items that did not pass in limit rounds or more.
func (s State) Exhausted(limit int) []string {
	var ids []string
	for _, c := range s.Checks {
		if c.Status != Passed && c.Attempts >= limit {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// LastLine returns the last line of an output that says something, plain and
// bounded; "" for a silent one.
func LastLine(output string) string {
	lines := strings.Split(output, "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if strings.IndexFunc(line, func(r rune) bool { return r > ' ' && !strings.ContainsRune("-=*#~_+.|", r) }) >= 0 {
			return projections.Plain(line, MaxErrorText)
		}
	}
	return ""
}

package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrState reports a state.yaml that does not have the documented shape; the
// text names the line.
var ErrState = errors.New("invalid state")

// Limits of a state.
const (
	MaxStateBytes = 64 << 10
	maxStateText  = 4096 // bytes of one text
	maxBlockers   = 64
	maxRounds     = 1_000_000
	MaxErrorText  = 200 // characters of a last_error
)

// The phases that deed sets. Any other word is kept as it is.
const (
	Clarify = "clarify"
	Build   = "build"
	Verify  = "verify"
	Archive = "archive"
)

// Status is where one acceptance item stands.
type Status string

// The statuses.
const (
	Pending Status = "pending" // it did not run, or proved nothing
	Passed  Status = "passed"
	Failed  Status = "failed"
)

// Check is what a state says of one acceptance item.
type Check struct {
	ID        string `json:"id"`
	Status    Status `json:"status"`
	LastError string `json:"lastError,omitzero"` // one line
	Attempts  int    `json:"attempts,omitzero"`  // rounds that it did not pass
}

// State is what state.yaml says: where the task is, and what counts as passed.
type State struct {
	TaskID    string   `json:"taskId"`
	Phase     string   `json:"phase"`
	Iteration int      `json:"iteration"` // rounds of verification
	Checks    []Check  `json:"checks"`    // in the order of the file
	Blockers  []string `json:"blockers,omitempty"`
	Next      string   `json:"next,omitzero"`
	Archive   string   `json:"archive,omitzero"` // the commit that was archived
}

// NewState returns the state of a task at its beginning.
func NewState(task string, spec Spec) State {
	s := State{TaskID: task, Phase: Clarify}
	for _, i := range spec.Items {
		s.Checks = append(s.Checks, Check{ID: i.ID, Status: Pending})
	}
	return s
}

// Check returns what s says of an item; pending where it says nothing.
func (s State) Check(id string) Check {
	for _, c := range s.Checks {
		if c.ID == id {
			return c
		}
	}
	return Check{ID: id, Status: Pending}
}

// Ordered returns s with exactly the items of a spec: those that s has in its
// order, then the others in the spec's.
func (s State) Ordered(spec Spec) State {
	var list []Check
	for _, c := range s.Checks {
		if slices.ContainsFunc(spec.Items, func(i Item) bool { return i.ID == c.ID }) {
			list = append(list, c)
		}
	}
	for _, i := range spec.Items {
		if !slices.ContainsFunc(list, func(c Check) bool { return c.ID == i.ID }) {
			list = append(list, Check{ID: i.ID, Status: Pending})
		}
	}
	s.Checks = list
	return s
}

// Equal reports whether two states say the same.
func (s State) Equal(o State) bool {
	return s.TaskID == o.TaskID && s.Phase == o.Phase && s.Iteration == o.Iteration && slices.Equal(s.Checks, o.Checks) &&
		slices.Equal(s.Blockers, o.Blockers) && s.Next == o.Next && s.Archive == o.Archive
}

// Text writes a state with the comments of a new file.
func (s State) Text() []byte {
	var b strings.Builder
	b.WriteString(stateHead)
	for _, m := range members() {
		b.WriteString(m + ":" + s.member(m) + stateNotes[m] + "\n")
	}
	return []byte(b.String())
}

const stateHead = `# Facts of this task: where it is, and what counts as passed. No history, no thoughts.
# Yours: phase, blockers, next. The rest is written by deed: a status is what the checks exited with.
`

// stateNotes are the comments at the members of a new file. Read-only.
var stateNotes = map[string]string{"phase": " # clarify / build / verify / archive", "iteration": " # rounds of verification"}

// members lists the members of a state in the order of a new file.
func members() []string {
	return []string{"task_id", "phase", "iteration", "checks", "blockers", "next", "archive"}
}

// member writes the value of one member, with the space or line break before
// it.
func (s State) member(name string) string {
	switch name {
	case "task_id":
		return " " + scalar(s.TaskID)
	case "phase":
		return " " + scalar(s.Phase)
	case "iteration":
		return " " + strconv.Itoa(s.Iteration)
	case "blockers":
		return list(s.Blockers)
	case "next":
		return " " + scalar(s.Next)
	case "archive":
		return " " + scalar(s.Archive)
	}
	if len(s.Checks) == 0 {
		return " {}"
	}
	var b strings.Builder
	for _, c := range s.Checks {
		b.WriteString("\n  " + c.ID + ": " + c.value())
	}
	return b.String()
}

func list(entries []string) string {
	if len(entries) == 0 {
		return " []"
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString("\n  - " + scalar(e))
	}
	return b.String()
}

// value writes what a state says of an item.
func (c Check) value() string {
	text := "{status: " + string(c.Status)
	if c.LastError != "" {
		text += ", last_error: " + strconv.Quote(c.LastError)
	}
	if c.Attempts > 0 {
		text += ", attempts: " + strconv.Itoa(c.Attempts)
	}
	return text + "}"
}

// scalar writes a text as a YAML scalar: bare where nobody can take it for
// anything else.
func scalar(s string) string {
	if bare(s) {
		return s
	}
	return strconv.Quote(s)
}

// bare reports whether a text is itself without quotes: a letter, then letters,
// digits, and single spaces and marks that mean nothing in YAML; no word that
// some reader takes for a value.
func bare(s string) bool {
	switch strings.ToLower(s) {
	case "", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x4e00 && r <= 0x9fa5
		switch {
		case letter:
		case i == 0:
			return false
		case r >= '0' && r <= '9' || strings.ContainsRune("-_./+", r):
		case r == ' ' && i < len(s)-1 && s[i-1] != ' ':
		default:
			return false
		}
	}
	return true
}

// stateFault is an [ErrState] at a line.
func stateFault(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrState, line, fmt.Sprintf(format, args...))
}

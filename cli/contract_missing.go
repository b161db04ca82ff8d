package cli

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
)

// missing names everything that a draft has to say before anybody can agree on
// it: what has no default and is not there.
func (d contractDraft) missing() []string {
	var list []string
	lacks := func(empty bool, what string) {
		if empty {
			list = append(list, what)
		}
	}
	lacks(strings.TrimSpace(d.Goal) == "", "goal: what is true when this is done")
	lacks(len(d.Acceptance) == 0, "acceptance: at least one item that a command can check")
	for i, item := range d.Acceptance {
		name := first(item.ID, fmt.Sprintf("number %d", i+1))
		lacks(item.ID == "", fmt.Sprintf("acceptance %s: id, such as A%d", plain(name), i+1))
		lacks(strings.TrimSpace(item.Text) == "", "acceptance "+plain(name)+": text, what must hold")
		lacks(len(item.Checks) == 0, "acceptance "+plain(name)+": checks, a command whose exit status decides")
		for n, check := range item.Checks {
			lacks(len(check.Command) == 0, fmt.Sprintf("acceptance %s: command of check %d", plain(name), n+1))
		}
	}
	lacks(len(d.Scope.Include) == 0, "scope.include: paths that may change")
	return list
}

// maxMissing bounds how many missing members one error names.
const maxMissing = 20

// refuseVague refuses a draft that lacks something, naming all that it lacks.
func (d contractDraft) refuseVague() error {
	list := d.missing()
	if len(list) == 0 {
		return nil
	}
	more := ""
	if n := len(list) - maxMissing; n > 0 {
		list, more = list[:maxMissing], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Errorf("%w: the draft leaves open: %s%s", events.ErrData, strings.Join(list, "; "), more)
}

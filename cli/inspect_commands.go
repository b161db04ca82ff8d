package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/workspace"
)

// ruleCommand is the rule of a finding on a command that a result says its author
// ran, and that the boundary does not list. A person looks at it; it stops nothing, since
// nobody but the author knows what ran.
const ruleCommand = "command-not-listed"

// inspectCommands records what commands of a result the contract or the policy
// does not list, where one of them lists any.
func (s *session) inspectCommands(ctx context.Context, repo *workspace.Repo, t *projections.Task) error {
	said := t.Result.Data
	if len(said.Commands) == 0 {
		return nil
	}
	l, err := s.limitsOf(ctx, repo, t.Contract().Contract, said.Base)
	if err != nil {
		return err
	}
	if len(t.Contract().Contract.Scope.Commands) == 0 && (l.policy == nil || len(l.policy.Policy.Commands) == 0) {
		return nil
	}
	var unlisted []string
	for _, ran := range said.Commands {
		if !l.Commands.Allows(ran.Command) && !l.Commands.Allows(withoutShell(ran.Command)) {
			unlisted = append(unlisted, strings.Join(ran.Command, " "))
		}
	}
	if len(unlisted) == 0 {
		return nil
	}
	text := fmt.Sprintf("the author of %.12s says to have run what contract or policy does not list: %s", said.Head, enumerate(unlisted))
	_, err = s.recordFinding(ctx, t, &events.Finding{Severity: "check", Rule: ruleCommand, Text: printable(text, events.MaxText)})
	return err
}

// withoutShell returns the words of a command line that parseRan kept as one for a
// shell, nil for any other command.
func withoutShell(argv []string) []string {
	if len(argv) != 3 || argv[0] != "sh" || argv[1] != "-c" {
		return nil
	}
	words, err := boundary.SplitCommand(argv[2])
	if err != nil {
		return nil
	}
	return words
}

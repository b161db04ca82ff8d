package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/schemas"
	"github.com/spf13/cobra"
)

// emptyRoot is the root command on a machine with nothing.
func emptyRoot() *cobra.Command {
	return New(&Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
}

// words splits a command line at spaces that no double quotes enclose.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, `"`) {
		switch {
		case i%2 == 0:
			list = append(list, strings.Fields(part)...)
		default:
			list = append(list, part)
		}
	}
	return list
}

// mustParse demands that a command takes a line's flags and arguments.
func mustParse(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " > ")
	args := words(line)
	cmd, rest, err := emptyRoot().Find(args[1:])
	if err != nil || args[0] != "deed" || cmd.HasSubCommands() {
		t.Errorf("%s: no such command (%v)", line, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

func TestExamplesParse(t *testing.T) {
	for path, text := range examples {
		cmd, rest, err := emptyRoot().Find(strings.Fields(path))
		if err != nil || len(rest) > 0 || cmd.Example != text {
			t.Errorf("example of %q shows at %q: %v", path, cmd.CommandPath(), err)
		}
		if !strings.Contains(text, "deed "+path+" ") && !strings.HasSuffix(text, "deed "+path) && !strings.Contains(text, "deed "+path+"\n") {
			t.Errorf("example of %q does not show it", path)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > 100 {
				t.Errorf("help cuts off: %s", line)
			}
			if !strings.HasPrefix(line, "git ") {
				mustParse(t, line)
			}
		}
	}
}

// TestHelpKeepsSpelling: help begins the text of a flag with a capital letter,
// which no value of a closed set may get.
func TestHelpKeepsSpelling(t *testing.T) {
	sets := []string{
		either(actorKinds()), either(givenRoles()), either(profiles()), either(purposes()), either(releaseReasons()), either(effectKinds()),
		either(settledOutcomes()), either(resolutions()), either(findingSeverities()), either(defectSeverities()), either(events.Roles()),
	}
	shown := map[string]bool{}
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		usages := cmd.LocalFlags().FlagUsages()
		for _, set := range sets {
			if strings.Contains(usages, "   "+set) { // what divides a flag from its text
				t.Errorf("%s has a flag whose text begins with %q", cmd.CommandPath(), set)
			}
			shown[set] = shown[set] || strings.Contains(usages, set)
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(emptyRoot())
	for _, set := range sets {
		if !shown[set] {
			t.Errorf("no help lists %s", set)
		}
	}
}

func TestMovesParse(t *testing.T) {
	for _, m := range moveTable {
		if authorsOf(m.row) == nil {
			t.Errorf("there is no row %q", m.row)
		}
		mustParse(t, m.command)
		mustParse(t, newMove(m.row, m.command, []string{"a", "b"}).String())
	}
}

// TestMovesCoverTheTable: a row that leads to another state has a command, or
// it ends or stops the task, or it is about effects and findings.
func TestMovesCoverTheTable(t *testing.T) {
	other := []string{
		"contract.withdrawn", "task.cancelled", "lease.released", "attempt.interrupted", "attempt.escalated", "repair.requested",
		"effect.confirmed", "effect.failed", "effect.compensated", "finding.acknowledged",
	}
	for _, row := range ledger.Table() {
		name := row.Name()
		known := slices.Contains(other, name)
		for _, m := range moveTable {
			known = known || m.row == name
		}
		if len(row.To) > 0 && !known {
			t.Errorf("row %q leads on and has no command", name)
		}
	}
}

func TestDescribeIsNeverBlank(t *testing.T) {
	for _, name := range schemas.Names() {
		data, err := schemas.Example(name)
		kind := events.TypeOf(name)
		if err != nil || kind == "" {
			continue
		}
		if text := describe(events.Event{Type: kind, Subject: "a1", Data: data}); strings.TrimSpace(text) == "" || strings.HasPrefix(text, "unreadable") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func TestWordOf(t *testing.T) {
	for text, want := range map[string]string{
		"3f9a1c2b4d5e": "3f9a1c2b4d5e", "deploy-7": "deploy-7", "a b": "'a b'", "k;reboot": "'k;reboot'", "$(x)": "'$(x)'", "it's": `'it'\''s'`, "-f": "'-f'", "": "",
	} {
		if got := wordOf(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestLastLines(t *testing.T) {
	many := strings.Repeat("line\n", 40)
	for text, want := range map[string]int{"": 0, "\n \n": 0, "one": 1, "one\ntwo\n": 2, many: outputLines + 1, strings.Repeat("ü", 4000): 2} {
		lines := lastLines(text)
		if len(lines) != want {
			t.Errorf("%.20q: %d lines, want %d", text, len(lines), want)
		}
	}
	if got := lastLines("\x1b[31mred"); got[0] != `\x1b[31mred` {
		t.Errorf("not plain: %q", got)
	}
}

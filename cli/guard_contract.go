package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace/guard"
)

// guardContract prints a contract draft of a task file: its acceptance
// criteria with their checks. What the file does not say is left empty, so
// that deed contract propose names it.
func (s *session) guardContract(_ context.Context, o guardOptions) error {
	c, err := guard.ReadClaims(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(fmt.Errorf("%w: %s is not there", errMissing, guard.ClaimsName), "begin with: deed guard init")
	}
	if err != nil {
		return err
	}
	if len(c.Accept) == 0 {
		return withHint(fmt.Errorf("%w: %s has no acceptance criterion", errMissing, guard.ClaimsName), "write one under accept, with the command that checks it")
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return fmt.Errorf("read project: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	draft := draftOf(c, root)
	if s.json {
		return s.result("contract-draft", map[string]string{"draft": draft}, nil)
	}
	s.note("fill in what is empty, then: deed contract propose TASK -f FILE")
	if n := len(c.Frozen) + len(c.Banned); n > 0 {
		s.note("a contract holds no decisions: record the %d of the file with deed decision record and freeze, and deed approach ban", n)
	}
	w := &textWriter{out: s.out}
	w.block(draft)
	return w.err
}

// draftOf writes a draft in which every text of the file is a quoted scalar.
func draftOf(c guard.Claims, root *os.Root) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# From %s of the task %s.\n", guard.ClaimsName, scalar(c.Task))
	fmt.Fprintf(&b, "goal: %s\n", scalar(strings.TrimSpace(first(c.Goal, c.Task))))
	if len(c.Banned) > 0 {
		b.WriteString("nonGoals:\n")
	}
	for _, r := range c.Banned {
		text := r.Title
		if r.Reason != "" {
			text += ", since " + r.Reason
		}
		fmt.Fprintf(&b, "  - %s\n", scalar("not: "+text))
	}
	b.WriteString("acceptance:\n")
	for i, a := range c.Accept {
		fmt.Fprintf(&b, "  - id: A%d\n    text: %s\n    checks:\n", i+1, scalar(strings.TrimSpace(a.Text)))
		if strings.TrimSpace(a.Check) == "" {
			b.WriteString("      - command: [] # nothing checks it: a command whose exit code decides\n")
			continue
		}
		fmt.Fprintf(&b, "      - command: [%s]\n", strings.Join(scalars(commandOf(a.Check)), ", "))
		if files := checkFiles(a.Check, root); len(files) > 0 {
			fmt.Fprintf(&b, "        files: [%s] # pinned: a result that changes them is out of boundary\n", strings.Join(scalars(files), ", "))
		}
	}
	b.WriteString("scope:\n  include: [] # paths that may change, such as [\"src/**\"]\n")
	return b.String()
}

// commandOf reads a line as an argument list. A line that needs a shell to be
// read is one for sh -c.
func commandOf(line string) []string {
	if strings.ContainsAny(line, shellWords+"\n") || strings.Contains(line, "=") {
		return []string{"sh", "-c", line}
	}
	return strings.Fields(line)
}

// checkFiles returns the files of the project that a command names: they are
// what checks.
func checkFiles(line string, root *os.Root) []string {
	var files []string
	for word := range strings.FieldsSeq(line) {
		clean, err := boundary.CleanPath(word)
		if err != nil {
			continue
		}
		if info, err := root.Lstat(clean); err == nil && info.Mode().IsRegular() {
			files = append(files, clean)
		}
	}
	return files
}

// scalar is a text as a double-quoted YAML scalar: Go's escapes are YAML's.
func scalar(text string) string { return strconv.Quote(text) }

func scalars(list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = scalar(text)
	}
	return out
}

package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deedledger/deed/projections"
)

// Lesson is what a task taught: one line.
type Lesson string

// Lessons returns what a state itself tells: the items that did not pass at once.
func Lessons(s State) []Lesson {
	var list []Lesson
	for _, c := range s.Checks {
		if c.Attempts > 0 {
			list = append(list, Lesson(fmt.Sprintf("%s did not pass in %d of %d rounds", c.ID, c.Attempts, s.Iteration)))
		}
	}
	return list
}

// LessonLine makes a text of somebody into a lesson: one plain line, bounded.
func LessonLine(text string) Lesson { return Lesson(projections.Plain(strings.TrimSpace(text), 1000)) }

// marker divides the entries of the journal; it says which task one is about.
func marker(task string) string { return "<!-- deed:workflow " + task + " -->" }

// Ending is how the work on a task ended.
type Ending struct {
	Day     string // YYYY-MM-DD
	Forced  string // why it was archived though not all items passed, else ""
	Lessons []Lesson
}

// Entry is a task's entry in the journal.
func Entry(s State, spec Spec, end Ending) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n## %s: %s\n\n", marker(s.TaskID), s.TaskID, first(projections.Plain(spec.Title, 200), "no title"))
	fmt.Fprintf(&b, "- archived %s at %s after %d rounds\n", end.Day, first(s.Archive, "no commit"), s.Iteration)
	if end.Forced != "" {
		fmt.Fprintf(&b, "- not all items passed; archived because: %s\n", LessonLine(end.Forced))
	}
	for _, l := range end.Lessons {
		fmt.Fprintf(&b, "- lesson: %s\n", l)
	}
	return b.String()
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Journal adds the entry of the task to the project's journal, once: a task that
// has one gets no second. It replaces the file in one step.
func (f *Folder) Journal(entry string) (added bool, err error) {
	text, _, err := f.box.Read(JournalName, maxJournal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = []byte("# Journal of the tasks that were archived\n")
	case err != nil:
		return false, err
	case bytes.Contains(text, []byte(marker(f.Task))):
		return false, nil
	}
	return true, f.box.Write(JournalName, append(append(bytes.TrimRight(text, "\n"), "\n\n"...), entry...), 0o644)
}

// maxJournal bounds the journal, bytes.
const maxJournal = 16 << 20

// Patch is a unified diff that adds lessons to the end of a text that lies at name
// below the project; "" without lessons. Nobody applies it but a person.
func Patch(name string, text []byte, lessons []Lesson) string {
	if len(lessons) == 0 {
		return ""
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from := max(0, len(lines)-3)
	var add strings.Builder
	count := 0
	line := func(s string) { add.WriteString("+" + s + "\n"); count++ }
	line("")
	if !strings.Contains(string(text), "\n## Lessons\n") {
		line("## Lessons")
		line("")
	}
	for _, l := range lessons {
		line("- " + string(l))
	}
	var b strings.Builder
	old := len(lines) - from
	start := from + 1
	if old == 0 {
		start = 0
	}
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n@@ -%d,%d +%d,%d @@\n", name, name, start, old, from+1, old+count)
	for _, l := range lines[from:] {
		if strings.HasSuffix(l, "\n") {
			b.WriteString(" " + l)
			continue
		}
		b.WriteString("-" + l + "\n\\ No newline at end of file\n+" + l + "\n") // the last line
	}
	b.WriteString(add.String())
	return b.String()
}

// Archive moves the folder of the task to the archive, in one rename. Errors:
// fs.ErrExist where the archive has one of that name.
func (f *Folder) Archive() error {
	target := archiveDir + "/" + f.Task
	if err := f.box.Move(f.name, target); err != nil {
		return fmt.Errorf("archive %s: %w", f.Task, err)
	}
	f.name, f.Archived = target, true
	return nil
}

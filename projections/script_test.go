package projections_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

var update = flag.Bool("update", false, "write what the code gives into testdata")

// begin returns a founded story and its first task.
func begin() (*projectionstest.Story, *projectionstest.Task) {
	s := projectionstest.New("acme")
	s.Genesis()
	return s, s.Task("TASK-1")
}

// TestScripts plays testdata/*.txt: each line of a script is an event, the
// line below it, after "= ", the state that it leads to. A line "begin NAME"
// starts another story.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	reached := map[projections.State]bool{}
	defer func() {
		for _, s := range projections.States()[1:] {
			if !reached[s] {
				t.Errorf("no script reaches %s", s)
			}
		}
	}()
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := play(string(text))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range projections.States()[1:] {
				reached[s] = reached[s] || strings.Contains(got, "\n= "+s.String()+";") || strings.Contains(got, "\n= "+s.String()+"\n")
			}
			want, have := strings.Split(string(text), "\n"), strings.Split(got, "\n")
			for i := range max(len(want), len(have)) {
				if i >= len(want) || i >= len(have) || want[i] != have[i] {
					t.Fatalf("line %d:\n have %q\n want %q", i+1, at(have, i), at(want, i))
				}
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// play returns the script with the answers that the folds give.
func play(text string) string {
	var b strings.Builder
	_, task := begin()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "= ") {
			continue
		}
		b.WriteString(line + "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "begin"):
			_, task = begin()
		default:
			b.WriteString("= " + task.Script(line) + "\n")
		}
	}
	return b.String()
}

package boundary

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// section gives the lines of docs/boundary.md from a marker to the next empty line.
func section(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/boundary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<!-- example: "+name+" -->\n")
	if !found {
		t.Fatalf("docs/boundary.md has no example %s", name)
	}
	lines, _, _ := strings.Cut(rest, "\n\n")
	return strings.Split(lines, "\n")
}

// cells gives the cells of the rows of a table, without backticks at their ends.
func cells(t *testing.T, name string) [][]string {
	t.Helper()
	var rows [][]string
	for _, line := range section(t, name)[2:] {
		row := strings.Split(strings.Trim(line, "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

// TestDocumentedPolicy reads the policy that the documentation shows.
func TestDocumentedPolicy(t *testing.T) {
	text := strings.Join(section(t, "policy"), "\n")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "```yaml\n"), "```")
	p, err := ReadPolicy([]byte(text))
	if err != nil || len(p.Include) != 2 || len(p.Exclude) != 2 || len(p.Commands) != 2 || len(p.Effects) != 1 || len(p.Approvals) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
}

// TestDocumentedPatterns holds the table of patterns against both ways of matching.
func TestDocumentedPatterns(t *testing.T) {
	rows := cells(t, "patterns")
	if len(rows) < 10 {
		t.Fatalf("%d rows", len(rows))
	}
	verdict := map[bool]string{true: "matches", false: "no"}
	for _, row := range rows {
		pattern := strings.Trim(row[0], "`")
		path, err := DecodePath(strings.Trim(row[1], "`"))
		if err != nil || CheckPattern(pattern) != nil {
			t.Fatalf("row %q: %v", row, err)
		}
		if got := verdict[MatchPattern(pattern, path)]; got != row[2] {
			t.Errorf("%s includes %s: %s, documented %s", pattern, row[1], got, row[2])
		}
		if got := verdict[deniedBy(pattern, spell(path))]; got != row[3] {
			t.Errorf("%s excludes %s: %s, documented %s", pattern, row[1], got, row[3])
		}
	}
}

// TestDocumentedProtected holds the table of protected paths against the lists.
func TestDocumentedProtected(t *testing.T) {
	lists := [][]string{protectedGit(), protectedCI(), slices.Concat(protectedPermissions(), protectedExact()), protectedAgents(), protectedSecrets(), protectedDeed()}
	rows := cells(t, "protected")
	if len(rows) != len(lists) {
		t.Fatalf("%d rows, want %d", len(rows), len(lists))
	}
	for i, list := range lists {
		if want := "`" + strings.Join(list, "` `") + "`"; rows[i][1] != want {
			t.Errorf("%s: documented %s\nwant %s", rows[i][0], rows[i][1], want)
		}
	}
}

package boundary

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSplitCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"npm run lint":               {"npm", "run", "lint"},
		"npm   run  lint":            {"npm", "run", "lint"},
		"make":                       {"make"},
		"sh -c 'npm test && npm x'":  {"sh", "-c", "npm test && npm x"},
		`sh -c "echo 'a'"`:           {"sh", "-c", "echo 'a'"},
		"grep '' x":                  {"grep", "", "x"},
		"echo $HOME *.go a|b ; c":    {"echo", "$HOME", "*.go", "a|b", ";", "c"},
		`echo a\ b`:                  {"echo", `a\`, "b"},
		"'my tool' --x":              {"my tool", "--x"},
		"go test -run=^TestA$ ./...": {"go", "test", "-run=^TestA$", "./..."},
	} {
		if got, err := SplitCommand(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("SplitCommand(%q) = %q, %v", line, got, err)
		}
	}
	for _, line := range []string{
		"", " ", " npm", "npm ", "npm\trun", "npm\nrun", "npm\x00", "npm \xff", "'npm", `npm "run`, "npm'run'", "'npm'run", "'' run",
		strings.Repeat("a", MaxCommandBytes+1),
	} {
		if got, err := SplitCommand(line); !errors.Is(err, ErrCommand) || got != nil {
			t.Errorf("SplitCommand(%q) = %q, %v", line, got, err)
		}
		if c, err := ParseCommands([]string{"npm", line}); !errors.Is(err, ErrCommand) || c.Allows([]string{"npm"}) {
			t.Errorf("ParseCommands with %q: %v", line, err)
		}
	}
}

func TestCommandsAllows(t *testing.T) {
	c, err := ParseCommands([]string{"npm run lint", "make", "sh -c 'npm test && npm run lint'", "./build.sh x", "bash", "go test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"npm", "run", "lint"}, {"make"}, {"make", "all", "-j2"}, {"sh", "-c", "npm test && npm run lint"}, {"./build.sh", "x"}, {"bash"}, {"go", "test"},
	} {
		if !c.Allows(argv) {
			t.Errorf("refused %q", argv)
		}
	}
	for _, argv := range [][]string{
		nil, {}, {""}, {"npm"}, {"npm", "run"}, {"npm", "run", "lint", "--fix"}, {"npm", "run lint"}, {"npm run lint"}, {"NPM", "run", "lint"},
		{"./npm", "run", "lint"}, {"/usr/bin/npm", "run", "lint"}, {"/opt/other/npm", "run", "lint"}, {"./make"}, {"../make"}, {"bin/make"},
		{"sh"}, {"sh", "-c", "npm test"}, {"sh", "-c", "npm", "test", "&&", "npm", "run", "lint"}, {"sh", "-c", "npm test && npm run lint", "x"},
		{"bash", "-c", "true"}, {"bash", "x.sh"}, {"./build.sh"}, {"build.sh", "x"}, {"go", "test", "./..."}, {"go", "run", "."}, {"make\x00", "x"}, {"make", "\x00"},
	} {
		if c.Allows(argv) {
			t.Errorf("allowed %q", argv)
		}
	}
}

func TestCommandsOfOneWordNameNoLauncher(t *testing.T) {
	lines := []string{"sh", "/bin/sh", "BASH", "bash.exe", "env", "xargs", "sudo", "busybox", "timeout", "find", "npx", "deed", `C:\x\cmd.exe`, "ksh93", "python3.12", "/usr/bin/perl", "node", "lua-5.4"}
	c, err := ParseCommands(lines)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !c.Allows([]string{line}) || c.Allows([]string{line, "-c", "x"}) || c.Allows([]string{line, "npm"}) {
			t.Errorf("%q starts others", line)
		}
	}
}

func TestCommandsIntersect(t *testing.T) {
	one, _ := ParseCommands([]string{"npm", "make"})
	two, _ := ParseCommands([]string{"npm run lint", "go"})
	none, _ := ParseCommands(nil)
	both := one.Intersect(two)
	for line, want := range map[string]bool{"npm run lint": true, "npm run x": false, "make": false, "go": false} {
		if argv := strings.Fields(line); both.Allows(argv) != want || two.Intersect(one).Allows(argv) != want {
			t.Errorf("Allows(%q) = %v", line, !want)
		}
	}
	for name, c := range map[string]Commands{"zero": {}, "zero and one": Commands{}.Intersect(one), "one and zero": one.Intersect(Commands{}), "none": one.Intersect(none)} {
		if c.Allows([]string{"npm"}) {
			t.Errorf("%s allows a command", name)
		}
	}
	if lines, refusing := both.Rules([]string{"npm", "run", "x"}); refusing != 1 || !slices.Equal(lines, []string{"npm"}) {
		t.Errorf("rules %q, refusing %d", lines, refusing)
	}
}

package cli_test

import (
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// enroll invites an actor as the context's admin and claims the name with a
// new key: enroll NAME KIND ROLES PRINCIPAL [GIT-IDENTITY]…
func enroll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: enroll NAME KIND ROLES PRINCIPAL [GIT-IDENTITY]…")
	}
	ts.Check(ts.Exec("deed", "key", "new", args[0]))
	invite := []string{"actor", "invite", args[0], "--kind", args[1], "--roles", args[2], "--principal", args[3]}
	for _, identity := range args[4:] {
		invite = append(invite, "--git", identity)
	}
	ts.Check(ts.Exec("deed", invite...))
	token := regexp.MustCompile(`(?m)^  token (\S+)`).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(token) != 2 {
		ts.Fatalf("no token in %q", ts.ReadFile("stdout"))
	}
	ts.Check(ts.Exec("deed", "actor", "claim", args[0], "--token="+token[1]))
}

// gitRepo makes a repository on branch main whose first commit holds all files
// of a folder: gitrepo FOLDER.
func gitRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gitrepo FOLDER")
	}
	dir := ts.MkAbs(args[0])
	for _, command := range [][]string{
		{"init", "-q", "-b", "main", dir}, {"-C", dir, "add", "."}, {"-C", dir, "commit", "-q", "-m", "base"},
	} {
		ts.Check(ts.Exec("git", command...))
	}
	ts.Check(ts.Exec("test", "-d", filepath.Join(dir, ".git")))
}

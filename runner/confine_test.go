package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/workspace"
)

// outside makes a folder beside the checkouts with a secret in it.
func outside(t *testing.T) (dir, secret string) {
	t.Helper()
	dir = realPath(t.TempDir())
	secret = filepath.Join(dir, "olga.key")
	must(t, os.WriteFile(secret, []byte("s3cret\n"), 0o644))
	return dir, secret
}

// TestConfine holds each reach of a hostile check against what confinement allows, and
// shows that the check succeeds without it: nothing else is in its way.
func TestConfine(t *testing.T) {
	dir, secret := outside(t)
	t.Setenv("VICTIM", dir)
	c, confined := confinement(t, dir)
	for name, script := range map[string]string{
		"read a key":          "cat " + secret,
		"list the folder":     "ls " + dir,
		"read by a link":      "ln -s " + secret + " here && cat here",
		"read by proc":        "cat /proc/self/root" + secret,
		"read in a child":     "sh -c 'setsid cat " + secret + "'",
		"write into it":       "echo x > " + dir + "/new",
		"append to the key":   "echo x >> " + secret,
		"remove it":           "touch " + dir + "/gone && rm " + dir + "/gone",
		"make a folder":       "mkdir " + dir + "/d && rmdir " + dir + "/d",
		"link it into reach":  "ln " + secret + " ./linked && cat linked",
		"move it":             "cp " + secret + " " + dir + "/copy && mv " + dir + "/copy ./moved",
		"write to the system": "touch /usr/deed-test-x && rm /usr/deed-test-x || test $(id -u) != 0 && cat " + secret,
	} {
		check := Check{Command: shell(script + " && exit 0; exit 9")}
		free := bench{root: t.TempDir()}.run(t.Context(), check)
		if free.Result != ResultPass {
			t.Errorf("%s: is no reach at all: %s, %s", name, free.Rule, free.Output.Window())
		}
		if !confined {
			continue
		}
		if got := (bench{root: t.TempDir(), confine: c}).run(t.Context(), check); got.Rule != "exit-nonzero" || got.ExitCode != 9 || strings.Contains(got.Output.Window(), "s3cret") {
			t.Errorf("%s: %+v\n%s", name, got, got.Output.Window())
		}
	}
	if text, err := os.ReadFile(secret); err != nil || !strings.HasPrefix(string(text), "s3cret") {
		t.Errorf("the key is %q, %v", text, err)
	}
}

// TestConfineLetsWork shows what a check needs and still has.
func TestConfineLetsWork(t *testing.T) {
	dir, secret := outside(t)
	c, confined := confinement(t, dir)
	if !confined {
		return
	}
	for name, check := range map[string]Check{
		"its folder":      {Command: shell("mkdir -p a/b && echo x > a/f && mv a/f a/b/f && ln a/b/f g && rm -r a")},
		"its home":        {Command: shell(`echo x > "$HOME/f" && mv "$HOME/f" "$TMPDIR/g" && test -w "$TMPDIR"`)},
		"devices":         {Command: shell("echo x > /dev/null && head -c 4 /dev/urandom > f && cat < /dev/zero | head -c 1 > g")},
		"a pipe":          {Command: shell("mkfifo p && (echo x > p &) && read -r line < p && test $line = x")},
		"programs":        {Command: shell("env | sort | sed -n 1p && git --version && awk 'BEGIN { exit 0 }'")},
		"other folder":    {Command: shell("test -e ../f"), Dir: "sub"},
		"its own signals": {Command: shell("sh -c 'exec tail -f /dev/null' & kill -9 $!")},
	} {
		root := t.TempDir()
		must(t, os.Mkdir(filepath.Join(root, "sub"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o644))
		if got := (bench{root: root, confine: c}).run(t.Context(), check); got.Result != ResultPass {
			t.Errorf("%s: %s %d %s %s", name, got.Rule, got.ExitCode, got.Detail, got.Output.Window())
		}
	}
	env := bench{root: t.TempDir(), confine: c, env: []string{"GIVEN=yes"}}.run(t.Context(), Check{Command: shell(`env | cut -d= -f1 | sort | tr '\n' ' '`)})
	if got := env.Output.Window(); got != "GIVEN HOME LANG LC_ALL PATH PWD TMPDIR " {
		t.Errorf("the check sees %q", got)
	}
	if got := (bench{root: t.TempDir(), confine: c}).run(t.Context(), Check{Command: shell("ls /proc/self/fd | tr '\\n' ' '")}); strings.Contains(got.Output.Window(), "3 4 5") {
		t.Errorf("descriptors: %s", got.Output.Window())
	}
	open := *c
	open.Denied, open.Readable = nil, []string{dir}
	if got := (bench{root: t.TempDir(), confine: &open}).run(t.Context(), Check{Command: shell("cat " + secret + " && ! touch " + secret + "x")}); got.Result != ResultPass {
		t.Errorf("readable: %s %s", got.Rule, got.Output.Window())
	}
	open.Denied, open.Readable, open.Writable = []string{secret}, nil, []string{dir}
	if got := (bench{root: t.TempDir(), confine: &open}).run(t.Context(), Check{Command: shell("cat " + secret)}); got.ExitCode != 1 {
		t.Errorf("denied within writable: %s %s", got.Rule, got.Output.Window())
	}
}

// TestConfineClasses keeps the classes of a confined check those of a free one.
func TestConfineClasses(t *testing.T) {
	c, confined := confinement(t)
	if !confined {
		return
	}
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "plain"), []byte("x"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "odd"), []byte("x"), 0o755))
	for name, want := range map[string]struct {
		command []string
		rule    string
		exit    int
	}{
		"pass":           {[]string{"true"}, "exit-zero", 0},
		"fail":           {shell("exit 3"), "exit-nonzero", 3},
		"126":            {[]string{"env", "./plain"}, "shell-could-not-run", 126},
		"no program":     {[]string{"no-such-program-here"}, "could-not-start", -1},
		"not executable": {[]string{"./plain"}, "could-not-start", -1},
		"no format":      {[]string{"./odd"}, "could-not-start", -1},
		"killed":         {shell("kill -9 $$"), "killed-by-signal", -1},
	} {
		got := bench{root: root, confine: c}.run(t.Context(), Check{Command: want.command})
		if got.Rule != want.rule || got.ExitCode != want.exit {
			t.Errorf("%s: %s %d %s", name, got.Rule, got.ExitCode, got.Detail)
		}
	}
	for name, broken := range map[string]*Confinement{"nothing to launch": {}, "no launcher": {Launch: []string{"/none"}}} {
		if got := (bench{root: root, confine: broken}).run(t.Context(), Check{Command: []string{"true"}}); got.Class != ClassEnvironmentFailure || got.ExitCode != -1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestConfineBadSpec runs nothing where the launched program is told nonsense.
func TestConfineBadSpec(t *testing.T) {
	root := t.TempDir()
	self, err := os.Executable()
	must(t, err)
	for _, spec := range []string{"", "{}", "[]", `{"program":"/bin/true","other":1}`, `{"program":"/bin/true","write":["/no/such/folder"]}`, `{"program":"/none"}`} {
		p := process{argv: []string{self, confineArgument, spec, "touch", "ran"}, dir: root, env: baseEnvironment(root, nil), timeout: MaxTimeout, confined: true}
		record := newRecorder(0)
		p.stdout, p.stderr = record, record
		if end := p.run(t.Context()); end.startErr == nil || exists(filepath.Join(root, "ran")) {
			t.Errorf("%q: %+v", spec, end)
		}
	}
}

// TestWithout never grants what is denied, however it is reached.
func TestWithout(t *testing.T) {
	top := realPath(t.TempDir())
	for _, dir := range []string{"a/b/keys", "a/c", "d"} {
		must(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(top, "a/f"), nil, 0o644))
	must(t, os.Symlink(filepath.Join(top, "a/b/keys"), filepath.Join(top, "a/link")))
	must(t, os.Symlink(filepath.Join(top, "a/b"), filepath.Join(top, "into")))
	keys := filepath.Join(top, "a/b/keys")
	denied := resolved([]string{filepath.Join(top, "into/keys"), "relative", ""})
	for path, want := range map[string]string{
		".": "a/c a/f d", "a": "a/c a/f", "a/b": "", "a/b/keys": "", "a/link": "", "into": "", "d": "d", "none": "", "a/f": "a/f",
	} {
		var got []string
		for _, p := range without(filepath.Join(top, path), denied) {
			rel, err := filepath.Rel(top, p)
			must(t, err)
			got = append(got, rel)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s without %s: %q, want %q", path, keys, got, want)
		}
	}
	must(t, os.MkdirAll(filepath.Join(top, "tool/bin"), 0o755))
	must(t, os.MkdirAll(filepath.Join(top, "a/bin"), 0o755))
	for dir, want := range map[string]int{"tool/bin": 1, "a/bin": 0, "d": 0, "none": 0} {
		if got := toolRoot(filepath.Join(top, dir), denied); len(got) != want {
			t.Errorf("tool root of %s: %q", dir, got)
		}
	}
	if without("relative", nil) != nil || !below("/", "/x") || below("/a", "/ab") || !below("/a", "/a") {
		t.Error("relative paths, or below")
	}
}

// TestVerifyConfined runs git in a checkout whose objects are borrowed.
func TestVerifyConfined(t *testing.T) {
	dir, commit := gitFixture(t, map[string]string{"value": "good\n"})
	c, confined := confinement(t, dir)
	if !confined {
		return
	}
	repo, err := workspace.Open(t.Context(), dir)
	must(t, err)
	report, err := Verify(t.Context(), repo, commit, Plan{Confinement: c, Checks: []Check{
		{ID: "git", Command: []string{"git", "cat-file", "commit", commit}},
		{ID: "worktree", Command: shell("! cat " + dir + "/value")},
	}})
	must(t, err)
	for _, out := range report.Outcomes {
		if out.Result != ResultPass {
			t.Errorf("%s: %s %s", out.ID, out.Rule, out.Output.Window())
		}
	}
}

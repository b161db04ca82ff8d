package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// The demo's project: a Go module with a feature that is missing.
const (
	demoModule = "module example.org/greet\n\ngo 1.21\n"
	demoBegin  = `// Package greet greets people.
package greet

// Greet returns a greeting.
func Greet(name string) string { return "" }
`
	demoHalf = `// Package greet greets people.
package greet

// Greet returns a greeting for a person.
func Greet(name string) string { return "Hello, " + name + "!" }
`
	// demoForbidden is a text that the owner's frozen decision forbids, demoDrift
	// a file that somebody left with it.
	demoForbidden = "fmt.Print"
	demoDrift     = "package greet\n\nimport \"fmt\"\n\n// Shout prints.\nfunc Shout() { fmt.Println(Greet(\"you\")) }\n"
	demoWhole     = `// Package greet greets people.
package greet

// Greet returns a greeting for a person, or for everybody.
func Greet(name string) string {
	if name == "" {
		name = "world"
	}
	return "Hello, " + name + "!"
}
`
	demoTest = `package greet

import "testing"

func TestGreetByName(t *testing.T) {
	if got := Greet("Ada"); got != "Hello, Ada!" {
		t.Errorf("got %q", got)
	}
}

func TestGreetEverybody(t *testing.T) {
	if got := Greet(""); got != "Hello, world!" {
		t.Errorf("got %q", got)
	}
}
`
)

// demoStopTest makes the check stop where it is told to.
const demoStopTest = `package greet

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("` + demoStopVariable + `"); file != "" {
		if os.WriteFile(file, nil, 0o600) == nil {
			time.Sleep(time.Hour)
		}
	}
	os.Exit(m.Run())
}
`

// demoStopVariable names the file that says that the demo's check has begun.
const demoStopVariable = "GREET_STOP"

// demoActor is one actor of the demo besides the owner.
type demoActor struct {
	name, kind, principal, role string
}

// actors returns the demo's actors, with whoever takes the place of a killed
// one.
func (d *demo) actors() []demoActor {
	actors := []demoActor{
		{"impl-a", "agent", "alan", "implementer"}, {"impl-b", "agent", "barbara", "implementer"}, {"verify-1", "ci", "ci-main", "verifier"},
		{"control-1", "agent", "carol", "controller"}, {"rev-1", "human", "rita", "reviewer"}, {"op-1", "human", "oscar", "operator"},
	}
	for _, a := range []demoActor{{"verify-2", "ci", "ci-other", "verifier"}, {"control-2", "agent", "conrad", "controller"}, {"op-2", "human", "olivia", "operator"}} {
		if a.name == d.point.second {
			actors = append(actors, a)
		}
	}
	return actors
}

// createProject makes the repository: the branch main with a missing feature
// and its test, and a second worktree for the task.
func (d *demo) createProject(ctx context.Context) error {
	d.heading("A task is agreed")
	d.tell("owner", "makes a git repository: a Go function that should greet, and the test that it must pass")
	var err error
	if d.goCache, err = d.program(ctx, "owner", d.dir, "go", "env", "GOCACHE"); err != nil {
		return err
	}
	if err := os.Mkdir(d.project, 0o700); err != nil {
		return fmt.Errorf("make project: %w", err)
	}
	files := map[string]string{"go.mod": demoModule, "greet.go": demoBegin, "greet_test.go": demoTest}
	if d.point.place == placeCheck {
		files["main_test.go"] = demoStopTest
	}
	for name, text := range files {
		if err := d.write(d.project, name, text); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "begin"}, {"worktree", "add", "-q", "-b", "greet", d.work},
	} {
		if _, err := d.program(ctx, "owner", d.project, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) write(dir, name, text string) error {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// createLedger makes the ledger and its actors.
func (d *demo) createLedger(ctx context.Context) error {
	d.tell("owner", "creates a ledger and invites %d actors; each claims its name with a key of its own", len(d.actors()))
	for _, args := range [][]string{
		{"key", "new", "owner"}, {"ledger", "create", "demo", "--admin", "owner", "--principal", "olga"}, {"up"},
	} {
		if _, err := d.must(ctx, "owner", d.project, args...); err != nil {
			return err
		}
	}
	for _, a := range d.actors() {
		if err := d.invite(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) invite(ctx context.Context, a demoActor) error {
	if _, err := d.must(ctx, a.name, d.project, "key", "new", a.name); err != nil {
		return err
	}
	r, err := d.must(ctx, "owner", d.project, "actor", "invite", a.name, "--kind", a.kind, "--principal", a.principal, "--roles", a.role, "--git", a.name+"@example.org")
	if err != nil {
		return err
	}
	var invitation struct {
		Token string `json:"token"`
	}
	if err := r.decode(&invitation); err != nil {
		return err
	}
	file := filepath.Join(d.dir, a.name+".token")
	if err := os.WriteFile(file, []byte(invitation.Token), 0o600); err != nil {
		return fmt.Errorf("write token: %w", err)
	}
	_, err = d.must(ctx, a.name, d.project, "actor", "claim", a.name, "--token-file", file)
	return errors.Join(err, os.Remove(file))
}

// agree proposes and accepts the contract.
func (d *demo) agree(ctx context.Context) error {
	text, err := json.Marshal(map[string]any{
		"goal": "Greet says hello to a person, and to everybody where no name is given", "riskTier": "preview", "target": "main", "quorum": 1,
		"acceptance": []any{map[string]any{
			"id": "A1", "text": "the test of greet passes", "evidence": "test",
			"checks": []any{map[string]any{
				"id": "A1-1", "command": []string{"go", "test", "-count=1", "-json", "./..."}, "files": []any{map[string]any{"path": "greet_test.go"}}, "timeoutSeconds": 120,
			}},
		}},
		"scope": map[string]any{"include": []string{"*.go"}, "commands": d.probeLines(), "effects": []string{"preview"}},
	}, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write contract: %w", err)
	}
	file := filepath.Join(d.dir, "contract.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write contract: %w", err)
	}
	for _, args := range [][]string{{"contract", "propose", demoTask, "-f", file}, {"contract", "accept", demoTask}} {
		if _, err := d.must(ctx, "owner", d.project, args...); err != nil {
			return err
		}
	}
	d.tell("owner", "agrees on the contract: %s is done when that very test passes; a preview is the only effect allowed", demoTask)
	for _, args := range [][]string{
		{"record", demoTask, "--id", "D1", "--title", "A greeting is returned, not printed", "--choice", "return it", "--evidence", "commit:HEAD"},
		{"freeze", demoTask, "--id", "D1", "--reason", "it is used by services", "--forbid", demoForbidden},
	} {
		if _, err := d.must(ctx, "owner", d.project, append([]string{"decision"}, args...)...); err != nil {
			return err
		}
	}
	d.tell("owner", "freezes a decision: a greeting is returned, not printed; %s may occur in no file", demoForbidden)
	return d.now(ctx)
}

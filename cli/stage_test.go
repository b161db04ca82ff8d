package cli_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/google/uuid"
)

// noRaceSleep lets a process with the race detector end at once: it would wait
// a second for races of goroutines that are still running.
const noRaceSleep = "GORACE=atexit_sleep_ms=0"

// task is the task of every stage.
const task = "T-1"

// stage is a ledger that runs in this process, with actors, a git repository
// and one task, on which commands are run: in this process or in others.
type stage struct {
	t     *testing.T
	dir   string // ledger folder
	home  string // DEED_HOME
	repo  string
	world string // folder that stands for the outside world
	local *server.Local
	keys  map[string]signer.Key
}

// newStage sets the stage: a contract is accepted, an attempt is open.
func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOf(t, nil)
}

// newStageOf is newStage with a change to the contract, nil for none.
func newStageOf(t *testing.T, change func(*stage, *events.Contract)) *stage {
	t.Helper()
	root := t.TempDir()
	s := &stage{t: t, dir: filepath.Join(root, "ledger"), home: filepath.Join(root, "home"), repo: filepath.Join(root, "repo"),
		world: filepath.Join(root, "world"), keys: map[string]signer.Key{}}
	for _, dir := range []string{s.repo, s.world, filepath.Join(s.home, "config", "keys")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	s.createLedger()
	for name, role := range map[string]events.Role{
		"impl-a": events.RoleImplementer, "impl-b": events.RoleImplementer, "control-1": events.RoleController, "control-2": events.RoleController,
		"op-1": events.RoleOperator,
	} {
		s.invite(name, role)
	}
	s.createRepo()
	s.createWorld()
	contract := s.contract()
	if change != nil {
		change(s, contract)
	}
	s.createTask(contract)
	return s
}

// options are those of a service for the stage's folder.
func (s *stage) options() server.Options {
	return server.Options{Dir: s.dir, Listen: "127.0.0.1:0", Now: time.Now, NewID: newID, Random: rand.Reader, Version: "0.0.0", PID: os.Getpid()}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func (s *stage) createLedger() {
	owner := s.newKey("owner")
	_, err := server.Create(s.t.Context(), s.options(), "stage", func(service signer.PublicKey) (events.Event, error) {
		data, err := events.EncodeData(&events.Genesis{
			Name: "stage", Rules: 1, Profile: "separate", Threshold: 1,
			Admins:  []events.Admin{{Actor: "owner", Principal: "olga", Key: owner.Public().String(), Roles: []events.Role{events.RoleAdmin, events.RoleOwner}}},
			Service: events.ServiceKey{Actor: "service", Key: service.String()},
		})
		if err != nil {
			return events.Event{}, err
		}
		return evidence.Seal(events.Event{
			ID: newID(), Source: events.Source{Ledger: "stage"}, Type: events.LedgerCreated, Time: events.FormatTime(time.Now()),
			Sequence: 1, AuthType: events.KindHuman.AuthType(), AuthID: "owner", Data: data,
		}, owner)
	})
	must(s.t, err)
	s.start()
	s.t.Cleanup(func() { must(s.t, s.local.Close()) })
}

// start runs the service.
func (s *stage) start() {
	local, err := server.Run(context.WithoutCancel(s.t.Context()), s.options())
	must(s.t, err)
	s.local = local
}

func (s *stage) newKey(name string) signer.Key {
	key, err := signer.GenerateKey(rand.Reader)
	must(s.t, err)
	must(s.t, signer.WriteKeyFile(filepath.Join(s.home, "config", "keys", name+".key"), key, nil))
	s.keys[name] = key
	return key
}

func (s *stage) invite(name string, role events.Role) {
	key := s.newKey(name)
	s.registry("owner", &events.Invitation{Actor: name, Kind: kindOf(name), Principal: "p-" + name, Roles: []events.Role{role}, TokenHash: events.Sum([]byte(name)).String()})
	s.registry(name, &events.KeyClaim{Actor: name, Key: key.Public().String(), Token: name})
}

// dial connects to the service, or to what stands before it.
func (s *stage) dial(url string) *client.Client {
	f, err := server.OpenFolder(s.dir)
	must(s.t, err)
	credential, err := f.Credential()
	must(s.t, err)
	identity, err := events.ParseHash(f.Identity)
	must(s.t, err)
	key, err := f.ServiceKey()
	must(s.t, err)
	c, err := client.Dial(client.Config{URL: url, User: credential.User, Password: credential.Password, Ledger: f.Ledger, Identity: identity, Service: key, Timeout: 2 * time.Second})
	must(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

func kindOf(actor string) events.Kind {
	if actor == "owner" || strings.HasPrefix(actor, "review-") {
		return events.KindHuman
	}
	return events.KindAgent
}

func (s *stage) registry(actor string, p events.Payload) {
	s.t.Helper()
	c := s.dial(s.local.URL())
	g, err := c.Registry(s.t.Context())
	must(s.t, err)
	e := s.event(actor, p, events.Source{Ledger: "stage"})
	e.Sequence, e.PrevHash = g.Registry.Sequence+1, hash(s.t, g.Registry.Head)
	s.submit(c, e, actor)
}

// say appends a task event.
func (s *stage) say(actor string, p events.Payload, subject string, fence uint64) {
	s.t.Helper()
	c := s.dial(s.local.URL())
	s.submit(c, s.taskEvent(actor, p, subject, fence), actor)
}

// taskEvent returns the next event of the task, unsigned.
func (s *stage) taskEvent(actor string, p events.Payload, subject string, fence uint64) events.Event {
	s.t.Helper()
	t := s.state()
	e := s.event(actor, p, events.Source{Ledger: "stage", Task: task})
	e.Sequence, e.PrevHash, e.Subject, e.Fence = t.Sequence+1, hash(s.t, t.Head), subject, fence
	return e
}

func (s *stage) submit(c *client.Client, e events.Event, actor string) {
	s.t.Helper()
	sealed, err := evidence.Seal(e, s.keys[actor])
	must(s.t, err)
	_, err = c.Submit(s.t.Context(), sealed, false)
	must(s.t, err)
}

func (s *stage) event(actor string, p events.Payload, source events.Source) events.Event {
	s.t.Helper()
	data, err := events.EncodeData(p)
	must(s.t, err)
	return events.Event{ID: newID(), Source: source, Type: p.Type(), Time: events.FormatTime(time.Now()), AuthType: kindOf(actor).AuthType(), AuthID: actor, Data: data}
}

func hash(t *testing.T, text string) events.Hash {
	t.Helper()
	h, err := events.ParseHash(text)
	must(t, err)
	return h
}

// state returns the task as the ledger has it now.
func (s *stage) state() *projections.Task {
	s.t.Helper()
	c := s.dial(s.local.URL())
	state, err := c.Task(s.t.Context(), task)
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code == ledger.CodeNotFound {
		g, err := c.Registry(s.t.Context())
		must(s.t, err)
		return projections.NewTask("stage", task, hash(s.t, g.Registry.Identity))
	}
	must(s.t, err)
	return state.Task
}

func (s *stage) createRepo() {
	s.git("init", "-q", "-b", "main")
	must(s.t, os.WriteFile(filepath.Join(s.repo, "a.txt"), []byte("a\n"), 0o600))
	s.git("add", ".")
	s.git("commit", "-qm", "begin")
}

func (s *stage) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir = s.repo
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// The call of the outside world and its probe. What the call does is said in
// the file mode, so that every call has the same command line. It stops where
// it is told to: before or after it acted, or after it replied; and not before
// its lock names its process, without which nothing proves later that it is dead.
const (
	actScript = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
mode=$(cat mode)
stop() { until grep -q '"state":"running"' /proc/self/fd/3; do sleep 0.01; done; : > reached; exec sleep 600; }
[ "$mode" = before ] && stop
[ "$mode" = error ] && exit 9
printf '%s %s %s\n' "$DEED_IDEMPOTENCY_KEY" "$DEED_TOKEN" "$DEED_EFFECT_COMMIT" >> calls
[ "$mode" = after ] && stop
[ "$mode" = acted-error ] && exit 9
[ "$mode" = silent ] && exit 0
[ "$mode" = wait ] && while [ ! -e go ]; do sleep 0.02; done
printf '{"externalId":"id-1","token":"%s","digest":""}' "$DEED_TOKEN" > "$DEED_RESULT_FILE"
`
	probeScript = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
printf 'asked\n' >> probes
[ -e blind ] && exit 3
if line=$(grep "^$DEED_IDEMPOTENCY_KEY " calls 2>/dev/null); then
  set -- $line
  printf '{"status":"found","externalId":"id-1","token":"%s"}\n' "$2"
else
  printf '{"status":"absent","complete":true}\n'
fi
`
)

func (s *stage) createWorld() {
	must(s.t, os.WriteFile(filepath.Join(s.world, "act"), []byte(actScript), 0o700))
	must(s.t, os.WriteFile(filepath.Join(s.world, "probe"), []byte(probeScript), 0o700))
	s.mode("reply")
}

// mode says what the next call does.
func (s *stage) mode(m string) {
	must(s.t, os.WriteFile(filepath.Join(s.world, "mode"), []byte(m), 0o600))
}

// count returns how many lines a file of the outside world has.
func (s *stage) count(name string) int {
	text, err := os.ReadFile(filepath.Join(s.world, name))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	must(s.t, err)
	return bytes.Count(text, []byte("\n"))
}

func (s *stage) contract() *events.Contract {
	return &events.Contract{
		Version: 1, Goal: "publish a preview", RiskTier: "preview", Target: "main", Quorum: 1, MaxRepairs: 5, MaxStalls: 3,
		Owners: events.Owners{Product: "owner"},
		Scope: events.Scope{Include: []string{"**"}, Commands: []string{filepath.Join(s.world, "probe")},
			Effects: []events.EffectKind{events.EffectCommit, events.EffectMigrate, events.EffectPreview}},
		Acceptance: []events.Item{{ID: "A1", Text: "it works", Required: true, Evidence: "test",
			Checks: []events.Check{{ID: "c1", Command: []string{"true"}, TimeoutSeconds: 5}}}},
	}
}

func (s *stage) createTask(contract *events.Contract) {
	s.say("owner", contract, "", 0)
	s.accept()
	s.cmd("impl-a", "attempt", "open", task).succeeds()
}

// accept accepts the newest version of the contract.
func (s *stage) accept() {
	versions := s.state().Contracts
	v := versions[len(versions)-1]
	s.say("owner", &events.Acceptance{Version: v.Contract.Version, Digest: v.Digest}, "", 0)
}

// work claims a work lease.
func (s *stage) work(actor string) { s.workFor(actor, "1m") }

func (s *stage) workFor(actor, term string) {
	s.cmd(actor, "lease", "claim", task, "--purpose", "work", "--term", term).succeeds()
}

// interrupt ends the live lease as a controller may.
func (s *stage) interrupt() {
	t := s.state()
	s.say("control-1", &events.Interruption{Cause: "controller", Fence: int64(t.Lease.Fence)}, t.Attempt().ID, 0)
}

// command is one run of deed.
type command struct {
	t      *testing.T
	args   []string
	code   int
	stdout string
	stderr string
}

// env returns the environment of a command in this process.
func (s *stage) env(stdout, stderr *bytes.Buffer) *cli.Env {
	vars := s.vars()
	return &cli.Env{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Getenv: func(name string) string { return vars[name] },
		Environ: func() []string { return nil }, Dir: s.repo, Executable: deedProgram(), PID: os.Getpid(), Host: "stage",
		Now: time.Now, NewID: newID, Random: rand.Reader, Version: "0.0.0",
	}
}

func (s *stage) vars() map[string]string {
	return map[string]string{"DEED_HOME": s.home, "DEED_DIR": s.dir, "PATH": os.Getenv("PATH")}
}

// cmd runs deed in this process.
func (s *stage) cmd(actor string, args ...string) command {
	s.t.Helper()
	return runDeed(s.t.Context(), s, actor, args)
}

func runDeed(ctx context.Context, s *stage, actor string, args []string) command {
	var stdout, stderr bytes.Buffer
	e := s.env(&stdout, &stderr)
	root := cli.New(e)
	root.SetArgs(append([]string{"--as", actor}, args...))
	code := cli.Report(e, root, root.ExecuteContext(ctx))
	return command{s.t, args, code, stdout.String(), stderr.String()}
}

// exits demands an exit code.
func (c command) exits(code int) command {
	c.t.Helper()
	if c.code != code {
		c.t.Fatalf("deed %v: exit code %d, want %d\n%s%s", c.args, c.code, code, c.stdout, c.stderr)
	}
	return c
}

func (c command) succeeds() command {
	c.t.Helper()
	return c.exits(0)
}

// data decodes the data of a JSON result.
func (c command) data(v any) {
	c.t.Helper()
	var object struct {
		Data json.RawMessage `json:"data"`
	}
	if err := errors.Join(json.Unmarshal([]byte(c.stdout), &object), json.Unmarshal(object.Data, v)); err != nil {
		c.t.Fatalf("deed %v printed %q: %v", c.args, c.stdout, err)
	}
}

// effectArgs are the arguments of the stage's effect.
func (s *stage) effectArgs(flags ...string) []string {
	args := append([]string{"effect", "run", task, "--kind", "preview", "--target", "preview", "--probe", filepath.Join(s.world, "probe")}, flags...)
	return append(args, "--", filepath.Join(s.world, "act"))
}

// together runs functions at the same instant and waits for all.
func together(fs ...func()) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(func() { <-start; f() })
	}
	close(start)
	wg.Wait()
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(60 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// session is one command's way to a ledger: which one, through which
// connection, with which key. Each part is opened when it is first needed;
// reading never loads a private key.
type session struct {
	*printer
	env   *Env
	flags flags

	folder *server.Folder
	client *client.Client
	url    string // where client is connected
	topic  topic
	key    *signer.Key
	held   *client.Keeper // of the lease that hold renews
	// known are secret values that were passed on to child processes.
	known []string
	// stopped says that the process was stopped for the demo once.
	stopped bool
}

// flags are the flags that every command has.
type flags struct {
	demoStop   string // hidden: where to stop, see reach
	output     string
	context    string
	dir        string
	as         string
	keyFile    string
	passphrase string
	atLeast    uint64 // position that answers must reflect, 0 for any
	patience   time.Duration
	dryRun     bool   // on commands that write
	cosignOut  string // file for an event that others have to sign, too
}

// close releases what was opened.
func (s *session) close() {
	if s.client != nil {
		s.client.Close()
	}
}

// open returns the folder that the flags, the environment or the selected
// context name.
func (s *session) open() (*server.Folder, error) {
	if s.folder != nil {
		return s.folder, nil
	}
	dir, err := s.ledgerDir()
	if err != nil {
		return nil, err
	}
	f, err := server.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	s.folder = &f
	return s.folder, nil
}

// ledgerDir returns the ledger folder: --dir, DEED_DIR, or the context's.
func (s *session) ledgerDir() (string, error) {
	if dir := first(s.flags.dir, s.env.Getenv("DEED_DIR")); dir != "" {
		return s.abs(dir), nil
	}
	c, err := s.currentContext()
	if err != nil {
		return "", err
	}
	return c.Dir, nil
}

// first returns the first value that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// dial connects to the ledger's service. Without one the error is
// errNoService.
func (s *session) dial() (*client.Client, error) {
	if s.client != nil {
		return s.client, nil
	}
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	p, err := s.env.places()
	if err != nil {
		return nil, err
	}
	s.client, err = s.connect(f, p.HeadPath(f.Ledger, f.Identity))
	return s.client, err
}

// connect connects to the service of a folder. Heads are remembered at
// headPath, "" for nowhere.
func (s *session) connect(f *server.Folder, headPath string) (*client.Client, error) {
	identity, err := events.ParseHash(f.Identity)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Dir, err)
	}
	key, err := f.ServiceKey()
	if err != nil {
		return nil, err
	}
	c := client.Config{
		Ledger: f.Ledger, Identity: identity, Service: key, HeadPath: headPath,
		AtLeast: events.Position(s.flags.atLeast), Patience: s.flags.patience,
	}
	if e, ok, err := f.Entrance(); err != nil {
		return nil, err
	} else if ok {
		s.url, c.URL, c.Access = e.URL, e.URL, e.Access
		return client.Dial(c)
	}
	running, err := f.Running()
	if err != nil {
		if errors.Is(err, server.ErrNotRunning) {
			return nil, fmt.Errorf("connect to ledger %s in %s: %w", f.Ledger, f.Dir, errNoService)
		}
		return nil, err
	}
	if err := alive(f, running); err != nil {
		return nil, err
	}
	credential, err := f.Credential()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "say how clients get in: deed context add NAME --nats URL --creds FILE --ledger-file %s/ledger.json --dir DIR", f.Dir)
	}
	if err != nil {
		return nil, err
	}
	s.url, c.URL, c.User, c.Password = running.URL, running.URL, credential.User, credential.Password
	return client.Dial(c)
}

// alive refuses to connect where a service of this machine is dead: whoever
// listens there now must not see the credential. Of a service elsewhere nobody
// here can tell.
func alive(f *server.Folder, running server.Running) error {
	if running.PID == 0 {
		return nil
	}
	alive, err := f.InUse()
	if err == nil && !alive {
		err = fmt.Errorf("connect to ledger %s in %s: %w: the last one, process %d, was killed", f.Ledger, f.Dir, errNoService, running.PID)
	}
	return err
}

// keyPath returns the private key's file: --key, --as, DEED_KEY, DEED_AS, or
// the context's actor. What the command line says goes before the environment.
func (s *session) keyPath() (string, error) {
	if s.flags.keyFile != "" {
		return s.flags.keyFile, nil
	}
	if file := s.env.Getenv("DEED_KEY"); file != "" && s.flags.as == "" {
		return file, nil
	}
	p, err := s.env.places()
	if err != nil {
		return "", err
	}
	name := first(s.flags.as, s.env.Getenv("DEED_AS"))
	if name == "" {
		if c, err := s.currentContext(); err == nil {
			name = c.As
		}
	}
	if name == "" {
		return "", fmt.Errorf("%w: no key: name one with --as ACTOR or --key FILE, make one with deed key new ACTOR", errUsage)
	}
	if !events.ValidActor(name) {
		return "", fmt.Errorf("%w: --as %q is no actor name", errUsage, name)
	}
	return p.KeyPath(name), nil
}

// signingKey loads the private key.
func (s *session) signingKey() (signer.Key, error) {
	if s.key != nil {
		return *s.key, nil
	}
	path, err := s.keyPath()
	if err != nil {
		return signer.Key{}, err
	}
	key, err := s.openKey(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return signer.Key{}, withHint(fmt.Errorf("%w: no key at %s", errMissing, path), "make one with: deed key new %s", first(s.flags.as, "NAME"))
		}
		return signer.Key{}, err
	}
	s.key = &key
	return key, nil
}

// passphrase returns how to ask for a key's passphrase: from the file that
// --passphrase-file names, else on a terminal.
func (s *session) passphrase(path string) func() ([]byte, error) {
	return func() ([]byte, error) {
		if file := s.passphraseFile(); file != "" {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read passphrase: %w", err)
			}
			return []byte(strings.TrimRight(string(text), "\r\n")), nil
		}
		if s.env.Prompt == nil {
			return nil, fmt.Errorf("%w: key %s is encrypted: give --passphrase-file", signer.ErrPassphrase, path)
		}
		return s.env.Prompt("Passphrase for " + plain(path) + ": ")
	}
}

func (s *session) passphraseFile() string {
	return first(s.flags.passphrase, s.env.Getenv("DEED_PASSPHRASE_FILE"))
}

// author is who signs: a key and the actor that the registry gives it to.
type author struct {
	key   signer.Key
	actor *projections.Actor
	// registry is as read when the actor was looked up.
	registry projections.Registry
	// with are further keys that sign a registry event.
	with []signer.Key
}

// author loads the key and finds its actor.
func (s *session) author(ctx context.Context) (author, error) {
	key, err := s.signingKey()
	if err != nil {
		return author{}, err
	}
	c, err := s.dial()
	if err != nil {
		return author{}, err
	}
	g, err := c.Registry(ctx)
	if err != nil {
		return author{}, err
	}
	text := key.Public().String()
	for _, a := range g.Registry.Actors {
		if !slices.Contains(a.Keys, text) {
			continue
		}
		if want := s.claimedName(); want != "" && want != a.Name {
			return author{}, withHint(fmt.Errorf("%w: --as %s, but the key is %s's", errUsage, want, a.Name), "give one of --as and --key, or a key of %s", want)
		}
		return author{key: key, actor: a, registry: g.Registry}, nil
	}
	err = fmt.Errorf("%w: key %s belongs to no actor of this ledger", errMissing, key.ID())
	return author{}, withHint(err, "claim an invitation with it: deed actor claim ACTOR --token-file FILE; an admin makes one with deed actor invite")
}

// claimedName is the actor that the caller says a key file is of: an
// environment variable says so of another variable's file alone.
func (s *session) claimedName() string {
	if s.flags.as != "" || s.flags.keyFile != "" {
		return s.flags.as
	}
	return s.env.Getenv("DEED_AS")
}

// task reads a task's state; one without events is the empty state.
func (s *session) task(ctx context.Context, id string) (protocol.TaskState, error) {
	if !events.ValidTask(id) {
		return protocol.TaskState{}, fmt.Errorf("%w: %q is no task name ([A-Za-z0-9][A-Za-z0-9_-]{0,63})", errUsage, id)
	}
	s.topic.task = id
	c, err := s.dial()
	if err != nil {
		return protocol.TaskState{}, err
	}
	t, err := c.Task(ctx, id)
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code == ledger.CodeNotFound {
		g, err := c.Registry(ctx)
		if err != nil {
			return protocol.TaskState{}, err
		}
		genesis, err := events.ParseHash(g.Registry.Identity)
		if err != nil {
			return protocol.TaskState{}, err
		}
		empty := projections.NewTask(s.folder.Ledger, id, genesis)
		return protocol.TaskState{Position: g.Position, Task: empty, Policy: g.Registry.Policy}, nil
	}
	return t, err
}

// existing is task for commands that need one.
func (s *session) existing(ctx context.Context, id string) (protocol.TaskState, error) {
	t, err := s.task(ctx, id)
	if err == nil && t.Task.Sequence == 0 {
		err = fmt.Errorf("%w: there is no task %q", errMissing, id)
	}
	return t, err
}

// draft is what a command wants to say, decided on one state of a source.
type draft struct {
	payload events.Payload
	// subject defaults to the open attempt's id for task events other than
	// contract and task ones; set it for attempt.opened and late outcomes.
	subject string
	// fence is set by holders of a lease.
	fence     uint64
	causation string
}

// appendTries bounds how often a command decides again after a lost race.
const appendTries = 5

// append reads the task, lets decide say what to append, signs and submits
// it. After a lost race it does the same again: decide sees the new state and
// must refuse when what it names has changed.
func (s *session) append(ctx context.Context, task string, decide func(protocol.TaskState, author) (draft, error)) (ledger.Ack, error) {
	for try := 1; ; try++ {
		a, err := s.author(ctx)
		if err != nil {
			return ledger.Ack{}, err
		}
		state, err := s.task(ctx, task)
		if err != nil {
			return ledger.Ack{}, err
		}
		d, err := decide(state, a)
		if err != nil {
			return ledger.Ack{}, err
		}
		e, err := s.taskEvent(state.Task, a, d)
		if err != nil {
			return ledger.Ack{}, err
		}
		ack, err := s.submit(ctx, e, d.payload.Type())
		if r, ok := errors.AsType[*ledger.Refusal](err); !ok || r.Class != ledger.Conflict || try == appendTries {
			return ack, err
		}
	}
}

// submit sends an event, between the two places where the demo may stop it.
func (s *session) submit(ctx context.Context, e events.Event, t events.Type) (ledger.Ack, error) {
	if s.flags.dryRun {
		return s.client.Submit(ctx, e, true)
	}
	if err := s.reach(placeBefore(t)); err != nil {
		return ledger.Ack{}, err
	}
	ack, err := s.client.Submit(ctx, e, false)
	if err == nil {
		err = s.reach(placeAfter(t))
	}
	return ack, err
}

// taskEvent builds and signs the next event of a task.
func (s *session) taskEvent(t *projections.Task, a author, d draft) (events.Event, error) {
	prev, err := events.ParseHash(t.Head)
	if err != nil {
		return events.Event{}, fmt.Errorf("read task %s: %w", t.ID, err)
	}
	e, err := s.event(a, events.Source{Ledger: s.folder.Ledger, Task: t.ID}, d)
	if err != nil {
		return events.Event{}, err
	}
	e.Sequence, e.PrevHash = t.Sequence+1, prev
	switch d.payload.Type() {
	case events.ContractProposed, events.ContractAccepted, events.ContractWithdrawn, events.TaskCancelled:
	default:
		if attempt := t.Attempt(); e.Subject == "" && attempt != nil {
			e.Subject = attempt.ID
		}
	}
	return evidence.Seal(e, a.key)
}

// registryEvent builds and signs the next event of the registry.
func (s *session) registryEvent(g *projections.Registry, a author, p events.Payload) (events.Event, error) {
	prev, err := events.ParseHash(g.Head)
	if err != nil {
		return events.Event{}, fmt.Errorf("read registry: %w", err)
	}
	e, err := s.event(a, events.Source{Ledger: s.folder.Ledger}, draft{payload: p})
	if err != nil {
		return events.Event{}, err
	}
	e.Sequence, e.PrevHash = g.Sequence+1, prev
	return evidence.Seal(e, append([]signer.Key{a.key}, a.with...)...)
}

// event fills what every event has.
func (s *session) event(a author, source events.Source, d draft) (events.Event, error) {
	s.topic.kind = d.payload.Type().Short()
	data, err := events.EncodeData(d.payload)
	if err != nil {
		return events.Event{}, err
	}
	if r := ledger.RefuseSecrets(d.payload.Type(), data, s.known...); r != nil {
		return events.Event{}, r
	}
	return events.Event{
		ID: s.env.NewID(), Source: source, Type: d.payload.Type(), Subject: d.subject, Time: events.FormatTime(s.env.Now()),
		Fence: d.fence, CausationID: d.causation, AuthType: a.actor.Kind.AuthType(), AuthID: a.actor.Name, Data: data,
	}, nil
}

// acked prints the acknowledgement of a write.
func (s *session) acked(ack ledger.Ack, format string, args ...any) error {
	return s.result("ack", ack, func(w *textWriter) {
		w.acked(ack, format, args...)
	})
}

// lease returns the task's live lease when the author holds it.
func lease(t *projections.Task, a author) (*projections.Lease, error) {
	switch l := t.Lease; {
	case l == nil:
		return nil, noLease(t)
	case l.Actor != a.actor.Name:
		return nil, withHint(refuse(ledger.CodeFence, "lease", "%s holds the lease of task %s", l.Actor, t.ID),
			"only the holder may do this; a controller takes the lease away with: deed attempt interrupt %s", t.ID)
	default:
		return l, nil
	}
}

// noLease says that a task has no live lease, how the last one ended, and what
// leads to another.
func noLease(t *projections.Task) error {
	ended := ""
	if n := len(t.Runs); n > 0 && t.Runs[n-1].Ended != "" {
		ended = fmt.Sprintf(": run %d of %s ended by %s", t.Runs[n-1].Fence, t.Runs[n-1].Actor, t.Runs[n-1].Ended)
	}
	err := refuse(ledger.CodeFence, "lease", "task %s has no live lease%s", t.ID, ended)
	switch {
	case t.State.Final():
		return withHint(err, "the task is %s: there is nothing left to do", t.State)
	case t.State == projections.Snapshotted, t.State == projections.RepairQueued && acceptedCode(t):
		return withHint(err, "claim one: deed lease claim %s --purpose work", t.ID)
	case t.State == projections.Interrupted:
		return withHint(err, "stop the work; a controller decides how it goes on: deed recover %s --as <controller>", t.ID)
	}
	return withHint(err, "nothing is left to hold here; deed why %s says who is next", t.ID)
}

// acceptedCode reports whether a repair of code waits for a lease.
func acceptedCode(t *projections.Task) bool {
	return t.Repair != nil && t.Repair.Accepted && t.Repair.Kind == "code"
}

// action makes a cobra RunE that runs f in a session.
func (e *Env) action(f *flags, run func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s := &session{env: e, flags: *f, printer: &printer{out: e.Stdout, err: e.Stderr, json: f.output == "json"}}
		defer s.close()
		return s.explain(cmd, s.halfway(run(cmd.Context(), s, args)))
	}
}

// stamp prints an admission stamp for people.
func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format("15:04:05") }

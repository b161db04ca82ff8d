package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// joining is what "deed actor join" is asked for.
type joining struct {
	file      string // file with the token, "" for an argument
	url       string // where the service is, "" for what the token says
	name      string // name of the context, "" for the ledger's
	algorithm signer.Algorithm
	encrypt   bool
}

// joinResult is the data of "deed actor join".
type joinResult struct {
	ledger.Ack
	Ledger   string       `json:"ledger"`
	Identity string       `json:"identity"`
	Actor    string       `json:"actor"`
	KeyID    signer.KeyID `json:"keyid,omitzero"`
	Context  string       `json:"context,omitzero"`
	// Claimed says that this call claimed the name; else it was ours already.
	Claimed bool `json:"claimed"`
}

// newActorJoinCommand builds "deed actor join".
func newActorJoinCommand(e *Env, f *flags) *cobra.Command {
	var o joining
	var algorithm string
	cmd := &cobra.Command{
		Use: "join TOKEN | --token-file FILE", Short: "Join a ledger from a new machine", Args: cobra.MaximumNArgs(1),
		Long: `Join a ledger with the token that deed actor invite printed: make a key here, claim the
name with it, and write a context. The key never leaves this machine. The ledger's
identity, its service's key and the head that the inviter saw are in the token, and what
the service serves is held against them first.

Run it again after a crash, at whatever step: it goes on and makes no second key. A token
is good for one machine, once.

Other users of this machine can see a TOKEN among the arguments of a process, and a shell
keeps it in its history: --token-file does neither, and - reads standard input. With the
connection's address the token holds the credential of the service's clients too; both
are then kept in this machine's data folder, mode 0600. That connection is not encrypted:
between machines use a tunnel and name its end with --url.

Where the ledger's folder can be reached, --dir names it and no address is needed. A key
that is there under the actor's name, made by deed key new or deed key add, is used.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			o.algorithm = signer.Algorithm(algorithm)
			t, err := s.readJoinToken(args, o.file)
			if err != nil {
				return err
			}
			return s.join(ctx, t, o)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.file, "token-file", "", "file with the token; - for standard input")
	fs.StringVar(&o.url, "url", "", "where the service is reached from here, nats://HOST:PORT, instead of what the token says")
	fs.StringVar(&o.name, "name", "", "name of the context; default: the ledger's")
	fs.StringVar(&algorithm, "type", string(signer.Ed25519), "sort of a key to be made: "+either(signer.Algorithms()))
	fs.BoolVar(&o.encrypt, "encrypt", false, "seal a key to be made with a passphrase")
	return writes(cmd, f)
}

// join takes the steps in an order in which each can be cut off: what a step
// leaves, the next run finds.
func (s *session) join(ctx context.Context, t client.JoinToken, o joining) error {
	if err := choose("--type", o.algorithm, signer.Algorithms()); err != nil {
		return err
	}
	if s.flags.as != "" || s.flags.keyFile != "" {
		return withHint(fmt.Errorf("%w: the token names the actor: neither --as nor --key", errUsage), "a key in a file or with a plugin: deed key add %s", t.Actor)
	}
	o.name = first(o.name, t.Ledger)
	j, err := s.newJoin(t, o)
	if err != nil {
		return err
	}
	if err := j.reach(ctx); err != nil {
		return err
	}
	result, err := j.claim(ctx)
	if err == nil && !s.flags.dryRun {
		err = j.keep()
	}
	if err != nil {
		return err
	}
	return s.result("joined", result, func(w *textWriter) {
		switch {
		case result.DryRun:
			w.line("would be accepted by %s; nothing was written", result.Rule)
		case result.Claimed:
			w.line("joined ledger %s as %s", t.Ledger, t.Actor)
		default:
			w.line("joined ledger %s as %s before: nothing was claimed", t.Ledger, t.Actor)
		}
		if !result.DryRun {
			w.line("  key      %s", string(result.KeyID))
			w.line("  context  %s", o.name)
		}
	})
}

// join is one run of "deed actor join".
type join struct {
	*session
	token  client.JoinToken
	o      joining
	places places
	folder server.Folder
	away   bool // the service is reached by its address, not through its folder
	key    string
}

// newJoin finds out what is to be written where, and refuses what is taken.
func (s *session) newJoin(t client.JoinToken, o joining) (*join, error) {
	p, err := s.env.places()
	if err != nil {
		return nil, err
	}
	j := &join{session: s, token: t, o: o, places: p, key: p.KeyPath(t.Actor)}
	if dir := first(s.flags.dir, s.env.Getenv("DEED_DIR")); dir != "" {
		if j.folder, err = server.OpenFolder(s.abs(dir)); err != nil {
			return nil, err
		}
		if j.folder.Ledger != t.Ledger || j.folder.Identity != t.Identity || j.folder.Service != t.Service {
			return nil, withHint(fmt.Errorf("%w: the folder is of %s %s, the token of %s %s", server.ErrOtherLedger, j.folder.Ledger, j.folder.Identity, t.Ledger, t.Identity),
				"name the folder of the ledger that you were invited to")
		}
	} else {
		j.away = true
		j.token.URL = first(o.url, t.URL)
		j.folder = server.Folder{Dir: p.JoinedDir(t.Ledger, t.Identity), Ledger: t.Ledger, Identity: t.Identity, Service: t.Service}
	}
	if o.url != "" && (!j.away || !client.ValidURL(o.url)) {
		return nil, fmt.Errorf("%w: --url is nats://HOST:PORT or tls://HOST:PORT, and not beside --dir", errUsage)
	}
	if j.away && j.token.URL == "" {
		return nil, withHint(fmt.Errorf("%w: the token names no address of the service", errUsage), "name the ledger's folder with --dir, or ask for a token with an address: deed actor invite --url")
	}
	return j, j.free()
}

// free refuses a context's name that something else has.
func (j *join) free() error {
	c, err := readContext(j.places, j.o.name)
	if errors.Is(err, errMissing) {
		return nil
	}
	if err == nil && (c.Dir != j.folder.Dir || c.As != j.token.Actor) {
		err = withHint(fmt.Errorf("join ledger %s: context %q: %w", j.token.Ledger, j.o.name, fs.ErrExist), "choose another name for the context with --name")
	}
	return err
}

// reach connects, and holds what the service serves against the token.
func (j *join) reach(ctx context.Context) error {
	heads := j.places.HeadPath(j.folder.Ledger, j.folder.Identity)
	if j.flags.dryRun {
		heads = ""
	}
	cfg, err := j.token.Config()
	if err != nil {
		return err
	}
	cfg.HeadPath = heads
	if j.away {
		j.client, err = client.Dial(cfg)
	} else {
		j.client, err = j.connect(&j.folder, heads)
	}
	if err != nil {
		return err
	}
	j.session.folder = &j.folder
	if heads != "" {
		err := evidence.NewHeadFile(heads, cfg.Ledger, cfg.Identity, cfg.Service).Advance(evidence.Head{}, []byte(j.token.Head), nil)
		if err != nil && !errors.Is(err, evidence.ErrHeadMoved) { // then one is remembered already
			return err
		}
	}
	if _, err := j.client.Status(ctx); err != nil {
		return err
	}
	return j.sameGenesis(ctx, cfg.Identity)
}

// sameGenesis reads the first event: its hash is the ledger's identity, and it
// names the service's key.
func (j *join) sameGenesis(ctx context.Context, identity events.Hash) error {
	r, err := j.client.Reader(ctx)
	if err != nil {
		return err
	}
	stored, err := r.Read(ctx, 1)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("read the first event: %w", err)
	}
	record, err := openRecord(stored)
	if err != nil {
		return err
	}
	p, err := record.Event.Payload()
	g, ok := p.(*events.Genesis)
	if err != nil || !ok || record.Event.Hash() != identity || g.Name != j.token.Ledger || g.Service.Key != j.token.Service {
		return fmt.Errorf("%w: the service's history does not begin with the genesis that the token names", server.ErrOtherLedger)
	}
	return nil
}

// claim makes the key if there is none and claims the name with it, unless the
// ledger has it already.
func (j *join) claim(ctx context.Context) (joinResult, error) {
	result := joinResult{Ledger: j.token.Ledger, Identity: j.token.Identity, Actor: j.token.Actor, Context: j.o.name}
	g, err := j.registry(ctx)
	if err != nil {
		return joinResult{}, err
	}
	public, err := j.publicHalf()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return joinResult{}, err
	}
	result.KeyID = public.ID()
	open, err := j.invited(g, public)
	if err != nil || !open {
		return result, err
	}
	key, err := j.ownKey()
	if err != nil {
		return joinResult{}, err
	}
	result.KeyID, result.Claimed = key.ID(), true
	who := func(ctx context.Context) (author, error) {
		g, err := j.registry(ctx)
		if err != nil {
			return author{}, err
		}
		if _, err := j.invited(g, key.Public()); err != nil {
			return author{}, err
		}
		return author{key: key, actor: g.Actor(j.token.Actor), registry: *g}, nil
	}
	result.Ack, err = j.appendRegistry(ctx, who, func(author) (events.Payload, error) {
		return &events.KeyClaim{Actor: j.token.Actor, Key: key.Public().String(), Token: j.token.Secret}, nil
	})
	if err != nil {
		result.Ack, result.Claimed = ledger.Ack{}, false
		return result, j.settled(ctx, key, err)
	}
	return result, nil
}

// settled returns nil for a claim that was refused because another process of
// this machine made it with the same key meanwhile.
func (j *join) settled(ctx context.Context, key signer.Key, err error) error {
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && (r.Class == ledger.Refused || r.Class == ledger.Conflict) {
		if g, failed := j.registry(ctx); failed == nil {
			if open, failed := j.invited(g, key.Public()); failed == nil && !open {
				return nil
			}
		}
		err = withHint(err, "let an admin invite %s again: deed actor invite", j.token.Actor)
	}
	return err
}

// invited reports whether the invitation is still to be claimed: false when the
// key has claimed it. Everything else is refused.
func (j *join) invited(g *projections.Registry, key signer.PublicKey) (open bool, err error) {
	a, name := g.Actor(j.token.Actor), j.token.Actor
	again := func(code ledger.Code, rule, format string, args ...any) error {
		return withHint(refuse(code, rule, format, args...), "let an admin make a new one: deed actor invite")
	}
	switch {
	case a == nil:
		return false, again(ledger.CodeNotFound, "join/invitation", "%q has no invitation", name)
	case a.Revoked != 0:
		return false, again(ledger.CodeRule, "join/revoked", "%s was revoked", name)
	case !key.IsZero() && slices.Contains(a.Keys, key.String()):
		return false, nil
	case a.TokenHash == "":
		return false, again(ledger.CodeRule, "join/used", "the token was used: %s has a key that is not this machine's", name)
	case a.TokenHash != events.Sum([]byte(j.token.Secret)).String():
		return false, again(ledger.CodeRule, "join/replaced", "the token was replaced by another invitation of %s", name)
	}
	return true, nil
}

// keep writes the folder and the context, the last steps.
func (j *join) keep() error {
	if j.away {
		credential := server.Credential{User: j.token.User, Password: j.token.Password}
		if err := server.WriteRemote(j.folder, j.token.URL, credential); err != nil {
			return err
		}
	}
	return saveContext(j.places, ledgerContext{Name: j.o.name, Dir: j.folder.Dir, As: j.token.Actor})
}

// ours refuses to start or stop the service of a joined ledger.
func (s *session) ours(f *server.Folder) error {
	url, joined, err := f.Remote()
	if joined {
		return fmt.Errorf("ledger %s: %w, at %s", f.Ledger, server.ErrRemote, url)
	}
	return err
}

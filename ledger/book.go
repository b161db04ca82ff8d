package ledger

import (
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
)

// Book is a ledger's whole state at a position: what its events mean, whose
// keys are valid, the Merkle tree over them, and where each event is. It is
// built by applying records one by one, at start as in operation. A Book is
// not safe for concurrent use.
type Book struct {
	State *projections.Ledger
	Keys  *signer.Keyring
	Tree  *evidence.Tree

	rules  *Rules
	stream string
	ids    map[string]place           // by event id
	last   map[string]events.Position // last position by subject
}

// place is where an event is, and which one it is.
type place struct {
	position events.Position
	hash     events.Hash
}

// NewBook returns the book of a ledger before its genesis.
func NewBook(name string) *Book {
	return &Book{
		State: projections.NewLedger(name), Keys: new(signer.Keyring), Tree: new(evidence.Tree),
		rules: NewRules(), stream: journal.StreamName(name), ids: map[string]place{}, last: map[string]events.Position{},
	}
}

// Next returns the position of the next event.
func (b *Book) Next() events.Position { return b.State.Position + 1 }

// Find returns the position and hash of an event by id; ok is false when the
// ledger has none.
func (b *Book) Find(id string) (at events.Position, hash events.Hash, ok bool) {
	p, ok := b.ids[id]
	return p.position, p.hash, ok
}

// Expect returns the expectation under which the next message on a subject is
// appended.
func (b *Book) Expect(subject string) journal.Expect {
	return journal.Expect{Last: b.State.Position, SubjectLast: b.last[subject]}
}

// Identity returns the eventhash of the genesis event.
func (b *Book) Identity() (events.Hash, error) { return events.ParseHash(b.State.Registry.Identity) }

// Head returns the head of the whole book, unsigned. ErrNotCreated before
// genesis.
func (b *Book) Head() (evidence.Head, error) {
	identity, err := b.Identity()
	if err != nil {
		return evidence.Head{}, ErrNotCreated
	}
	size, root := b.Tree.Root()
	return evidence.Head{Ledger: b.State.Name, Identity: identity, Size: size, Root: root}, nil
}

// ErrNotCreated says that a ledger has no genesis event.
var ErrNotCreated = errors.New("ledger is not created")

// SourceHead returns the last sequence and hash of a source; the hash is what
// the next event's prevhash must be.
func (b *Book) SourceHead(s events.Source) (uint64, events.Hash) {
	if s.Task == "" {
		h, err := events.ParseHash(b.State.Registry.Head)
		if err != nil {
			return 0, events.Hash{}
		}
		return b.State.Registry.Sequence, h
	}
	t := b.State.Task(s.Task)
	h, _ := events.ParseHash(t.Head)
	return t.Sequence, h
}

// Admitted is a submission whose form and signatures are good; its place and
// its meaning are not yet checked.
type Admitted struct {
	Event   events.Event
	Payload events.Payload
	Signers []signer.KeyID
}

// Admit parses an exported event and verifies its signatures against keys, in
// the order: size, strict form, signature over the bytes, digests, data. It
// needs no book, so that many can be admitted side by side.
func Admit(export []byte, keys *signer.Keyring, at events.Position) (Admitted, error) {
	e, err := events.ParseExport(export)
	if err != nil {
		return Admitted{}, formRefusal(err)
	}
	return admit(e, keys, at)
}

func admit(e events.Event, keys *signer.Keyring, at events.Position) (Admitted, error) {
	p, err := e.Payload()
	if err != nil {
		return Admitted{}, formRefusal(err)
	}
	signers, err := evidence.VerifyEvent(e, lookup(p, keys, at))
	if err != nil {
		return Admitted{}, refuse(CodeSignature, "signature", "%v", err)
	}
	return Admitted{Event: e, Payload: p, Signers: signers}, nil
}

func formRefusal(err error) *Refusal {
	code := CodeForm
	if errors.Is(err, events.ErrTooLarge) {
		code = CodeLimit
	}
	return refuse(code, "profile", "%v", err)
}

// lookup returns the key of a signer: from the keyring, or from the data of
// the three events that introduce keys and are signed by them.
func lookup(p events.Payload, keys *signer.Keyring, at events.Position) func(signer.KeyID) (signer.PublicKey, error) {
	var texts []string
	switch d := p.(type) {
	case *events.Genesis:
		for _, a := range d.Admins {
			texts = append(texts, a.Key)
		}
	case *events.KeyClaim:
		texts = append(texts, d.Key)
	case *events.KeyRotation:
		return introduced([]string{d.Key}, keys.LookupAt(uint64(at)))
	default:
		return keys.LookupAt(uint64(at))
	}
	return introduced(texts, func(signer.KeyID) (signer.PublicKey, error) { return signer.PublicKey{}, signer.ErrUnknownKey })
}

// introduced looks a key up among those that an event introduces, then with
// what knows the others.
func introduced(texts []string, others func(signer.KeyID) (signer.PublicKey, error)) func(signer.KeyID) (signer.PublicKey, error) {
	return func(id signer.KeyID) (signer.PublicKey, error) {
		for _, text := range texts {
			if key, err := signer.ParsePublicKey(text); err == nil && key.ID() == id {
				return key, nil
			}
		}
		return others(id)
	}
}

// Check decides whether an admitted event may take the next position at an
// admission stamp: event id, author's key at this position, chain, meaning.
// The answer is nil, a [*Refusal], or [*Existing].
func (b *Book) Check(a Admitted, admitted int64) error {
	e := a.Event
	if e.Source.Ledger != b.State.Name {
		return refuse(CodeNotFound, "ledger", "this is ledger %s, the event's source is %s", b.State.Name, e.Source)
	}
	if at, hash, ok := b.Find(e.ID); ok {
		if hash == e.Hash() {
			return &Existing{Task: e.Source.Task, EventID: e.ID, Position: at}
		}
		return refuse(CodeRule, "event-id", "another event with id %s is at position %d", e.ID, at)
	}
	if err := b.checkAuthor(a, admitted); err != nil {
		return err
	}
	s := Submission{Event: e, Payload: a.Payload, Signers: make([]string, len(a.Signers)), Position: b.Next(), Admitted: admitted}
	for i, id := range a.Signers {
		s.Signers[i] = string(id)
	}
	if found := existing(b.State, s); found != nil {
		return found
	}
	sequence, head := b.SourceHead(e.Source)
	if e.Sequence != sequence+1 || e.PrevHash != head {
		return &Refusal{Class: Conflict, Code: CodeHead, Rule: "chain",
			Text:     fmt.Sprintf("%s is at sequence %d, head %s: read again and decide again", e.Source, sequence, head),
			Sequence: sequence, Head: head.String()}
	}
	if e.Source.Task == "" {
		return checkRegistry(&b.State.Registry, b.Keys, s)
	}
	if b.State.Registry.Sequence == 0 {
		return refuse(CodeState, "genesis", "the ledger has no genesis event")
	}
	return b.rules.Check(b.State, s)
}

// checkAuthor holds signkeyid against the author's keys at the next position,
// and authtype against the author's kind; nobody signs after the end of an
// actor's time.
func (b *Book) checkAuthor(a Admitted, admitted int64) error {
	var kind events.Kind
	switch d := a.Payload.(type) {
	case *events.Genesis:
		kind = events.KindHuman
	case *events.KeyClaim:
		actor := b.State.Registry.Actor(d.Actor)
		if actor == nil {
			return refuse(CodeNotFound, "key.claimed/invitation", "%q has no open invitation", d.Actor)
		}
		kind = actor.Kind
	default:
		h, err := b.Keys.At(signer.KeyID(a.Event.SignKeyID), uint64(b.Next()))
		if err != nil {
			return refuse(CodeSignature, "key", "key %s: %v", a.Event.SignKeyID, err)
		}
		actor := b.State.Registry.Actor(a.Event.AuthID)
		if h.Actor != a.Event.AuthID || actor == nil {
			return refuse(CodeSignature, "author", "key %s is %s's, not %s's", a.Event.SignKeyID, h.Actor, a.Event.AuthID)
		}
		if expired(actor.ValidUntil, admitted) {
			return refuse(CodeSignature, "expiry", "%s was valid until %s", actor.Name, actor.ValidUntil)
		}
		kind = actor.Kind
	}
	if want := kind.AuthType(); a.Event.AuthType != want {
		return refuse(CodeForm, "authtype", "%s is of kind %s: authtype must be %s", a.Event.AuthID, kind, want)
	}
	return nil
}

// Apply takes one record: it folds it, learns its keys, and adds its leaf. An
// error of the fold blocks that source, and the book goes on; it is returned.
func (b *Book) Apply(r events.Record) error {
	if r.Position != b.Next() {
		return fmt.Errorf("apply to book: %w: position %d after %d", projections.ErrGap, r.Position, b.State.Position)
	}
	if r.Admitted < b.State.Admitted {
		return fmt.Errorf("apply to book: %w: admission stamp %d after %d", projections.ErrChain, r.Admitted, b.State.Admitted)
	}
	fold := b.State.Apply(r)
	if err := b.Tree.Append(evidence.NewLeaf(r)); err != nil {
		return fmt.Errorf("apply to book: %w", err)
	}
	b.ids[r.Event.ID] = place{position: r.Position, hash: r.Event.Hash()}
	b.last[r.Event.Source.Subject()] = r.Position
	if fold != nil {
		return fold
	}
	if err := b.learn(r); err != nil {
		return fmt.Errorf("apply position %d to keyring: %w", r.Position, err)
	}
	return nil
}

// learn drives the keyring by registry events.
func (b *Book) learn(r events.Record) error {
	if r.Event.Source.Task != "" {
		return nil
	}
	p, err := r.Event.Payload()
	if err != nil {
		return err
	}
	grant := func(text, actor string) error {
		key, err := signer.ParsePublicKey(text)
		if err != nil {
			return err
		}
		return b.Keys.Grant(key, actor, uint64(r.Position))
	}
	switch d := p.(type) {
	case *events.Genesis:
		for _, a := range d.Admins {
			if err := grant(a.Key, a.Actor); err != nil {
				return err
			}
		}
		return grant(d.Service.Key, d.Service.Actor)
	case *events.KeyClaim:
		return grant(d.Key, d.Actor)
	case *events.Revocation:
		if len(b.Keys.Keys(d.Actor)) == 0 {
			return nil // an invitation was withdrawn; the registry refuses its claim
		}
		return b.Keys.Revoke(d.Actor, uint64(r.Position))
	case *events.KeyRotation:
		key, err := signer.ParsePublicKey(d.Key)
		if err != nil {
			return err
		}
		return b.Keys.Rotate(signer.KeyID(d.Old), key, uint64(r.Position))
	case *events.KeyCompromise:
		return b.Keys.End(signer.KeyID(d.Key), uint64(r.Position))
	}
	return nil
}

// Take verifies one stored message completely and applies it: exact headers,
// signature, author, chain and rules at its position. It is what start-up,
// catch-up and audit do with every message. An error names what was wrong and
// leaves the book as it was.
func (b *Book) Take(stored journal.Record) (events.Record, error) {
	if stored.Position != b.Next() {
		return events.Record{}, fmt.Errorf("take position %d: %w: expected %d", stored.Position, projections.ErrGap, b.Next())
	}
	r, err := evidence.OpenRecord(stored, b.last[stored.Subject], b.stream)
	if err != nil {
		return events.Record{}, err
	}
	a, err := admit(r.Event, b.Keys, r.Position)
	if err != nil {
		return events.Record{}, fmt.Errorf("take position %d: %w", r.Position, err)
	}
	if r.Admitted < b.State.Admitted {
		return events.Record{}, fmt.Errorf("take position %d: %w: admission stamp goes back", r.Position, projections.ErrChain)
	}
	if err := b.Check(a, r.Admitted); err != nil {
		return events.Record{}, fmt.Errorf("take position %d: %w", r.Position, err)
	}
	return r, b.Apply(r)
}

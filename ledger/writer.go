package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/signer"
)

// Config is what a Writer needs. Every field is required unless it says so.
type Config struct {
	// Ledger is the ledger's name.
	Ledger  string
	Journal journal.Journal
	// Service signs heads and the service's own events; it must be the key
	// that genesis names.
	Service signer.Key
	// Now is the clock; NewID returns a new UUIDv7.
	Now   func() time.Time
	NewID func() string
	// Retain is called with every signed head before the events under it are
	// acknowledged. Optional.
	Retain func(head evidence.Head, text []byte) error
	// Retained are heads that were kept earlier, in rising size: history must
	// contain each. Optional.
	Retained []evidence.Head
	// Shared says that other writers of the ledger may exist. Such a writer
	// orders nothing before [Writer.Lead], and nothing more once it met an
	// event of another one or May, which is asked before each append, says no.
	Shared bool
	May    func() bool
	// Sweep is how often leases are looked at. Default one second.
	Sweep time.Duration
	// Log is for the operators. Default: nothing is logged.
	Log *slog.Logger
}

// Ack says that an event is in the ledger, durably.
type Ack struct {
	EventID  string          `json:"eventId"`
	Hash     string          `json:"hash"`
	Position events.Position `json:"position"`
	Admitted int64           `json:"admitted,string"`
	// Existing says that nothing was written: the event, or the effect that
	// an intent repeats, was there already.
	Existing bool `json:"existing,omitzero"`
	// DryRun says that nothing was written: the event would be accepted.
	DryRun bool   `json:"dryRun,omitzero"`
	Rule   string `json:"rule"` // the row or rule that allows it
	// Head is a signed head that covers the event.
	Head string `json:"head,omitzero"`
	// Consistency leads from the head that the client knew to Head.
	Consistency []events.Hash `json:"-"`
}

// Request is one submission.
type Request struct {
	// Export is the signed event in its exported form.
	Export []byte
	// Known is the size of the newest head that the client has seen, 0 = none.
	Known uint64
	// DryRun asks for full admission without writing.
	DryRun bool
}

// Writer is the one goroutine that orders a ledger's events. Other goroutines
// submit to it and read its state.
type Writer struct {
	cfg  Config
	keys atomic.Pointer[signer.Keyring] // a clone that nobody changes

	mu     sync.RWMutex // guards what is below; written by the writer goroutine only
	book   *Book
	leases leases
	// leading says that events are ordered here; always true unless shared.
	leading bool
	// unsettled is the newest event of which nobody could say whether it was
	// appended; foreign, that an event of another writer was met while leading.
	unsettled events.Hash
	foreign   bool
	// expiry is when the next actor's time is over, ns; 0 = never.
	expiry int64
	// reminded is when deadlines were looked at last, ns.
	reminded int64
	// broken says why nothing more is ordered: corrupt for good, unavailable
	// until the journal can be read again.
	broken error
	// moved is closed when the book moves on; nil while nobody waits for that.
	moved chan struct{}

	queue chan *pending
	calls chan call
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
}

// pending is a submission on its way.
type pending struct {
	ctx   context.Context
	admit Admitted
	known uint64
	reply chan answer // buffered, one answer
	// renew marks a heartbeat instead of an event.
	renew *Heartbeat
}

type answer struct {
	ack Ack
	err error
}

// Open folds the journal from its start, verifying everything, and starts the
// writer. It returns a corrupt [*Refusal] for damaged history, and
// ErrNotCreated for an empty journal: see [Create].
func Open(ctx context.Context, cfg Config) (*Writer, error) {
	if cfg.Sweep == 0 {
		cfg.Sweep = time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	w := &Writer{
		cfg: cfg, book: NewBook(cfg.Ledger), leases: leases{deadlines: map[string]deadline{}},
		leading: !cfg.Shared, queue: make(chan *pending, 4*maxGroup), calls: make(chan call), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := w.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", cfg.Ledger, err)
	}
	if w.book.State.Registry.Sequence == 0 {
		return nil, fmt.Errorf("open ledger %s: %w", cfg.Ledger, ErrNotCreated)
	}
	if err := w.checkService(); err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", cfg.Ledger, err)
	}
	go w.run()
	return w, nil
}

// checkService holds the service key and the retained heads against history.
func (w *Writer) checkService() error {
	want := w.book.State.Registry.Genesis.Service.Key
	if got := w.cfg.Service.Public().String(); got != want {
		return refuse(CodeSignature, "service-key", "the ledger's service key is not the one given")
	}
	identity, err := w.book.Identity()
	if err != nil {
		return err
	}
	for _, h := range w.cfg.Retained {
		if h.Ledger != w.cfg.Ledger || h.Identity != identity {
			return damage("retained-head", "a retained head is of another ledger: %s", h.Origin())
		}
		if root, err := w.book.Tree.RootAt(h.Size); err != nil || root != h.Root {
			return damage("retained-head", "history does not contain the head of size %d that was signed before: it was rolled back or changed", h.Size)
		}
	}
	return nil
}

func damage(rule, format string, args ...any) *Refusal {
	return &Refusal{Class: Corrupt, Code: CodeDamage, Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// catchUp takes every message that the book does not have yet. Start-up and
// the way back from an unknown append are this one function.
func (w *Writer) catchUp(ctx context.Context) error {
	now := w.cfg.Now()
	err := w.cfg.Journal.Replay(ctx, w.book.Next(), func(stored journal.Record) error {
		r, err := w.book.Take(stored)
		if err != nil {
			return damage("history", "%v", err)
		}
		w.foreign = w.foreign || w.leading && r.Event.Hash() != w.unsettled
		w.applied(r, now)
		return nil
	})
	if errors.Is(err, journal.ErrCorrupt) {
		return damage("journal", "%v", err)
	}
	return err
}

// applied keeps what is derived from the book in line with it.
func (w *Writer) applied(r events.Record, now time.Time) {
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
	if r.Event.Source.Task == "" {
		w.keys.Store(w.book.Keys.Clone())
		w.unseated()
		return
	}
	t := w.book.State.Tasks[r.Event.Source.Task]
	holder := t.Lease != nil && r.Event.Fence == t.Lease.Fence && r.Event.AuthID == t.Lease.Actor
	w.leases.follow(t, holder, now)
}

// Submit admits an event, waits for its turn, and returns once it is durable.
// Any other answer is a [*Refusal]: refused and conflict wrote nothing;
// unknown, also when ctx ends too early, means that the event may be in the
// ledger: ask [Writer.Find] before anything else.
func (w *Writer) Submit(ctx context.Context, req Request) (Ack, error) {
	if err := w.behind(ctx, req.Known); err != nil {
		return Ack{}, err
	}
	admit, err := Admit(req.Export, w.keys.Load(), maxPosition)
	if err != nil {
		return w.resubmitted(req, err)
	}
	if r := RefuseSecrets(admit.Event.Type, admit.Event.Data); r != nil {
		return w.resubmitted(req, r)
	}
	if req.DryRun {
		return w.dryRun(admit)
	}
	p := &pending{ctx: ctx, admit: admit, known: req.Known, reply: make(chan answer, 1)}
	return w.enqueue(p)
}

// RuleRollback refuses an event whose author has seen a longer history.
const RuleRollback = "rollback"

// behind refuses an event whose author has seen a longer history than this
// one. It would be the first event of a fork, and its author would hear of the
// rollback only after it. The word of one client stops nobody else.
func (w *Writer) behind(ctx context.Context, known uint64) error {
	size := w.size()
	if known > size && w.cfg.Shared { // another writer may have gone on
		if err := w.call(ctx, func() error { return w.advance(ctx) }); err != nil {
			return AsRefusal(err)
		}
		size = w.size()
	}
	if known <= size {
		return nil
	}
	return &Refusal{Class: Corrupt, Code: CodeDamage, Rule: RuleRollback,
		Text: fmt.Sprintf("a head of size %d is known, and this history ends at %d: it was taken back; nothing was written", known, size)}
}

func (w *Writer) size() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.book.Tree.Size()
}

// resubmitted answers for an event that is not admitted now. It may be in the
// ledger all the same: its author was revoked after it, and whoever was told
// "unknown" must not hear "refused" when asking again.
func (w *Writer) resubmitted(req Request, refused error) (Ack, error) {
	e, err := events.ParseExport(req.Export)
	if err != nil {
		return Ack{}, refused
	}
	w.mu.RLock()
	at, hash, ok := w.book.Find(e.ID)
	broken := w.broken
	w.mu.RUnlock()
	if !ok || hash != e.Hash() {
		return Ack{}, refused
	}
	if broken != nil {
		return Ack{}, broken
	}
	text, consistency, err := w.Head(req.Known)
	if err != nil {
		return Ack{}, unknown(err.Error())
	}
	return Ack{
		EventID: e.ID, Hash: hash.String(), Position: at, Existing: true, DryRun: req.DryRun, Rule: "event-id",
		Head: string(text), Consistency: consistency,
	}, nil
}

// maxPosition asks the keyring for keys as they are known now; the key's
// validity is checked again when the event's position is known.
const maxPosition = events.Position(1<<63 - 1)

func (w *Writer) enqueue(p *pending) (Ack, error) {
	select {
	case w.queue <- p:
	case <-w.done:
		return Ack{}, closed()
	case <-p.ctx.Done():
		return Ack{}, &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "service", Text: "not taken in time; nothing was written"}
	}
	select {
	case a := <-p.reply:
		return a.ack, a.err
	case <-w.done:
		select {
		case a := <-p.reply:
			return a.ack, a.err
		default:
			return Ack{}, unknown("the service stopped before it answered")
		}
	case <-p.ctx.Done():
		return Ack{}, unknown("no answer in time")
	}
}

func closed() *Refusal {
	return &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "service", Text: "the service is stopping; nothing was written"}
}

func unknown(why string) *Refusal {
	return &Refusal{Class: Unknown, Code: CodeBusy, Rule: "service", Text: why + ": the event may be in the ledger; look for its id first"}
}

func (w *Writer) dryRun(a Admitted) (Ack, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.broken != nil {
		return Ack{}, w.broken
	}
	if w.leases.expired(a.Event.Source.Task, w.cfg.Now()) {
		sequence, head := w.book.SourceHead(a.Event.Source)
		return Ack{}, &Refusal{Class: Conflict, Code: CodeHead, Rule: "lease", Text: "the task's lease ran out and is interrupted first", Sequence: sequence, Head: head.String()}
	}
	admitted := w.stamp()
	ack := Ack{EventID: a.Event.ID, Hash: a.Event.Hash().String(), Admitted: admitted, DryRun: true, Rule: w.ruleName(a)}
	err := w.book.Check(a, admitted)
	if found, ok := errors.AsType[*Existing](err); ok {
		ack.Existing, ack.EventID, ack.Position = true, found.EventID, found.Position
		return ack, nil
	}
	return ack, err
}

func (w *Writer) ruleName(a Admitted) string {
	if row := w.book.rules.Row(a.Payload); row != nil {
		return row.Name()
	}
	return a.Event.Type.Short()
}

// View calls read with the book. It must not keep anything of it.
func (w *Writer) View(read func(*Book)) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	read(w.book)
}

// Broken returns why the writer orders nothing more, nil while it works.
func (w *Writer) Broken() error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.broken
}

// Close stops the writer after the group that it works on. Submissions that
// were not ordered are refused.
func (w *Writer) Close() {
	w.once.Do(func() { close(w.stop) })
	<-w.done
}

// run is the writer goroutine: groups of submissions, and leases.
func (w *Writer) run() {
	defer close(w.done)
	sweep := time.NewTicker(w.cfg.Sweep)
	defer sweep.Stop()
	w.sweepOrphans()
	for {
		select {
		case <-w.stop:
			w.refuseQueued()
			return
		case <-sweep.C:
			w.sweep()
		case c := <-w.calls:
			c.done <- c.do()
		case p := <-w.queue:
			w.group(p)
		}
	}
}

func (w *Writer) refuseQueued() {
	for {
		select {
		case p := <-w.queue:
			p.reply <- answer{err: closed()}
		default:
			return
		}
	}
}

func (w *Writer) consistency(known uint64) []events.Hash {
	size := w.book.Tree.Size()
	if known == 0 || known > size {
		return nil
	}
	proof, err := w.book.Tree.ConsistencyProof(known, size)
	if err != nil {
		return nil
	}
	return proof
}

// Head returns a signed head of everything that is in the ledger, and what
// leads to it from a head of a size that the caller knows; 0 = none.
func (w *Writer) Head(known uint64) (text []byte, consistency []events.Hash, err error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	head, err := w.book.Head()
	if err != nil {
		return nil, nil, err
	}
	text, err = evidence.SignHead(head, w.cfg.Service)
	return text, w.consistency(known), err
}

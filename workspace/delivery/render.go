package delivery

import (
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// File is one file of the protocol.
type File struct {
	Path string // in the repository, slash-separated
	Text []byte
	// Position is that of the last event that the file says something of.
	Position events.Position
}

// ErrNoTask says that a ledger's records have no event of a task.
var ErrNoTask = errors.New("no event of the task")

// Render returns the files of a task, sorted by path, from all records of a ledger in order. Errors: [ErrNoTask], or those of the fold,
// but not that the task's own fold is blocked: its files are as they were before.
func Render(ledger, task string, records []events.Record) ([]File, error) {
	l := projections.NewLedger(ledger)
	h := history{task: task, moved: map[string]events.Position{}, seen: map[string]string{}}
	for _, r := range records {
		if err := l.Apply(r); err != nil && l.Position != r.Position {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		mine := r.Event.Source.Task == task
		if t := l.Tasks[task]; t != nil && t.Sequence > 0 && (mine || r.Event.Source.Task == "") {
			if err := h.see(t, r, mine); err != nil {
				return nil, err
			}
		}
	}
	if h.state == nil {
		return nil, fmt.Errorf("%w %s", ErrNoTask, task)
	}
	return h.files()
}

// history is what the files of a task are made of, in order of the ledger.
type history struct {
	task  string
	state *projections.Task
	// attempts are the attempts in order; the newest one is the state's.
	attempts []*attempt
	receipts []numbered
	// moved says when a file last changed, seen how it was then.
	moved map[string]events.Position
	seen  map[string]string
}

// attempt is what happened under one attempt.
type attempt struct {
	opened  events.Record
	data    events.Attempt // as it was opened
	now     projections.Attempt
	status  Attempt
	plan    *events.Record
	results []events.Record
}

// numbered is a receipt's place in its attempt.
type numbered struct {
	event   events.Record
	attempt string
	n       int
}

func (h *history) see(t *projections.Task, r events.Record, mine bool) error {
	h.state = t
	if mine && t.Blocked == nil {
		if err := h.take(r); err != nil {
			return err
		}
	}
	for i := range t.Contracts {
		c := &t.Contracts[i]
		h.changed(contractPath(h.task, c.Contract.Version), fmt.Sprint(c.Accepted), r)
	}
	for i := range t.Receipts {
		h.changed(t.Receipts[i].EventID, t.Receipts[i].Void, r)
	}
	if len(h.attempts) == 0 || len(t.Attempts) == 0 {
		return nil
	}
	a := h.attempts[len(h.attempts)-1]
	if newest := t.Attempts[len(t.Attempts)-1]; newest.ID == a.opened.Event.Subject {
		a.now = newest
		a.status.Verification, a.status.Delivery, a.status.State = t.Verification(), t.DeliveryStatus(), string(t.State)
	}
	h.changed(attemptPath(attemptsDir, h.task, a.now.ID), fmt.Sprint(a.status, len(a.results), a.now.Snapshot), r)
	approvals := ""
	for _, v := range t.Approvals {
		approvals += v.EventID + v.Void + " "
	}
	h.changed(attemptPath(approvalsDir, h.task, a.now.ID), fmt.Sprint(approvals, t.Delivery != nil), r)
	h.changed(attemptPath(recoveryDir, h.task, a.now.ID), fmt.Sprint(len(t.Decisions)), r)
	return nil
}

// changed notes the record at which what a file says changed.
func (h *history) changed(name, text string, r events.Record) {
	if before, ok := h.seen[name]; !ok || before != text {
		h.seen[name], h.moved[name] = text, r.Position
	}
}

// take keeps the records that become files of their own.
func (h *history) take(r events.Record) error {
	var newest *attempt
	if n := len(h.attempts); n > 0 {
		newest = h.attempts[n-1]
	}
	switch r.Event.Type {
	case events.AttemptOpened:
		p, err := r.Event.Payload()
		if err != nil {
			return fmt.Errorf("read position %d: %w", r.Position, err)
		}
		h.attempts = append(h.attempts, &attempt{opened: r, data: *p.(*events.Attempt)})
	case events.PlanRecorded:
		if newest != nil {
			newest.plan = &r
		}
	case events.ResultRecorded:
		if newest != nil {
			newest.results = append(newest.results, r)
		}
	case events.ReceiptRecorded:
		n := 1
		for _, before := range h.receipts {
			if before.attempt == r.Event.Subject {
				n++
			}
		}
		h.receipts = append(h.receipts, numbered{r, r.Event.Subject, n})
	}
	return nil
}

// origin says where a file comes from: the event that it is about, and when what it says last changed.
func (h *history) origin(kind string, s projections.Signed, position events.Position) *Origin {
	return &Origin{
		Schema: schemaURN(kind), Ledger: h.state.Ledger, Position: max(position, s.Position), Event: s.EventID, Hash: s.Hash, Actor: s.Actor, Admitted: events.FormatStamp(s.Admitted),
	}
}

// schemaURN names the published schema of a kind of file.
func schemaURN(kind string) string { return "urn:deed:file:delivery." + kind + ":v1" }

func signed(r events.Record) projections.Signed {
	return projections.Signed{EventID: r.Event.ID, Hash: r.Event.Hash().String(), Position: r.Position, Actor: r.Event.AuthID, Admitted: r.Admitted}
}

// printer collects files and the first error.
type printer struct {
	list []File
	err  error
}

func (p *printer) json(name string, position events.Position, v any) {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.FormatNilSliceAsNull(false), json.Deterministic(true))
	p.err = errors.Join(p.err, err)
	p.list = append(p.list, File{name, append(text, '\n'), position})
}

func (p *printer) yaml(name string, position events.Position, v any) {
	text, err := yaml.Dump(v)
	p.err = errors.Join(p.err, err)
	p.list = append(p.list, File{name, text, position})
}

func (h *history) files() ([]File, error) {
	var p printer
	for i := range h.state.Contracts {
		h.contract(&p, &h.state.Contracts[i])
	}
	for _, a := range h.attempts {
		h.attempt(&p, a)
	}
	for _, r := range h.receipts {
		h.receipt(&p, r)
	}
	slices.SortFunc(p.list, func(a, b File) int { return compare(a.Path, b.Path) })
	return p.list, p.err
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// shownPath is a path as git prints it, where that is text; else it stays encoded.
func shownPath(encoded string) string {
	raw, err := boundary.DecodePath(encoded)
	if err != nil || boundary.EncodePath(raw) != encoded {
		return encoded
	}
	return raw
}

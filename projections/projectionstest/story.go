// Package projectionstest builds histories for tests: well-formed records with
// the right sequence and previous hash, the same bytes on every run. Their
// envelopes are no signatures.
//
//	story := projectionstest.New("acme")
//	story.Genesis()
//	task := story.Task("TASK-1")
//	task.Propose()
//	task.Accept()
//
// Data that a type refuses, and a record that a fold refuses, panic: the
// author of the story has made a mistake. [Story.Draft] makes a record without
// folding it.
package projectionstest

import (
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Step is the time between two admissions, in ns.
const Step = 1_000_000_000

// Start is the admission stamp of position 0, in ns.
const Start = 1_796_040_000 * 1_000_000_000

// Story is a history under construction and its fold.
type Story struct {
	Ledger  *projections.Ledger
	Records []events.Record
	// Time is the time attribute of the next event: a claim, which orders
	// nothing.
	Time string
	ids  int
}

// New returns a story of an empty ledger.
func New(ledger string) *Story {
	return &Story{Ledger: projections.NewLedger(ledger), Time: "2026-11-30T12:00:00Z"}
}

// Draft is what an event says, before it has a place.
type Draft struct {
	Task    string // empty: the registry
	Actor   string
	Subject string
	Fence   uint64
	Payload events.Payload
}

// Draft returns the record that would come next, without adding it.
func (s *Story) Draft(d Draft) events.Record {
	data, err := events.EncodeData(d.Payload)
	if err != nil {
		panic(fmt.Sprintf("projectionstest: %v", err))
	}
	s.ids++
	e := events.Event{
		ID: id(s.ids), Source: events.Source{Ledger: s.Ledger.Name, Task: d.Task}, Type: d.Payload.Type(),
		Subject: d.Subject, Time: s.Time, Fence: d.Fence, AuthType: "service_account", AuthID: d.Actor,
		SignKeyID: "SHA256:" + d.Actor, Data: data, Envelope: []byte(`{"payloadType":"test"}`),
	}
	e.Sequence, e.PrevHash = s.place(d.Task)
	position := s.Ledger.Position + 1
	return events.Record{Position: position, Admitted: Start + int64(position)*Step, Event: e}
}

// place returns the sequence and previous hash of a source's next event.
func (s *Story) place(task string) (uint64, events.Hash) {
	sequence, head := s.Ledger.Registry.Sequence, s.Ledger.Registry.Head
	if task != "" {
		t := s.Ledger.Task(task)
		sequence, head = t.Sequence, t.Head
	}
	if head == "" {
		return sequence + 1, events.Hash{}
	}
	h, err := events.ParseHash(head)
	if err != nil {
		panic(fmt.Sprintf("projectionstest: %v", err))
	}
	return sequence + 1, h
}

// Add appends a record to the story and folds it.
func (s *Story) Add(r events.Record) error {
	s.Records = append(s.Records, r)
	return s.Ledger.Apply(r)
}

// Do appends what d says and folds it.
func (s *Story) Do(d Draft) events.Record {
	r := s.Draft(d)
	if err := s.Add(r); err != nil {
		panic(fmt.Sprintf("projectionstest: %v", err))
	}
	return r
}

// id returns the n-th event id, a UUIDv7.
func id(n int) string { return fmt.Sprintf("01890a5d-ac96-774b-bcce-%012x", n) }

// Digest returns the SHA-256 of a label, as text: any digest that a test needs.
func Digest(label string) string { return events.Sum([]byte(label)).String() }

// Object returns a git object id that belongs to a label.
func Object(label string) string { return Digest(label)[:40] }

// Cast is who plays in a story: the actors that Genesis invites, and the roles
// that they hold.
func Cast() map[string][]events.Role {
	return map[string][]events.Role{
		"impl-a": {events.RoleImplementer}, "impl-b": {events.RoleImplementer}, "ci": {events.RoleVerifier},
		"carl": {events.RoleController}, "rita": {events.RoleReviewer}, "rob": {events.RoleReviewer},
		"olga": {events.RoleOperator}, "audrey": {events.RoleAuditor},
	}
}

// Founder is the admin and owner of every story.
const Founder = "ann"

// Genesis founds the ledger and lets the cast claim their keys. A mod may
// change the genesis data.
func (s *Story) Genesis(mods ...func(*events.Genesis)) {
	g := &events.Genesis{
		Name: s.Ledger.Name, Rules: 1, Profile: "separate", Threshold: 1, Policy: "policy",
		Admins:  []events.Admin{{Actor: Founder, Principal: "ann", Key: "key-ann", Roles: []events.Role{events.RoleAdmin, events.RoleOwner}}},
		Service: events.ServiceKey{Actor: "service", Key: "key-service"},
	}
	modify(g, mods)
	s.Do(Draft{Actor: Founder, Payload: g})
	for _, name := range []string{"audrey", "carl", "ci", "impl-a", "impl-b", "olga", "rita", "rob"} {
		kind := events.KindAgent
		switch name {
		case "rita", "rob", "olga", "audrey":
			kind = events.KindHuman
		case "ci":
			kind = events.KindCI
		}
		s.Do(Draft{Actor: Founder, Payload: &events.Invitation{
			Actor: name, Kind: kind, Principal: "of-" + name, Roles: Cast()[name],
			GitIdentities: []string{name + "@example.org"}, TokenHash: Digest("token-" + name),
		}})
		s.Do(Draft{Actor: name, Payload: &events.KeyClaim{Actor: name, Key: "key-" + name, Token: "token-" + name}})
	}
}

// modify applies mods to v in order.
func modify[T any](v *T, mods []func(*T)) {
	for _, m := range mods {
		m(v)
	}
}

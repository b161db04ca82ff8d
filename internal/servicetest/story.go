package servicetest

import (
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/signer"
	"github.com/google/uuid"
)

// Story is a history whose events are really signed. It folds what it says, so
// that the next event can be decided on; a service need not run for that. It
// belongs to one goroutine.
type Story struct {
	told *projectionstest.Story
	keys map[string]signer.Key
	// Said are the signed events after genesis, in order.
	Said []events.Event
}

func newStory() *Story {
	s := &Story{told: projectionstest.New(Name), keys: map[string]signer.Key{projectionstest.Founder: newKey()}}
	for name := range projectionstest.Cast() {
		s.keys[name] = newKey()
	}
	return s
}

// kinds says what an actor of the cast is.
func kind(actor string) events.Kind {
	switch actor {
	case projectionstest.Founder, "rita", "rob", "olga", "audrey":
		return events.KindHuman
	case "ci":
		return events.KindCI
	}
	return events.KindAgent
}

// Key returns an actor's key.
func (s *Story) Key(actor string) signer.Key { return s.keys[actor] }

// Task returns a task of the story: its state, and the data that it wants.
func (s *Story) Task(id string) *projectionstest.Task { return s.told.Task(id) }

// genesis founds the ledger; see server.Create.
func (s *Story) genesis(service signer.PublicKey) (events.Event, error) {
	g := &events.Genesis{
		Name: Name, Rules: events.Rules, Profile: "separate", Threshold: 1, Policy: "policy",
		Admins: []events.Admin{{Actor: projectionstest.Founder, Principal: projectionstest.Founder,
			Key: s.Key(projectionstest.Founder).Public().String(), Roles: []events.Role{events.RoleAdmin, events.RoleOwner}}},
		Service: events.ServiceKey{Actor: "service", Key: service.String()},
	}
	return s.sign(s.told.Draft(projectionstest.Draft{Actor: projectionstest.Founder, Payload: g})), nil
}

// Enroll invites the actor and claims its key, two events.
func (s *Story) Enroll(actor string) {
	token := "token-of-" + actor
	for _, d := range []projectionstest.Draft{
		{Actor: projectionstest.Founder, Payload: &events.Invitation{
			Actor: actor, Kind: kind(actor), Principal: "of-" + actor, Roles: projectionstest.Cast()[actor],
			GitIdentities: []string{actor + "@example.org"}, TokenHash: events.Sum([]byte(token)).String(),
		}},
		{Actor: actor, Payload: &events.KeyClaim{Actor: actor, Key: s.Key(actor).Public().String(), Token: token}},
	} {
		s.Said = append(s.Said, s.sign(s.told.Draft(d)))
	}
}

// Do adds what an actor says about a task.
func (s *Story) Do(task, actor string, p events.Payload) events.Event {
	e := s.sign(s.Task(task).Draft(actor, p))
	s.Said = append(s.Said, e)
	return e
}

// Sealed returns what an actor would say about a task, signed, and does not add
// it.
func (s *Story) Sealed(task, actor string, p events.Payload) (events.Event, error) {
	e := s.Task(task).Draft(actor, p).Event
	e.AuthType, e.SignKeyID = kind(actor).AuthType(), ""
	return evidence.Seal(e, s.Key(actor))
}

// sign makes a drafted record a signed one and folds it.
func (s *Story) sign(r events.Record) events.Event {
	r.Event.AuthType, r.Event.SignKeyID = kind(r.Event.AuthID).AuthType(), ""
	e, err := evidence.Seal(r.Event, s.Key(r.Event.AuthID))
	if err != nil {
		panic("servicetest: " + err.Error())
	}
	r.Event = e
	if err := s.told.Add(r); err != nil {
		panic("servicetest: " + err.Error())
	}
	return e
}

// Chain makes events of one task that nobody else writes to: a contract
// proposed by the founder, then findings. It keeps no state but the last
// event's hash, and belongs to one goroutine.
type Chain struct {
	source   events.Source
	key      signer.Key
	sequence uint64
	head     events.Hash
}

// Chain returns a chain of the task, at its beginning.
func (l *Ledger) Chain(task string) (*Chain, error) {
	identity, err := events.ParseHash(l.Folder.Identity)
	if err != nil {
		return nil, fmt.Errorf("begin chain: %w", err)
	}
	return &Chain{source: events.Source{Ledger: Name, Task: task}, key: l.Story.Key(projectionstest.Founder), head: identity}, nil
}

// Next returns the next event, signed. Until [Chain.Took] the next one is
// another event at the same place.
func (c *Chain) Next() (events.Event, error) {
	var p events.Payload = &events.Finding{Severity: "hint", Rule: "claim-without-proof", Text: fmt.Sprintf("the claim of step %d names no check", c.sequence)}
	if c.sequence == 0 {
		p = projectionstest.Contract(1)
	}
	data, err := events.EncodeData(p)
	if err != nil {
		return events.Event{}, err
	}
	return evidence.Seal(events.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Source: c.source, Type: p.Type(), Time: "2026-11-30T12:00:00Z",
		Sequence: c.sequence + 1, PrevHash: c.head, AuthType: events.KindHuman.AuthType(), AuthID: projectionstest.Founder, Data: data,
	}, c.key)
}

// Took says that the ledger has the event.
func (c *Chain) Took(e events.Event) { c.sequence, c.head = e.Sequence, e.Hash() }

// Length returns how many events the chain has.
func (c *Chain) Length() uint64 { return c.sequence }

// Package ledgertest builds real ledgers for tests and benchmarks: actors with
// Ed25519 keys, events that they signed, a writer over any journal, and the
// story of tasks from contract to delivery. Keys and ids are the same on every
// run.
//
//	house := ledgertest.Found(t, journal)
//	house.Play(ledgertest.Delivery("TASK-1"))
//	house.Audit()
//
// [Cast] alone needs no writer: whoever has a folded state can sign the next
// event with it and submit it elsewhere.
package ledgertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/signer"
)

// The actors. The founder is admin and owner; each has its own principal.
const (
	Founder    = projectionstest.Founder
	ImplA      = "impl-a"
	ImplB      = "impl-b"
	Verifier   = "ci"
	Controller = "carl"
	Reviewer   = "rita"
	Operator   = "olga"
	Auditor    = "audrey"
	Service    = "service"
)

// Invited returns the actors that Found invites, sorted.
func Invited() []string { return slices.Sorted(maps.Keys(projectionstest.Cast())) }

// KindOf returns the kind of an actor of the cast.
func KindOf(actor string) events.Kind {
	switch actor {
	case Service:
		return events.KindService
	case Verifier:
		return events.KindCI
	case Founder, Reviewer, Operator, Auditor, "rob":
		return events.KindHuman
	}
	return events.KindAgent
}

// Cast signs for the actors of one ledger. It may be used by several
// goroutines.
type Cast struct {
	Ledger string
	// Now gives the time attribute of events: a claim, which orders nothing.
	Now func() time.Time

	rules *ledger.Rules
	ids   atomic.Uint64
	keys  sync.Map // signer.Key by actor: making one costs as much as signing
}

// NewCast returns the cast of a ledger.
func NewCast(name string, now func() time.Time) *Cast {
	return &Cast{Ledger: name, Now: now, rules: ledger.NewRules()}
}

// Key returns an actor's key: any name has one, made from the name alone.
func Key(actor string) signer.Key {
	seed := events.Sum([]byte("ledgertest " + actor))
	key, err := signer.GenerateKey(bytes.NewReader(seed[:]))
	if err != nil {
		panic("ledgertest: " + err.Error())
	}
	return key
}

// NewID returns the next event id, a UUIDv7.
func (c *Cast) NewID() string {
	return fmt.Sprintf("01890a5d-ac96-774b-bcce-%012x", c.ids.Add(1))
}

// Draft returns the event that an actor would append next to a task, or to the
// registry where task is empty: at the source's head, about the open attempt,
// with a fence where the actor acts by its lease. It is not signed. Data that
// a type refuses panics.
func (c *Cast) Draft(l *projections.Ledger, task, actor string, p events.Payload) events.Event {
	data, err := events.EncodeData(p)
	if err != nil {
		panic("ledgertest: " + err.Error())
	}
	e := events.Event{
		ID: c.NewID(), Source: events.Source{Ledger: c.Ledger, Task: task}, Type: p.Type(), Time: events.FormatTime(c.Now()),
		AuthType: KindOf(actor).AuthType(), AuthID: actor, SignKeyID: string(c.Key(actor).ID()), Data: data,
	}
	if task == "" {
		e.Sequence, e.PrevHash = l.Registry.Sequence+1, hash(l.Registry.Head)
		return e
	}
	t := l.Task(task)
	e.Sequence, e.PrevHash = t.Sequence+1, hash(t.Head)
	e.Subject, e.Fence = subject(t, p), c.fence(t, actor, p)
	return e
}

// Sign is Draft, signed by the actor; a rotation is signed by both keys.
func (c *Cast) Sign(l *projections.Ledger, task, actor string, p events.Payload) events.Event {
	if _, ok := p.(*events.KeyRotation); ok {
		return seal(c.Draft(l, task, actor, p), c.Key(actor), Key(NextKey(actor)))
	}
	return seal(c.Draft(l, task, actor, p), c.Key(actor))
}

// Key returns the key with which an actor of the cast signs, made once.
func (c *Cast) Key(actor string) signer.Key {
	if key, ok := c.keys.Load(actor); ok {
		return key.(signer.Key)
	}
	key := Key(actor)
	c.keys.Store(actor, key)
	return key
}

// Seal signs a draft with the keys of actors, whoever its author is.
func Seal(e events.Event, actors ...string) events.Event {
	keys := make([]signer.Key, len(actors))
	for i, a := range actors {
		keys[i] = Key(a)
	}
	return seal(e, keys...)
}

func seal(e events.Event, keys ...signer.Key) events.Event {
	sealed, err := evidence.Seal(e, keys...)
	if err != nil {
		panic("ledgertest: " + err.Error())
	}
	return sealed
}

func hash(text string) events.Hash {
	if text == "" {
		return events.Hash{}
	}
	h, err := events.ParseHash(text)
	if err != nil {
		panic("ledgertest: " + err.Error())
	}
	return h
}

// subject returns the attempt that an event concerns.
func subject(t *projections.Task, p events.Payload) string {
	switch d := p.(type) {
	case *events.Contract, *events.Acceptance, *events.Withdrawal, *events.Cancellation:
		return ""
	case *events.Attempt:
		return fmt.Sprintf("a%d", len(t.Attempts)+1)
	case *events.Confirmation:
		return attemptOf(t, d.Key)
	case *events.Failure:
		return attemptOf(t, d.Key)
	case *events.Unknown:
		return attemptOf(t, d.Key)
	case *events.Compensation:
		return attemptOf(t, d.Key)
	case *events.EffectApproval:
		return attemptOf(t, d.Key)
	case *events.EffectWithdrawal:
		return attemptOf(t, d.Key)
	}
	return attemptOf(t, "")
}

func attemptOf(t *projections.Task, key string) string {
	if e := t.Effect(key); e != nil {
		return e.Attempt
	}
	if a := t.Attempt(); a != nil {
		return a.ID
	}
	return ""
}

// fence returns the number of the run that an actor claims or acts in.
func (c *Cast) fence(t *projections.Task, actor string, p events.Payload) uint64 {
	if p.Type() == events.LeaseClaimed {
		return t.Fence + 1
	}
	row := c.rules.Row(p)
	if t.Lease == nil || t.Lease.Actor != actor || row == nil {
		return 0
	}
	if slices.ContainsFunc(row.By, func(a ledger.Author) bool { return slices.Contains(a.Holder, t.Lease.Purpose) }) {
		return t.Lease.Fence
	}
	return 0
}

// Genesis returns the signed first event of the ledger: one admin, separate
// principals. A mod may change its data.
func (c *Cast) Genesis(mods ...func(*events.Genesis)) events.Event {
	g := &events.Genesis{
		Name: c.Ledger, Rules: 1, Profile: "separate", Threshold: 1, Policy: "policy",
		Admins: []events.Admin{{
			Actor: Founder, Principal: Founder, Key: Key(Founder).Public().String(), Roles: []events.Role{events.RoleAdmin, events.RoleOwner},
		}},
		Service: events.ServiceKey{Actor: Service, Key: Key(Service).Public().String()},
	}
	for _, m := range mods {
		m(g)
	}
	return c.Sign(projections.NewLedger(c.Ledger), "", Founder, g)
}

// Invitation returns the data that invites an actor of the cast, with the
// roles that it plays, or anybody else as an implementer.
func Invitation(actor string) *events.Invitation {
	roles := projectionstest.Cast()[actor]
	if roles == nil {
		roles = []events.Role{events.RoleImplementer}
	}
	return &events.Invitation{
		Actor: actor, Kind: KindOf(actor), Principal: "of-" + actor, Roles: roles,
		GitIdentities: []string{actor + "@example.org"}, TokenHash: projectionstest.Digest("token-" + actor),
	}
}

// KeyClaim returns the data with which an invited actor claims its key.
func KeyClaim(actor string) *events.KeyClaim {
	return &events.KeyClaim{Actor: actor, Key: Key(actor).Public().String(), Token: "token-" + actor}
}

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
)

// registry reads the ledger's actors and keys.
func (s *session) registry(ctx context.Context) (*projections.Registry, error) {
	g, err := s.registryState(ctx)
	if err != nil {
		return nil, err
	}
	return &g.Registry, nil
}

// registryState is registry with the position that it reflects.
func (s *session) registryState(ctx context.Context) (protocol.RegistryState, error) {
	c, err := s.dial()
	if err != nil {
		return protocol.RegistryState{}, err
	}
	return c.Registry(ctx)
}

// appendRegistry is append for the registry: after a lost race decide sees the
// new registry and must refuse when what it names has changed. who finds the
// author: for everything but a claim that is s.author.
func (s *session) appendRegistry(ctx context.Context, who func(context.Context) (author, error), decide func(author) (events.Payload, error)) (ledger.Ack, error) {
	for try := 1; ; try++ {
		a, err := who(ctx)
		if err != nil {
			return ledger.Ack{}, err
		}
		p, err := decide(a)
		if err != nil {
			return ledger.Ack{}, err
		}
		e, err := s.registryEvent(&a.registry, a, p)
		if err != nil {
			return ledger.Ack{}, err
		}
		ack, err := s.submitAdministered(ctx, e, p, &a.registry)
		if r, ok := errors.AsType[*ledger.Refusal](err); !ok || r.Class != ledger.Conflict || try == appendTries {
			return ack, actorHint(err)
		}
	}
}

// actorHint names what shows why the registry took no event; no task does.
func actorHint(err error) error {
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Class == ledger.Refused {
		switch r.Code {
		case ledger.CodeRule, ledger.CodeState, ledger.CodeStale:
			return withHint(err, "deed actor list shows who is there, with which roles, and who is revoked")
		}
	}
	return err
}

// steadyActor holds what the registry says of an actor, so that a command
// decides again only while nobody else changed it.
func steadyActor(held *steady, g *projections.Registry, name string) error {
	a := g.Actor(name)
	if a == nil {
		return held.hold("actor "+name, "")
	}
	return held.hold("actor "+name, name, a.TokenHash, fmt.Sprint(a.Since, a.Revoked, len(a.Keys), len(a.Ended), a.GitIdentities))
}

package server

import (
	"context"

	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/server/protocol"
)

// openArtifacts returns what serves the ledger's artifacts, kept beside its
// stream.
func (l *Local) openArtifacts(o Options, n *NATS) (*artifacts, error) {
	c := jetstream.Config{Ledger: l.Folder.Ledger}
	if n != nil {
		c = n.config(l.conn, l.Folder.Ledger)
	}
	store, err := jetstream.NewObjects(l.conn, c)
	if err != nil {
		return nil, err
	}
	return newArtifacts(store, l.writer, l.Folder.Dir, o)
}

// artifactEndpoints returns where clients upload and read artifacts. The writer
// alone answers, reads too: a standby may not know yet that something is
// quarantined.
func (s *Service) artifactEndpoints() []endpoint {
	if s.artifacts == nil {
		return nil
	}
	var list []endpoint
	for operation, own := range s.artifacts.handlers() {
		name := ofArtifacts(operation)
		list = append(list, endpoint{name, protocol.SubjectArtifact(s.name, operation), s.written(name, own)})
	}
	return list
}

// relayedArtifacts returns where other instances hand such requests on.
func (s *Service) relayedArtifacts() []endpoint {
	if s.artifacts == nil {
		return nil
	}
	var list []endpoint
	for operation, own := range s.artifacts.handlers() {
		name := ofArtifacts(operation)
		list = append(list, endpoint{"relayed-" + name, protocol.SubjectForward(s.name, s.keeper.name, name), own})
	}
	return list
}

// sweepArtifacts removes, until Stop, what was uploaded and never recorded.
func (s *Service) sweepArtifacts() {
	ctx, cancel := context.WithCancel(context.Background())
	s.sweeping.Go(func() { s.artifacts.sweepUntil(ctx) })
	s.sweeping.Go(func() {
		<-s.stopping
		cancel()
	})
}

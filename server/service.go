package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Limits of the service.
const (
	// answerTimeout bounds how long a submission may wait for its turn.
	answerTimeout = 20 * time.Second
	// reachTimeout bounds how long one query waits for a position; whoever
	// wants to wait longer asks again.
	reachTimeout = 4 * time.Second
	// maxInFlight bounds how many requests are worked on at once.
	maxInFlight = 256
)

// Service answers a ledger's requests over NATS.
type Service struct {
	writer  *ledger.Writer
	name    string
	version string
	rules   *ledger.Rules
	conn    *nats.Conn
	micro   micro.Service
	slots   chan struct{} // one per request in flight
	// Where other instances may serve the same ledger; else nil. What they hand
	// on has slots of its own, so that two instances never wait for each other.
	keeper  *keeper
	relayed chan struct{}
	// What takes and gives the bytes of artifacts; nil where nothing does.
	artifacts *artifacts
	sweeping  sync.WaitGroup

	stop     sync.Once
	stopping chan struct{} // closed by Stop
}

// endpoint is one subject of the service and what answers there.
type endpoint struct {
	name, subject string
	handle        handle
}

// StartService registers the micro service "deed" for one ledger on a
// connection that may answer on deed.<ledger>.v1.>.
func StartService(nc *nats.Conn, w *ledger.Writer, name, version string) (*Service, error) {
	return startService(nc, w, &Service{name: name, version: version})
}

// startService is StartService of a service that says its name, its version and
// who keeps its lease.
func startService(nc *nats.Conn, w *ledger.Writer, s *Service) (*Service, error) {
	s.conn, s.writer, s.rules = nc, w, ledger.NewRules()
	s.slots, s.relayed, s.stopping = make(chan struct{}, maxInFlight), make(chan struct{}, maxInFlight), make(chan struct{})
	m, err := micro.AddService(nc, micro.Config{
		Name: protocol.ServiceName, Version: semver(s.version), Description: "signed ledger for delivered work",
		Metadata: map[string]string{"ledger": s.name},
	})
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	s.micro = m
	name := s.name
	endpoints := []endpoint{
		{"submit", protocol.SubjectSubmit(name), s.written(operationSubmit, s.submit)},
		{"renew", protocol.SubjectRenew(name), s.written(operationRenew, s.renew)},
		{protocol.QueryStatus, protocol.SubjectQuery(name, protocol.QueryStatus), ask(s, s.status)},
		{protocol.QueryTasks, protocol.SubjectQuery(name, protocol.QueryTasks), ask(s, s.tasks)},
		{protocol.QueryTask, protocol.SubjectQuery(name, protocol.QueryTask), ask(s, s.task)},
		{protocol.QueryRegistry, protocol.SubjectQuery(name, protocol.QueryRegistry), ask(s, s.registry)},
		{protocol.QueryEvent, protocol.SubjectQuery(name, protocol.QueryEvent), ask(s, s.event)},
		{protocol.QueryPacket, protocol.SubjectQuery(name, protocol.QueryPacket), ask(s, s.packet)},
		{protocol.QueryProof, protocol.SubjectQuery(name, protocol.QueryProof), ask(s, s.proof)},
		{protocol.QueryConsistency, protocol.SubjectQuery(name, protocol.QueryConsistency), ask(s, s.consistency)},
	}
	endpoints = append(endpoints, s.artifactEndpoints()...)
	for _, e := range endpoints {
		if err := m.AddEndpoint(e.name, s.handler(s.slots, e.handle), micro.WithEndpointSubject(e.subject)); err != nil {
			return nil, fmt.Errorf("start service: endpoint %s: %w", e.name, err)
		}
	}
	if s.keeper == nil {
		return s, nil
	}
	for _, e := range append(s.relayedArtifacts(),
		endpoint{"relayed-submit", protocol.SubjectForward(name, s.keeper.name, operationSubmit), s.submit},
		endpoint{"relayed-renew", protocol.SubjectForward(name, s.keeper.name, operationRenew), s.renew},
	) {
		if err := m.AddEndpoint(e.name, s.handler(s.relayed, e.handle), micro.WithEndpointSubject(e.subject)); err != nil {
			return nil, fmt.Errorf("start service: endpoint %s: %w", e.name, err)
		}
	}
	return s, nil
}

// semver makes a version that the micro framework takes.
func semver(version string) string {
	if version == "" || version[0] < '0' || version[0] > '9' {
		return "0.0.0"
	}
	return version
}

// Stop takes the service off the bus. Requests under way are answered first;
// one that comes later is answered that nothing was written. A second Stop
// does nothing.
func (s *Service) Stop() (err error) {
	s.stop.Do(func() {
		if err = s.micro.Stop(); err == nil {
			err = s.conn.FlushTimeout(answerTimeout) // now the server sends no more requests
		}
		close(s.stopping)
		s.sweeping.Wait()
		for _, slots := range []chan struct{}{s.slots, s.relayed} {
			for range cap(slots) {
				slots <- struct{}{}
			}
		}
		// The server has the answers before it is told to stop.
		if err = errors.Join(err, s.conn.FlushTimeout(answerTimeout)); err != nil {
			err = fmt.Errorf("stop service: %w", err)
		}
	})
	return err
}

// handler answers each request in a goroutine of its own, so that many wait
// for the same group. Past the limit requests wait in their order.
func (s *Service) handler(slots chan struct{}, handle handle) micro.Handler {
	return micro.HandlerFunc(func(r micro.Request) {
		select {
		case slots <- struct{}{}:
		case <-s.stopping:
			respond(r, nil, &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy, Rule: "service", Text: "the service is stopping; nothing was written"})
			return
		}
		go func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
			defer cancel()
			data, err := handle(ctx, r)
			respond(r, data, err)
		}()
	})
}

// respond sends a reply.
func respond(r micro.Request, data any, err error) {
	body, compressed := protocol.Encode(data, err)
	headers := micro.Headers{}
	if compressed {
		headers[protocol.HeaderEncoding] = []string{"gzip"}
	}
	_ = r.Respond(body, micro.WithHeaders(headers)) // a client that is gone looks for its event by id
}

// ask decodes a query's body before its handler, and waits until the answer
// reflects what the query asks for.
func ask[T any](s *Service, handle func(protocol.Ask) (T, error)) func(context.Context, micro.Request) (any, error) {
	return func(ctx context.Context, r micro.Request) (any, error) {
		var q protocol.Ask
		if len(r.Data()) > 0 {
			if err := json.Unmarshal(r.Data(), &q, json.RejectUnknownMembers(true)); err != nil {
				return nil, &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeForm, Rule: "query", Text: err.Error()}
			}
		}
		known, _ := strconv.ParseUint(r.Headers().Get(protocol.HeaderKnown), 10, 64)
		s.level(ctx, known)
		ctx, cancel := context.WithTimeout(ctx, reachTimeout)
		defer cancel()
		if err := s.writer.Reach(ctx, q.AtLeast); err != nil {
			return nil, err
		}
		return handle(q)
	}
}

func (s *Service) submit(ctx context.Context, r micro.Request) (any, error) {
	known, _ := strconv.ParseUint(r.Headers().Get(protocol.HeaderKnown), 10, 64)
	dryRun := r.Headers().Get(protocol.HeaderDryRun) == "true"
	if s.artifacts != nil && !dryRun {
		release, err := s.artifacts.hold(ctx, r.Data())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	ack, err := s.writer.Submit(ctx, ledger.Request{Export: r.Data(), Known: known, DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return protocol.Submitted{Ack: ack, Consistency: protocol.Hashes(ack.Consistency)}, nil
}

func (s *Service) renew(ctx context.Context, r micro.Request) (any, error) {
	return struct{}{}, s.writer.Renew(ctx, r.Data())
}

func (s *Service) status(q protocol.Ask) (protocol.Status, error) {
	head, consistency, err := s.writer.Head(q.Known)
	if err != nil {
		return protocol.Status{}, err
	}
	out := protocol.Status{Ledger: s.name, Head: string(head), Consistency: protocol.Hashes(consistency), Version: s.version, Clock: s.writer.Clock()}
	if s.keeper != nil {
		out.Instance, out.Writer = s.keeper.name, s.keeper.holder().Name
	}
	if broken := s.writer.Broken(); broken != nil {
		out.Broken = broken.Error()
	}
	s.writer.View(func(b *ledger.Book) {
		out.Identity, out.Service = b.State.Registry.Identity, b.State.Registry.Genesis.Service.Key
		out.Position, out.Tasks = b.State.Position, len(b.State.Tasks)
	})
	return out, nil
}

// notFound answers a query about a task without events.
func notFound(task string) *ledger.Refusal {
	return &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeNotFound, Rule: "query", Text: fmt.Sprintf("there is no task %q", task)}
}

// withTask calls read with a task while its state stands still.
func (s *Service) withTask(id string, read func(b *ledger.Book, t *projections.Task) error) (err error) {
	s.writer.View(func(b *ledger.Book) {
		t := b.State.Tasks[id]
		if t == nil {
			err = notFound(id)
			return
		}
		err = read(b, t)
	})
	return err
}

// task answers with the state as JSON that was made while it stood still.
func (s *Service) task(q protocol.Ask) (out any, err error) {
	err = s.withTask(q.Task, func(b *ledger.Book, t *projections.Task) error {
		out, err = frozen(protocol.TaskState{
			Position: b.State.Position, Task: t, Policy: b.State.Registry.Policy,
			Next: s.rules.Next(t), Waiting: t.Waiting(), Items: t.Items(),
		})
		return err
	})
	return out, err
}

func (s *Service) registry(protocol.Ask) (out any, err error) {
	s.writer.View(func(b *ledger.Book) {
		out, err = frozen(protocol.RegistryState{Position: b.State.Position, Registry: b.State.Registry})
	})
	return out, err
}

func (s *Service) event(q protocol.Ask) (out protocol.Located, err error) {
	s.writer.View(func(b *ledger.Book) {
		at, hash, ok := b.Find(q.Event)
		if !ok {
			err = &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeNotFound, Rule: "query", Text: fmt.Sprintf("there is no event %q", q.Event)}
			return
		}
		out = protocol.Located{Position: at, Hash: hash.String()}
	})
	return out, err
}

// packet builds a packet of a task for a reader.
func (s *Service) packet(q protocol.Ask) (out protocol.Packet, err error) {
	err = s.withTask(q.Task, func(b *ledger.Book, t *projections.Task) error {
		text, markdown, digest, err := build(q, b, t)
		if errors.Is(err, projections.ErrPacketLimit) {
			return &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeLimit, Rule: "query", Text: err.Error()}
		}
		if err != nil {
			return err
		}
		out = protocol.Packet{JSON: string(text), Markdown: markdown, Digest: digest.String(), Position: b.State.Position}
		return nil
	})
	if err != nil {
		return protocol.Packet{}, err
	}
	head, _, err := s.writer.Head(0)
	out.Head = string(head)
	return out, err
}

// build encodes the packet that a query asks for.
func build(q protocol.Ask, b *ledger.Book, t *projections.Task) ([]byte, string, events.Hash, error) {
	limit := int(q.Limit)
	switch q.Packet {
	case "resume":
		p, err := projections.ResumePacket(t, &b.State.Registry, projections.Reader{Actor: q.Actor, Role: q.Role}).Fit(limit)
		if err != nil {
			return nil, "", events.Hash{}, err
		}
		text, digest, err := p.Encode(limit)
		return text, p.Markdown(), digest, err
	case "review":
		p, err := projections.ReviewPacket(t).Fit(limit)
		if err != nil {
			return nil, "", events.Hash{}, err
		}
		text, digest, err := p.Encode(limit)
		return text, p.Markdown(), digest, err
	}
	return nil, "", events.Hash{}, &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeForm, Rule: "query", Text: "packet must be resume or review"}
}

// proof shows that the event at a position lies under the current head.
func (s *Service) proof(q protocol.Ask) (out protocol.Proof, err error) {
	s.writer.View(func(b *ledger.Book) {
		hashes, proofErr := b.Tree.InclusionProof(q.At, b.Tree.Size())
		if proofErr != nil {
			err = &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeNotFound, Rule: "query", Text: proofErr.Error()}
			return
		}
		out = protocol.Proof{Position: q.At, Inclusion: protocol.Hashes(hashes)}
	})
	if err != nil {
		return out, err
	}
	head, _, err := s.writer.Head(0)
	out.Head = string(head)
	return out, err
}

// consistency shows how one head continues another.
func (s *Service) consistency(q protocol.Ask) (out protocol.Consistency, err error) {
	s.writer.View(func(b *ledger.Book) {
		hashes, proofErr := b.Tree.ConsistencyProof(q.Known, q.Size)
		if proofErr != nil {
			err = &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeNotFound, Rule: "query", Text: proofErr.Error()}
			return
		}
		out = protocol.Consistency{Consistency: protocol.Hashes(hashes)}
	})
	return out, err
}

// frozen encodes a value that must not be read after the view ends.
func frozen(v any) (jsontext.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return text, nil
}

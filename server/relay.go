package server

import (
	"context"
	"errors"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	// relayPatience is how long a request waits for a writer that is not
	// there or not reached, and relayStep how often one is looked for.
	relayPatience = 5 * time.Second
	relayStep     = 50 * time.Millisecond
	// lagPatience is how long a query waits for what its client saw elsewhere.
	lagPatience = 3 * time.Second
)

// The operations that are handed on.
const (
	operationSubmit = "submit"
	operationRenew  = "renew"
)

// handle answers one request.
type handle func(context.Context, micro.Request) (any, error)

// written makes a handler of requests that only the writer answers: a standby
// hands them on, under the operation's name, to the writer's own subject.
func (s *Service) written(operation string, own handle) handle {
	if s.keeper == nil {
		return own
	}
	return func(ctx context.Context, r micro.Request) (any, error) {
		patience, cancel := context.WithTimeout(ctx, relayPatience)
		defer cancel()
		for {
			var data any
			var err error = standingBy()
			if s.writer.Leading() {
				data, err = own(ctx, r)
			} else if to := s.keeper.holder().Name; to != "" && to != s.keeper.name {
				if operation == operationSubmit {
					if err := formed(r.Data()); err != nil {
						return nil, err
					}
				}
				data, err = s.forward(ctx, protocol.SubjectForward(s.name, to, operation), r)
			}
			if refused, ok := errors.AsType[*ledger.Refusal](err); !ok || refused.Rule != ledger.RuleStandby {
				return data, err
			}
			select {
			case <-time.After(relayStep):
			case <-patience.Done():
				return nil, err
			}
		}
	}
}

func standingBy() *ledger.Refusal {
	return &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy, Rule: ledger.RuleStandby, Text: "no service of this ledger writes now; nothing was written"}
}

// forward sends a request on and returns its answer. An answer that did not
// come is unknown: the request may have been obeyed.
func (s *Service) forward(ctx context.Context, subject string, r micro.Request) (any, error) {
	m := &nats.Msg{Subject: subject, Data: r.Data(), Header: nats.Header{}}
	for _, name := range []string{protocol.HeaderKnown, protocol.HeaderDryRun} {
		if v := r.Headers().Get(name); v != "" {
			m.Header.Set(name, v)
		}
	}
	reply, err := s.conn.RequestMsgWithContext(ctx, m)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, standingBy()
	}
	if err != nil {
		return nil, &ledger.Refusal{Class: ledger.Unknown, Code: ledger.CodeBusy, Rule: "service",
			Text: "the service that writes did not answer: the event may be in the ledger; look for its id first"}
	}
	var data jsontext.Value
	err = protocol.Decode(reply.Data, reply.Header.Get(protocol.HeaderEncoding) == "gzip", &data)
	if errors.Is(err, protocol.ErrReply) {
		return nil, &ledger.Refusal{Class: ledger.Unknown, Code: ledger.CodeBusy, Rule: "service", Text: err.Error()}
	}
	return data, err
}

// formed refuses an event that no writer takes, whatever its position is.
// Whether its key is known, and all else, is the writer's to say: this
// instance may lag behind it.
func formed(export []byte) error {
	if _, err := events.ParseExport(export); err != nil {
		_, err = ledger.Admit(export, nil, 0)
		return err
	}
	return nil
}

// level waits, on a standby, until a query's answer reflects what its client
// saw elsewhere. What does not come in time is for the client to notice.
func (s *Service) level(ctx context.Context, known uint64) {
	if s.keeper == nil || known == 0 || known > 1<<62 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lagPatience)
	defer cancel()
	_ = s.writer.Reach(ctx, events.Position(known))
}

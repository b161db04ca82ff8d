package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

const (
	// pullMessages and pullBytes bound what the server sends ahead of the
	// handler.
	pullMessages = 4000
	pullBytes    = 32 << 20
	// idleCheck is how long a reader waits for a message before it looks
	// whether the stream has lost some, or the consumer dropped one.
	idleCheck = 2 * time.Second
	// heartbeat is how often the server says that it has nothing to say; after
	// two that are missing the consumer is taken for lost.
	heartbeat = 2 * time.Second
	// consumerIdle is when the server forgets a reader that did not say
	// goodbye.
	consumerIdle = 30 * time.Second

	retryFirst = 20 * time.Millisecond
	retryMost  = 2 * time.Second
)

// Replay hands over the records from a position to the last as of the call.
func (r *Reader) Replay(ctx context.Context, from events.Position, handle func(journal.Record) error) error {
	last, err := r.last(ctx)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	w := walk{reader: r, next: from, until: last, handle: handle}
	return w.run(ctx, "replay")
}

// Follow hands over the records from a position on, for ever. It outlives a
// server that restarts if the connection does: it tries again, with waits of up
// to two seconds, for as long as ctx lasts. If the connection is closed for good
// it returns journal.ErrUnavailable.
func (r *Reader) Follow(ctx context.Context, from events.Position, handle func(journal.Record) error) error {
	w := walk{reader: r, next: from, endless: true, handle: handle}
	return w.run(ctx, "follow")
}

// walk is one Replay or Follow.
type walk struct {
	reader  *Reader
	next    events.Position // the position to hand over next
	until   events.Position // the last one to hand over
	endless bool            // there is no last one
	handle  func(journal.Record) error
	handled error // what handle returned, which ends the walk
}

func (w *walk) done() bool { return !w.endless && w.next > w.until }

// run walks leg by leg until the end or an error that no new leg can mend.
func (w *walk) run(ctx context.Context, verb string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.reader.life, func() { cancel(journal.ErrClosed) })()
	wait := retryFirst
	for again := false; ; again = true {
		before := w.next
		err := w.leg(ctx, again)
		switch {
		case w.handled != nil:
			return w.handled
		case err == nil && w.done():
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", verb, context.Cause(ctx))
		case errors.Is(err, journal.ErrCorrupt), errors.Is(err, journal.ErrRefused):
			return fmt.Errorf("%s: %w", verb, err)
		}
		moved := w.next > before
		if w.reader.nc.IsClosed() || !w.endless && !moved && again {
			return fmt.Errorf("%s from position %d: %w: %w", verb, w.next, journal.ErrUnavailable, err)
		}
		if moved {
			wait = retryFirst
		}
		pause(ctx, wait)
		wait = min(2*wait, retryMost)
	}
}

// leg walks with one consumer. Whatever ends it early, also a message that did
// not arrive, is an error; a new leg starts at the position that is next.
func (w *walk) leg(ctx context.Context, again bool) error {
	if err := w.check(ctx, again); err != nil || w.done() {
		return err
	}
	cons, err := w.reader.consumer(ctx, w.next)
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	defer w.reader.forget(ctx, cons.CachedInfo().Name)
	msgs, err := cons.Messages(
		natsjs.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes),
		natsjs.PullHeartbeat(heartbeat),
		natsjs.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("pull messages: %w", err)
	}
	defer msgs.Stop()
	defer context.AfterFunc(ctx, msgs.Stop)()
	for !w.done() {
		msg, err := msgs.Next(natsjs.NextMaxWait(idleCheck))
		if errors.Is(err, nats.ErrTimeout) {
			if err = w.idle(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		rec := journal.Record{
			Position: events.Position(meta.Sequence.Stream),
			Subject:  msg.Subject(),
			Header:   msg.Headers(),
			Data:     msg.Data(),
		}
		if err := w.give(rec); err != nil {
			return err
		}
	}
	return nil
}

// consumer makes a consumer that starts at a position.
func (r *Reader) consumer(ctx context.Context, from events.Position) (natsjs.Consumer, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return r.js.CreateConsumer(ctx, r.stream, natsjs.ConsumerConfig{
		DeliverPolicy:     natsjs.DeliverByStartSequencePolicy,
		OptStartSeq:       uint64(from),
		AckPolicy:         natsjs.AckNonePolicy,
		InactiveThreshold: consumerIdle,
		MemoryStorage:     true,
		Replicas:          1,
	})
}

// check compares the stream with what was handed over so far. With fetch it
// also hands over the next record by its position: that is how a record which
// did not arrive is told from one that is not there, and how a message gets past
// which a consumer cannot deliver because it looks like one of the protocol.
func (w *walk) check(ctx context.Context, fetch bool) error {
	last, err := w.reader.last(ctx)
	if err != nil {
		return err
	}
	if err := journal.CheckStart(w.next, last); err != nil {
		return err
	}
	if !fetch || w.done() || w.next > last {
		return nil
	}
	rec, err := w.reader.get(ctx, w.next)
	if errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("%w: position %d is missing, the last is %d", journal.ErrCorrupt, w.next, last)
	}
	if err != nil {
		return err
	}
	return w.give(rec)
}

// idle is check for a consumer that has been silent. One that was silent
// although there was a record does not live any more, and the leg ends.
func (w *walk) idle(ctx context.Context) error {
	before := w.next
	if err := w.check(ctx, true); err != nil {
		return err
	}
	if w.next > before {
		return errors.New("the consumer is silent")
	}
	return nil
}

// give hands over one record. A record other than the next one is an error that
// ends the leg.
func (w *walk) give(rec journal.Record) error {
	if rec.Position != w.next {
		return fmt.Errorf("received position %d, expected %d", rec.Position, w.next)
	}
	if err := w.handle(rec); err != nil {
		w.handled = err
		return err
	}
	w.next++
	return nil
}

// forget deletes a consumer that is not needed any more. The server does so
// itself after a while, so that a failure does not matter.
func (r *Reader) forget(ctx context.Context, consumer string) {
	if !r.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = r.js.DeleteConsumer(ctx, r.stream, consumer)
}

// pause waits, but not beyond ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
)

// Sweep removes what was stored before a time and belongs to nothing: chunks of
// no object, and objects for which drop calls its function remove. drop decides
// on one digest at a time, and keeps it wanted by nobody until remove returned.
// It returns how many objects and remains of uploads it removed.
func (o *Objects) Sweep(ctx context.Context, before time.Time, drop func(digest string, remove func() error) error) (removed int, err error) {
	stream, err := o.open(ctx, false)
	if errors.Is(err, journal.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep objects: %w", err)
	}
	info, err := stream.Info(ctx, natsjs.WithSubjectFilter("$O."+ObjectBucket(o.config.Ledger)+".>"))
	if err != nil {
		return 0, fmt.Errorf("sweep objects: %w: %w", journal.ErrUnavailable, err)
	}
	used := map[string]bool{} // subjects of chunks that belong to an object
	for subject := range info.State.Subjects {
		if !strings.HasPrefix(subject, o.metaSubject("")) {
			continue
		}
		found, err := o.find(ctx, stream, subject)
		if found.NUID != "" {
			used[o.chunkSubject(found.NUID)] = true
		}
		if err != nil || found.sequence == 0 || !found.stored.Before(before) {
			continue // a damaged one is evidence
		}
		err = drop(found.Name, func() error {
			removed++
			return errors.Join(o.purge(ctx, stream, subject), o.purge(ctx, stream, o.chunkSubject(found.NUID)))
		})
		if err != nil {
			return removed, fmt.Errorf("sweep objects: %w", err)
		}
	}
	for subject := range info.State.Subjects {
		if used[subject] || !strings.HasPrefix(subject, o.chunkSubject("")) {
			continue
		}
		last, err := stream.GetLastMsgForSubject(ctx, subject)
		if err != nil || !last.Time.Before(before) {
			continue
		}
		if err := o.purge(ctx, stream, subject); err != nil {
			return removed, fmt.Errorf("sweep objects: %w", err)
		}
		removed++
	}
	return removed, nil
}

// purge removes every message of a subject.
func (o *Objects) purge(ctx context.Context, stream natsjs.Stream, subject string) error {
	if err := stream.Purge(ctx, natsjs.WithPurgeSubject(subject)); err != nil {
		return fmt.Errorf("%w: purge: %w", journal.ErrUnavailable, err)
	}
	return nil
}

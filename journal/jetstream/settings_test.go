package jetstream_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/journaltest"
)

// drifted returns the names of the settings that differ.
func drifted(err error) []string {
	var fields []string
	if d, ok := errors.AsType[*jetstream.DriftError](err); ok {
		for _, d := range d.Drifts {
			fields = append(fields, d.Field)
		}
	}
	return fields
}

// TestUpdatesAreNoticed: each of these the server accepts on a stream that
// denies deletes and purges.
func TestUpdatesAreNoticed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*natsjs.StreamConfig)
		fields []string
		class  error // beside ErrDrift
	}{
		"one message": {func(c *natsjs.StreamConfig) { c.MaxMsgs, c.Discard = 1, natsjs.DiscardOld },
			[]string{"discard", "max_msgs", "state.first_seq", "state.messages"}, journal.ErrCorrupt},
		"one per subject": {func(c *natsjs.StreamConfig) { c.MaxMsgsPerSubject = 1 },
			[]string{"max_msgs_per_subject", "state.first_seq", "state.messages"}, journal.ErrCorrupt},
		"message limit": {func(c *natsjs.StreamConfig) { c.MaxMsgs = 1000 }, []string{"max_msgs"}, journal.ErrRefused},
		"bytes":         {func(c *natsjs.StreamConfig) { c.MaxBytes = 1 << 30 }, []string{"max_bytes"}, journal.ErrRefused},
		"age":           {func(c *natsjs.StreamConfig) { c.MaxAge = time.Hour }, []string{"max_age"}, journal.ErrRefused},
		"discard old":   {func(c *natsjs.StreamConfig) { c.Discard = natsjs.DiscardOld }, []string{"discard"}, journal.ErrRefused},
		"message ttl":   {func(c *natsjs.StreamConfig) { c.AllowMsgTTL = true }, []string{"allow_msg_ttl"}, journal.ErrRefused},
		"direct":        {func(c *natsjs.StreamConfig) { c.AllowDirect = true }, []string{"allow_direct"}, journal.ErrRefused},
		"size":          {func(c *natsjs.StreamConfig) { c.MaxMsgSize = -1 }, []string{"max_msg_size"}, journal.ErrRefused},
		"window":        {func(c *natsjs.StreamConfig) { c.Duplicates = time.Minute }, []string{"duplicate_window"}, journal.ErrRefused},
		"no answers":    {func(c *natsjs.StreamConfig) { c.NoAck = true }, []string{"no_ack"}, journal.ErrRefused},
		"batches":       {func(c *natsjs.StreamConfig) { c.AllowAtomicPublish = true }, []string{"allow_atomic"}, journal.ErrRefused},
		"fast batches":  {func(c *natsjs.StreamConfig) { c.AllowBatchPublish = true }, []string{"allow_batched"}, journal.ErrRefused},
		"sealed":        {func(c *natsjs.StreamConfig) { c.Sealed = true }, []string{"sealed"}, journal.ErrRefused},
		"subjects":      {func(c *natsjs.StreamConfig) { c.Subjects = append(c.Subjects, "more.>") }, []string{"subjects"}, journal.ErrRefused},
		"republish":     {func(c *natsjs.StreamConfig) { c.RePublish = &natsjs.RePublish{Source: ">", Destination: "x.>"} }, []string{"republish"}, journal.ErrRefused},
		"transform": {func(c *natsjs.StreamConfig) {
			c.SubjectTransform = &natsjs.SubjectTransformConfig{Source: "deed.test.ev.>", Destination: "deed.test.ev.x.>"}
		}, []string{"subject_transform"}, journal.ErrRefused},
		"description": {func(c *natsjs.StreamConfig) { c.Description = "mine" }, []string{"description"}, journal.ErrRefused},
		"metadata":    {func(c *natsjs.StreamConfig) { c.Metadata = map[string]string{"a": "b"} }, []string{"metadata"}, journal.ErrRefused},
		"compression": {func(c *natsjs.StreamConfig) { c.Compression = natsjs.S2Compression }, []string{"compression"}, journal.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, natstest.Settings())
			e := journaltest.Fill(t, f.j, 4)
			if err := f.j.CheckSettings(f.ctx); err != nil {
				t.Fatal(err)
			}
			config := natstest.Settings().Stream()
			test.change(&config)
			if _, err := f.js.UpdateStream(f.ctx, config); err != nil {
				t.Fatalf("the server refuses: %v", err)
			}
			err := f.j.CheckSettings(f.ctx)
			got := slices.DeleteFunc(drifted(err), func(s string) bool { return s == "state.num_deleted" })
			if !slices.Equal(got, test.fields) || !errors.Is(err, jetstream.ErrDrift) || !errors.Is(err, test.class) {
				t.Errorf("drifts %v, error %v; want %v", got, err, test.fields)
			}
			if _, err := jetstream.Open(f.ctx, f.nc, natstest.Settings()); !errors.Is(err, test.class) {
				t.Errorf("open: %v", err)
			}
			r, err := jetstream.OpenReader(f.ctx, f.nc, natstest.Settings())
			if err != nil {
				t.Fatalf("open for an audit: %v", err)
			}
			err = r.Replay(f.ctx, 1, func(journal.Record) error { return nil })
			if lost := errors.Is(test.class, journal.ErrCorrupt); lost != errors.Is(err, journal.ErrCorrupt) || !lost && err != nil {
				t.Errorf("replay: %v", err)
			}
			if err := f.j.Follow(f.ctx, e.Last+2, nil); !errors.Is(err, journal.ErrCorrupt) {
				t.Errorf("follow from beyond the end: %v", err)
			}
		})
	}
}

// TestOtherStreamsAreRefused: streams of the right name that somebody else made.
func TestOtherStreamsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*natsjs.StreamConfig)
		field  string
	}{
		"memory":        {func(c *natsjs.StreamConfig) { c.Storage = natsjs.MemoryStorage }, "storage"},
		"deletes":       {func(c *natsjs.StreamConfig) { c.DenyDelete = false }, "deny_delete"},
		"purges":        {func(c *natsjs.StreamConfig) { c.DenyPurge = false }, "deny_purge"},
		"rollups":       {func(c *natsjs.StreamConfig) { c.DenyPurge, c.AllowRollup = false, true }, "allow_rollup_hdrs"},
		"work queue":    {func(c *natsjs.StreamConfig) { c.Retention = natsjs.WorkQueuePolicy }, "retention"},
		"interest":      {func(c *natsjs.StreamConfig) { c.Retention = natsjs.InterestPolicy }, "retention"},
		"ack first":     {func(c *natsjs.StreamConfig) { c.PersistMode = natsjs.AsyncPersistMode }, "persist_mode"},
		"first":         {func(c *natsjs.StreamConfig) { c.FirstSeq = 100 }, "first_seq"},
		"few consumers": {func(c *natsjs.StreamConfig) { c.MaxConsumers = 1 }, "max_consumers"},
		"counter": {func(c *natsjs.StreamConfig) {
			c.AllowMsgCounter, c.Discard = true, natsjs.DiscardOld
		}, "allow_msg_counter"},
		"schedules": {func(c *natsjs.StreamConfig) {
			c.AllowMsgSchedules, c.AllowRollup, c.DenyPurge, c.Discard = true, true, false, natsjs.DiscardOld
		}, "allow_msg_schedules"},
		"mirror": {func(c *natsjs.StreamConfig) {
			c.Subjects, c.Mirror = nil, &natsjs.StreamSource{Name: "ELSEWHERE"}
		}, "mirror"},
		"sources": {func(c *natsjs.StreamConfig) {
			c.Sources = []*natsjs.StreamSource{{Name: "ELSEWHERE"}}
		}, "sources"},
		"defaults": {func(c *natsjs.StreamConfig) {
			*c = natsjs.StreamConfig{Name: c.Name, Subjects: c.Subjects}
		}, "deny_delete"},
	} {
		t.Run(name, func(t *testing.T) {
			nc := natstest.Connect(t, natstest.Start(t, natstest.Config(t)))
			ctx := natstest.Within(t)
			js, err := natsjs.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			config := natstest.Settings().Stream()
			test.change(&config)
			if _, err := js.CreateStream(ctx, config); err != nil {
				t.Fatalf("the server refuses: %v", err)
			}
			if _, err := jetstream.Create(ctx, nc, natstest.Settings()); !errors.Is(err, journal.ErrExists) {
				t.Errorf("create: %v", err)
			}
			_, err = jetstream.Open(ctx, nc, natstest.Settings())
			if !slices.Contains(drifted(err), test.field) || !errors.Is(err, jetstream.ErrDrift) {
				t.Errorf("open: %v, want %s", err, test.field)
			}
		})
	}
}

// TestDeniedOperations: what the stream itself refuses, even to an administrator.
func TestDeniedOperations(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	journaltest.Fill(t, f.j, 4)
	s, err := f.js.Stream(f.ctx, f.j.Stream())
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"purge":         s.Purge(f.ctx),
		"delete":        s.DeleteMsg(f.ctx, 1),
		"secure delete": s.SecureDeleteMsg(f.ctx, 1),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, change := range map[string]func(*natsjs.StreamConfig){
		"deletes": func(c *natsjs.StreamConfig) { c.DenyDelete = false },
		"purges":  func(c *natsjs.StreamConfig) { c.DenyPurge = false },
		"rollups": func(c *natsjs.StreamConfig) { c.AllowRollup = true },
		"memory":  func(c *natsjs.StreamConfig) { c.Storage = natsjs.MemoryStorage },
	} {
		config := natstest.Settings().Stream()
		change(&config)
		if _, err := f.js.UpdateStream(f.ctx, config); err == nil {
			t.Errorf("update to allow %s was accepted", name)
		}
	}
	if err := f.j.CheckSettings(f.ctx); err != nil {
		t.Error(err)
	}
}

// TestFollowNoticesTrimming: a follower that waits at the end is told when the
// stream is cut, also when no message comes.
func TestFollowNoticesTrimming(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	journaltest.Fill(t, f.j, 4)
	seen, ended := make(chan struct{}, 4), make(chan error, 1)
	go func() {
		ended <- f.j.Follow(f.ctx, 1, func(journal.Record) error { seen <- struct{}{}; return nil })
	}()
	for range 4 {
		<-seen
	}
	config := natstest.Settings().Stream()
	config.MaxMsgs, config.Discard = 1, natsjs.DiscardOld
	if _, err := f.js.UpdateStream(f.ctx, config); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("follow: %v", err)
	}
}

package bench

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
)

// BenchmarkRawFsync appends 1 KiB to a file and syncs it.
func BenchmarkRawFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1024)
	for b.Loop() {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, "syncs/s")
}

// BenchmarkRawPublish appends messages as large as the events of the other
// benchmarks to a stream that syncs each, with one in flight.
func BenchmarkRawPublish(b *testing.B) {
	c := natstest.Config(b)
	c.Lazy = false
	j, err := jetstream.Create(b.Context(), natstest.Connect(b, natstest.Start(b, c)), jetstream.Config{Ledger: natstest.Ledger})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	subject := events.Source{Ledger: natstest.Ledger, Task: "TASK-1"}.Subject()
	header := map[string]string{"ce-dssematerial": fmt.Sprintf("%0700d", 1)}
	data := fmt.Appendf(nil, `{"text":"%0100d"}`, 1)
	last := events.Position(0)
	for b.Loop() {
		m := journal.Message{ID: fmt.Sprintf("%064d", last), Subject: subject, Header: header, Data: data}
		if last, err = j.Append(b.Context(), m, journal.Expect{Last: last, SubjectLast: last}); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, "messages/s")
}

// message is as long as what an event's signature covers.
func message() []byte { return make([]byte, 400) }

// BenchmarkRawSign makes Ed25519 signatures.
func BenchmarkRawSign(b *testing.B) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	m := message()
	for b.Loop() {
		ed25519.Sign(key, m)
	}
	perSecond(b, "signatures/s")
}

// BenchmarkRawVerify checks Ed25519 signatures.
func BenchmarkRawVerify(b *testing.B) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	m := message()
	public, sig := key.Public().(ed25519.PublicKey), ed25519.Sign(key, m)
	for b.Loop() {
		if !ed25519.Verify(public, m, sig) {
			b.Fatal("a good signature does not verify")
		}
	}
	perSecond(b, "signatures/s")
}

// perSecond reports operations per second.
func perSecond(b *testing.B, unit string) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), unit)
}

package jetstream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/journaltest"
)

// benchMessage is as large as a usual event: 1 KiB of data and as much of
// headers.
func benchMessage(i int) journal.Message {
	m := journaltest.NewMessage(fmt.Sprintf("bench-%d", i), journaltest.SubjectA)
	m.Header["ce-dssematerial"] = fmt.Sprintf("%01024d", i)
	m.Data = fmt.Appendf(nil, `{"text":"%01012d"}`, i)
	return m
}

func benchJournal(b *testing.B, lazy bool) *jetstream.Journal {
	b.Helper()
	c := natstest.Config(b)
	c.Lazy = lazy
	j, err := jetstream.Create(b.Context(), natstest.Connect(b, natstest.Start(b, c)), jetstream.Config{Ledger: natstest.Ledger})
	if err != nil {
		b.Fatal(err)
	}
	return j
}

func benchAppend(b *testing.B, j journal.Journal, n int) {
	b.Helper()
	for i := range n {
		last := events.Position(i)
		if _, err := j.Append(b.Context(), benchMessage(i), journal.Expect{Last: last, SubjectLast: last}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend appends one by one: with a sync for each, and without.
func BenchmarkAppend(b *testing.B) {
	for _, lazy := range []bool{false, true} {
		b.Run(map[bool]string{false: "SyncAlways", true: "Lazy"}[lazy], func(b *testing.B) {
			j := benchJournal(b, lazy)
			b.ReportAllocs()
			b.ResetTimer()
			benchAppend(b, j, b.N)
		})
	}
}

// BenchmarkSync is the floor of BenchmarkAppend/SyncAlways: the disk alone.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 2400)
	for b.Loop() {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads back by position, as settling does.
func BenchmarkRead(b *testing.B) {
	j := benchJournal(b, true)
	benchAppend(b, j, 1000)
	at := events.Position(0)
	for b.Loop() {
		at = at%1000 + 1
		if _, err := j.Read(b.Context(), at); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay reads 20,000 records for each operation.
func BenchmarkReplay(b *testing.B) {
	const n = 20_000
	j := benchJournal(b, true)
	benchAppend(b, j, n)
	for b.Loop() {
		count := 0
		if err := j.Replay(b.Context(), 1, func(journal.Record) error { count++; return nil }); err != nil || count != n {
			b.Fatal(count, err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/server"
)

// perTask is how many events a client writes to one task before it begins
// another.
const perTask = 50

// BenchmarkAccept submits events to a local service: signed by the client,
// checked by the service, synced to disk, acknowledged with a signed head that
// the client checks. Each client has a connection and a task of its own.
func BenchmarkAccept(b *testing.B) {
	for _, clients := range []int{1, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { accept(b, clients, false) })
	}
}

// BenchmarkAcceptRemembered is one client that also keeps each head on disk
// before it goes on, as every deed command does.
func BenchmarkAcceptRemembered(b *testing.B) { accept(b, 1, true) }

func accept(b *testing.B, clients int, remember bool) {
	l := servicetest.New(b)
	local := l.Run(b)
	connected := make([]*client.Client, clients)
	for i := range connected {
		head := ""
		if remember {
			head = filepath.Join(b.TempDir(), "head")
		}
		connected[i] = servicetest.Dial(b, l.Config(b, local.URL(), head))
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	latencies := make([][]time.Duration, clients)
	var group sync.WaitGroup
	b.ResetTimer()
	for i, c := range connected {
		group.Go(func() {
			for n := 0; left.Add(-perTask) > -perTask; n++ {
				some, err := fill(b, l, c, fmt.Sprintf("TASK-%d-%d", i, n))
				if err != nil {
					b.Error(err)
					return
				}
				latencies[i] = append(latencies[i], some...)
			}
		})
	}
	group.Wait()
	elapsed := b.Elapsed()
	b.StopTimer()
	report(b, slices.Concat(latencies...), elapsed)
}

// fill writes a task of perTask events and returns how long each took.
func fill(b *testing.B, l *servicetest.Ledger, c *client.Client, task string) ([]time.Duration, error) {
	chain, err := l.Chain(task)
	if err != nil {
		return nil, err
	}
	latencies := make([]time.Duration, 0, perTask)
	for range perTask {
		begun := time.Now()
		e, err := chain.Next()
		if err != nil {
			return nil, err
		}
		if _, err := c.Submit(b.Context(), e, false); err != nil {
			return nil, err
		}
		chain.Took(e)
		latencies = append(latencies, time.Since(begun))
	}
	return latencies, nil
}

// report reports percentiles and the rate of what was done.
func report(b *testing.B, latencies []time.Duration, elapsed time.Duration) {
	slices.Sort(latencies)
	at := func(share float64) float64 {
		return latencies[int(share*float64(len(latencies)-1))].Seconds() * 1000
	}
	b.ReportMetric(0, "ns/op") // an operation is not one event where tasks are rounded up
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(float64(len(latencies))/elapsed.Seconds(), "events/s")
}

// stopped fills a ledger with at least n events and stops its service.
func stopped(b *testing.B, n int) server.Folder {
	b.Helper()
	const clients = 8
	l := servicetest.New(b)
	local := l.Run(b)
	var group sync.WaitGroup
	for i := range clients {
		c := servicetest.Dial(b, l.Config(b, local.URL(), ""))
		group.Go(func() {
			for j := range (n + clients*perTask - 1) / (clients * perTask) {
				if _, err := fill(b, l, c, fmt.Sprintf("TASK-%d-%d", i, j)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	if err := local.Close(); err != nil || b.Failed() {
		b.Fatalf("close service: %v", err)
	}
	if in, err := embedded.InUse(l.Folder.StoreDir()); err != nil || in {
		b.Fatalf("folder is in use %t, %v", in, err)
	}
	return l.Folder
}

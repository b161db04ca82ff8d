package bench

import (
	"testing"

	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
)

// replayEvents is how many events the verified stream has at least.
const replayEvents = 2000

// BenchmarkVerify verifies a whole stopped ledger: every header, signature,
// chain, rule and the tree, as deed audit verify and every start do.
func BenchmarkVerify(b *testing.B) {
	folder := stopped(b, replayEvents)
	r, err := server.OpenReader(b.Context(), servicetest.Options(folder.Dir))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	total := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		_, audit, err := ledger.Verify(b.Context(), r, folder.Ledger, nil, 0)
		if err != nil || audit.Fault != nil || audit.Events <= replayEvents {
			b.Fatalf("verify: %v, %+v", err, audit)
		}
		total += audit.Events
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
}

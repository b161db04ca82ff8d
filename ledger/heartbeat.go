package ledger

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// HeartbeatType is the DSSE payload type of a heartbeat.
const HeartbeatType = "application/vnd.deed.heartbeat.v1+json"

// maxHeartbeat bounds a sealed heartbeat, in bytes.
const maxHeartbeat = 4 << 10

// maxHeartbeatNumber leaves room above every clock in microseconds.
const maxHeartbeatNumber = 1 << 52

// Heartbeat renews a lease. It is signed by the lease's key and is no event:
// it lives in the writer's memory. Number must rise with every heartbeat of a
// run, so that an old one does nothing.
type Heartbeat struct {
	Ledger string `json:"ledger"`
	Task   string `json:"task"`
	Fence  int64  `json:"fence"`
	Number int64  `json:"number"`

	signer signer.KeyID
}

// SealHeartbeat signs a heartbeat.
func SealHeartbeat(h Heartbeat, key signer.Key) ([]byte, error) {
	text, err := events.Canonical(h)
	if err != nil {
		return nil, fmt.Errorf("seal heartbeat: %w", err)
	}
	return signer.Seal(HeartbeatType, text, key)
}

// Renew gives the lease that a sealed heartbeat names a full term. It returns
// a [*Refusal] with CodeFence when that lease is not live: whoever gets it
// must stop its work at once. A heartbeat that a newer one overtook is a
// conflict whose Sequence is the newest number.
func (w *Writer) Renew(ctx context.Context, envelope []byte) error {
	payload, signers, err := signer.Open(envelope, HeartbeatType, maxHeartbeat, w.keys.Load().LookupAt(uint64(maxPosition)))
	if err != nil {
		return refuse(CodeSignature, "heartbeat", "%v", err)
	}
	var h Heartbeat
	if err := events.DecodeStrict(payload, &h); err != nil {
		return refuse(CodeForm, "heartbeat", "%v", err)
	}
	if h.Number < 1 || h.Number > maxHeartbeatNumber {
		return refuse(CodeForm, "heartbeat", "number %d is not in 1..%d", h.Number, maxHeartbeatNumber)
	}
	if len(signers) != 1 {
		return refuse(CodeSignature, "heartbeat", "%d signatures, want 1", len(signers))
	}
	h.signer = signers[0]
	_, err = w.enqueue(&pending{ctx: ctx, renew: &h, reply: make(chan answer, 1)})
	return err
}

// heartbeat renews a lease in the writer goroutine.
func (w *Writer) heartbeat(h *Heartbeat) error {
	if w.broken != nil {
		return w.broken
	}
	if h.Ledger != w.cfg.Ledger {
		return refuse(CodeNotFound, "heartbeat", "this is ledger %s", w.cfg.Ledger)
	}
	if w.expiredNow(h.Task) {
		if err := w.interrupt(h.Task); err != nil {
			return notInterrupted(err)
		}
	}
	t := w.book.State.Task(h.Task)
	holder, err := w.book.Keys.At(h.signer, uint64(w.book.Next()))
	// The holder may have rotated its key since it claimed.
	if err != nil || t.Lease == nil || int64(t.Lease.Fence) != h.Fence || t.Lease.Actor != holder.Actor {
		return refuse(CodeFence, "heartbeat", "fence %d of task %s is not live, or not this key's", h.Fence, h.Task)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leases.renew(h, w.cfg.Now())
}

package ledger

import "errors"

// noteStale writes to the operational log what a run tried after its lease
// had ended. It changes nothing: a refusal is no event.
func (w *Writer) noteStale(p *pending, err error) {
	r, refused := errors.AsType[*Refusal](err)
	if !refused || r.Code != CodeFence {
		return
	}
	if h := p.renew; h != nil {
		w.cfg.Log.Warn("refused a run that is over", "rule", r.Rule, "task", h.Task, "fence", h.Fence, "key", string(h.signer))
		return
	}
	e := p.admit.Event
	w.cfg.Log.Warn("refused a run that is over", "rule", r.Rule, "task", e.Source.Task, "fence", e.Fence, "actor", e.AuthID, "type", e.Type.Short(), "event_id", e.ID)
}

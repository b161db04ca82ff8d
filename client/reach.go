package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedledger/deed/ledger"
	"github.com/nats-io/nats.go"
)

// ErrNotReached says that no answer reflected the wanted position in time.
var ErrNotReached = errors.New("position is not reached")

// askUntil sends a query until its answer reflects the position that the
// client was configured to want. The service waits with each; one that lags
// behind is asked again. ErrNotReached when patience ends.
func (c *Client) askUntil(ctx context.Context, m *nats.Msg, out any) error {
	if c.cfg.AtLeast == 0 {
		return c.request(ctx, m, out)
	}
	patient, cancel := context.WithTimeout(ctx, c.cfg.Patience)
	defer cancel()
	last := "no answer in time"
	for {
		err := c.request(patient, m, out)
		r, ok := errors.AsType[*ledger.Refusal](err)
		switch {
		case ok && r.Rule == ledger.RuleReach:
			last = r.Text
		case patient.Err() == nil || ctx.Err() != nil || !ok:
			return err
		}
		select {
		case <-patient.Done():
			return fmt.Errorf("wait for position %d: %w: %s", c.cfg.AtLeast, ErrNotReached, last)
		case <-time.After(submitPause):
		}
	}
}

package server

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/micro"
)

// SweepArtifacts removes what was uploaded before a time and is named by no
// event, as the service does now and then.
func (l *Local) SweepArtifacts(ctx context.Context, before time.Time) (int, error) {
	return l.artifacts.sweep(ctx, before)
}

// asked is a request as the service gets it.
type asked struct {
	micro.Request
	body []byte
}

func (a asked) Data() []byte           { return a.body }
func (a asked) Headers() micro.Headers { return nil }

// RenewThrough asks this instance to renew a lease, and no other.
func (l *Local) RenewThrough(ctx context.Context, envelope []byte) error {
	_, err := l.service.written(operationRenew, l.service.renew)(ctx, asked{body: envelope})
	return err
}

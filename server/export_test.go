package server

import (
	"context"
	"time"
)

// SweepArtifacts removes what was uploaded before a time and is named by no
// event, as the service does now and then.
func (l *Local) SweepArtifacts(ctx context.Context, before time.Time) (int, error) {
	return l.artifacts.sweep(ctx, before)
}

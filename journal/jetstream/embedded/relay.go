package embedded

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// relay hands what the server reports to a logger. The server calls Fatalf
// where it would end the process; here the first such text fails the start.
type relay struct {
	log   *slog.Logger
	first atomic.Pointer[string]
}

var _ server.Logger = (*relay)(nil)

const report = "nats server"

func text(format string, v []any) slog.Attr {
	return slog.String("text", fmt.Sprintf(format, v...))
}

func (r *relay) Noticef(format string, v ...any) { r.log.Info(report, text(format, v)) }
func (r *relay) Errorf(format string, v ...any)  { r.log.Error(report, text(format, v)) }
func (r *relay) Debugf(format string, v ...any)  { r.log.Debug(report, text(format, v)) }
func (r *relay) Tracef(format string, v ...any)  { r.log.Debug(report, text(format, v)) }

// Warnf leaves off that passwords are in plain text: they are random, made for
// this server alone, and it listens on loopback only, where hashing them would
// cost every connection time and hide nothing.
func (r *relay) Warnf(format string, v ...any) {
	if a := text(format, v); !strings.HasPrefix(a.Value.String(), "Plaintext passwords detected") {
		r.log.Warn(report, a)
	}
}

func (r *relay) Fatalf(format string, v ...any) {
	a := text(format, v)
	r.log.Error(report, a)
	s := a.Value.String()
	r.first.CompareAndSwap(nil, &s)
}

// failed returns the first text of Fatalf, empty for none.
func (r *relay) failed() string {
	if s := r.first.Load(); s != nil {
		return *s
	}
	return ""
}

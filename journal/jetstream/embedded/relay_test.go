package embedded

import (
	"log/slog"
	"strings"
	"testing"
)

func TestRelayLeavesOffPlaintextPasswords(t *testing.T) {
	var b strings.Builder
	r := &relay{log: slog.New(slog.NewTextHandler(&b, nil))}
	r.Warnf("Plaintext passwords detected, use nkeys or bcrypt")
	if b.Len() > 0 {
		t.Errorf("relayed: %s", b.String())
	}
	r.Warnf("disk is %s", "full")
	if !strings.Contains(b.String(), "disk is full") {
		t.Errorf("another warning was lost: %q", b.String())
	}
}

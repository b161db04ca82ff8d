package jetstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/deedledger/deed/journal"
)

// oldestServer is the first release whose streams have every setting that
// [Config.Stream] sets.
const oldestServer = "2.12.0"

// Replicas returns how many copies a ledger's stream has by default on the
// server that a connection is to: three in a cluster, one elsewhere.
func Replicas(nc *nats.Conn) int {
	if nc.ConnectedClusterName() != "" {
		return 3
	}
	return 1
}

// CheckServer returns journal.ErrRefused for a server that cannot keep a
// ledger, as far as a client sees: its version, and the largest message that it
// takes. Whether it syncs before it acknowledges no client can see.
func CheckServer(nc *nats.Conn) error {
	if version := nc.ConnectedServerVersion(); older(version, oldestServer) {
		return fmt.Errorf("check server: %w: version %.40q, want %s or later", journal.ErrRefused, version, oldestServer)
	}
	if most := nc.MaxPayload(); most < journal.MaxMessageBytes {
		return fmt.Errorf("check server: %w: max_payload is %d bytes, want %d or more", journal.ErrRefused, most, journal.MaxMessageBytes)
	}
	if !nc.HeadersSupported() {
		return fmt.Errorf("check server: %w: it takes no headers", journal.ErrRefused)
	}
	return nil
}

// older compares two versions, major.minor.patch; what is no number is 0, and a
// pre-release counts as its release.
func older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(version string) (n [3]int) {
	release, _, _ := strings.Cut(version, "-")
	for i, part := range strings.SplitN(release, ".", len(n)) {
		n[i], _ = strconv.Atoi(part)
	}
	return n
}

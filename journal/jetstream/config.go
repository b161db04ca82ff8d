package jetstream

import (
	"fmt"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
)

// DuplicatesDefault is how long a stream remembers message ids by default. It
// is no safeguard, since the expectation makes every retry harmless at any time
// and ids are compared over the whole history by the ledger. It is short because
// a server reads the whole window back before it is ready after a start.
const DuplicatesDefault = time.Second

// The prefixes of JetStream's own requests: in the account of the stream, and
// for clients of the embedded server, which live in another account.
const (
	DefaultAPI = "$JS.API"
	ClientAPI  = "DEED.API"
)

// api returns the prefix of requests.
func (c Config) api() string {
	if c.API == "" {
		return DefaultAPI
	}
	return c.API
}

// Config says which stream holds a ledger and how it is set up.
type Config struct {
	// Ledger is the ledger's name.
	Ledger string
	// Replicas is the number of servers that keep a copy: 1, 3 or 5; 0 is 1.
	Replicas int
	// API is the prefix under which the connection's account has JetStream:
	// DefaultAPI if empty, ClientAPI for a client of the embedded server.
	API string
	// Duplicates is how long the stream remembers message ids, 100 ms to 2
	// minutes; 0 is DuplicatesDefault.
	Duplicates time.Duration
}

// Validate returns journal.ErrRefused for a value out of its range.
func (c Config) Validate() error {
	if err := journal.CheckLedger(c.Ledger); err != nil {
		return err
	}
	switch c.Replicas {
	case 0, 1, 3, 5:
	default:
		return fmt.Errorf("%w: %d replicas, want 1, 3 or 5", journal.ErrRefused, c.Replicas)
	}
	if c.Duplicates != 0 && (c.Duplicates < 100*time.Millisecond || c.Duplicates > 2*time.Minute) {
		return fmt.Errorf("%w: window for duplicates of %v, want 100ms to 2m", journal.ErrRefused, c.Duplicates)
	}
	return nil
}

// Stream returns the settings that the ledger's stream must have: everything is
// kept for ever, nothing can be deleted, purged, replaced or expired by a
// message, and a full store refuses instead of dropping what is old.
func (c Config) Stream() natsjs.StreamConfig {
	replicas, duplicates := c.Replicas, c.Duplicates
	if replicas == 0 {
		replicas = 1
	}
	if duplicates == 0 {
		duplicates = DuplicatesDefault
	}
	return natsjs.StreamConfig{
		Name:              journal.StreamName(c.Ledger),
		Subjects:          []string{journal.SubjectPrefix(c.Ledger) + ">"},
		Retention:         natsjs.LimitsPolicy,
		MaxConsumers:      -1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgsPerSubject: -1,
		MaxMsgSize:        journal.MaxMessageBytes,
		Discard:           natsjs.DiscardNew,
		Storage:           natsjs.FileStorage,
		Replicas:          replicas,
		Duplicates:        duplicates,
		DenyDelete:        true,
		DenyPurge:         true,
		Compression:       natsjs.NoCompression,
		// A direct get may be answered by a replica that lags.
		AllowDirect: false,
		PersistMode: natsjs.DefaultPersistMode,
	}
}

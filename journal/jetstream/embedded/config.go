package embedded

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/deedledger/deed/journal"
)

// The names of the server's two users.
const (
	ServiceUser = "service"
	ClientUser  = "client"
)

// MinPasswordBytes is the shortest password that is taken. Passwords are random
// and for machines: 32 hex digits have 128 bits.
const MinPasswordBytes = 32

// MaxPayloadBytes bounds a message to and from the server. It is more than an
// event has, as answers to queries are messages too.
const MaxPayloadBytes = 1 << 20

// Config says how to run the server.
type Config struct {
	// Ledger is the ledger's name; the client user's rights name it.
	Ledger string
	// StoreDir is the folder for the stream and the lock. It is made if it is
	// not there, for its owner alone.
	StoreDir string
	// Lazy makes the server write to the disk's cache only and sync every two
	// minutes: a loss of power then takes back what was acknowledged. It is for
	// benchmarks, and for a ledger whose evidence log syncs instead.
	Lazy bool
	// Listen is the TCP address for other processes, a loopback IP with a port:
	// 127.0.0.1:4222. Port 0 takes a free one. Empty for none.
	Listen string
	// ServicePassword and ClientPassword are the users' passwords, which differ.
	// They are never logged.
	ServicePassword, ClientPassword string
	// Log takes what the server reports; nil for nowhere. The server writes to
	// no other place.
	Log *slog.Logger
}

// Validate returns journal.ErrRefused for what cannot be run: passwords are of
// digits, a to z and -, so that no configuration text can be in them. It never names one.
func (c Config) Validate() error {
	if err := journal.CheckLedger(c.Ledger); err != nil {
		return err
	}
	if !filepath.IsAbs(c.StoreDir) {
		return fmt.Errorf("%w: folder %q is not absolute", journal.ErrRefused, c.StoreDir)
	}
	if _, _, err := c.listen(); err != nil {
		return fmt.Errorf("%w: listen address %q: %w", journal.ErrRefused, c.Listen, err)
	}
	if len(c.ServicePassword) < MinPasswordBytes || len(c.ClientPassword) < MinPasswordBytes {
		return fmt.Errorf("%w: a password is shorter than %d bytes", journal.ErrRefused, MinPasswordBytes)
	}
	for _, p := range []string{c.ServicePassword, c.ClientPassword} {
		if strings.Trim(p, "0123456789abcdefghijklmnopqrstuvwxyz-") != "" {
			return fmt.Errorf("%w: a password has other characters than digits, a to z and -", journal.ErrRefused)
		}
	}
	if subtle.ConstantTimeCompare([]byte(c.ServicePassword), []byte(c.ClientPassword)) == 1 {
		return fmt.Errorf("%w: both users have the same password", journal.ErrRefused)
	}
	return nil
}

// listen returns the host and the port to listen at, as the server takes them.
func (c Config) listen() (host string, port int, err error) {
	if c.Listen == "" {
		return "127.0.0.1", server.RANDOM_PORT, nil
	}
	host, p, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", 0, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", 0, errors.New("not a loopback IP address")
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return "", 0, err
	}
	if n == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(n), nil
}

// Options returns the server's settings. c must be valid.
func (c Config) Options() *server.Options {
	host, port, _ := c.listen()
	o := new(server.Options)
	// Exports and imports of accounts can be set by configuration text only.
	if err := o.ProcessConfigString(c.accounts()); err != nil {
		panic(fmt.Sprintf("embedded: accounts of a valid config: %v", err))
	}
	o.ServerName = "deed"
	o.Host, o.Port, o.DontListen = host, port, c.Listen == ""
	o.JetStream, o.StoreDir, o.SyncAlways = true, c.StoreDir, !c.Lazy
	o.MaxPayload = MaxPayloadBytes
	// The process has its own handling of signals.
	o.NoSigs = true
	// Nothing is logged before the logger is set.
	o.NoLog, o.DisableJetStreamBanner = true, true
	return o
}

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Access is how one gets into a NATS system: at most one of a credentials
// file, an nkey and a user, and what TLS needs. Secrets stay in their files.
type Access struct {
	// Creds is a credentials file: a user's JWT and the seed of its key.
	Creds string `json:"creds,omitzero"`
	// NKey is a file with the seed of an nkey.
	NKey string `json:"nkey,omitzero"`
	// User goes with PasswordFile, a file with the password.
	User         string `json:"user,omitzero"`
	PasswordFile string `json:"passwordFile,omitzero"`
	// CA is a file with the certificates that servers are verified against;
	// Cert and CertKey are this side's certificate and its key.
	CA      string `json:"ca,omitzero"`
	Cert    string `json:"cert,omitzero"`
	CertKey string `json:"certKey,omitzero"`
}

// ErrAccess says that a way into a NATS system is no way.
var ErrAccess = errors.New("access to NATS is incomplete")

// CheckURL returns ErrAccess unless a text is one or more server addresses,
// separated by commas, nats://, tls://, ws:// or wss://, without a password in
// them: addresses are shown and kept.
func CheckURL(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" || u.User != nil {
			return fmt.Errorf("%w: an address is nats://host:port, without user and password", ErrAccess)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("%w: address with scheme %.20q, want nats, tls, ws or wss", ErrAccess, u.Scheme)
		}
	}
	return nil
}

// Options returns the connection's options. It reads the password, no other
// file: nats.go reads those whenever it connects. ErrAccess for two identities,
// or half of one.
func (a Access) Options() ([]nats.Option, error) {
	identities := 0
	for _, given := range []string{a.Creds, a.NKey, a.User} {
		if given != "" {
			identities++
		}
	}
	if identities > 1 || (a.User == "") != (a.PasswordFile == "") {
		return nil, fmt.Errorf("%w: give a credentials file, or an nkey, or a user with a password file", ErrAccess)
	}
	if (a.Cert == "") != (a.CertKey == "") {
		return nil, fmt.Errorf("%w: a certificate goes with its key", ErrAccess)
	}
	var options []nats.Option
	switch {
	case a.Creds != "":
		if _, err := os.Stat(a.Creds); err != nil {
			return nil, fmt.Errorf("read credentials: %w", err)
		}
		options = append(options, nats.UserCredentials(a.Creds))
	case a.NKey != "":
		option, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			return nil, fmt.Errorf("read nkey: %w", err)
		}
		options = append(options, option)
	case a.User != "":
		password, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read password: %w", err)
		}
		options = append(options, nats.UserInfo(a.User, strings.TrimRight(string(password), "\r\n")))
	}
	if a.CA != "" {
		if err := parses(a.CA); err != nil {
			return nil, err
		}
		options = append(options, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		options = append(options, nats.ClientCert(a.Cert, a.CertKey))
	}
	return options, nil
}

func parses(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read certificates: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%w: %s holds no certificate", ErrAccess, file)
	}
	return nil
}

// Connect connects, and connects again for ever once it was connected. What
// cannot be sent fails at once: a message that goes out after its sender gave
// up is harmless, but late. Options may add to the connection, such as a name.
func (a Access) Connect(address string, more ...nats.Option) (*nats.Conn, error) {
	options, err := a.Options()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	options = append(options, nats.Timeout(5*time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond),
		nats.ReconnectBufSize(-1))
	return nats.Connect(address, append(options, more...)...)
}

// Unverified reports whether a connection failed because the server's
// certificate does not verify: another try would fail as this one did.
func Unverified(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

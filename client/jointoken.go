package client

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/signer"
	"github.com/go-json-experiment/json"
)

const (
	// JoinTokenPrefix begins every join token of this version.
	JoinTokenPrefix = "deed-join-v1."
	// MaxJoinToken bounds a join token, in bytes.
	MaxJoinToken = 4096

	// joinSecret is the length of an invitation's one-time token: 32 bytes.
	joinSecret = 43
	// maxURL bounds the address of a service.
	maxURL = 255
)

// ErrJoinToken means that a text is no join token in its one spelling.
var ErrJoinToken = errors.New("not a join token")

// JoinToken is all that a new machine needs to join a ledger as an actor. Whoever
// has it can claim the name once: it is a secret, and it is never printed by fmt.
// It holds no private key. With a URL it holds the connection's credential too,
// which lets anybody read the ledger and ask its service; only a signature writes.
type JoinToken struct {
	Actor string `json:"actor"`
	// Expires is when the invitation ends, for people; the service decides.
	Expires string `json:"expires,omitzero"`
	// Head is a signed head that the inviter saw: what the service serves must
	// continue it.
	Head string `json:"head"`
	// Identity and Service pin the ledger, as in [Config].
	Identity string `json:"identity"`
	Ledger   string `json:"ledger"`
	Password string `json:"password,omitzero"`
	// Secret is the invitation's one-time token.
	Secret  string `json:"secret"`
	Service string `json:"service"`
	// URL is where the service is; without it the ledger's folder has to be named.
	URL  string `json:"url,omitzero"`
	User string `json:"user,omitzero"`
}

// ParseJoinToken parses the one spelling of a join token. Its errors wrap
// ErrJoinToken and repeat nothing of it.
func ParseJoinToken(s string) (JoinToken, error) {
	encoded, found := strings.CutPrefix(s, JoinTokenPrefix)
	if !found || len(s) > MaxJoinToken {
		return JoinToken{}, fmt.Errorf("parse join token: %w: want %s and base64url, at most %d bytes", ErrJoinToken, JoinTokenPrefix, MaxJoinToken)
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return JoinToken{}, fmt.Errorf("parse join token: %w: not base64url", ErrJoinToken)
	}
	var t JoinToken
	if err := json.Unmarshal(text, &t, json.RejectUnknownMembers(true)); err != nil {
		return JoinToken{}, fmt.Errorf("parse join token: %w: not the members of this version", ErrJoinToken)
	}
	again, err := t.Encode()
	if err != nil {
		return JoinToken{}, fmt.Errorf("parse join token: %w", err)
	}
	if again != s {
		return JoinToken{}, fmt.Errorf("parse join token: %w: another spelling of its content", ErrJoinToken)
	}
	return t, nil
}

// Encode returns the token as one line: JoinTokenPrefix and the unpadded base64url
// of the RFC 8785 form. It returns ErrJoinToken for what no token may hold.
func (t JoinToken) Encode() (string, error) {
	if _, _, err := t.check(); err != nil {
		return "", err
	}
	text, err := events.Canonical(t)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrJoinToken, err)
	}
	s := JoinTokenPrefix + base64.RawURLEncoding.EncodeToString(text)
	if len(s) > MaxJoinToken {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrJoinToken, len(s), MaxJoinToken)
	}
	return s, nil
}

// Config returns how to talk to the token's ledger; Timeout and HeadPath are the
// caller's.
func (t JoinToken) Config() (Config, error) {
	identity, service, err := t.check()
	if err != nil {
		return Config{}, err
	}
	return Config{URL: t.URL, User: t.User, Password: t.Password, Ledger: t.Ledger, Identity: identity, Service: service}, nil
}

// Format implements fmt.Formatter, so that no verb prints the secret.
func (t JoinToken) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "join token") // a Formatter has nowhere to report to
}

func (t JoinToken) check() (events.Hash, signer.PublicKey, error) {
	fail := func(format string, args ...any) (events.Hash, signer.PublicKey, error) {
		return events.Hash{}, signer.PublicKey{}, fmt.Errorf("%w: "+format, append([]any{ErrJoinToken}, args...)...)
	}
	identity, err := events.ParseHash(t.Identity)
	if err != nil {
		return fail("identity: %w", err)
	}
	service, err := signer.ParsePublicKey(t.Service)
	if err != nil {
		return fail("service key: %w", err)
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(t.Secret)
	switch {
	case err != nil || len(t.Secret) != joinSecret || base64.RawURLEncoding.EncodeToString(secret) != t.Secret:
		return fail("secret")
	case !events.ValidLedger(t.Ledger) || !events.ValidActor(t.Actor):
		return fail("ledger or actor name")
	case t.Expires != "" && !validTime(t.Expires):
		return fail("expiry")
	case (t.User == "") != (t.Password == "") || t.URL == "" && t.User != "" || !printable(t.User) || !printable(t.Password):
		return fail("user and password")
	case t.URL != "" && !ValidURL(t.URL):
		return fail("url")
	}
	if _, err := evidence.OpenHead([]byte(t.Head), t.Ledger, identity, service); err != nil {
		return fail("head: %w", err)
	}
	return identity, service, nil
}

// ValidURL reports whether s is the address of one service: nats:// or tls://,
// a host and a port, nothing else, and no credential.
func ValidURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURL || !printable(s) {
		return false
	}
	return (u.Scheme == "nats" || u.Scheme == "tls") && u.Hostname() != "" && u.Port() != "" && s == u.Scheme+"://"+u.Host && !strings.Contains(s, ",")
}

func validTime(s string) bool {
	_, err := events.ParseTime(s)
	return err == nil
}

// printable reports whether s is at most 255 characters of ASCII without space.
func printable(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(s) <= maxURL
}

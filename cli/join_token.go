package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// joinToken returns the join token of an invitation: what is known here of the
// ledger and its service, and unless local the address and credential.
func (s *session) joinToken(ctx context.Context, d *events.Invitation, secret string, o invitation) (string, error) {
	if o.url != "" && (o.local || !client.ValidURL(o.url)) {
		return "", fmt.Errorf("%w: --url is nats://HOST:PORT or tls://HOST:PORT, and not beside --local", errUsage)
	}
	c, err := s.dial()
	if err != nil {
		return "", err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return "", err
	}
	t := client.JoinToken{
		Actor: d.Actor, Expires: d.Expires, Head: status.Head, Identity: s.folder.Identity, Ledger: s.folder.Ledger,
		Secret: secret, Service: s.folder.Service,
	}
	operator, err := s.folder.External()
	switch {
	case err != nil:
		return "", err
	case operator != nil: // who gets into an operator's NATS is the operator's to say
		t.URL = o.url
	case !o.local:
		credential, err := s.folder.Credential()
		if err != nil {
			return "", err
		}
		t.URL, t.User, t.Password = first(o.url, s.url), credential.User, credential.Password
	}
	text, err := t.Encode()
	if err != nil {
		return "", fmt.Errorf("make join token: %w", err)
	}
	return text, nil
}

// claimSecret returns the one-time token in what "deed actor claim" is given:
// that token itself, or a join token of the actor.
func claimSecret(name, token string) (string, error) {
	if !strings.HasPrefix(token, client.JoinTokenPrefix) {
		return token, nil
	}
	t, err := client.ParseJoinToken(token)
	if err != nil {
		return "", err
	}
	if t.Actor != name {
		return "", fmt.Errorf("%w: the token is for %s", errUsage, t.Actor)
	}
	return t.Secret, nil
}

// readJoinToken reads the token from the argument, a file or standard input.
func (s *session) readJoinToken(args []string, file string) (client.JoinToken, error) {
	if (len(args) == 1) == (file != "") {
		return client.JoinToken{}, fmt.Errorf("%w: give one of TOKEN and --token-file", errUsage)
	}
	text := ""
	if len(args) == 1 && args[0] != "-" {
		text = args[0]
	} else {
		input, err := s.readInput(first(file, "-"), client.MaxJoinToken+2)
		if err != nil {
			return client.JoinToken{}, err
		}
		text = strings.TrimSpace(string(input))
	}
	return client.ParseJoinToken(text)
}

// publicHalf returns the public key of the actor's key file, which it writes
// where a process died before it did. fs.ErrNotExist without a key.
func (j *join) publicHalf() (signer.PublicKey, error) {
	public, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(j.key))
	if !errors.Is(err, fs.ErrNotExist) || j.flags.dryRun {
		return public, err
	}
	key, err := j.openKey(j.key)
	if err != nil {
		return signer.PublicKey{}, err
	}
	err = signer.WritePublicKeyFile(j.key, key.Public())
	if errors.Is(err, fs.ErrExist) { // another process was faster
		err = nil
	}
	return key.Public(), err
}

// ownKey returns the actor's key: the one that is there, else a new one.
func (j *join) ownKey() (signer.Key, error) {
	key, err := j.openKey(j.key)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = signer.Generate(j.o.algorithm, j.env.Random); err != nil || j.flags.dryRun {
		return key, err
	}
	var passphrase []byte
	if j.o.encrypt {
		if passphrase, err = j.newPassphrase(j.key); err != nil {
			return signer.Key{}, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(j.key), 0o700); err != nil {
		return signer.Key{}, fmt.Errorf("make key: %w", err)
	}
	err = signer.WriteKeyFile(j.key, key, passphrase)
	if errors.Is(err, fs.ErrExist) { // another process of this machine was faster: its key is the one
		return j.openKey(j.key)
	}
	return key, err
}

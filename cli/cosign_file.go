package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
	"golang.org/x/sys/unix"
)

// cosignSchema is the first line of a file with an event that waits for
// signatures.
const cosignSchema = "deed.cosign/v1"

// unfounded stands for the identity of a ledger that does not exist yet.
const unfounded = "-"

// cosignFile is an event of the registry that waits for signatures.
type cosignFile struct {
	// Identity is the ledger's, unfounded for a genesis.
	Identity string
	Event    events.Event
	payload  events.Payload
}

// text returns the file: three lines, the schema, the identity, and the event
// in its exported form.
func (c cosignFile) text() []byte {
	return fmt.Appendf(nil, "%s\nidentity %s\n%s\n", cosignSchema, c.Identity, c.Event.Export())
}

// parseCosign reads exactly what text writes. No signature is checked.
func parseCosign(text []byte) (cosignFile, error) {
	bad := func(format string, args ...any) (cosignFile, error) {
		return cosignFile{}, fmt.Errorf("%w: no event to be cosigned: %w", errUsage, fmt.Errorf(format, args...))
	}
	lines := bytes.SplitN(text, []byte("\n"), 3)
	if len(lines) != 3 || string(lines[0]) != cosignSchema {
		return bad("the first line is not %s", cosignSchema)
	}
	identity, ok := bytes.CutPrefix(lines[1], []byte("identity "))
	if _, err := events.ParseHash(string(identity)); !ok || err != nil && string(identity) != unfounded {
		return bad("the second line is no identity")
	}
	e, err := events.ParseExport(bytes.TrimSuffix(lines[2], []byte("\n")))
	if err != nil {
		return bad("%w", err)
	}
	p, err := e.Payload()
	if err != nil {
		return bad("%w", err)
	}
	c := cosignFile{Identity: string(identity), Event: e, payload: p}
	if e.Source.Task != "" || (e.Type == events.LedgerCreated) != (c.Identity == unfounded) {
		return bad("%s belongs to %s and names identity %s", e.Type.Short(), e.Source, c.Identity)
	}
	if !bytes.Equal(c.text(), text) {
		return bad("another spelling of its content")
	}
	return c, nil
}

// readCosign reads a file with an event that waits for signatures.
func (s *session) readCosign(name string) (cosignFile, error) {
	text, err := s.readInput(name, 2*events.MaxExport)
	if err != nil {
		return cosignFile{}, err
	}
	return parseCosign(text)
}

// writeCosign writes a new file, mode 0600, durably; none is replaced.
func (s *session) writeCosign(name string, c cosignFile) error {
	path := s.abs(name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return withHint(fmt.Errorf("write event: %w", err), "name a new file, in a folder that is there")
	}
	_, err = file.Write(c.text())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write event: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// signInPlace replaces a file that was read as before. If somebody else signed
// it in between, that is a conflict: a signature is never dropped.
func (s *session) signInPlace(name string, before, after cosignFile) error {
	path := s.abs(name)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written; closing unlocks
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", plain(name), err)
	}
	// Whoever waited for the lock may hold that of a file which was replaced.
	held, err := file.Stat()
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	there, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, 2*events.MaxExport))
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if !os.SameFile(held, there) || !bytes.Equal(text, before.text()) {
		return withHint(&ledger.Refusal{Class: ledger.Conflict, Code: ledger.CodeHead, Rule: "cosign", Text: "somebody else signed the file meanwhile"}, "run it again: their signature is kept")
	}
	if err := replaceFile(path, after.text()); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// cosignKey is a key whose signature counts.
type cosignKey struct {
	actor  string
	public signer.PublicKey
}

// founderKeys are the keys of those whom a genesis names.
func founderKeys(g *events.Genesis) map[signer.KeyID]cosignKey {
	keys := map[signer.KeyID]cosignKey{}
	for _, a := range g.Admins {
		if key, err := signer.ParsePublicKey(a.Key); err == nil {
			keys[key.ID()] = cosignKey{a.Actor, key}
		}
	}
	return keys
}

// adminKeys are the keys with which admins sign now.
func adminKeys(g *projections.Registry) map[signer.KeyID]cosignKey {
	keys := map[signer.KeyID]cosignKey{}
	for _, a := range g.Actors {
		if !a.Has(events.RoleAdmin) || a.Revoked != 0 {
			continue
		}
		for _, text := range a.Keys {
			if key, err := signer.ParsePublicKey(text); err == nil {
				keys[key.ID()] = cosignKey{a.Name, key}
			}
		}
		for _, ended := range a.Ended {
			delete(keys, signer.KeyID(ended.ID))
		}
	}
	return keys
}

// cosignName is the path of a file as people may type it again.
func (s *session) cosignName(name string) string {
	if rel, err := filepath.Rel(s.env.Dir, s.abs(name)); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}

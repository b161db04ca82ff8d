package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// rotation is what "deed key rotate" is asked for.
type rotation struct {
	to        string // key that follows, "" to make one
	algorithm signer.Algorithm
	encrypt   bool
}

// rotated is the data of "deed key rotate".
type rotated struct {
	ledger.Ack
	Actor string       `json:"actor"`
	Old   signer.KeyID `json:"old"`
	KeyID signer.KeyID `json:"keyid"`
	// Path is the new key's file, Retired that of the old one.
	Path    string `json:"path,omitzero"`
	Retired string `json:"retired,omitzero"`
}

// newKeyRotateCommand builds "deed key rotate".
func newKeyRotateCommand(e *Env, f *flags) *cobra.Command {
	var o rotation
	var algorithm string
	cmd := &cobra.Command{
		Use: "rotate", Short: "Go over to another key", Args: cobra.NoArgs,
		Long: `Go over to another key: the old and the new one sign key.rotated, and from its position
on only the new one signs for the actor. What the old one signed stays valid, and a live
lease goes on: a worker that rotates in the middle of a run keeps it.

A new key is made beside the old one and takes its place once the ledger has the event;
the old file is kept with .retired- and the position added. Run it again after a crash, at
whatever step. With --to a key that is there already follows, in a file or with a plugin,
and no file is moved. A key never comes back: one key, one actor, for ever.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			o.algorithm = signer.Algorithm(algorithm)
			return s.rotateKey(ctx, o)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.to, "to", "", "file or reference of the key that follows (default: a new one)")
	fs.StringVar(&algorithm, "type", string(signer.Ed25519), "sort of a key to be made: "+either(signer.Algorithms()))
	fs.BoolVar(&o.encrypt, "encrypt", false, "seal a key to be made with a passphrase")
	return writes(cmd, f)
}

// rotateKey takes the steps in an order in which each can be cut off: the new
// key is on the disk before the ledger hears of it, and the files change
// places after.
func (s *session) rotateKey(ctx context.Context, o rotation) error {
	if err := choose("--type", o.algorithm, signer.Algorithms()); err != nil {
		return err
	}
	path, err := s.keyPath()
	if err != nil {
		return err
	}
	moved := o.to == ""
	if moved {
		if isReference(path) {
			return withHint(fmt.Errorf("%w: a key with a plugin is followed by one that is there", errUsage), "make one there, then: deed key rotate --to REFERENCE")
		}
		done, err := s.finishRotation(ctx, path)
		if done || err != nil {
			return err
		}
	}
	next, err := s.followingKey(path, o)
	if err != nil {
		return err
	}
	data := rotated{KeyID: next.ID()}
	var held steady
	data.Ack, err = s.appendRegistry(ctx, func(ctx context.Context) (author, error) {
		a, err := s.author(ctx)
		a.with = []signer.Key{next}
		return a, err
	}, func(a author) (events.Payload, error) {
		data.Actor, data.Old = a.actor.Name, a.key.ID()
		return &events.KeyRotation{Actor: a.actor.Name, Old: string(a.key.ID()), Key: next.Public().String()}, steadyActor(&held, &a.registry, a.actor.Name)
	})
	if err != nil {
		return err
	}
	if moved && !data.DryRun {
		if data.Retired, err = swapKeys(path, data.Position); err != nil {
			return err
		}
		data.Path = path
	}
	return s.rotationResult(data)
}

func (s *session) rotationResult(d rotated) error {
	return s.result("rotation", d, func(w *textWriter) {
		w.acked(d.Ack, "%s signs with key %s from now on, and no longer with %s", d.Actor, string(d.KeyID), string(d.Old))
		if d.Retired != "" {
			w.line("  the old key is kept in %s", d.Retired)
		}
	})
}

// nextPath is where a key waits that is to follow the one at path.
func nextPath(path string) string { return path + ".next" }

// followingKey opens the key that is named, or that a cut off run made; else
// it makes one. On a dry run nothing is written.
func (s *session) followingKey(path string, o rotation) (signer.Key, error) {
	if o.to != "" {
		return s.openKey(o.to)
	}
	next := nextPath(path)
	if _, err := os.Lstat(next); err == nil {
		return s.openKey(next)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return signer.Key{}, err
	}
	key, err := signer.Generate(o.algorithm, s.env.Random)
	if err != nil || s.flags.dryRun {
		return key, err
	}
	var passphrase []byte
	if o.encrypt {
		if passphrase, err = s.newPassphrase(next); err != nil {
			return signer.Key{}, err
		}
	}
	return key, signer.WriteKeyFile(next, key, passphrase)
}

// finishRotation puts the new key in its place where a run was cut off after
// the ledger had taken it. done says that there was nothing else to do.
func (s *session) finishRotation(ctx context.Context, path string) (done bool, err error) {
	next := nextPath(path)
	if _, err := os.Lstat(next); err != nil {
		return false, nil // nothing waits
	}
	public, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(next))
	if errors.Is(err, fs.ErrNotExist) { // its public half is in place already
		public, err = signer.ReadPublicKeyFile(signer.PublicKeyPath(path))
	}
	if err != nil {
		return false, err
	}
	g, err := s.registry(ctx)
	if err != nil {
		return false, err
	}
	for _, a := range g.Actors {
		if n := len(a.Keys); n == 0 || a.Keys[n-1] != public.String() || len(a.Ended) == 0 {
			continue
		}
		ended := a.Ended[len(a.Ended)-1]
		d := rotated{Actor: a.Name, Old: signer.KeyID(ended.ID), KeyID: public.ID(), Path: path, Ack: ledger.Ack{Position: ended.Position, Existing: true}}
		if !s.flags.dryRun {
			if d.Retired, err = swapKeys(path, ended.Position); err != nil {
				return false, err
			}
		}
		return true, s.rotationResult(d)
	}
	return false, nil
}

// swapKeys puts the waiting key in the place of the one at path, which is kept
// under the name that it returns. Each file moves by itself, the private one
// last: as long as it waits, this is done again.
func swapKeys(path string, at events.Position) (retired string, err error) {
	retired = fmt.Sprintf("%s.retired-%d", path, at)
	for _, name := range []func(string) string{signer.PublicKeyPath, func(p string) string { return p }} {
		from, to, kept := name(nextPath(path)), name(path), name(retired)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(to, kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("retire key: %w", err)
			}
		}
		if err := os.Rename(from, to); err != nil {
			return "", fmt.Errorf("put the new key in its place: %w", err)
		}
	}
	return retired, nil
}

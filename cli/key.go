package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// keyFacts is what is public about a key.
type keyFacts struct {
	Name string `json:"name,omitzero"`
	// Path is the private key's file.
	Path   string       `json:"path"`
	Public string       `json:"public"`
	ID     signer.KeyID `json:"keyid"`
}

// newKeyCommand builds "deed key".
func newKeyCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Make, show, rotate and give up signing keys"}
	var encrypt bool
	var out, algorithm string
	create := &cobra.Command{
		Use: "new NAME", Short: "Make a key pair", Args: cobra.ExactArgs(1),
		Long: `Make a key pair, Ed25519 or ECDSA P-256. The private key is written with mode 0600,
the public one beside it with .pub added. A key file is never replaced.

With --encrypt the private key is sealed with a passphrase, from --passphrase-file
or asked for on a terminal. Keys of people should be; keys of machines cannot.`,
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error {
			return s.newKey(args[0], out, signer.Algorithm(algorithm), encrypt)
		}),
	}
	create.Flags().BoolVar(&encrypt, "encrypt", false, "seal the private key with a passphrase")
	create.Flags().StringVar(&algorithm, "type", string(signer.Ed25519), "sort of key: "+either(signer.Algorithms()))
	create.Flags().StringVar(&out, "out", "", "write to this file instead of the key folder")
	show := &cobra.Command{
		Use: "show [NAME]", Short: "Show a public key", Args: cobra.MaximumNArgs(1),
		Long: `Show a public key: the one that NAME, --key or --as names, else that of the
context's actor. Only the .pub file is read, or, where --key is a reference, its
plugin asked.`,
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error { return s.showKey(args) }),
	}
	cmd.AddCommand(create, newKeyAddCommand(e, f), show, newKeyRotateCommand(e, f), newKeyCompromiseCommand(e, f), newAffectedCommand(e, f, true))
	return cmd
}

func (s *session) newKey(name, out string, algorithm signer.Algorithm, encrypt bool) error {
	if err := choose("--type", algorithm, signer.Algorithms()); err != nil {
		return err
	}
	if !events.ValidActor(name) {
		return fmt.Errorf("%w: %q is no actor name", errUsage, name)
	}
	path, err := s.namedKeyPath(name)
	if err != nil {
		return err
	}
	if out != "" {
		path = s.abs(out)
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	for _, file := range []string{path, signer.PublicKeyPath(path)} { // before a passphrase is asked for
		if _, err := os.Lstat(file); err == nil {
			return fmt.Errorf("make key: %s: %w", file, fs.ErrExist)
		}
	}
	var passphrase []byte
	if encrypt {
		if passphrase, err = s.newPassphrase(path); err != nil {
			return err
		}
	}
	key, err := signer.Generate(algorithm, s.env.Random)
	if err != nil {
		return err
	}
	if err := signer.WriteKeyFile(path, key, passphrase); err != nil {
		return err
	}
	return s.keyResult(keyFacts{Name: name, Path: path, Public: key.Public().String(), ID: key.ID()})
}

// newPassphrase returns the passphrase of a key to be made; on a terminal it
// has to be given twice.
func (s *session) newPassphrase(path string) ([]byte, error) {
	first, err := s.passphrase(path)()
	if err != nil {
		return nil, err
	}
	if s.passphraseFile() == "" && s.env.Prompt != nil {
		again, err := s.env.Prompt("Once more: ")
		if err != nil {
			return nil, fmt.Errorf("read passphrase: %w", err)
		}
		if !bytes.Equal(first, again) {
			return nil, fmt.Errorf("%w: the two entries differ", errUsage)
		}
	}
	return first, nil
}

func (s *session) showKey(args []string) error {
	facts := keyFacts{}
	path, err := "", error(nil)
	if len(args) == 1 {
		facts.Name = args[0]
		path, err = s.namedKeyPath(args[0])
	} else {
		path, err = s.keyPath()
		facts.Name = strings.TrimSuffix(filepath.Base(path), ".key")
	}
	if err != nil {
		return err
	}
	public, err := s.publicKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: no key at %s: make one with deed key new %s", errMissing, path, facts.Name)
	}
	if err != nil {
		return err
	}
	facts.Path, facts.Public, facts.ID = path, public.String(), public.ID()
	return s.keyResult(facts)
}

func (s *session) keyResult(k keyFacts) error {
	return s.result("key", k, func(w *textWriter) {
		w.line("key %s", k.Name)
		w.line("  id      %s", string(k.ID))
		w.line("  public  %s", k.Public)
		w.line("  file    %s", k.Path)
	})
}

// namedKeyPath returns where the key of an actor lies by default.
func (s *session) namedKeyPath(name string) (string, error) {
	if !events.ValidActor(name) {
		return "", fmt.Errorf("%w: %q is no actor name", errUsage, name)
	}
	p, err := s.env.places()
	if err != nil {
		return "", err
	}
	return p.KeyPath(name), nil
}

// abs returns a path that was given on the command line as an absolute one.
func (s *session) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.env.Dir, path)
}

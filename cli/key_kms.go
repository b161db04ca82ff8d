package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// newKeyAddCommand builds "deed key add".
func newKeyAddCommand(e *Env, f *flags) *cobra.Command {
	var kms string
	cmd := &cobra.Command{
		Use: "add NAME --kms REFERENCE", Short: "Use a key that a plugin holds", Args: cobra.ExactArgs(1),
		Long: `Use a key whose private half stays in a key management service, a token or an agent.
REFERENCE is sigstore's PLUGIN://KEY: the program sigstore-kms-PLUGIN on PATH is asked
for the public key now, and for each signature later; it finds its own secrets in the
environment. An Ed25519 or ECDSA P-256 key is taken.

The reference is written where a private key would lie, and the public key beside it.
Each signature is held against that public key before anything is sent, so a plugin
that signs with another key, or something else, is refused. A call ends after a minute.

--key PLUGIN://KEY does the same for one command and keeps nothing.`,
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error { return s.addKey(args[0], kms) }),
	}
	cmd.Flags().StringVar(&kms, "kms", "", "where the key is: PLUGIN://KEY")
	return cmd
}

func (s *session) addKey(name, kms string) error {
	path, err := s.namedKeyPath(name)
	if err != nil {
		return err
	}
	ref, err := signer.ParseReference(kms)
	if err != nil {
		return fmt.Errorf("%w: --kms: %w", errUsage, err)
	}
	public, err := s.plugins().PublicKey(ref)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	if err := signer.WriteReferenceFile(path, ref, public); err != nil {
		return err
	}
	return s.keyResult(keyFacts{Name: name, Path: path, Public: public.String(), ID: public.ID()})
}

// plugins returns how key plugins are run.
func (s *session) plugins() signer.Plugins { return signer.Plugins{Env: s.env.Environ()} }

// isReference reports whether --key names a plugin's key and no file.
func isReference(path string) bool { return strings.Contains(path, "://") }

// openKey returns the key of a file, of a file that holds a reference, or of the
// reference that path is.
func (s *session) openKey(path string) (signer.Key, error) {
	if isReference(path) {
		ref, err := signer.ParseReference(path)
		if err != nil {
			return signer.Key{}, fmt.Errorf("%w: --key: %w", errUsage, err)
		}
		public, err := s.plugins().PublicKey(ref)
		if err != nil {
			return signer.Key{}, err
		}
		return s.plugins().Key(ref, public)
	}
	key, err := signer.ReadKeyFile(path, s.passphrase(path))
	if !errors.Is(err, signer.ErrIsReference) {
		return key, err
	}
	ref, public, err := signer.ReadReferenceFile(path)
	if err != nil {
		return signer.Key{}, err
	}
	return s.plugins().Key(ref, public)
}

// publicKey returns the public half without the private one.
func (s *session) publicKey(path string) (signer.PublicKey, error) {
	if !isReference(path) {
		return signer.ReadPublicKeyFile(signer.PublicKeyPath(path))
	}
	ref, err := signer.ParseReference(path)
	if err != nil {
		return signer.PublicKey{}, fmt.Errorf("%w: --key: %w", errUsage, err)
	}
	return s.plugins().PublicKey(ref)
}

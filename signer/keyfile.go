package signer

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

const (
	// MaxKeyFileBytes bounds a key file, private or public.
	MaxKeyFileBytes = 16 << 10
	// MaxPassphraseBytes bounds a passphrase.
	MaxPassphraseBytes = 1024

	privateKeyMode fs.FileMode = 0o600
	publicKeyMode  fs.FileMode = 0o644
)

var (
	// ErrKeyFile means that a file is not a key file in its plain form.
	ErrKeyFile = errors.New("not a key file")
	// ErrKeyFileMode means that group or others may use a private key file.
	ErrKeyFileMode = errors.New("key file is open to group or others")
	// ErrPassphrase means that a key file needs a passphrase and none was
	// given, that the passphrase is wrong, or that it is empty or too long.
	ErrPassphrase = errors.New("passphrase missing or wrong")
)

// PublicKeyPath returns where the public half of the key file at path lies.
func PublicKeyPath(path string) string { return path + ".pub" }

// WriteKeyFile writes key to a new file at path, mode 0600, and its public half
// as PKIX PEM to PublicKeyPath(path), mode 0644. Both files and their folder are
// fsynced before it returns. With a passphrase the private file is sigstore's
// encrypted PEM, with a nil one it is plain PKCS#8 PEM.
//
// An existing file, or link, is never replaced: the error then wraps
// fs.ErrExist. On any error neither file is left behind. A process that dies
// meanwhile leaves both, none, or the private one: WritePublicKeyFile adds the
// other. It returns ErrNoKey for a zero key or a plugin's, ErrPassphrase for a
// passphrase that is empty but not nil, or longer than MaxPassphraseBytes.
func WriteKeyFile(path string, key Key, passphrase []byte) error {
	if key.IsZero() {
		return fmt.Errorf("write key file: %w", ErrNoKey)
	}
	private, err := encodeKey(key, passphrase)
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	public, err := key.Public().PEM()
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	if err := writePair(path, private, public); err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}

// writePair writes what is private to path and what is public beside it.
func writePair(path string, private, public []byte) error {
	if err := createFile(path, private, privateKeyMode); err != nil {
		return err
	}
	err := createFile(PublicKeyPath(path), public, publicKeyMode)
	if errors.Is(err, fs.ErrExist) && holds(PublicKeyPath(path), public) {
		err = nil // another process found the private one alone and completed it
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return errors.Join(err, os.Remove(path), os.Remove(PublicKeyPath(path)))
	}
	return nil
}

// holds reports whether a regular file has this content.
func holds(path string, content []byte) bool {
	text, _, err := readRegular(path)
	return err == nil && bytes.Equal(text, content)
}

// WritePublicKeyFile writes the public half of the key file at path where a
// process died before it did. An existing file is never replaced: the error then
// wraps fs.ErrExist.
func WritePublicKeyFile(path string, key PublicKey) error {
	text, err := key.PEM()
	if err == nil {
		err = createFile(PublicKeyPath(path), text, publicKeyMode)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write public key file: %w", err)
	}
	return nil
}

// ReadKeyFile reads a private key. passphrase is called once, and only for an
// encrypted file; nil means that there is none to be had. An encrypted file
// costs about a third of a second: read it once and keep the key.
//
// It returns ErrKeyFileMode if group or others have any right to the file,
// ErrPassphrase for a missing, empty or wrong passphrase, the error of
// passphrase, an error that wraps fs.ErrNotExist, ErrIsReference for a file of
// WriteReferenceFile, and ErrKeyFile for anything else than a regular file (a link
// is refused too) of at most MaxKeyFileBytes that holds one Ed25519 or ECDSA P-256
// key in PEM and nothing around it.
func ReadKeyFile(path string, passphrase func() ([]byte, error)) (Key, error) {
	text, err := readPrivate(path)
	if err != nil {
		return Key{}, fmt.Errorf("read key file: %w", err)
	}
	if bytes.HasPrefix(text, []byte(referenceMarker)) {
		return Key{}, fmt.Errorf("read key file %q: %w", path, ErrIsReference)
	}
	key, err := decodeKey(text, passphrase)
	if err != nil {
		return Key{}, fmt.Errorf("read key file %q: %w", path, err)
	}
	return key, nil
}

// ReadPublicKeyFile reads a public key file, as found at PublicKeyPath of a key
// file. No private key is loaded. It returns an error that wraps fs.ErrNotExist,
// ErrKeyFile for anything but a regular file of at most MaxKeyFileBytes, and
// ErrPublicKey for anything but one key in PKIX PEM.
func ReadPublicKeyFile(path string) (PublicKey, error) {
	text, _, err := readRegular(path)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key file: %w", err)
	}
	key, err := ParsePublicKeyPEM(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read public key file %q: %w", path, err)
	}
	return key, nil
}

func encodeKey(key Key, passphrase []byte) ([]byte, error) {
	if key.secret().private == nil {
		return nil, fmt.Errorf("encode key: %w: a plugin holds it", ErrNoKey)
	}
	if passphrase == nil {
		text, err := cryptoutils.MarshalPrivateKeyToPEM(key.secret().private)
		if err != nil {
			return nil, fmt.Errorf("encode key: %w", err)
		}
		return text, nil
	}
	if err := checkPassphrase(passphrase); err != nil {
		return nil, err
	}
	sealed, err := cryptoutils.MarshalPrivateKeyToEncryptedDER(key.secret().private, func(bool) ([]byte, error) { return passphrase, nil })
	if err != nil {
		return nil, fmt.Errorf("encrypt key: %w", err)
	}
	return cryptoutils.PEMEncode(cryptoutils.EncryptedSigstorePrivateKeyPEMType, sealed), nil
}

func decodeKey(text []byte, passphrase func() ([]byte, error)) (Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || len(block.Headers) != 0 || !bytes.Equal(pem.EncodeToMemory(block), text) {
		return Key{}, fmt.Errorf("%w: want one PEM block without headers and nothing else", ErrKeyFile)
	}
	ask := cryptoutils.PassFunc(nil)
	switch cryptoutils.PEMType(block.Type) {
	case cryptoutils.PrivateKeyPEMType:
	case cryptoutils.EncryptedSigstorePrivateKeyPEMType:
		if passphrase == nil {
			return Key{}, fmt.Errorf("%w: the key is encrypted", ErrPassphrase)
		}
		secret, err := passphrase()
		if err != nil {
			return Key{}, fmt.Errorf("get passphrase: %w", err)
		}
		if err := checkPassphrase(secret); err != nil {
			return Key{}, err
		}
		ask = func(bool) ([]byte, error) { return secret, nil }
	default:
		return Key{}, fmt.Errorf("%w: PEM type %q", ErrKeyFile, block.Type)
	}
	parsed, err := cryptoutils.UnmarshalPEMToPrivateKey(text, ask)
	if err != nil && ask != nil {
		// A wrong passphrase and a damaged box cannot be told apart.
		return Key{}, fmt.Errorf("%w: %w", ErrPassphrase, err)
	} else if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	key, err := newKey(parsed)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	if ask == nil {
		if plain, err := encodeKey(key, nil); err != nil || !bytes.Equal(plain, text) {
			return Key{}, fmt.Errorf("%w: more than the key inside", ErrKeyFile)
		}
	}
	return key, nil
}

func checkPassphrase(passphrase []byte) error {
	if len(passphrase) == 0 || len(passphrase) > MaxPassphraseBytes {
		return fmt.Errorf("%w: %d bytes, want 1 to %d", ErrPassphrase, len(passphrase), MaxPassphraseBytes)
	}
	return nil
}

// readPrivate reads a file that nobody but its owner has any right to.
func readPrivate(path string) ([]byte, error) {
	text, mode, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	if mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%q: %w: mode %04o, want 0600", path, ErrKeyFileMode, mode.Perm())
	}
	return text, nil
}

// readRegular reads a bounded regular file that path names itself, without a
// link, and returns the mode of the very file that was read.
func readRegular(path string) ([]byte, fs.FileMode, error) {
	named, err := os.Lstat(path) // first: opening a FIFO would block
	if err != nil {
		return nil, 0, err
	}
	if !named.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%q: %w: %s is not a regular file", path, ErrKeyFile, named.Mode().Type())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close() // nothing was written
	opened, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !os.SameFile(named, opened) {
		return nil, 0, fmt.Errorf("%q: %w: replaced while it was opened", path, ErrKeyFile)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxKeyFileBytes+1))
	if err != nil {
		return nil, 0, err
	}
	if len(text) > MaxKeyFileBytes {
		return nil, 0, fmt.Errorf("%q: %w: larger than %d bytes", path, ErrKeyFile, MaxKeyFileBytes)
	}
	return text, opened.Mode(), nil
}

// createFile writes and fsyncs a file that did not exist. It is there as a whole
// or not at all, even if the process is killed meanwhile; what is then left has
// a name of its own. On error it is gone.
func createFile(path string, content []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".tmp-key-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = errors.Join(file.Chmod(mode), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Link(file.Name(), path) // unlike a renaming it never replaces
	}
	return errors.Join(err, os.Remove(file.Name()))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

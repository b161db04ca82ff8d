package signer_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/signer"
)

func pass(s string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(s), nil }
}

func TestKeyFile(t *testing.T) {
	for name, passphrase := range map[string][]byte{"plain": nil, "encrypted": []byte("correct horse")} {
		t.Run(name, func(t *testing.T) {
			key, path := testKey(t, 1), filepath.Join(t.TempDir(), "k")
			if err := signer.WriteKeyFile(path, key, passphrase); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			asked := 0
			got, err := signer.ReadKeyFile(path, func() ([]byte, error) { asked++; return passphrase, nil })
			if err != nil || got.ID() != key.ID() {
				t.Fatalf("read %v, %v", got, err)
			}
			if want := min(len(passphrase), 1); asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
			message := []byte("m")
			sig, err := got.Sign(message)
			if err != nil {
				t.Fatal(err)
			}
			public, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(path))
			if err != nil {
				t.Fatal(err)
			}
			if err := public.Verify(message, sig); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if encrypted := strings.Contains(string(text), "ENCRYPTED SIGSTORE"); encrypted != (passphrase != nil) {
				t.Errorf("encrypted %t: %s", encrypted, text)
			}
		})
	}
}

func TestKeyFilePassphrase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	if err := signer.WriteKeyFile(path, testKey(t, 1), []byte("right")); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("no terminal")
	cases := []struct {
		name string
		ask  func() ([]byte, error)
		want error
	}{
		{"none", nil, signer.ErrPassphrase},
		{"wrong", pass("wrong"), signer.ErrPassphrase},
		{"with newline", pass("right\n"), signer.ErrPassphrase},
		{"empty", pass(""), signer.ErrPassphrase},
		{"nil bytes", func() ([]byte, error) { return nil, nil }, signer.ErrPassphrase},
		{"too long", pass(strings.Repeat("a", signer.MaxPassphraseBytes+1)), signer.ErrPassphrase},
		{"not to be had", func() ([]byte, error) { return []byte("right"), gone }, gone},
	}
	for _, c := range cases {
		if key, err := signer.ReadKeyFile(path, c.ask); !errors.Is(err, c.want) || !key.IsZero() {
			t.Errorf("%s: %v, %v", c.name, key, err)
		}
	}
	for _, bad := range [][]byte{{}, bytes.Repeat([]byte("a"), signer.MaxPassphraseBytes+1)} {
		other := filepath.Join(t.TempDir(), "k")
		if err := signer.WriteKeyFile(other, testKey(t, 1), bad); !errors.Is(err, signer.ErrPassphrase) {
			t.Errorf("write with a passphrase of %d bytes: %v", len(bad), err)
		}
		mustNotExist(t, other, signer.PublicKeyPath(other))
	}
}

func mustNotExist(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", filepath.Base(path), err)
		}
	}
}

func TestWriteKeyFileNeverReplaces(t *testing.T) {
	key := testKey(t, 1)
	make := map[string]func(path string) error{
		"file":           func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"empty file":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling link":  func(path string) error { return os.Symlink(path+".elsewhere", path) },
		"link to a file": func(path string) error { return os.Symlink("/dev/null", path) },
	}
	for name, occupy := range make {
		path := filepath.Join(t.TempDir(), "k")
		if err := occupy(path); err != nil {
			t.Fatal(err)
		}
		if err := signer.WriteKeyFile(path, key, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s at the path: %v", name, err)
		}
		mustNotExist(t, path+".elsewhere", signer.PublicKeyPath(path))
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s at the path is gone: %v", name, err)
		}

		path = filepath.Join(t.TempDir(), "k")
		if err := occupy(signer.PublicKeyPath(path)); err != nil {
			t.Fatal(err)
		}
		if err := signer.WriteKeyFile(path, key, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s at the public path: %v", name, err)
		}
		mustNotExist(t, path)
	}
	if err := signer.WriteKeyFile(filepath.Join(t.TempDir(), "none", "k"), key, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if err := signer.WriteKeyFile(filepath.Join(t.TempDir(), "k"), signer.Key{}, nil); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("zero key: %v", err)
	}
}

func TestReadKeyFileRefuses(t *testing.T) {
	source := filepath.Join(t.TempDir(), "k")
	if err := signer.WriteKeyFile(source, testKey(t, 1), nil); err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	good, public := read(source), read(signer.PublicKeyPath(source))
	contents := map[string]string{
		"empty":                  "",
		"text":                   "secret",
		"public key":             public,
		"two keys":               good + good,
		"key and public key":     good + public,
		"text before":            "key:\n" + good,
		"text after":             good + "\n",
		"carriage returns":       strings.ReplaceAll(good, "\n", "\r\n"),
		"cut short":              good[:len(good)-3],
		"a header":               strings.Replace(good, "KEY-----\n", "KEY-----\nA: b\n\n", 1),
		"another type":           strings.ReplaceAll(good, "PRIVATE", "EC PRIVATE"),
		"cosign's old type":      strings.ReplaceAll(good, "PRIVATE", "ENCRYPTED COSIGN PRIVATE"),
		"PKCS #8 encrypted type": strings.ReplaceAll(good, "PRIVATE", "ENCRYPTED PRIVATE"),
		"RSA key":                read(opensslKey(t, "RSA")),
		"X25519 key":             read(opensslKey(t, "X25519")),
		"too large":              good + strings.Repeat("\n", signer.MaxKeyFileBytes),
	}
	for name, content := range contents {
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := signer.ReadKeyFile(path, pass("p")); !errors.Is(err, signer.ErrKeyFile) || !key.IsZero() {
			t.Errorf("%s: %v, %v", name, key, err)
		}
	}
	plainInside := filepath.Join(t.TempDir(), "k")
	if err := os.WriteFile(plainInside, []byte(strings.ReplaceAll(good, "PRIVATE", "ENCRYPTED SIGSTORE PRIVATE")), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := signer.ReadKeyFile(plainInside, pass("p")); !errors.Is(err, signer.ErrPassphrase) || !key.IsZero() {
		t.Errorf("plain key under an encrypted type: %v, %v", key, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(source, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"link": link, "folder": t.TempDir(), "device": "/dev/null"} {
		if key, err := signer.ReadKeyFile(path, nil); !errors.Is(err, signer.ErrKeyFile) || !key.IsZero() {
			t.Errorf("%s: %v, %v", name, key, err)
		}
		if key, err := signer.ReadPublicKeyFile(path); !errors.Is(err, signer.ErrKeyFile) || !key.IsZero() {
			t.Errorf("public, %s: %v, %v", name, key, err)
		}
	}
	if _, err := signer.ReadKeyFile(source+".none", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := signer.ReadPublicKeyFile(source); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("private file read as public: %v", err)
	}
}

func TestReadKeyFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	if err := signer.WriteKeyFile(path, testKey(t, 1), nil); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666, 0o777, 0o460} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if key, err := signer.ReadKeyFile(path, nil); !errors.Is(err, signer.ErrKeyFileMode) || !key.IsZero() {
			t.Errorf("mode %04o: %v, %v", mode, key, err)
		}
	}
	for _, mode := range []fs.FileMode{0o600, 0o400, 0o700} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := signer.ReadKeyFile(path, nil); err != nil {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

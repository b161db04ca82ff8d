package signer_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/signer"
)

// plugins puts the test's key plugin on PATH, as sigstore-kms-deedtest, and
// returns how it is run and the file that lists its calls.
func plugins(t *testing.T) (signer.Plugins, string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "sigstore-kms-deedtest"), "./testdata/sigstore-kms-deedtest").CombinedOutput(); err != nil {
		t.Fatalf("build plugin: %v\n%s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return signer.Plugins{Env: append(os.Environ(), "PLUGIN_LOG="+log)}, log
}

func reference(t *testing.T, s string) signer.Reference {
	t.Helper()
	ref, err := signer.ParseReference(s)
	if err != nil || ref.String() != s {
		t.Fatalf("parse %q: %q, %v", s, ref, err)
	}
	return ref
}

func TestPlugin(t *testing.T) {
	p, log := plugins(t)
	for name, algorithm := range map[string]signer.Algorithm{"ed-1": signer.Ed25519, "p256-1": signer.ECDSAP256, "p256-1?high": signer.ECDSAP256} {
		ref := reference(t, "deedtest://"+name)
		public, err := p.PublicKey(ref)
		if err != nil || public.Algorithm() != algorithm {
			t.Fatalf("%s: %v, %v", name, public, err)
		}
		key, err := p.Key(ref, public)
		if err != nil || key.ID() != public.ID() {
			t.Fatalf("%s: %v, %v", name, key, err)
		}
		envelope := seal(t, "{}", key, testKey(t, 1))
		if _, ids, err := signer.Open(envelope, testType, signer.MaxEnvelopeBytes, lookupIn(key, testKey(t, 1))); err != nil || len(ids) != 2 {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
		if err := signer.WriteKeyFile(filepath.Join(t.TempDir(), "k"), key, nil); !errors.Is(err, signer.ErrNoKey) {
			t.Errorf("%s: a plugin's key was written: %v", name, err)
		}
	}
	calls, err := os.ReadFile(log)
	if err != nil || strings.Count(string(calls), "publicKey ") != 3 || strings.Count(string(calls), "signMessage ") != 3 {
		t.Errorf("calls of the plugin: %s, %v", calls, err)
	}
}

func TestPluginRefuses(t *testing.T) {
	p, _ := plugins(t)
	for name, want := range map[string]error{
		"otherkey": signer.ErrSignature, "otherbytes": signer.ErrSignature, "p1363": signer.ErrSignature, "empty": signer.ErrPlugin, "text": signer.ErrPlugin,
		"flood": signer.ErrPlugin, "error": signer.ErrPlugin, "crash": signer.ErrPlugin, "killed": signer.ErrPlugin,
	} {
		good := reference(t, "deedtest://p256-1")
		public, err := p.PublicKey(good)
		if err != nil {
			t.Fatal(err)
		}
		bad := reference(t, "deedtest://p256-1?"+name)
		key, err := p.Key(bad, public)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := key.Sign([]byte("m"))
		plainError(t, err)
		if sig != nil || !errors.Is(err, want) {
			t.Errorf("%s signs: %x, %v", name, sig, err)
		}
		if envelope, err := signer.Seal(testType, []byte("{}"), key); envelope != nil || !errors.Is(err, want) {
			t.Errorf("%s seals: %s, %v", name, envelope, err)
		}
		if want == signer.ErrPlugin {
			public, err := p.PublicKey(bad)
			plainError(t, err)
			if !public.IsZero() || !errors.Is(err, want) {
				t.Errorf("public key of %s: %v, %v", name, public, err)
			}
		}
	}
	for _, name := range []string{"p384-1", "rsa-1"} {
		if public, err := p.PublicKey(reference(t, "deedtest://"+name)); !public.IsZero() || !errors.Is(err, signer.ErrPublicKey) {
			t.Errorf("%s: %v, %v", name, public, err)
		}
	}
	if _, err := p.PublicKey(reference(t, "deedmissing://a")); !errors.Is(err, signer.ErrPlugin) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	if _, err := p.Key(signer.Reference{}, testKey(t, 1).Public()); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("zero reference: %v", err)
	}
	if _, err := p.Key(reference(t, "deedtest://a"), signer.PublicKey{}); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("zero public key: %v", err)
	}
}

// TestPluginHangs asks a plugin that never answers: the shortest time will do.
func TestPluginHangs(t *testing.T) {
	p, _ := plugins(t)
	p.Timeout = 100 * time.Millisecond
	key, err := p.Key(reference(t, "deedtest://ed?hang"), testKey(t, 1).Public())
	if err != nil {
		t.Fatal(err)
	}
	if sig, err := key.Sign([]byte("m")); sig != nil || !errors.Is(err, signer.ErrPlugin) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%x, %v", sig, err)
	}
}

// plainError demands an error of printable ASCII: a plugin's words are data.
func plainError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, c := range []byte(err.Error()) {
		if c < ' ' || c > '~' {
			t.Errorf("raw output in an error: %+q", err.Error())
			return
		}
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	for _, s := range []string{"", "a", "://", "://key", "A://k", "a b://k", "../x://k", "a/b://k", "-a://k", "a.b://k", "a:/k", strings.Repeat("a", 33) + "://k",
		"a://k k", "a://k\n", "a://\x1b[31m", "a://é", "a://" + strings.Repeat("k", signer.MaxReferenceBytes)} {
		if ref, err := signer.ParseReference(s); !errors.Is(err, signer.ErrReference) || ref != (signer.Reference{}) {
			t.Errorf("%q gives %v, %v", s, ref, err)
		}
	}
	for _, s := range []string{"a://", "aws-1://alias/x?y=z", "0://://"} {
		reference(t, s)
	}
}

func TestReferenceFile(t *testing.T) {
	path, ref, public := filepath.Join(t.TempDir(), "k"), reference(t, "deedtest://k"), p256Key(t, 1).Public()
	if err := signer.WriteReferenceFile(path, ref, public); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, key, err := signer.ReadReferenceFile(path); err != nil || got != ref || !key.Equal(public) {
		t.Errorf("%v, %v, %v", got, key, err)
	}
	if key, err := signer.ReadKeyFile(path, nil); !key.IsZero() || !errors.Is(err, signer.ErrIsReference) {
		t.Errorf("read as a key: %v", err)
	}
	if err := signer.WriteReferenceFile(path, ref, public); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written twice: %v", err)
	}
	if err := signer.WriteReferenceFile(path+"2", signer.Reference{}, public); !errors.Is(err, signer.ErrReference) {
		t.Errorf("zero reference: %v", err)
	}
	if err := signer.WriteReferenceFile(path+"2", ref, signer.PublicKey{}); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("zero key: %v", err)
	}
	mustNotExist(t, path+"2", signer.PublicKeyPath(path+"2"))
	const line = "deed-key-reference-v1 deedtest://k\n"
	for name, content := range map[string]string{"no line feed": strings.TrimSuffix(line, "\n"), "two": line + line, "space": line + " ", "another version": strings.Replace(line, "v1", "v2", 1),
		"carriage return": strings.Replace(line, "\n", "\r\n", 1), "empty": "", "no reference": "deed-key-reference-v1 \n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, key, err := signer.ReadReferenceFile(path); !key.IsZero() || !errors.Is(err, signer.ErrKeyFile) {
			t.Errorf("%s: %v, %v", name, key, err)
		}
	}
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := signer.ReadReferenceFile(path); !errors.Is(err, signer.ErrKeyFileMode) {
		t.Errorf("mode: %v", err)
	}
}

// TestWritePublicKeyFile completes what a killed process left.
func TestWritePublicKeyFile(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "k"), testKey(t, 1)
	if err := signer.WriteKeyFile(path, key, nil); err != nil {
		t.Fatal(err)
	}
	if err := signer.WritePublicKeyFile(path, key.Public()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an existing one: %v", err)
	}
	if err := os.Remove(signer.PublicKeyPath(path)); err != nil {
		t.Fatal(err)
	}
	if err := signer.WritePublicKeyFile(path, key.Public()); err != nil {
		t.Fatal(err)
	}
	if public, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(path)); err != nil || !public.Equal(key.Public()) {
		t.Errorf("%v, %v", public, err)
	}
	if err := signer.WritePublicKeyFile(path+"2", signer.PublicKey{}); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("zero key: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("left over: %v, %v", entries, err)
	}
}

package secrets_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/deedledger/deed/secrets"
)

// draw returns n bytes of an alphabet that look drawn, the same ones each time. Tokens of the tests are put together when they run, so
// that no scanner of repositories takes this file for a leak.
func draw(alphabet string, n int) string {
	var b strings.Builder
	state := uint32(2463534242)
	for range n {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b.WriteByte(alphabet[state%uint32(len(alphabet))])
	}
	return b.String()
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	lowhex  = "0123456789abcdef"
	five    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

func armour(label string) string {
	return "-----BEGIN " + label + "-----\n" + draw(letters, 64) + "\n" + draw(letters, 30) + "==\n-----END " + label + "-----\n"
}

// secretTexts are one text of each kind, with the bytes that are secret in it.
func secretTexts() map[string]struct{ text, secret, kind string } {
	type row = struct{ text, secret, kind string }
	token := func(issuer, secret string) row {
		return row{"it said " + secret + ", then ended", secret, "token/" + issuer}
	}
	gh, password, jwt := "ghp_"+draw(letters, 36), "Tr0ub4dor&3x", "eyJ"+draw(letters, 20)+".eyJ"+draw(letters, 30)+"."+draw(letters, 43)
	return map[string]row{
		"age":            token("age", "AGE-SECRET-KEY-1"+draw(five, 58)),
		"anthropic":      token("anthropic", "sk-"+"ant-api03-"+draw(letters, 93)),
		"aws":            token("aws", "AKIA"+draw(five, 16)),
		"github":         token("github", gh),
		"github pat":     token("github", "github_"+"pat_"+draw(letters, 82)),
		"gitlab":         token("gitlab", "glpat-"+draw(letters, 20)),
		"google":         token("google", "AIza"+draw(letters, 35)),
		"huggingface":    token("huggingface", "hf_"+draw(letters, 34)),
		"nats seed":      token("nats", "SU"+draw(five, 56)),
		"npm":            token("npm", "npm_"+draw(letters, 36)),
		"openai":         token("openai", "sk-proj-"+draw(letters, 48)),
		"pypi":           token("pypi", "pypi-AgE"+draw(letters, 60)),
		"slack":          token("slack", "xox"+"b-123456789012-"+draw(letters, 24)),
		"stripe":         token("stripe", "sk_"+"live_"+draw(letters, 24)),
		"telegram":       token("telegram", "1234567890:AA"+draw(letters, 33)),
		"jwt":            {"cookie " + jwt + ";", jwt, secrets.KindJWT},
		"pem":            {"x\n" + armour("PRIVATE KEY") + "y", strings.TrimSpace(armour("PRIVATE KEY")), secrets.KindPrivateKey},
		"encrypted pem":  {armour("ENCRYPTED SIGSTORE PRIVATE KEY"), strings.TrimSpace(armour("ENCRYPTED SIGSTORE PRIVATE KEY")), secrets.KindPrivateKey},
		"pgp":            {armour("PGP PRIVATE KEY BLOCK"), strings.TrimSpace(armour("PGP PRIVATE KEY BLOCK")), secrets.KindPrivateKey},
		"escaped pem":    {`{"k":"` + strings.ReplaceAll(armour("RSA PRIVATE KEY"), "\n", `\n`) + `"}`, strings.TrimSuffix(strings.ReplaceAll(armour("RSA PRIVATE KEY"), "\n", `\n`), `\n`), secrets.KindPrivateKey},
		"pem cut off":    {"-----BEGIN EC PRIVATE KEY-----\n" + draw(letters, 64), "-----BEGIN EC PRIVATE KEY-----\n" + draw(letters, 64), secrets.KindPrivateKey},
		"key cut off":    {"x\n" + draw(letters, 64) + "\n" + draw(letters, 20) + "==\n-----END PRIVATE KEY-----\ny", draw(letters, 64) + "\n" + draw(letters, 20) + "==\n-----END PRIVATE KEY-----", secrets.KindPrivateKey},
		"openssh body":   {"b3BlbnNzaC1rZXktdjEAAAAA" + draw(letters, 70) + " end", "b3BlbnNzaC1rZXktdjEAAAAA" + draw(letters, 70), secrets.KindPrivateKey},
		"url password":   {"postgres://app:" + password + "@db.example:5432/x", password, secrets.KindURL},
		"url token":      {"https://" + draw(letters, 30) + "@git.example/x.git", draw(letters, 30), secrets.KindURL},
		"url query":      {"GET https://a.example/x?a=1&access_token=" + draw(letters, 24) + "&b=2", draw(letters, 24), secrets.KindURL},
		"signed url":     {"https://a.example/x?X-Amz-Signature=" + draw(lowhex, 64), draw(lowhex, 64), secrets.KindURL},
		"basic header":   {"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+password)), base64.StdEncoding.EncodeToString([]byte("ann:" + password)), secrets.KindHeader},
		"bearer":         {"curl -H 'authorization: bearer " + draw(letters, 12) + "'", draw(letters, 12), secrets.KindHeader},
		"bearer alone":   {"Bearer " + draw(letters, 40), draw(letters, 40), secrets.KindHeader},
		"env":            {"DB_PASSWORD=" + password + "\n", password, secrets.KindAssigned},
		"yaml":           {"client_secret: " + draw(letters, 32) + "\n", draw(letters, 32), secrets.KindAssigned},
		"json in text":   {`sent {"apiKey": "` + draw(letters, 32) + `"} and`, draw(letters, 32), secrets.KindAssigned},
		"quoted json":    {`"{\"password\": \"correct-horse-Battery\"}"`, "correct-horse-Battery", secrets.KindAssigned},
		"go":             {`dbPassword := "` + password + `"`, password, secrets.KindAssigned},
		"flag":           {"login --password " + password + " --user ann", password, secrets.KindAssigned},
		"long":           {"token=" + strings.Repeat(draw(letters, 61), 40) + " end", strings.Repeat(draw(letters, 61), 40), secrets.KindAssigned},
		"in base64":      {"payload " + base64.StdEncoding.EncodeToString([]byte("key is "+gh+" ok")), base64.StdEncoding.EncodeToString([]byte("key is " + gh + " ok")), "token/github"},
		"in base64url":   {"payload " + base64.RawURLEncoding.EncodeToString([]byte("key?? is >>>"+gh)), base64.RawURLEncoding.EncodeToString([]byte("key?? is >>>" + gh)), "token/github"},
		"in hex":         {"payload " + hex.EncodeToString([]byte(gh)), hex.EncodeToString([]byte(gh)), "token/github"},
		"in percent":     {"q=" + url.QueryEscape("password="+password), "q=" + url.QueryEscape("password="+password), secrets.KindAssigned},
		"twice":          {hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(gh)))), hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(gh)))), "token/github"},
		"behind a label": {"data-" + base64.StdEncoding.EncodeToString([]byte(gh)), base64.StdEncoding.EncodeToString([]byte(gh)), "token/github"},
		"in utf-16":      {base64.StdEncoding.EncodeToString([]byte(strings.Join(strings.Split(gh, ""), "\x00") + "\x00")), base64.StdEncoding.EncodeToString([]byte(strings.Join(strings.Split(gh, ""), "\x00") + "\x00")), "token/github"},
	}
}

func TestFind(t *testing.T) {
	for name, c := range secretTexts() {
		t.Run(name, func(t *testing.T) {
			found := secrets.Find(c.text)
			if len(found) != 1 || found[0].Kind != c.kind || c.text[found[0].Start:found[0].End] != c.secret {
				t.Fatalf("found %+v in %q, want %s of %q", found, c.text, c.kind, c.secret)
			}
			clean, n := secrets.Redact(c.text)
			if n != 1 || strings.Contains(clean, c.secret) || clean != strings.Replace(c.text, c.secret, secrets.Marker, 1) {
				t.Errorf("redacted %d places: %q", n, clean)
			}
		})
	}
}

// TestWrapped looks at a key file in base64 as the program base64 writes it: in lines.
func TestWrapped(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(armour("OPENSSH PRIVATE KEY")))
	var lines strings.Builder
	for len(encoded) > 76 {
		lines.WriteString(encoded[:76] + "\n")
		encoded = encoded[76:]
	}
	lines.WriteString(encoded + "\n# end\n")
	clean, n := secrets.Redact(lines.String())
	if n == 0 || clean != secrets.Marker+"\n# end\n" {
		t.Errorf("redacted %d places: %q", n, clean)
	}
}

func TestFindNothing(t *testing.T) {
	id, digest := draw(lowhex, 40), draw(lowhex, 64)
	for _, text := range []string{
		"", "token", "password:", "commit " + id, "token: " + id, "tokenHash: " + digest, "key " + digest, "api_key=" + digest, "sha256:" + digest,
		"id 0192b0c0-0000-7000-8000-000000000000", "SHA256:" + draw(letters, 43), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + draw(letters, 43),
		"PASSWORD=$PASSWORD", "password: ${DB_PASSWORD}", "password: <yours>", "password = os.Getenv(\"X\")", "token = ************", "password=changeme",
		"secret: " + secrets.Marker, `password := cfg.Database.Password`, "secret := newSecret(t, 12)", "no secret: see docs/secrets.md", "all pass: A1c2d3e4",
		"https://example.org/a?token=", "https://ann@example.org/x", "https://ann:password@example.org", "git@github.com:a/b.git", "postgres://app:${PW}@db", "postgres://postgres:postgres@localhost:5432/test",
		"ghp_" + strings.Repeat("x", 36), "sk-learn-is-a-library-of-machine-learning-things", "AKIA", "basic authentication is used here", "the bearer of this letter",
		`strings.Index(text, "-----BEGIN PRIVATE KEY-----") + len("-----END PRIVATE KEY-----")`, "PuTTY-User-Key-File- starts one", "x.AuthToken = old.v1User.AuthToken2",
		"const begin = \"-----BEGIN PRIVATE KEY-----\"\n\nfunc aLongNameOfSomeFunction() {}\n", "an OpenSSH key starts with b3BlbnNzaC1rZXktdjEA",
		"-----BEGIN PUBLIC KEY-----\n" + draw(letters, 64) + "\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\n" + draw(letters, 64),
		base64.StdEncoding.EncodeToString([]byte("nothing to see here, move on")), "passwordLength: 1234567890", "tokens: 123456789 used", "key-" + id, draw(letters, 86) + "==",
	} {
		if found := secrets.Find(text); len(found) != 0 {
			t.Errorf("found %+v in %q", found, text)
		}
	}
}

func TestKnown(t *testing.T) {
	value := "open sesame 7"
	text := "say " + value + " and " + value + "; " + base64.StdEncoding.EncodeToString([]byte("x:"+value)) + " " + url.PathEscape(value)
	if clean, n := secrets.Redact(text, value, "and", ""); n != 4 || clean != "say [redacted] and [redacted]; [redacted] [redacted]" {
		t.Errorf("redacted %d places: %q", n, clean)
	}
	if clean, n := secrets.Redact("a "+secrets.Marker+" b", "[redacted]", "redacted"); n != 0 || clean != "a [redacted] b" {
		t.Errorf("redacted %d places: %q", n, clean)
	}
}

func TestFindJSON(t *testing.T) {
	gh := "ghp_" + draw(letters, 36)
	escaped := strings.Replace(gh, "ghp_", "g\\u0068p_", 1)
	for text, want := range map[string][]secrets.Place{
		`{"a":["x","` + gh + `"],"b":{"c/d":"` + escaped + `"}}`: {{"/a/1", "token/github"}, {"/b/c~1d", "token/github"}},
		`{"` + gh + `":1}`: {{"/" + gh, "token/github"}},
		`{"promptDigest":"` + draw(lowhex, 64) + `","token":"x"}`: nil,
		`{"systemPrompt":"You are"}`:                              {{"/systemPrompt", secrets.KindPrompt}},
		`{"prompt":7,"conversation":null}`:                        nil,
		`{"messages":[{"role":"user","content":"hi"}]}`:           {{"/messages/0/content", secrets.KindTranscript}},
		`{"messages":[{"ruleId":"no-x","content":"hi"}]}`:         nil,
		`[{"role":"user"},{"content":"hi"}]`:                      nil,
		`{"a":1}` + "\n" + `{"transcript":["hi"]}`:                {{"/transcript", secrets.KindTranscript}},
		`{"a":"` + gh + `" oops`:                                  {{"/a", "token/github"}},
		`not json`:                                                nil,
	} {
		got := secrets.FindJSON([]byte(text))
		if len(got) != len(want) {
			t.Errorf("found %+v in %s, want %+v", got, text, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("found %+v in %s, want %+v", got, text, want)
			}
		}
	}
}

// TestOwnFiles looks through this project's files: none of them leaks, and none is taken for a leak.
func TestOwnFiles(t *testing.T) {
	for _, root := range []string{"../docs", "../schemas", "../testdata/logs", "../events"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if filepath.Ext(path) == ".json" {
				for _, p := range secrets.FindJSON(text) {
					if filepath.Base(path) != "key.claimed.v1.json" || p.Pointer != "/token" {
						t.Errorf("%s: %+v", path, p)
					}
				}
				return nil
			}
			for _, f := range secrets.Find(string(text)) {
				t.Errorf("%s: %s at byte %d: %.60q", path, f.Kind, f.Start, text[max(0, f.Start-20):f.End])
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// hostile are texts that would cost a careless reader more than their length.
func hostile() map[string]string {
	const size = 1 << 18
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"prefixes": fill("sk-"), "armour": fill("-----BEGIN PRIVATE KEY-----"), "urls": fill("a://"), "names": fill("token:"), "signs": fill("password="),
		"percents": fill("%41"), "base64": fill("QUFB"), "hex": fill("41"), "headers": fill("bearer "), "jwt": fill("eyJ.eyJ"), "colons": fill(":"), "dashes": fill("--token "),
		"spaces": fill("password:      "), "queries": fill("a://b?token="),
	}
}

func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			clean, _ := secrets.Redact(text)
			if found := secrets.Find(clean); len(found) > 0 {
				t.Errorf("%d findings are left", len(found))
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	for _, c := range secretTexts() {
		f.Add(c.text, "open sesame")
	}
	f.Fuzz(func(t *testing.T, text, known string) {
		end := 0
		for _, found := range secrets.Find(text, known) {
			if found.Start < end || found.End <= found.Start || found.End > len(text) || found.Kind == "" {
				t.Fatalf("finding %+v after byte %d of %d", found, end, len(text))
			}
			end = found.End
		}
		clean, n := secrets.Redact(text, known)
		if (n == 0) != (clean == text) {
			t.Fatalf("%d places, %q of %q", n, clean, text)
		}
		if strings.Contains(secrets.Marker, known) {
			return
		}
		if left := secrets.Find(clean, known); len(left) > 0 {
			t.Fatalf("%+v is left in %q", left, clean)
		}
	})
}

func FuzzFindJSON(f *testing.F) {
	f.Add([]byte(`{"a":["x"],"role":"user","content":"x"}`))
	f.Add([]byte(`{"prompt":"x"}{"b":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range secrets.FindJSON(data) {
			if p.Kind == "" {
				t.Fatalf("place %+v has no kind", p)
			}
		}
	})
}

// BenchmarkFind reads an event's text, a log, and what is hostile.
func BenchmarkFind(b *testing.B) {
	event := `{"summary":"changed the reader so that it stops at the first fault","head":"` + draw(lowhex, 40) + `","changes":[{"path":"src/reader.go","status":"M"}]}`
	texts := hostile()
	texts["event"] = strings.Repeat(event, 2048/len(event))
	texts["log"] = strings.Repeat("2026-01-02T03:04:05Z INFO reader: read 12 files of internal/reader in 3.4ms commit="+draw(lowhex, 40)+"\n", 8000)
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secrets.Find(text)
			}
		})
	}
}

// TestRedactStream cuts a long stream into parts: what lies across two of them is found, and the rest is copied as it is.
func TestRedactStream(t *testing.T) {
	key := armour("OPENSSH PRIVATE KEY")
	line := strings.Repeat("nothing is here, ", 60) + "\n"
	for _, before := range []int{0, 1<<20 - 120, 1<<20 - 40, 1 << 20, 2<<20 - 90} {
		text := strings.Repeat(line, before/len(line)+1)[:before] + "\n" + key + strings.Repeat(line, 1500) + "token: " + draw(letters, 30) + "\nend"
		want := strings.Replace(strings.Replace(text, strings.TrimSpace(key), secrets.Marker, 1), draw(letters, 30)+"\nend", secrets.Marker+"\nend", 1)
		var out strings.Builder
		n, err := secrets.RedactStream(&out, iotest.HalfReader(strings.NewReader(text)))
		if err != nil || n != 2 || out.String() != want {
			t.Errorf("%d bytes before it: %d places, error %v, %d bytes, want %d", before, n, err, out.Len(), len(want))
		}
	}
	if _, err := secrets.RedactStream(io.Discard, iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	var out strings.Builder
	long := strings.Repeat("ab ", 7<<20)
	if n, err := secrets.RedactStream(&out, strings.NewReader(long)); n != 0 || err != nil || out.String() != long {
		t.Errorf("a line without an end: %d places, error %v, %d bytes", n, err, out.Len())
	}
}

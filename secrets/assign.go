package secrets

import (
	"math"
	"strings"
	"unicode"
)

// nameKind says what a name promises of its value.
type nameKind int

const (
	notSecret nameKind = iota
	aToken             // a value that is random when it is real
	aPassword          // a value that a person may have chosen
)

// maxName is how long a name beside a secret can be, bytes.
const maxName = 80

// maxValue is how much of a value is looked at before it is judged, bytes.
const maxValue = 256

// value is what stands beside a name.
type value struct {
	start, end int
	quoted     bool
}

// assignedIn finds values beside names that say password, secret, token or key: name = value, name: value, "name": "value",
// --name value and their kin.
func assignedIn(text string) []Finding {
	var list []Finding
	for at := 1; at < len(text); at++ {
		c := text[at]
		if c != '=' && c != ':' && c != ' ' || c == ' ' && !wordy.has(text[at-1]) {
			continue
		}
		name := nameBefore(text[:at])
		if c == ' ' && !strings.HasPrefix(name, "--") {
			continue
		}
		kind := secretName(name)
		if kind == notSecret {
			continue
		}
		v := valueAfter(text, at+1)
		if kind.fits(text[v.start:v.end], v.quoted) {
			v.end += rest(text[v.end:], v.quoted)
			list = append(list, Finding{KindAssigned, v.start, v.end})
			at = v.end - 1
		}
	}
	return list
}

// nameBefore returns the word before a sign that assigns.
func nameBefore(text string) string {
	end := len(text)
	for end > 0 && strings.IndexByte(" \t\"'\\`]:?", text[end-1]) >= 0 && len(text)-end < 8 {
		end--
	}
	start := end
	for start > 0 && end-start < maxName && (wordy.has(text[start-1]) || text[start-1] == '.') {
		start--
	}
	return text[start:end]
}

// valueAfter returns the value that follows a sign, as far as it is looked at: quoted, or up to white space.
func valueAfter(text string, at int) value {
	for at < len(text) && strings.IndexByte(" \t=>:", text[at]) >= 0 {
		at++
	}
	for at < len(text) && text[at] == '\\' {
		at++
	}
	v := value{start: at}
	if at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		v.quoted = true
		v.start++
	}
	v.end = v.start + rest(text[v.start:min(len(text), v.start+maxValue)], v.quoted)
	return v
}

// rest returns how far a value goes on. Without quotes an ampersand ends it where another parameter follows.
func rest(text string, quoted bool) int {
	ends := " \t\r\n,;\"'`)}]<>|\\&"
	if quoted {
		ends = "\r\n\"'`\\"
	}
	for at := 0; ; at++ {
		n := strings.IndexAny(text[at:], ends)
		if n < 0 {
			return len(text)
		}
		at += n
		if text[at] != '&' || parameter(text[at+1:]) {
			return at
		}
	}
}

// parameter reports whether text begins with a name and an equals sign.
func parameter(text string) bool {
	n := run(text[:min(len(text), maxName)], wordy)
	return n > 0 && n < len(text) && text[n] == '='
}

// SecretName reports whether a name promises that its value is secret: DB_PASSWORD, apiKey, x-auth-token.
func SecretName(name string) bool { return secretName(name) != notSecret }

// secretName says what the value beside a name is. What identifies or describes a secret is none: tokenHash, password_length.
func secretName(name string) nameKind {
	words := wordsOf(name)
	for n := len(words); n > 0; n-- {
		switch words[n-1] {
		case "password", "passwd", "passphrase", "pwd", "secret", "dbpass", "dbpassword", "userpass":
			return aPassword
		case "pass": // alone it is a test's word for success
			if n > 1 && loginOf(words[n-2]) {
				return aPassword
			}
			return notSecret
		case "token", "apikey", "credential", "credentials", "authtoken", "sas", "pat":
			return aToken
		case "key":
			if n > 1 && keyOf(words[n-2]) {
				return aToken
			}
			return notSecret
		case "value", "text", "string", "b64", "base64", "prod", "dev", "test", "live", "old", "new", "current", "previous", "1", "2", "3":
			// Says nothing of its own.
		default:
			return notSecret
		}
	}
	return notSecret
}

// loginOf reports whether a pass with this word before it is a password.
func loginOf(word string) bool {
	switch word {
	case "db", "database", "smtp", "user", "mysql", "pg", "postgres", "redis", "login", "admin", "root", "ftp", "mail":
		return true
	}
	return false
}

// keyOf reports whether a key with this word before it is secret.
func keyOf(word string) bool {
	switch word {
	case "api", "access", "private", "secret", "encryption", "signing", "master", "account", "storage", "auth", "service", "client", "deploy", "license":
		return true
	}
	return false
}

// wordsOf splits a name at separators and where lower case turns to upper case, in lower case.
func wordsOf(name string) []string {
	var words []string
	start := 0
	add := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
	}
	for i := range len(name) {
		c := name[i]
		switch upper := 'A' <= c && c <= 'Z'; {
		case c == '_' || c == '-' || c == '.':
			add(i)
			start = i + 1
		case upper && i > start && 'a' <= name[i-1] && name[i-1] <= 'z':
			add(i)
			start = i
		case upper && i > start && i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z':
			add(i)
			start = i
		}
	}
	add(len(name))
	return words
}

// fits reports whether a value can be what its name promises. A value without quotes can also be an expression of a program.
func (k nameKind) fits(value string, quoted bool) bool {
	if len(value) < 8 || standIn(value) || strings.ContainsAny(value, " \t") {
		return false
	}
	if k == aToken {
		return len(value) >= 16 && random(value) && !digest(value) && (quoted || !member(value))
	}
	if quoted {
		return classes(value) >= 2
	}
	if member(value) {
		return false
	}
	letters, digits := strings.IndexFunc(value, unicode.IsLetter) >= 0, strings.ContainsAny(value, "0123456789")
	return letters && digits && !strings.ContainsAny(value, "()[]{}")
}

// member reports whether a value is a member of something in a program: words that dots join.
func member(value string) bool {
	words := strings.Split(value, ".")
	for _, w := range words {
		if w == "" || '0' <= w[0] && w[0] <= '9' || strings.Contains(w, "-") || run(w, wordy) != len(w) {
			return false
		}
	}
	return len(words) > 1
}

// standIn reports whether a value stands for one: a variable, a template, a row of one character, or words such as changeme.
func standIn(value string) bool {
	if blank(value) || strings.ContainsAny(value[:1], "$<{[%*(") || strings.HasPrefix(value, Marker) || strings.Contains(value, "...") || strings.Contains(value, "…") {
		return true
	}
	lower := strings.ToLower(value)
	for _, word := range [...]string{"changeme", "change-me", "change_me", "example", "placeholder", "redacted", "replace", "dummy", "xxxx", "your-", "your_", "process.env", "os.environ", "getenv"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	switch lower {
	case "password", "passwd", "passphrase", "pass", "secret", "token", "user", "required", "optional", "undefined", "string", "boolean":
		return true
	}
	return false
}

// digest reports whether a value is a git object id, a digest or a UUID, which identify and do not authorise.
func digest(value string) bool {
	value, _ = strings.CutPrefix(value, "sha256:")
	value, _ = strings.CutPrefix(value, "SHA256:")
	switch len(value) {
	case 32, 40, 43, 64, 128:
		return len(value) == 43 || run(value, hexa) == len(value)
	case 36:
		return value[8] == '-' && value[13] == '-' && value[18] == '-' && value[23] == '-' && run(strings.ReplaceAll(value, "-", ""), hexa) == 32
	}
	return false
}

// classes counts what a value has of lower case, upper case, digits and others.
func classes(value string) int {
	var has [4]bool
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z':
			has[0] = true
		case 'A' <= c && c <= 'Z':
			has[1] = true
		case '0' <= c && c <= '9':
			has[2] = true
		default:
			has[3] = true
		}
	}
	n := 0
	for _, h := range has {
		if h {
			n++
		}
	}
	return n
}

// random reports whether a value looks drawn: digits and letters, and at least three bits a byte in Shannon's measure.
func random(value string) bool {
	var count [256]int
	digits, letters := false, false
	for i := range len(value) {
		c := value[i]
		count[c]++
		digits = digits || '0' <= c && c <= '9'
		letters = letters || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	return digits && letters && bits >= 3 && strings.IndexAny(value, " \t") < 0
}

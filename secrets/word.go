package secrets

import (
	"strings"
	"sync"
)

// byFirst returns the shapes whose prefix begins with a byte.
var byFirst = sync.OnceValue(func() *[256][]shape {
	var index [256][]shape
	for _, s := range shapes {
		index[s.prefix[0]] = append(index[s.prefix[0]], s)
	}
	return &index
})

// wordsIn finds what is a secret by how its words look or by the name beside them.
func wordsIn(text string) []Finding {
	var list []Finding
	index := byFirst()
	for at := 0; at < len(text); {
		c := text[at]
		if at > 0 && wordByte(c) && wordByte(text[at-1]) && c != ':' {
			at++
			continue
		}
		next := at + 1
		if f, ok := tokenAt(text, at, index[c]); ok {
			list, next = append(list, f), f.End
		}
		at = next
	}
	list = append(list, jwtsIn(text)...)
	list = append(list, urlsIn(text)...)
	list = append(list, headersIn(text)...)
	return append(list, assignedIn(text)...)
}

// wordByte reports whether a byte is within a word: what stands before a token is not.
func wordByte(c byte) bool { return alnum.has(c) }

// tokenAt looks for a token of an issuer that begins at a place.
func tokenAt(text string, at int, candidates []shape) (Finding, bool) {
	for _, s := range candidates {
		if !strings.HasPrefix(text[at:], s.prefix) {
			continue
		}
		n := s.tail(text[at+len(s.prefix):])
		if n == 0 {
			continue
		}
		start := at
		if s.issuer == "telegram" { // the number of the bot stands before it
			for start > 0 && at-start < 10 && '0' <= text[start-1] && text[start-1] <= '9' {
				start--
			}
			if at-start < 8 {
				continue
			}
		}
		return Finding{kindToken + s.issuer, start, at + len(s.prefix) + n}, true
	}
	return Finding{}, false
}

// jwtsIn finds JSON Web Tokens: header and claims that begin with {" in base64, and a signature.
func jwtsIn(text string) []Finding {
	var list []Finding
	for at := 0; ; {
		i := strings.Index(text[at:], "eyJ")
		if i < 0 {
			return list
		}
		start := at + i
		end := start + run(text[start:], wordy)
		at = end
		if !strings.HasPrefix(text[end:], ".eyJ") {
			continue
		}
		end += 1 + run(text[end+1:], wordy)
		at = end
		if end < len(text) && text[end] == '.' {
			if n := run(text[end+1:], wordy); n >= 10 {
				end += 1 + n
				list = append(list, Finding{KindJWT, start, end})
				at = end
			}
		}
	}
}

// run returns how many bytes at the start of text are in an alphabet.
func run(text string, a alphabet) int {
	n := 0
	for n < len(text) && a.has(text[n]) {
		n++
	}
	return n
}

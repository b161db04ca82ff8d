package delivery

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// envelopeSignature returns the first signature of a DSSE envelope, base64.
func envelopeSignature(envelope []byte) string {
	var e struct {
		Signatures []struct {
			Sig string `json:"sig"`
		} `json:"signatures"`
	}
	if json.Unmarshal(envelope, &e) != nil || len(e.Signatures) == 0 {
		return ""
	}
	return e.Signatures[0].Sig
}

// commandLine writes an argument list as one line; an argument that is more than a word is quoted.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`|&;<>()*?[]{}~#") || strconv.Quote(a) != `"`+a+`"` {
			words[i] = strconv.Quote(a)
		}
	}
	return strings.Join(words, " ")
}

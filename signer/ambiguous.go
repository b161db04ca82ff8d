package signer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// checkAmbiguous looks for the reason why text was refused: it returns
// ErrAmbiguous if an object at any depth names a member twice, exactly or with
// letter case folded (U+017F folds to s). It returns nil if it finds none, or
// if the text ends or breaks before that. Names are shown escaped.
func checkAmbiguous(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var open []map[string]string // per open container the names seen, folded to as written
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil // the end, or broken JSON, for which the caller has a better error
		}
		switch token.Kind() {
		case '{', '[':
			open = append(open, map[string]string{})
			continue
		case '}', ']':
			open = open[:len(open)-1]
			continue
		}
		kind, read := decoder.StackIndex(decoder.StackDepth())
		if kind != '{' || read%2 == 0 {
			continue // a value
		}
		seen, name := open[len(open)-1], token.String()
		if first, again := seen[foldName(name)]; again {
			return fmt.Errorf("%w: members %+q and %+q", ErrAmbiguous, first, name)
		}
		seen[foldName(name)] = name
	}
}

// foldName maps all names that strings.EqualFold calls equal to one.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

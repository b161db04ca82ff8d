package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// checkForm refuses data that could mean two things, whether or not its type
// is known: it must be the RFC 8785 form of one object in which no two member
// names are equal when letter case is folded, none is empty, and every number
// is an integer within ±(2^53-1). Its errors wrap ErrAmbiguous.
func checkForm(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("%w: data is no object", ErrAmbiguous)
	}
	if err := checkTokens(data); err != nil {
		return err
	}
	again := jsontext.Value(bytes.Clone(data))
	if err := again.Canonicalize(); err != nil {
		return fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: not the RFC 8785 form of its value", ErrAmbiguous)
	}
	return nil
}

// checkTokens reads data to its end, which must be that of its one value.
func checkTokens(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	var open []map[string]string // per open object the names seen, folded to as written; nil per list
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrAmbiguous, err)
		}
		switch token.Kind() {
		case '{':
			open = append(open, map[string]string{})
		case '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
			if len(open) == 0 && dec.InputOffset() != int64(len(data)) {
				return fmt.Errorf("%w: bytes after the end of data", ErrAmbiguous)
			}
		case '0':
			if err := checkInteger(token.String()); err != nil {
				return err
			}
		case '"':
			if kind, read := dec.StackIndex(dec.StackDepth()); kind == '{' && read%2 == 1 {
				if err := checkName(open[len(open)-1], token.String()); err != nil {
					return err
				}
			}
		}
	}
}

// checkInteger refuses all but decimal digits with a value that every reader
// of JSON keeps.
func checkInteger(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -maxInt || n > maxInt || strconv.FormatInt(n, 10) != s {
		return fmt.Errorf("%w: number %s is no plain integer within ±%d", ErrAmbiguous, clip(s), int64(maxInt))
	}
	return nil
}

// checkName adds a member's name to those seen in its object.
func checkName(seen map[string]string, name string) error {
	folded := foldName(name)
	if first, again := seen[folded]; again {
		return fmt.Errorf("%w: members %+q and %+q", ErrAmbiguous, clip(first), clip(name))
	}
	if name == "" {
		return fmt.Errorf("%w: a member without name", ErrAmbiguous)
	}
	seen[folded] = name
	return nil
}

// foldName maps all names that strings.EqualFold calls equal to one: simple
// folding, so that U+017F (long s) is an s.
func foldName(name string) string {
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < 0x80
	}
	if ascii {
		return string(bytes.ToLower([]byte(name)))
	}
	fold := func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}
	return string(bytes.Map(fold, []byte(name)))
}

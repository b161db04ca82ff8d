package testreport

import (
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// document reads one JSON value in constant memory: long strings are shortened,
// white space and numbers bounded, and what nobody asks for is passed over. After
// the first thing that is wrong it reads nothing more.
type document struct {
	d      *jsontext.Decoder
	clip   *clipReader
	t      *tally
	broken bool
}

func newDocument(in io.Reader, t *tally) *document {
	clip := &clipReader{in: in}
	// Names of objects are not remembered by the decoder, as their number has no
	// bound; members that matter are told apart in object.
	return &document{
		d: jsontext.NewDecoder(clip, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), clip: clip, t: t,
	}
}

// fail ends the reading.
func (d *document) fail(code Code, format string, args ...any) {
	if !d.broken {
		d.t.found(code, format, args...)
	}
	d.broken = true
}

// token reads a token; false at the end of what can be read.
func (d *document) token() (jsontext.Token, bool) {
	if d.broken {
		return jsontext.Token{}, false
	}
	tok, err := d.d.ReadToken()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		d.fail(CutOff, "the document ends early")
	case err != nil:
		d.fail(Malformed, "not JSON at byte %d", d.d.InputOffset())
	case d.d.StackDepth() > d.t.limits.Depth:
		d.fail(Refused, "values are nested deeper than %d", d.t.limits.Depth)
	}
	return tok, !d.broken
}

// skip passes over the next value.
func (d *document) skip() {
	depth := d.d.StackDepth()
	for {
		if _, ok := d.token(); !ok || d.d.StackDepth() <= depth {
			return
		}
	}
}

// object reads an object and calls member with the index of each known name,
// which must read its value. Other members are passed over; a known one that
// comes twice makes the document malformed. It gives false for another value.
func (d *document) object(known []string, member func(i int)) bool {
	if !d.enter('{') {
		return false
	}
	var met uint64
	for d.peek() != '}' {
		name, ok := d.token()
		if !ok {
			return true
		}
		i := slices.Index(known, name.String())
		if i < 0 {
			d.skip()
			continue
		}
		if met&(1<<i) != 0 {
			d.fail(Malformed, "member %q comes twice", known[i])
			return true
		}
		met |= 1 << i
		member(i)
	}
	d.token()
	return true
}

// array reads an array and calls item for each value, which must read it. It
// gives false for another value.
func (d *document) array(item func()) bool {
	if !d.enter('[') {
		return false
	}
	for d.peek() != ']' && !d.broken {
		item()
	}
	d.token()
	return true
}

// enter reads the begin of an object or array, or passes over another value.
func (d *document) enter(kind jsontext.Kind) bool {
	if d.peek() != kind {
		d.skip()
		return false
	}
	_, ok := d.token()
	return ok
}

func (d *document) peek() jsontext.Kind {
	if d.broken {
		return 0
	}
	return d.d.PeekKind()
}

// text reads a string; "" and false for another value.
func (d *document) text() (string, bool) {
	if d.peek() != '"' {
		d.skip()
		return "", false
	}
	tok, ok := d.token()
	if !ok {
		return "", false
	}
	return clean(tok.String()), true
}

// flag reads true or false; false for another value.
func (d *document) flag() (value, ok bool) {
	switch d.peek() {
	case 't':
		_, ok = d.token()
		return true, ok
	case 'f':
		_, ok = d.token()
		return false, ok
	}
	d.skip()
	return false, false
}

// number reads a whole number that is not negative; false for another value.
func (d *document) number() (int64, bool) {
	if d.peek() != '0' {
		d.skip()
		return 0, false
	}
	tok, ok := d.token()
	if !ok {
		return 0, false
	}
	n, err := tok.Float()
	if err != nil || n < 0 || n > 1<<53 || n != float64(int64(n)) {
		return 0, false
	}
	return int64(n), true
}

// end holds that nothing follows the value.
func (d *document) end() {
	if d.broken {
		return
	}
	if _, err := d.d.ReadToken(); !errors.Is(err, io.EOF) {
		d.fail(Malformed, "something follows the document")
	}
	if d.clip.clip.clipped {
		d.t.found(Clipped, "a text was longer than is kept")
	}
}

// clean replaces control characters that a JSON string spelled as escapes.
func clean(s string) string {
	if !slices.ContainsFunc([]rune(s), isControl) {
		return s
	}
	out := []rune(s)
	for i, r := range out {
		if isControl(r) {
			out[i] = '\uFFFD'
		}
	}
	return string(out)
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7F && r < 0xA0
}

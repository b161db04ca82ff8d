package testreport

import (
	"bufio"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxNameBytes  = 256 // of an element or attribute
	maxAttributes = 128 // of one element
)

// xmlKind is the sort of an XML event.
type xmlKind int

const (
	xmlEnd   xmlKind = iota // of an element; its text is in xmlReader.text
	xmlStart                // of an element
	xmlDone                 // of the document, or of what can be read of it
)

// xmlAttribute is an attribute with its value decoded.
type xmlAttribute struct{ name, value string }

// xmlReader reads the elements of an XML document in constant memory: one open
// element's attributes, the beginning of its text, and the names of those it is
// in. It knows no document types and no entities but the five; both are refused,
// as they expand or fetch. encoding/xml holds any text as a whole, knows one
// encoding, stops at a control character, and stops silently after the first root.
type xmlReader struct {
	in     *bufio.Reader
	t      *tally
	stack  []string
	self   bool // the element that started is empty: its end comes next
	roots  int
	attrs  []xmlAttribute // of the element that started
	name   string         // of the element that started or ended, without prefix
	text   []byte         // of the element that ended, after its last child; cut
	broken bool
}

// fail records why the document cannot be read on and ends it.
func (x *xmlReader) fail(code Code, format string, args ...any) {
	if !x.broken {
		x.t.found(code, format, args...)
	}
	x.broken = true
}

// next reads on to the next start or end of an element.
func (x *xmlReader) next() xmlKind {
	if x.self {
		x.self = false
		return x.pop()
	}
	for !x.broken {
		b, ok := x.chars()
		if !ok {
			break
		}
		switch b {
		case '/':
			return x.endTag()
		case '?':
			x.until("?>", false)
		case '!':
			x.declaration()
		default:
			_ = x.in.UnreadByte()
			return x.startTag()
		}
	}
	return xmlDone
}

// chars reads text up to a markup and gives the byte after its '<'. At the end of
// the document it gives false.
func (x *xmlReader) chars() (byte, bool) {
	for {
		b, err := x.in.ReadByte()
		switch {
		case err != nil && len(x.stack) > 0:
			x.fail(CutOff, "the document ends inside <%s>", x.stack[len(x.stack)-1])
			return 0, false
		case err != nil:
			if x.roots == 0 {
				x.fail(CutOff, "the document has no element")
			}
			return 0, false
		case b == '<':
			b, err = x.in.ReadByte()
			if err != nil {
				x.fail(CutOff, "the document ends in a tag")
			}
			return b, err == nil
		case len(x.stack) == 0 && !isSpace(b):
			x.fail(Malformed, "text outside the root element")
			return 0, false
		case b == '&':
			x.keep(x.entity())
			if x.broken {
				return 0, false
			}
		default:
			x.keepByte(b)
		}
	}
}

func (x *xmlReader) keepByte(b byte) {
	if len(x.text) < x.t.limits.TextBytes {
		x.text = append(x.text, b)
	}
}

func (x *xmlReader) keep(s string) {
	if len(x.text)+len(s) <= x.t.limits.TextBytes {
		x.text = append(x.text, s...)
	}
}

// entity reads what follows '&'.
func (x *xmlReader) entity() string {
	name, ok := x.token(16, ';')
	if b, err := x.in.ReadByte(); !ok || err != nil || b != ';' {
		x.fail(Malformed, "'&' without an entity")
		return ""
	}
	if digits, numeric := strings.CutPrefix(name, "#"); numeric {
		return x.character(digits)
	}
	names := []string{"lt", "gt", "amp", "quot", "apos"}
	i := slices.Index(names, name)
	if i < 0 {
		x.fail(Refused, "entity &%s; is not predefined", name)
		return ""
	}
	return `<>&"'`[i : i+1]
}

// character gives a numeric reference; what may not stand in XML becomes U+FFFD.
func (x *xmlReader) character(digits string) string {
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		x.fail(Malformed, "character reference &#%s;", digits)
		return ""
	}
	r := rune(utf8.RuneError)
	if n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
		r = rune(n)
	}
	if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7F && r < 0xA0 || r == utf8.RuneError {
		x.t.found(Replaced, "character references to control characters were replaced")
		r = utf8.RuneError
	}
	return string(r)
}

// token reads bytes up to one of the stop bytes, which stays; false for none or
// more than limit.
func (x *xmlReader) token(limit int, stops ...byte) (string, bool) {
	var out []byte
	for {
		b, err := x.in.ReadByte()
		if err != nil {
			return "", false
		}
		if slices.Contains(stops, b) {
			_ = x.in.UnreadByte()
			return string(out), len(out) > 0
		}
		if len(out) >= limit || isSpace(b) || b == '<' || b == '&' || b == '"' || b == '\'' {
			return "", false
		}
		out = append(out, b)
	}
}

// until reads up to a mark; text before it may be kept as the element's.
func (x *xmlReader) until(mark string, keep bool) {
	var last []byte
	for {
		b, err := x.in.ReadByte()
		if err != nil {
			x.fail(CutOff, "the document ends before %s", mark)
			return
		}
		if last = append(last, b); len(last) > len(mark) {
			if keep {
				x.keepByte(last[0])
			}
			last = append(last[:0], last[1:]...)
		}
		if string(last) == mark {
			return
		}
	}
}

// declaration reads what begins with "<!".
func (x *xmlReader) declaration() {
	switch start, _ := x.in.Peek(7); {
	case strings.HasPrefix(string(start), "--"):
		_, _ = x.in.Discard(2)
		x.until("-->", false)
	case string(start) == "[CDATA[" && len(x.stack) > 0:
		_, _ = x.in.Discard(7)
		x.until("]]>", true)
	case string(start) == "DOCTYPE":
		x.fail(Refused, "a document type is not read")
	default:
		x.fail(Malformed, "a declaration that is neither a comment nor character data")
	}
}

// startTag reads an element's name and attributes.
func (x *xmlReader) startTag() xmlKind {
	name, ok := x.token(maxNameBytes, ' ', '\t', '\n', '\r', '/', '>')
	if !ok || !isName(name) {
		x.fail(Malformed, "a tag without a name")
		return xmlDone
	}
	if len(x.stack) >= x.t.limits.Depth {
		x.fail(Refused, "elements are nested deeper than %d", x.t.limits.Depth)
		return xmlDone
	}
	if len(x.stack) == 0 {
		if x.roots++; x.roots == 2 {
			x.t.found(Malformed, "more than one root element")
		}
	}
	x.stack = append(x.stack, name)
	x.attrs, x.text, x.name = x.attrs[:0], x.text[:0], local(name)
	for {
		switch b := x.skipSpace(); b {
		case '>':
			return xmlStart
		case '/':
			if next, err := x.in.ReadByte(); err != nil || next != '>' {
				x.fail(Malformed, "'/' inside <%s>", name)
				return xmlDone
			}
			x.self = true
			return xmlStart
		case 0:
			x.fail(CutOff, "the document ends inside <%s>", name)
			return xmlDone
		default:
			_ = x.in.UnreadByte()
			if !x.attribute(name) {
				return xmlDone
			}
		}
	}
}

// attribute reads one attribute of an element.
func (x *xmlReader) attribute(of string) bool {
	name, ok := x.token(maxNameBytes, ' ', '\t', '\n', '\r', '=', '/', '>')
	if !ok || x.skipSpace() != '=' || len(x.attrs) >= maxAttributes {
		x.fail(Malformed, "an attribute of <%s> cannot be read", of)
		return false
	}
	if slices.ContainsFunc(x.attrs, func(a xmlAttribute) bool { return a.name == name }) {
		x.fail(Malformed, "<%s> has two attributes %s", of, name)
		return false
	}
	quote := x.skipSpace()
	if quote != '"' && quote != '\'' {
		x.fail(Malformed, "attribute %s of <%s> has no quotes", name, of)
		return false
	}
	value, ok := x.value(quote)
	x.attrs = append(x.attrs, xmlAttribute{name, value})
	return ok
}

// value reads an attribute's value; what is beyond the limit of a string is left out.
func (x *xmlReader) value(quote byte) (string, bool) {
	var out []byte
	clipped := false
	for {
		b, err := x.in.ReadByte()
		piece := ""
		switch {
		case err != nil:
			x.fail(CutOff, "the document ends inside a value")
			return "", false
		case b == quote:
			return strings.ToValidUTF8(string(out), ""), true
		case b == '<':
			x.fail(Malformed, "'<' inside a value")
			return "", false
		case b == '&':
			if piece = x.entity(); x.broken {
				return "", false
			}
		}
		switch {
		case len(out) >= maxStringBytes:
			if !clipped {
				x.t.found(Clipped, "a value was longer than is kept")
			}
			clipped = true
		case piece != "":
			out = append(out, piece...)
		default:
			out = append(out, b)
		}
	}
}

// endTag reads an element's end.
func (x *xmlReader) endTag() xmlKind {
	name, ok := x.token(maxNameBytes, ' ', '\t', '\n', '\r', '>')
	if !ok || x.skipSpace() != '>' || len(x.stack) == 0 || x.stack[len(x.stack)-1] != name {
		x.fail(Malformed, "</%s> ends nothing", name)
		return xmlDone
	}
	return x.pop()
}

func (x *xmlReader) pop() xmlKind {
	x.name = local(x.stack[len(x.stack)-1])
	x.stack = x.stack[:len(x.stack)-1]
	return xmlEnd
}

// skipSpace returns the first byte that is no white space, 0 at the end.
func (x *xmlReader) skipSpace() byte {
	for {
		b, err := x.in.ReadByte()
		if err != nil {
			return 0
		}
		if !isSpace(b) {
			return b
		}
	}
}

// attr gives an attribute of the element that started, "" for none.
func (x *xmlReader) attr(name string) string {
	for _, a := range x.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// isName tells whether a name begins as one and holds no markup.
func isName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "<>=\"'&!?/") && !strings.ContainsAny(s[:1], "-.0123456789")
}

// local drops the prefix of a name.
func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

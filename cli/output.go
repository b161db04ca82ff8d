package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// outputSchema is the version of every JSON object on stdout.
const outputSchema = "deed.cli/v1"

// envelope is what -o json prints: one object, or one line of a stream.
type envelope struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	// Position is the one that an answer about the ledger's state reflects.
	Position events.Position `json:"position,omitzero"`
	Data     any             `json:"data"`
}

// printer writes results. Everything that is no result goes to stderr.
type printer struct {
	out, err io.Writer
	json     bool
}

// result prints a command's one result: JSON, or the text that text writes.
func (p *printer) result(kind string, data any, text func(w *textWriter)) error {
	if p.json {
		return p.encode(kind, data, jsontext.Multiline(false))
	}
	w := &textWriter{out: p.out}
	text(w)
	return w.err
}

// item prints one line of a stream: NDJSON, or text.
func (p *printer) item(kind string, data any, text func(w *textWriter)) error {
	return p.result(kind, data, text)
}

func (p *printer) encode(kind string, data any, options ...json.Options) error {
	return p.write(envelope{Schema: outputSchema, Kind: kind, Data: data}, options...)
}

func (p *printer) write(e envelope, options ...json.Options) error {
	text, err := json.Marshal(e, options...)
	if err != nil {
		return fmt.Errorf("print %s: %w", e.Kind, err)
	}
	_, err = p.out.Write(append(escape(text), '\n'))
	return err
}

// escape writes every character that could drive a terminal, or that nobody
// can see, as a \u escape of JSON: the value stays the same. In text, such
// characters stand in strings only.
func escape(text []byte) []byte {
	if utf8.Valid(text) && bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			out = utf8.AppendRune(out, r)
		case high != utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// hidden reports whether a character is not for a terminal.
func hidden(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// note tells a person something that is no result.
func (p *printer) note(format string, args ...any) {
	if !p.json {
		fmt.Fprintln(p.err, plain(fmt.Sprintf(format, args...)))
	}
}

// failure is the data of an error on stdout in JSON mode.
type failure struct {
	Exit    int             `json:"exit"`
	Error   string          `json:"error"`
	Hint    string          `json:"hint,omitzero"`
	Refusal *ledger.Refusal `json:"refusal,omitempty"`
}

// plainLimit bounds one line of untrusted text on a terminal, in bytes.
const plainLimit = 2000

// plain makes text safe for a terminal: see projections.Plain.
func plain(s string) string { return projections.Plain(s, plainLimit) }

// textWriter writes lines for people and keeps the first error. Every value
// passes through plain, so that no text of others drives the terminal.
type textWriter struct {
	out io.Writer
	err error
}

// line writes one line; strings among args are made plain.
func (w *textWriter) line(format string, args ...any) {
	if w.err != nil {
		return
	}
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = plain(v)
		case fmt.Stringer:
			args[i] = plain(v.String())
		case error:
			args[i] = plain(v.Error())
		}
	}
	_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
}

// table writes rows under a header in aligned columns.
func (w *textWriter) table(header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(plain(cell))))
		}
	}
	for _, row := range append([][]string{header}, rows...) {
		var b strings.Builder
		for i, cell := range row {
			text := plain(cell)
			b.WriteString(text)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-len([]rune(text))+2))
			}
		}
		if w.err == nil {
			_, w.err = fmt.Fprintln(w.out, b.String())
		}
	}
}

// outputLines and outputBytes bound how much of a program's output is shown.
const (
	outputLines = 12
	outputBytes = 1200
)

// output writes the last lines of what a program printed, marked as such; a
// silent one writes nothing.
func (w *textWriter) output(text string) {
	for _, line := range lastLines(text) {
		w.line("  | %s", quoted(line))
	}
}

// noteOutput tells a person the last lines of what a program printed.
func (p *printer) noteOutput(text string) {
	if !p.json {
		(&textWriter{out: p.err}).output(text)
	}
}

// quoted is a line that is plain already.
type quoted string

// lastLines returns the last lines of a text, plain and bounded; none of an
// empty one.
func lastLines(text string) []string {
	text = strings.TrimRight(text, "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	cut := max(0, len(text)-outputBytes)
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	lines := projections.PlainLines(text[cut:], 0)
	left := cut > 0
	if n := len(lines) - outputLines; n > 0 {
		lines, left = lines[n:], true
	}
	if left {
		lines = append([]string{"…"}, lines...)
	}
	return lines
}

// counted writes a number of things: "1 path", "2 paths".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// block writes a text of ours that may have several lines, such as Markdown
// that a packet made safe.
func (w *textWriter) block(text string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, strings.TrimRight(text, "\n")+"\n")
	}
}

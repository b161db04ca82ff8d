package guard

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ErrClaims reports a task file that does not have the documented shape; the
// text names the line.
var ErrClaims = errors.New("invalid task file")

// Limits of a task file.
const (
	MaxClaimsBytes = 256 << 10
	maxEntries     = 512  // of one list
	maxTextBytes   = 4096 // of one text
)

// Claims are what somebody says of a task. Line is where it was said, 0 where
// that is no file.
type Claims struct {
	Task   string
	Goal   string
	Done   []Done
	Todo   []Todo
	Frozen []Rule
	Banned []Rule
	Accept []Criterion
}

// Done is a thing that is said to be done. Evidence is a path below the
// project, "" for none.
type Done struct {
	What     string
	Evidence string
	Line     int
}

// Todo is a thing that is left, and the next step of it.
type Todo struct {
	What string
	Next string
	Line int
}

// Rule is a frozen decision or a banned approach.
type Rule struct {
	Title    string
	Reason   string
	Contains []string // must occur in some scanned file
	Forbids  []string // must occur in none
	// Paths are patterns of the files that it is about, none for every file. A
	// task file has none of these; a decision of a ledger may.
	Paths []string
	Line  int
}

// Criterion is an acceptance criterion and the command that checks it.
type Criterion struct {
	Text  string
	Check string
	Line  int
}

// Parse reads a task file, YAML as documented: task, goal,
// done[what, evidence], todo[what, next], frozen[decision, reason,
// guard{contains, forbids}], banned[approach, reason, forbids],
// accept[criterion, check]. A list may be missing or empty.
//
// Error: [ErrClaims] for anything else, with the line: an unknown or repeated
// member, a text where a list belongs, an empty keyword, an alias, a second
// document, more than [MaxClaimsBytes].
func Parse(text []byte) (Claims, error) {
	root, err := document(text)
	if err != nil {
		return Claims{}, err
	}
	var c Claims
	r := reader{}
	r.mapping(root, "", map[string]func(*yaml.Node, string){
		"task": r.textInto(&c.Task),
		"goal": r.textInto(&c.Goal),
		"done": func(n *yaml.Node, at string) {
			r.list(n, at, func(n *yaml.Node, at string) {
				d := Done{Line: n.Line}
				r.mapping(n, at, map[string]func(*yaml.Node, string){"what": r.textInto(&d.What), "evidence": r.textInto(&d.Evidence)})
				r.need(n, at, "what", d.What)
				c.Done = append(c.Done, d)
			})
		},
		"todo": func(n *yaml.Node, at string) {
			r.list(n, at, func(n *yaml.Node, at string) {
				t := Todo{Line: n.Line}
				r.mapping(n, at, map[string]func(*yaml.Node, string){"what": r.textInto(&t.What), "next": r.textInto(&t.Next)})
				r.need(n, at, "what", t.What)
				c.Todo = append(c.Todo, t)
			})
		},
		"frozen": func(n *yaml.Node, at string) {
			r.list(n, at, func(n *yaml.Node, at string) { c.Frozen = append(c.Frozen, r.frozen(n, at)) })
		},
		"banned": func(n *yaml.Node, at string) {
			r.list(n, at, func(n *yaml.Node, at string) { c.Banned = append(c.Banned, r.banned(n, at)) })
		},
		"accept": func(n *yaml.Node, at string) {
			r.list(n, at, func(n *yaml.Node, at string) {
				a := Criterion{Line: n.Line}
				r.mapping(n, at, map[string]func(*yaml.Node, string){"criterion": r.textInto(&a.Text), "check": r.textInto(&a.Check)})
				r.need(n, at, "criterion", a.Text)
				c.Accept = append(c.Accept, a)
			})
		},
	})
	if r.err != nil {
		return Claims{}, r.err
	}
	return c, nil
}

func (r *reader) frozen(n *yaml.Node, at string) Rule {
	f := Rule{Line: n.Line}
	r.mapping(n, at, map[string]func(*yaml.Node, string){
		"decision": r.textInto(&f.Title),
		"reason":   r.textInto(&f.Reason),
		"guard": func(n *yaml.Node, at string) {
			if !null(n) {
				r.mapping(n, at, map[string]func(*yaml.Node, string){"contains": r.keywordsInto(&f.Contains), "forbids": r.keywordsInto(&f.Forbids)})
			}
		},
	})
	r.need(n, at, "decision", f.Title)
	return f
}

func (r *reader) banned(n *yaml.Node, at string) Rule {
	b := Rule{Line: n.Line}
	r.mapping(n, at, map[string]func(*yaml.Node, string){
		"approach": r.textInto(&b.Title), "reason": r.textInto(&b.Reason), "forbids": r.keywordsInto(&b.Forbids),
	})
	r.need(n, at, "approach", b.Title)
	return b
}

// keywordsInto reads a list of texts to look for.
func (r *reader) keywordsInto(into *[]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, at string) {
		r.list(n, at, func(n *yaml.Node, at string) {
			var word string
			r.textInto(&word)(n, at)
			switch {
			case r.err != nil:
			case word == "":
				r.fail(n, at, "is empty: it would match everything")
			case strings.ContainsAny(word, "\n\r"):
				r.fail(n, at, "goes over more than one line: nothing would match it")
			default:
				*into = append(*into, word)
			}
		})
	}
}

// reader walks YAML nodes and keeps the first fault.
type reader struct{ err error }

func (r *reader) fail(n *yaml.Node, at, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: line %d: %s %s", ErrClaims, n.Line, at, fmt.Sprintf(format, args...))
	}
}

func (r *reader) need(n *yaml.Node, at, member, text string) {
	if strings.TrimSpace(text) == "" {
		r.fail(n, at, "has no %s", member)
	}
}

// mapping reads the members of n.
func (r *reader) mapping(n *yaml.Node, at string, members map[string]func(*yaml.Node, string)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, orFile(at), "is %s, want members such as %s", kindOf(n), example(members))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, known := members[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			r.fail(key, orFile(at), "has an unknown member %q, want one of %s", clip(key.Value), example(members))
		case seen[key.Value]:
			r.fail(key, orFile(at), "has %s twice", key.Value)
		default:
			read(value, strings.TrimPrefix(at+"."+key.Value, "."))
		}
		seen[key.Value] = true
	}
}

// list reads the entries of n; no value at all is an empty list.
func (r *reader) list(n *yaml.Node, at string, entry func(*yaml.Node, string)) {
	switch {
	case null(n):
	case n.Kind == yaml.ScalarNode:
		r.fail(n, at, "is a text, want a list: write [%q]", clip(n.Value))
	case n.Kind != yaml.SequenceNode:
		r.fail(n, at, "is %s, want a list", kindOf(n))
	case len(n.Content) > maxEntries:
		r.fail(n, at, "has %d entries, limit %d", len(n.Content), maxEntries)
	default:
		for i, c := range n.Content {
			entry(c, fmt.Sprintf("%s[%d]", at, i))
		}
	}
}

// textInto reads a text; no value at all is "".
func (r *reader) textInto(into *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, at string) {
		switch {
		case null(n):
		case n.Kind != yaml.ScalarNode:
			r.fail(n, at, "is %s, want a text", kindOf(n))
		case len(n.Value) > maxTextBytes:
			r.fail(n, at, "has %d bytes, limit %d", len(n.Value), maxTextBytes)
		case strings.ContainsRune(n.Value, 0):
			r.fail(n, at, "holds a zero byte")
		default:
			*into = n.Value
		}
	}
}

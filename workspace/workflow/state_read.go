package workflow

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedledger/deed/workspace"
	"go.yaml.in/yaml/v4"
)

// ParseState reads state.yaml. A member may be missing, but task_id. Error:
// [ErrState] for an unknown or repeated member, another type or status, an
// alias, an anchor, a tag, a second document, flow form at the top, a limit.
func ParseState(text []byte) (State, error) {
	f, err := readState(text)
	if err != nil {
		return State{}, err
	}
	return f.state, nil
}

// stateFile is a state with the place of its members in the text.
type stateFile struct {
	lines []string // of the text, without line feeds
	state State
	keys  []place // of the members, in the order of the file
	items []place // of the entries of checks that stand on lines of their own
}

// place is a member and the line at which it begins, from 0.
type place struct {
	name string
	line int
}

func readState(text []byte) (*stateFile, error) {
	root, err := document(text, MaxStateBytes, ErrState)
	if err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		return nil, stateFault(max(root.Line, 1), "want one member a line, such as task_id: T-1")
	}
	f := &stateFile{lines: strings.Split(string(text), "\n")}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Style != 0 || key.Column != 1 {
			return nil, stateFault(key.Line, "a member begins with its bare name at the beginning of the line")
		}
		if err := f.member(key, value); err != nil {
			return nil, err
		}
		f.keys = append(f.keys, place{key.Value, key.Line - 1})
	}
	if !validTask(f.state.TaskID) {
		return nil, stateFault(1, "task_id %q is no task ([A-Za-z0-9][A-Za-z0-9_-]{0,63})", clip(f.state.TaskID))
	}
	return f, nil
}

func (f *stateFile) member(key, value *yaml.Node) (err error) {
	s := &f.state
	switch key.Value {
	case "task_id":
		s.TaskID, err = textOf(key, value)
	case "phase":
		if s.Phase, err = textOf(key, value); err == nil && (len(s.Phase) > 64 || strings.IndexFunc(s.Phase, notWord) >= 0) {
			err = stateFault(value.Line, "phase %q is no word", clip(s.Phase))
		}
	case "iteration":
		s.Iteration, err = numberOf(key, value)
	case "checks":
		err = f.checks(value)
	case "blockers":
		s.Blockers, err = textsOf(key, value)
	case "next":
		s.Next, err = textOf(key, value)
	case "archive":
		if s.Archive, err = textOf(key, value); err == nil && (len(s.Archive) > 64 || strings.IndexFunc(s.Archive, notWord) >= 0) {
			err = stateFault(value.Line, "archive %q is no commit", clip(s.Archive))
		}
	default:
		hint := "a state holds facts only: " + strings.Join(members(), ", ")
		if ItemID(key.Value) {
			hint = "indent it below checks"
		}
		err = stateFault(key.Line, "unknown member %q; %s", clip(key.Value), hint)
	}
	return err
}

func notWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

func (f *stateFile) checks(n *yaml.Node) error {
	if null(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return stateFault(n.Line, "checks is no mapping of items, such as A1: {status: pending}")
	}
	if len(n.Content) > 2*MaxItems {
		return stateFault(n.Line, "checks has %d items, limit %d", len(n.Content)/2, MaxItems)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || !ItemID(key.Value) {
			return stateFault(key.Line, "%q is no acceptance item, want A1, A2, …", clip(key.Value))
		}
		c, err := checkOf(key, value)
		if err != nil {
			return err
		}
		f.state.Checks = append(f.state.Checks, c)
		if n.Style&yaml.FlowStyle == 0 && key.Style == 0 {
			f.items = append(f.items, place{key.Value, key.Line - 1})
		}
	}
	return nil
}

func checkOf(key, value *yaml.Node) (c Check, err error) {
	c.ID, c.Status = key.Value, Pending
	if value.Kind != yaml.MappingNode {
		return c, stateFault(key.Line, "%s is no mapping, such as {status: pending}", key.Value)
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		switch k.Value {
		case "status":
			var word string
			word, err = textOf(k, v)
			if c.Status = Status(word); err == nil && c.Status != Pending && c.Status != Passed && c.Status != Failed {
				err = stateFault(v.Line, "status %q of %s, want pending, passed or failed", clip(word), c.ID)
			}
		case "last_error":
			c.LastError, err = textOf(k, v)
		case "attempts":
			c.Attempts, err = numberOf(k, v)
		default:
			err = stateFault(k.Line, "unknown member %q of %s, want status, last_error, attempts", clip(k.Value), c.ID)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// document is [workspace.Document] of text whose lines end as deed writes them,
// since it is rewritten line by line.
func document(text []byte, limit int, fault error) (*yaml.Node, error) {
	if bytes.ContainsAny(text, "\r\u0085\u2028\u2029\ufeff") {
		return nil, fmt.Errorf("%w: it is no UTF-8 text with line feeds", fault)
	}
	return workspace.Document(text, limit, fault)
}

func null(n *yaml.Node) bool { return workspace.NullNode(n) }

// textOf reads a text; no value is "".
func textOf(key, n *yaml.Node) (string, error) {
	switch {
	case null(n):
		return "", nil
	case n.Kind != yaml.ScalarNode:
		return "", stateFault(n.Line, "%s is no text", clip(key.Value))
	case len(n.Value) > maxStateText:
		return "", stateFault(n.Line, "%s has %d bytes, limit %d", clip(key.Value), len(n.Value), maxStateText)
	case !utf8.ValidString(n.Value):
		return "", stateFault(n.Line, "%s is no UTF-8", clip(key.Value))
	}
	return n.Value, nil
}

func textsOf(key, n *yaml.Node) ([]string, error) {
	if null(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, stateFault(n.Line, "%s is no list: write [] or one entry a line", clip(key.Value))
	}
	if len(n.Content) > maxBlockers {
		return nil, stateFault(n.Line, "%s has %d entries, limit %d", clip(key.Value), len(n.Content), maxBlockers)
	}
	var list []string
	for _, c := range n.Content {
		text, err := textOf(key, c)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func numberOf(key, n *yaml.Node) (int, error) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v > maxRounds || strconv.Itoa(v) != n.Value {
		return 0, stateFault(max(n.Line, key.Line), "%s %q is no number from 0 to %d", clip(key.Value), clip(n.Value), maxRounds)
	}
	return v, nil
}

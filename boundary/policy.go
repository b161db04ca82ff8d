package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// PolicyPath is where a repository keeps its policy.
const PolicyPath = ".agent-delivery/policy/write-boundary.yaml"

// MaxPolicyBytes bounds the text of a policy.
const MaxPolicyBytes = 64 << 10

// maxAttemptBytes bounds the name in a policy's member attempt.
const maxAttemptBytes = 160

// ErrPolicy reports a text that is no policy. Whoever gets it has no policy that allows
// anything.
var ErrPolicy = errors.New("invalid write boundary policy")

// Policy is what a repository lets runs do. What it does not list it does not allow; the
// zero Policy, which is also what an error leaves, allows nothing.
type Policy struct {
	// Attempt is "TASK/ATTEMPT" where the text names one, for people: a policy bounds
	// every run, whatever it names.
	Attempt string
	// Include and Exclude are the patterns of paths, as written.
	Include, Exclude []string
	// Commands are the lines of commands, as [ParseCommands] reads them.
	Commands []string
	// Effects are the kinds of effect that need no approval of their own, Approvals those
	// that always need one.
	Effects, Approvals []string

	bounds   Boundary
	commands Commands
	lines    map[string]int
}

// Bounds gives the paths that the policy lets change.
func (p Policy) Bounds() Boundary { return p.bounds }

// Runs gives the commands that the policy lets run.
func (p Policy) Runs() Commands { return p.commands }

// Line gives the line, from 1, on which a member's list has an entry; 0 for none.
// Members are "include", "exclude", "commands", "effects" and "approvals".
func (p Policy) Line(member, entry string) int { return p.lines[member+"\x00"+entry] }

// FreeEffect tells whether an effect of a kind needs no approval by this policy.
func (p Policy) FreeEffect(kind string) bool {
	return slices.Contains(p.Effects, kind) && !slices.Contains(p.Approvals, kind)
}

// EffectKinds are the kinds of effect that a policy can name, in the order of the
// design.
func EffectKinds() []string {
	return []string{"none", "preview", "draft-pr", "commit", "merge", "production-deploy", "migrate", "publish", "notify"}
}

// ReadPolicy reads the text of a policy: one YAML document, a mapping of
//
//	attempt: TASK-481/a02c     # text
//	write:
//	  include: [src/export/**] # patterns of paths
//	  exclude: [infra/**]
//	commands:
//	  allow: [npm run lint]    # lines of commands
//	effects:
//	  allow: [preview]         # kinds of effect
//	  requireHumanApproval: [merge, production-deploy]
//
// Every member may be missing; what is missing allows nothing. Refused, each with
// [ErrPolicy] and the line: another member, a member or entry twice, another type (text
// that YAML reads as a number, a truth value or nothing has to be quoted), an anchor, an
// alias, a merge key, a tag, a second document, none, a pattern outside the dialect, a
// line that is no command, an unknown kind of effect, more than [MaxPolicyBytes] or
// [MaxPatterns] entries, bytes that are not UTF-8.
func ReadPolicy(text []byte) (Policy, error) {
	root, err := policyDocument(text)
	if err != nil {
		return Policy{}, err
	}
	p := Policy{lines: map[string]int{}}
	r := policyReader{policy: &p}
	r.members(root, "", map[string]func(*yaml.Node){
		"attempt": r.attempt,
		"write": r.group("write", map[string]policyList{
			"include": {"include", &p.Include, CheckPattern}, "exclude": {"exclude", &p.Exclude, CheckPattern},
		}),
		"commands": r.group("commands", map[string]policyList{"allow": {"commands", &p.Commands, checkCommand}}),
		"effects": r.group("effects", map[string]policyList{
			"allow": {"effects", &p.Effects, checkKind}, "requireHumanApproval": {"approvals", &p.Approvals, checkKind},
		}),
	})
	if r.err != nil {
		return Policy{}, r.err
	}
	if p.bounds, err = Parse(p.Include, p.Exclude); err != nil {
		return Policy{}, fmt.Errorf("read policy: %w: %w", ErrPolicy, err)
	}
	if p.commands, err = ParseCommands(p.Commands); err != nil {
		return Policy{}, fmt.Errorf("read policy: %w: %w", ErrPolicy, err)
	}
	return p, nil
}

// policyDocument parses the only document of a text.
func policyDocument(text []byte) (*yaml.Node, error) {
	fail := func(line int, format string, args ...any) (*yaml.Node, error) {
		return nil, policyFault(line, format, args...)
	}
	switch {
	case len(text) > MaxPolicyBytes:
		return fail(1, "%d bytes, limit %d", len(text), MaxPolicyBytes)
	case !utf8.Valid(text):
		return fail(1, "not UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return fail(1+bytes.Count(text[:bytes.IndexByte(text, 0)], []byte("\n")), "a zero byte")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read policy: %w: %w", ErrPolicy, err)
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return fail(1, "no document")
	case err != nil:
		return nil, fmt.Errorf("read policy: %w: %s", ErrPolicy, oneLine(err.Error()))
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return fail(max(more.Line, doc.Line), "a second document")
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode {
		if len(doc.Content) != 1 {
			return fail(1, "no document")
		}
		root = doc.Content[0]
	}
	return root, nil
}

// policyFault makes an error about a line.
func policyFault(line int, format string, args ...any) error {
	return fmt.Errorf("read policy: line %d: %s: %w", line, fmt.Sprintf(format, args...), ErrPolicy)
}

// oneLine makes text of a parser printable on one line.
func oneLine(text string) string {
	return DisplayPath(strings.Join(strings.Fields(text[:min(len(text), 300)]), " "))
}

// policyReader walks the nodes of a policy and keeps the first fault.
type policyReader struct {
	policy *Policy
	err    error
}

// policyList is one list of a policy: its name in [Policy.Line], where it goes, and
// what an entry has to be.
type policyList struct {
	name  string
	into  *[]string
	check func(string) error
}

func (r *policyReader) fail(n *yaml.Node, format string, args ...any) {
	if r.err == nil {
		r.err = policyFault(n.Line, format, args...)
	}
}

// plain refuses what makes a node say more than it shows.
func (r *policyReader) plain(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.fail(n, "an alias")
	case n.Anchor != "":
		r.fail(n, "an anchor")
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n, "a tag")
	default:
		return true
	}
	return false
}

// members reads a mapping with the known members alone.
func (r *policyReader) members(n *yaml.Node, name string, known map[string]func(*yaml.Node)) {
	if !r.plain(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%swant a mapping", ofMember(name))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		member, ok := r.text(key)
		switch read := known[member]; {
		case !ok:
		case read == nil:
			r.fail(key, "%sunknown member %q", ofMember(name), DisplayPath(member))
		case seen[member]:
			r.fail(key, "%smember %q twice", ofMember(name), member)
		default:
			seen[member] = true
			read(value)
		}
	}
}

func ofMember(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// text reads a node that YAML takes for text.
func (r *policyReader) text(n *yaml.Node) (string, bool) {
	if !r.plain(n) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.fail(n, "want text; put it in quotes if it is")
		return "", false
	}
	return n.Value, true
}

func (r *policyReader) attempt(n *yaml.Node) {
	text, ok := r.text(n)
	if !ok {
		return
	}
	task, id, _ := strings.Cut(text, "/")
	word := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
			return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '_'
		})
	}
	if len(text) > maxAttemptBytes || !word(task) || !word(id) {
		r.fail(n, "attempt: want TASK/ATTEMPT")
		return
	}
	r.policy.Attempt = text
}

// group returns what reads a mapping of lists.
func (r *policyReader) group(name string, lists map[string]policyList) func(*yaml.Node) {
	known := map[string]func(*yaml.Node){}
	for member, list := range lists {
		known[member] = func(n *yaml.Node) { r.list(n, name+"."+member, list) }
	}
	return func(n *yaml.Node) { r.members(n, name, known) }
}

func (r *policyReader) list(n *yaml.Node, name string, list policyList) {
	if !r.plain(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%s: want a list", name)
		return
	}
	if len(n.Content) > MaxPatterns {
		r.fail(n, "%s: %d entries, limit %d", name, len(n.Content), MaxPatterns)
		return
	}
	for _, entry := range n.Content {
		text, ok := r.text(entry)
		if !ok {
			return
		}
		if err := list.check(text); err != nil {
			r.fail(entry, "%s: %v", name, err)
			return
		}
		if r.policy.Line(list.name, text) != 0 {
			r.fail(entry, "%s: %q twice", name, DisplayPath(text))
			return
		}
		r.policy.lines[list.name+"\x00"+text] = entry.Line
		*list.into = append(*list.into, text)
	}
}

func checkCommand(line string) error {
	_, err := SplitCommand(line)
	return err
}

func checkKind(kind string) error {
	if slices.Contains(EffectKinds(), kind) {
		return nil
	}
	return fmt.Errorf("unknown kind of effect %q, want one of %s", DisplayPath(kind[:min(len(kind), 64)]), strings.Join(EffectKinds(), ", "))
}

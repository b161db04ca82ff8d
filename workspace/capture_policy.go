package workspace

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"go.yaml.in/yaml/v4"
)

const (
	// PolicyDir is where a repository keeps its policies.
	PolicyDir = ".agent-delivery/policy"
	// CapturePolicyPath is where it says what a capture may read and ask.
	CapturePolicyPath = PolicyDir + "/capture.yaml"

	// maxCapturePolicy bounds the text, maxPolicyList each list of it, maxPolicyText each
	// text in bytes.
	maxCapturePolicy = 64 << 10
	maxPolicyList    = 64
	maxPolicyText    = 1000
	// DefaultProbeSeconds is how long a probe may take where the policy says nothing.
	DefaultProbeSeconds = 10
	// MaxProbeSeconds is the longest that the policy may say.
	MaxProbeSeconds = 120
)

// ErrCapturePolicy reports a text that is no capture policy.
var ErrCapturePolicy = errors.New("invalid capture policy")

// CapturePolicy says which skills a repository allows, and which commands tell what no
// file shows. The zero policy allows no skill and asks nothing.
type CapturePolicy struct {
	SkillRoots   []string // folders, as git prints them unquoted
	Skills       []string // names of allowed skills
	Capabilities []ProbeCommand
	Schema       *ProbeCommand
	// Flags are stated, or FlagsCommand prints them, one on a line. Stated tells an empty
	// list from none.
	Flags        []string
	FlagsStated  bool
	FlagsCommand *ProbeCommand
	Image        string
}

// ProbeCommand is a command that tells a fact and must change nothing.
type ProbeCommand struct {
	Name    string // of the capability; else ""
	Command []string
	Limit   time.Duration
}

// CapturePolicyAt reads the capture policy of a commit; without one it gives the zero
// policy. Errors: [ErrCapturePolicy], [ErrNotFile], those of ResolveCommit.
func (r *Repo) CapturePolicyAt(ctx context.Context, commit string) (CapturePolicy, error) {
	text, err := r.ReadFile(ctx, commit, CapturePolicyPath, maxCapturePolicy)
	if errors.Is(err, ErrNoSuchFile) {
		return CapturePolicy{}, nil
	}
	if errors.Is(err, ErrFileTooLarge) {
		return CapturePolicy{}, fmt.Errorf("read %s: more than %d bytes: %w", CapturePolicyPath, maxCapturePolicy, ErrCapturePolicy)
	}
	if err != nil {
		return CapturePolicy{}, err
	}
	p, err := ReadCapturePolicy(text)
	if err != nil {
		return CapturePolicy{}, fmt.Errorf("read %s: %w", CapturePolicyPath, err)
	}
	return p, nil
}

// ReadCapturePolicy reads one YAML document with these members, each of which may be
// missing:
//
//	skills: {roots: [.agents/skills], allow: [name]}
//	capabilities: [{name: docker, command: [docker, info], timeoutSeconds: 10}]
//	schema: {command: [print-schema-version], timeoutSeconds: 10}
//	flags: [new-export]        # or {command: [print-flags], timeoutSeconds: 10}
//	image: registry.example/app@sha256:…
//
// Another member, a repeated one, another type, an anchor, an alias, a tag, a second
// document, or a program named by a path below the worktree (the work could change it)
// is refused with its line. Errors wrap [ErrCapturePolicy].
func ReadCapturePolicy(text []byte) (CapturePolicy, error) {
	root, err := Document(text, maxCapturePolicy, ErrCapturePolicy)
	if err != nil {
		return CapturePolicy{}, err
	}
	var p CapturePolicy
	var w yamlWalk
	p.read(&w, root)
	if w.err != nil {
		return CapturePolicy{}, w.err
	}
	return p, nil
}

func (p *CapturePolicy) read(w *yamlWalk, root *yaml.Node) {
	w.members(root, map[string]func(*yaml.Node){
		"skills": func(n *yaml.Node) {
			w.members(n, map[string]func(*yaml.Node){
				"roots": func(n *yaml.Node) { p.SkillRoots = w.texts(n, checkFolder) },
				"allow": func(n *yaml.Node) { p.Skills = w.texts(n, checkSkillName) },
			})
			if len(p.Skills) > 0 && len(p.SkillRoots) == 0 {
				w.fail(n, "skills are allowed, and no root says where they are")
			}
		},
		"capabilities": func(n *yaml.Node) {
			names := map[string]bool{}
			for _, item := range w.list(n) {
				c := w.probe(item, true)
				if names[c.Name] {
					w.fail(item, "capability %s is named twice", c.Name)
				}
				names[c.Name] = true
				p.Capabilities = append(p.Capabilities, c)
			}
		},
		"schema": func(n *yaml.Node) { c := w.probe(n, false); p.Schema = &c },
		"flags": func(n *yaml.Node) {
			if n.Kind == yaml.MappingNode {
				c := w.probe(n, false)
				p.FlagsCommand = &c
				return
			}
			p.Flags, p.FlagsStated = w.texts(n, checkLine), true
		},
		"image": func(n *yaml.Node) { p.Image = w.text(n, checkLine) },
	})
}

// yamlWalk reads nodes strictly and keeps the first fault with its line.
type yamlWalk struct{ err error }

func (w *yamlWalk) fail(n *yaml.Node, format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: line %d: %s", ErrCapturePolicy, n.Line, fmt.Sprintf(format, args...))
	}
}

// is tells whether a node is of a kind.
func (w *yamlWalk) is(n *yaml.Node, kind yaml.Kind, want string) bool {
	switch {
	case w.err != nil:
	case n.Kind != kind:
		w.fail(n, "want %s", want)
	default:
		return true
	}
	return false
}

func (w *yamlWalk) members(n *yaml.Node, known map[string]func(*yaml.Node)) {
	if !w.is(n, yaml.MappingNode, "a mapping") {
		return
	}
	for i := 0; i+1 < len(n.Content) && w.err == nil; i += 2 {
		name := w.text(n.Content[i], nil)
		switch read := known[name]; {
		case w.err != nil:
		case read == nil:
			w.fail(n.Content[i], "unknown member %s", boundary.DisplayPath(name))
		default:
			read(n.Content[i+1])
		}
	}
}

func (w *yamlWalk) list(n *yaml.Node) []*yaml.Node {
	if !w.is(n, yaml.SequenceNode, "a list") {
		return nil
	}
	if len(n.Content) > maxPolicyList {
		w.fail(n, "%d entries, limit %d", len(n.Content), maxPolicyList)
		return nil
	}
	return n.Content
}

func (w *yamlWalk) text(n *yaml.Node, check func(string) error) string {
	if !w.is(n, yaml.ScalarNode, "a text") {
		return ""
	}
	switch {
	case n.ShortTag() != "!!str":
		w.fail(n, "want a text: put it in quotes")
	case len(n.Value) > maxPolicyText:
		w.fail(n, "%d bytes, limit %d", len(n.Value), maxPolicyText)
	case check != nil:
		if err := check(n.Value); err != nil {
			w.fail(n, "%q: %v", boundary.DisplayPath(n.Value), err)
		}
	}
	return n.Value
}

func (w *yamlWalk) texts(n *yaml.Node, check func(string) error) []string {
	list := []string{}
	seen := map[string]bool{}
	for _, item := range w.list(n) {
		text := w.text(item, check)
		if seen[text] {
			w.fail(item, "%q is there twice", boundary.DisplayPath(text))
		}
		seen[text] = true
		list = append(list, text)
	}
	return list
}

// probe reads a command and its limit, with a name where it is named.
func (w *yamlWalk) probe(n *yaml.Node, named bool) ProbeCommand {
	p := ProbeCommand{Limit: DefaultProbeSeconds * time.Second}
	known := map[string]func(*yaml.Node){
		"command": func(n *yaml.Node) { p.Command = w.command(n) },
		"timeoutSeconds": func(n *yaml.Node) {
			if !w.is(n, yaml.ScalarNode, "a number") {
				return
			}
			seconds, err := strconv.Atoi(n.Value)
			if err != nil || n.ShortTag() != "!!int" || seconds < 1 || seconds > MaxProbeSeconds {
				w.fail(n, "want a number of seconds from 1 to %d", MaxProbeSeconds)
			}
			p.Limit = time.Duration(seconds) * time.Second
		},
	}
	if named {
		known["name"] = func(n *yaml.Node) { p.Name = w.text(n, checkCapability) }
	}
	w.members(n, known)
	if w.err == nil && (len(p.Command) == 0 || named && p.Name == "") {
		w.fail(n, "want a command, and for a capability its name")
	}
	return p
}

// command reads an argument list; unlike in other lists, a text may be there twice.
func (w *yamlWalk) command(n *yaml.Node) []string {
	var list []string
	for i, item := range w.list(n) {
		check := checkArgument
		if i == 0 {
			check = checkProgram
		}
		list = append(list, w.text(item, check))
	}
	return list
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return ok && err == nil
}

func checkSkillName(name string) error {
	if !matches(`\A[a-z0-9]+(-[a-z0-9]+)*\z`, name) || len(name) > 64 {
		return errors.New("want the name of a skill: words of a-z and 0-9 joined by -, at most 64 characters")
	}
	return nil
}

func checkCapability(name string) error {
	if !matches(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`, name) {
		return errors.New("want a name of letters, digits, '.', '_' and '-', at most 64 characters")
	}
	return nil
}

func checkFolder(folder string) error {
	clean, err := boundary.CleanPath(folder)
	if err == nil && clean != folder {
		err = boundary.ErrPath
	}
	return err
}

func checkArgument(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("a zero byte")
	}
	return nil
}

// checkProgram refuses programs that the work itself could change.
func checkProgram(name string) error {
	if name == "" || strings.Contains(name, "/") && !strings.HasPrefix(name, "/") {
		return errors.New("want a program on the PATH or an absolute path: the work could change a file of the repository")
	}
	return checkArgument(name)
}

// checkLine takes one line of printable text.
func checkLine(text string) error {
	if text == "" || len(text) > events.MaxLine || strings.TrimSpace(text) != text || boundary.DisplayPath(text) != text {
		return errors.New("want one line of plain text")
	}
	return nil
}

package workflow

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// ErrChecks reports checks that cannot be run as they are; the text names the
// file, and the line of the list of commands.
var ErrChecks = errors.New("invalid checks")

// ListName is the list of commands in a task's folder.
const ListName = "checks/checks.yaml"

// Limits of checks.
const (
	maxListBytes   = 64 << 10
	MaxCheckFiles  = 64 // in checks/
	maxItemChecks  = 16
	maxArguments   = 256
	maxCheckSecond = 86_400
)

// Command is one executable proof of one acceptance item.
type Command struct {
	Item string   `json:"item"`
	ID   string   `json:"id"`   // unique in the task
	Argv []string `json:"argv"` // no shell reads it
	// Seconds bounds how long it runs, 0 for the default.
	Seconds int `json:"seconds,omitzero"`
	// Script is its file in the task's folder, "" for one of the list.
	Script string `json:"script,omitzero"`
}

// scriptName is how a script of an item is named.
var scriptName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(A[1-9][0-9]{0,2})(-[A-Za-z0-9_]{1,32})?\.sh$`) })

// Commands returns what proves the items of a spec, in the spec's order, for each
// the scripts by name and then those of the list, and the items that nothing
// proves. files are the files of checks/, list the text of [ListName], nil for
// none. Error: [ErrChecks], for a script that nobody may execute, or one of an item
// that the spec does not have, too.
func Commands(spec Spec, files []File, list []byte) (commands []Command, bare []string, err error) {
	byItem := map[string][]Command{}
	for _, f := range files {
		name := strings.TrimPrefix(f.Name, "checks/")
		m := scriptName().FindStringSubmatch(name)
		switch {
		case m == nil: // what a script needs
			if strings.HasSuffix(name, ".sh") && !strings.Contains(name, "/") && len(name) > 1 && (name[0] == 'a' || name[0] == 'A') && name[1] >= '0' && name[1] <= '9' {
				return nil, nil, fmt.Errorf("%w: %q belongs to no item: name it A1.sh or A1-more.sh", ErrChecks, clip(f.Name))
			}
			continue
		case !has(spec, m[1]):
			return nil, nil, fmt.Errorf("%w: %s is about %s, which spec.md does not have", ErrChecks, f.Name, m[1])
		case !f.Executable:
			return nil, nil, fmt.Errorf("%w: %s cannot be executed: chmod +x it", ErrChecks, f.Name)
		}
		byItem[m[1]] = append(byItem[m[1]], Command{Item: m[1], ID: strings.TrimSuffix(name, ".sh"), Argv: []string{"./" + f.Name}, Script: f.Name})
	}
	if list != nil {
		if err := readList(spec, list, byItem); err != nil {
			return nil, nil, err
		}
	}
	for _, i := range spec.Items {
		if len(byItem[i.ID]) == 0 {
			bare = append(bare, i.ID)
		}
		if n := len(byItem[i.ID]); n > maxItemChecks {
			return nil, nil, fmt.Errorf("%w: %s has %d checks, limit %d", ErrChecks, i.ID, n, maxItemChecks)
		}
		commands = append(commands, byItem[i.ID]...)
	}
	return commands, bare, nil
}

func has(spec Spec, id string) bool {
	return slices.ContainsFunc(spec.Items, func(i Item) bool { return i.ID == id })
}

// readList adds the commands of a list.
func readList(spec Spec, text []byte, byItem map[string][]Command) error {
	root, err := document(text, maxListBytes, ErrChecks)
	if err != nil {
		return fmt.Errorf("%s: %w", ListName, err)
	}
	fail := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%w: %s, line %d: %s", ErrChecks, ListName, max(n.Line, 1), fmt.Sprintf(format, args...))
	}
	if root.Kind != yaml.MappingNode {
		return fail(root, "want a command for each item, such as A1: [go, test, ./...]")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !has(spec, key.Value) {
			return fail(key, "%q is no item of spec.md", clip(key.Value))
		}
		entries := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode && len(value.Content) > 0 && value.Content[0].Kind != yaml.ScalarNode {
			entries = value.Content
		}
		for n, entry := range entries {
			c, fault := commandOf(entry)
			if fault != "" {
				return fail(entry, "%s: %s", key.Value, fault)
			}
			c.Item, c.ID = key.Value, key.Value+".list-"+strconv.Itoa(n+1)
			byItem[key.Value] = append(byItem[key.Value], c)
		}
	}
	return nil
}

// commandOf reads an argument list, or {command, timeoutSeconds}.
func commandOf(n *yaml.Node) (c Command, fault string) {
	argv := n
	if n.Kind == yaml.MappingNode {
		argv = nil
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch key, value := n.Content[i], n.Content[i+1]; key.Value {
			case "command":
				argv = value
			case "timeoutSeconds":
				var err error
				if c.Seconds, err = strconv.Atoi(value.Value); err != nil || c.Seconds < 1 || c.Seconds > maxCheckSecond {
					return c, fmt.Sprintf("timeoutSeconds %q is not within 1 to %d", clip(value.Value), maxCheckSecond)
				}
			default:
				return c, fmt.Sprintf("unknown member %q, want command, timeoutSeconds", clip(key.Value))
			}
		}
	}
	switch {
	case argv == nil:
		return c, "the command is missing"
	case argv.Kind != yaml.SequenceNode:
		return c, `no shell reads a text: write a list, such as [go, test, ./...], or [sh, -c, "…"]`
	case len(argv.Content) == 0 || argv.Content[0].Value == "":
		return c, "the command is empty"
	case len(argv.Content) > maxArguments:
		return c, fmt.Sprintf("%d arguments, limit %d", len(argv.Content), maxArguments)
	}
	for _, a := range argv.Content {
		if a.Kind != yaml.ScalarNode || null(a) || strings.ContainsRune(a.Value, 0) {
			return c, "an argument is no text"
		}
		c.Argv = append(c.Argv, a.Value)
	}
	return c, ""
}

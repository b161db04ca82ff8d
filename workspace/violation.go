package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/deedledger/deed/boundary"
)

// Violation is one change that the boundary does not allow.
type Violation struct {
	Path   string // raw bytes
	Rule   boundary.Rule
	Detail string // the pattern, or what is wrong with a link; escaped for terminals
}

// LinkReader tells whether the new tree has a link at a raw path, and its target.
type LinkReader func(path string) (target string, isLink bool, err error)

// maxLinkHops bounds the links followed for one target, as the kernel does.
const maxLinkHops = 40

// Check holds every change against the boundary and gives the violations, one for each
// path, sorted as the changes are. pinned are the raw paths of checks' own files, which no
// spelling of their names may change. links reads the tree that the changes lead to
// ([Repo.Links]); nil refuses every link.
func Check(b boundary.Boundary, changes []Change, pinned []string, links LinkReader) []Violation {
	var found []Violation
	folded := make([]string, len(pinned))
	for i, path := range pinned {
		folded[i] = boundary.FoldPath(path)
	}
	for _, change := range changes {
		if rule, detail := refuseChange(b, change, folded, links); rule != "" {
			found = append(found, Violation{Path: change.Path, Rule: rule, Detail: boundary.DisplayPath(detail)})
		}
	}
	return found
}

func refuseChange(b boundary.Boundary, change Change, pinned []string, links LinkReader) (boundary.Rule, string) {
	if rule, detail := b.Refusal(change.Path); rule != "" {
		return rule, detail
	}
	if len(pinned) > 0 && slices.Contains(pinned, boundary.FoldPath(change.Path)) {
		return boundary.RulePinned, ""
	}
	if change.OldMode == ModeSubmodule || change.NewMode == ModeSubmodule {
		return boundary.RuleSubmodule, ""
	}
	if change.NewMode != ModeLink {
		return "", ""
	}
	if links == nil {
		return boundary.RuleLink, "links are not readable"
	}
	target, err := followLink(change.Path, links)
	if err != nil {
		return boundary.RuleLink, err.Error()
	}
	if rule, _ := b.Refusal(target); rule != "" {
		return boundary.RuleLink, fmt.Sprintf("leads to %s (%s)", target, rule)
	}
	return "", ""
}

var (
	errLinkAbsolute = errors.New("target is absolute")
	errLinkEscapes  = errors.New("target leaves the repository")
	errLinkLoop     = errors.New("too many links")
)

// followLink resolves a link as the kernel would in a checkout of the tree: segment by
// segment, through further links, so that "y/../.." after a link y goes where it really
// goes. A target that does not exist resolves to its name.
func followLink(link string, links LinkReader) (string, error) {
	at := []string{}
	rest := strings.Split(link, "/")
	for hops := 0; len(rest) > 0; {
		segment := rest[0]
		rest = rest[1:]
		switch segment {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return "", errLinkEscapes
			}
			at = at[:len(at)-1]
			continue
		}
		name := path.Join(append(slices.Clone(at), segment)...)
		target, isLink, err := links(name)
		switch {
		case err != nil:
			return "", fmt.Errorf("read link: %w", err)
		case !isLink:
			at = append(at, segment)
			continue
		case target == "" || strings.HasPrefix(target, "/"):
			return "", errLinkAbsolute
		case hops >= maxLinkHops:
			return "", errLinkLoop
		}
		hops++
		rest = append(strings.Split(target, "/"), rest...)
	}
	return strings.Join(at, "/"), nil
}

// maxLinkBytes bounds a link's target, as file systems do.
const maxLinkBytes = 4096

// Links gives what reads the links of a commit's tree. They are read when the first one is
// asked for: most changes touch none, and a tree may be large. Errors as for
// ResolveCommit, where commit is an object id from the reader; and from it [ErrGitOutput]
// for a target longer than a file system takes.
func (r *Repo) Links(ctx context.Context, commit string) (LinkReader, error) {
	id := commit
	if !r.isObjectID(commit) {
		var err error
		if id, err = r.ResolveCommit(ctx, commit); err != nil {
			return nil, err
		}
	}
	targets := sync.OnceValues(func() (map[string]string, error) { return r.linkTargets(ctx, id) })
	return func(path string) (string, bool, error) {
		known, err := targets()
		target, ok := known[path]
		return target, ok, err
	}, nil
}

func (r *Repo) linkTargets(ctx context.Context, id string) (map[string]string, error) {
	list, err := r.treeOf(ctx, id)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(e treeEntry) bool { return e.mode != ModeLink })
	targets := map[string]string{}
	err = r.eachObject(ctx, list, func(entry treeEntry, content io.Reader) error {
		target, err := io.ReadAll(io.LimitReader(content, maxLinkBytes+1))
		if err == nil && len(target) > maxLinkBytes {
			err = ErrGitOutput
		}
		targets[entry.path] = string(target)
		return err
	})
	return targets, err
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/deedledger/deed/boundary"
)

// Links are the links of a tree. The zero Links are those of a tree that nobody can read:
// every question fails.
type Links struct {
	targets func() (linkTargets, error)
}

// linkTargets are the targets of links by raw path, and by that path's folded form, as
// a file system that ignores case or Unicode forms would find them.
type linkTargets struct{ exact, folded map[string]string }

// errLinksUnread answers for the zero Links.
var errLinksUnread = errors.New("links are not readable")

// Links gives the links of a commit's tree. They are read when the first one is asked
// for: most changes touch none, and a tree may be large. Errors as for ResolveCommit, where
// commit is an object id from the methods of Links; and from them [ErrGitOutput] for a
// target longer than a file system takes.
func (r *Repo) Links(ctx context.Context, commit string) (Links, error) {
	id := commit
	if !r.isObjectID(commit) {
		var err error
		if id, err = r.ResolveCommit(ctx, commit); err != nil {
			return Links{}, err
		}
	}
	return newLinks(func() (map[string]string, error) { return r.linkTargets(ctx, id) }), nil
}

// newLinks asks read once, when it has to.
func newLinks(read func() (map[string]string, error)) Links {
	return Links{sync.OnceValues(func() (linkTargets, error) {
		exact, err := read()
		t := linkTargets{exact, map[string]string{}}
		for path, target := range exact {
			t.folded[boundary.FoldPath(path)] = target
		}
		return t, err
	})}
}

func (l Links) read() (linkTargets, error) {
	if l.targets == nil {
		return linkTargets{}, errLinksUnread
	}
	return l.targets()
}

// Paths gives the raw paths of all links, sorted.
func (l Links) Paths() ([]string, error) {
	known, err := l.read()
	return slices.Sorted(maps.Keys(known.exact)), err
}

// linkReader tells whether a tree has a link at a raw path, and its target.
type linkReader func(path string) (target string, isLink bool, err error)

// exact finds a link by its very name.
func (l Links) exact(path string) (string, bool, error) {
	known, err := l.read()
	target, ok := known.exact[path]
	return target, ok, err
}

// folded finds a link by any spelling of its name.
func (l Links) folded(path string) (string, bool, error) {
	known, err := l.read()
	target, ok := known.folded[boundary.FoldPath(path)]
	return target, ok, err
}

// maxLinkBytes bounds a link's target, as file systems do.
const maxLinkBytes = 4096

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

// maxLinkHops bounds the links followed for one target, as the kernel does.
const maxLinkHops = 40

var (
	errLinkAbsolute = errors.New("target is absolute")
	errLinkEscapes  = errors.New("target leaves the repository")
	errLinkLoop     = errors.New("too many links")
)

// followLink resolves a link as the kernel would in a checkout of the tree: segment by
// segment, through further links, so that "y/../.." after a link y goes where it really
// goes. A target that does not exist resolves to its name.
func followLink(link string, links linkReader) (string, error) {
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

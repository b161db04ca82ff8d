package workspace

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxCommitBytes bounds how much of one commit object is read for its header.
const maxCommitBytes = 1 << 20

// Identity is a name and address as a commit states them: a claim, not a proof.
type Identity struct {
	Name  string // raw bytes
	Email string // raw bytes
}

// Authors gives every author and committer of the commits in base..head, once each,
// sorted by address and name. No mailmap is applied.
//
// Errors: [ErrHistoryIncomplete] when a shallow clone's cut lies in the range; those of
// ResolveCommit.
func (r *Repo) Authors(ctx context.Context, base, head string) ([]Identity, error) {
	ids, err := r.resolveAll(ctx, base, head)
	if err != nil {
		return nil, err
	}
	span := []string{ids[1], "^" + ids[0]}
	if err := r.refuseCut(ctx, span); err != nil {
		return nil, err
	}
	commits, err := r.revList(ctx, span)
	if err != nil {
		return nil, err
	}
	list := make([]treeEntry, len(commits))
	for i, commit := range commits {
		list[i] = treeEntry{kind: "commit", id: commit}
	}
	var found []Identity
	err = r.eachObject(ctx, list, func(entry treeEntry, content io.Reader) error {
		people, err := commitIdentities(io.LimitReader(content, maxCommitBytes))
		if err != nil {
			return fmt.Errorf("read commit %s: %w", entry.id, err)
		}
		found = append(found, people...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Identity) int {
		return cmp.Or(strings.Compare(a.Email, b.Email), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(found), nil
}

// commitIdentities reads the author and committer lines of a commit's header.
func commitIdentities(content io.Reader) ([]Identity, error) {
	in := bufio.NewReader(content)
	var people []Identity
	for {
		line, err := in.ReadString('\n')
		if err != nil && line == "" || line == "\n" {
			break
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key != "author" && key != "committer" {
			continue
		}
		open, end := strings.IndexByte(value, '<'), strings.LastIndexByte(value, '>')
		if open < 0 || end < open {
			return nil, ErrGitOutput
		}
		people = append(people, Identity{Name: strings.TrimSpace(value[:open]), Email: value[open+1 : end]})
	}
	if len(people) < 2 {
		return nil, ErrGitOutput
	}
	return people, nil
}

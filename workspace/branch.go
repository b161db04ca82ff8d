package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Commit is one commit as its object says it.
type Commit struct {
	ID      string
	Tree    string
	Parents []string
	Message string // raw bytes
}

// Trailer gives the value of the last line "name: value" in the last paragraph of the
// message, "" when there is none.
func (c Commit) Trailer(name string) string {
	paragraphs := strings.Split(strings.TrimRight(c.Message, "\n"), "\n\n")
	value := ""
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			value = strings.TrimSpace(v)
		}
	}
	return value
}

// Draft is what a new commit is made of: the same draft gives the same id.
type Draft struct {
	Tree    string
	Parents []string
	Message string
	Author  Identity // committer, too
	Date    time.Time
}

// MakeCommit writes a commit object that no branch names yet: nothing that anybody sees
// has changed. Errors: [ErrMissingObject] when tree or a parent is not there.
func (r *Repo) MakeCommit(ctx context.Context, d Draft) (string, error) {
	args := []string{"-c", "i18n.commitEncoding=UTF-8", "commit-tree", d.Tree}
	for _, parent := range d.Parents {
		args = append(args, "-p", parent)
	}
	at := strconv.FormatInt(d.Date.Unix(), 10) + " +0000"
	call := r.git(append(args, "-F", "-")...)
	call.stdin = strings.NewReader(d.Message)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		call.env = append(call.env, "GIT_"+who+"_NAME="+d.Author.Name, "GIT_"+who+"_EMAIL="+d.Author.Email, "GIT_"+who+"_DATE="+at)
	}
	id, err := call.line(ctx)
	if exitCode(err) == 128 {
		return "", fmt.Errorf("make commit: %w: %w", ErrMissingObject, err)
	}
	if err != nil || !r.isObjectID(id) {
		return "", fmt.Errorf("make commit: %w", firstError(err, ErrGitOutput))
	}
	return id, nil
}

// StagedTree writes the tree of what is staged, which no commit names yet, and gives its
// id. It reads a copy of the index, so that it neither waits for another git process nor
// stands in its way. Error: [ErrMergeConflict] while paths are unmerged.
func (r *Repo) StagedTree(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "deed-index-")
	if err != nil {
		return "", fmt.Errorf("write staged tree: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	index := filepath.Join(dir, "index")
	text, err := os.ReadFile(filepath.Join(r.gitDir, "index"))
	if err == nil {
		err = os.WriteFile(index, text, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without an index nothing is staged
		return "", fmt.Errorf("write staged tree: %w", err)
	}
	ask := func(args ...string) gitCall {
		return gitCall{dir: r.top, args: args, env: []string{"GIT_INDEX_FILE=" + index}}
	}
	unmerged, err := ask("ls-files", "--unmerged", "-z").run(ctx)
	if err != nil {
		return "", fmt.Errorf("write staged tree: %w", err)
	}
	if len(unmerged) > 0 {
		return "", fmt.Errorf("write staged tree: %w", ErrMergeConflict)
	}
	id, err := ask("write-tree").line(ctx)
	if err != nil || !r.isObjectID(id) {
		return "", fmt.Errorf("write staged tree: %w", firstError(err, ErrGitOutput))
	}
	return id, nil
}

func firstError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// Children gives the commits between parent and tip whose first parent is parent, in no
// certain order. Errors: those of ResolveCommit.
func (r *Repo) Children(ctx context.Context, parent, tip string) ([]Commit, error) {
	ids, err := r.resolveAll(ctx, parent, tip)
	if err != nil {
		return nil, err
	}
	out, err := r.git("rev-list", "--ancestry-path", "--parents", ids[0]+".."+ids[1]).run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	var list []treeEntry
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == ids[0] {
			list = append(list, treeEntry{kind: "commit", id: fields[0]})
		}
	}
	var commits []Commit
	err = r.eachObject(ctx, list, func(entry treeEntry, content io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(content, maxCommitBytes))
		if err != nil {
			return fmt.Errorf("read commit %s: %w", entry.id, err)
		}
		commits = append(commits, parseCommit(entry.id, text))
		return nil
	})
	return commits, err
}

// parseCommit reads a commit object.
func parseCommit(id string, text []byte) Commit {
	header, message, _ := bytes.Cut(text, []byte("\n\n"))
	c := Commit{ID: id, Message: string(message)}
	for line := range strings.SplitSeq(string(header), "\n") {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		}
	}
	return c
}

// CheckedOut tells in which worktree of the repository a branch, by its full name, is
// checked out; "" for none.
func (r *Repo) CheckedOut(ctx context.Context, ref string) (string, error) {
	out, err := r.git("worktree", "list", "--porcelain", "-z").run(ctx)
	if err != nil {
		return "", fmt.Errorf("list worktrees: %w", err)
	}
	dir := ""
	for line := range strings.SplitSeq(string(out), "\x00") {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = path
		}
		if line == "branch "+ref {
			return dir, nil
		}
	}
	return "", nil
}

// Move is the move of one branch from one commit to another.
type Move struct {
	Remote   string // name of the remote; "" for the repository itself
	Ref      string // full name of the branch
	From, To string // commits
}

// Command gives the argument list of the one git process that makes the move: whole or
// not at all, and only while the branch is at From. No hook runs.
//
// Error: git is not found.
func (m Move) Command() ([]string, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	argv := []string{program, "--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	if m.Remote == "" {
		return append(argv, "update-ref", "-m", "deed: move branch", m.Ref, m.To, m.From), nil
	}
	return append(argv, "push", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease="+m.Ref+":"+m.From, "--end-of-options", m.Remote, m.To+":"+m.Ref), nil
}

// remoteCall is a git call that may use the network, with the caller's environment and
// the repository's own configuration of the remote.
func (r *Repo) remoteCall(env []string, args ...string) gitCall {
	call := r.git(args...)
	call.env = append([]string{"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"}, env...)
	return call
}

// RemoteTip asks a remote for the commit at the tip of a branch, by its full name, and
// fetches it, without changing any branch here. env is what the transport needs, such as
// "SSH_AUTH_SOCK=…".
//
// Errors: [ErrUnknownRevision] when the remote has no such branch; git's otherwise.
func (r *Repo) RemoteTip(ctx context.Context, remote, ref string, env []string) (string, error) {
	out, err := r.remoteCall(env, "ls-remote", "--quiet", "--end-of-options", remote, ref).line(ctx)
	if err != nil {
		return "", fmt.Errorf("ask remote %s: %w", remote, err)
	}
	tip := ""
	for line := range strings.SplitSeq(out, "\n") {
		if id, name, ok := strings.Cut(line, "\t"); ok && name == ref {
			tip = id
		}
	}
	if !r.isObjectID(tip) {
		return "", fmt.Errorf("ask remote %s for %s: %w", remote, ref, ErrUnknownRevision)
	}
	if _, err := r.ResolveCommit(ctx, tip); err == nil {
		return tip, nil
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules", "--no-auto-maintenance", "--end-of-options", remote, ref}
	if _, err := r.remoteCall(env, args...).run(ctx); err != nil {
		return "", fmt.Errorf("fetch from remote %s: %w", remote, err)
	}
	return r.ResolveCommit(ctx, tip)
}

// Remotes lists the names of the repository's remotes, sorted.
func (r *Repo) Remotes(ctx context.Context) ([]string, error) {
	out, err := r.git("remote").run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list remotes: %w", err)
	}
	names := strings.Fields(string(out))
	slices.Sort(names)
	return names, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
)

// The trailers by which a commit names the effect that made it. The token is
// that of one try.
const (
	trailerTask  = "Deed-Task"
	trailerKey   = "Deed-Effect"
	trailerToken = "Deed-Token"
)

// probed reports whether something can be asked whether the effect happened:
// its probe, or the branch that it moves.
func probed(e *projections.Effect) bool { return len(e.Intent.Probe) > 0 || e.Intent.Git != nil }

// newTip returns the commit that a try of an effect moves its branch to. A
// commit object that is not there yet is written; no branch names it.
func newTip(ctx context.Context, repo *workspace.Repo, task string, d *events.Intent, token string) (string, error) {
	g := d.Git
	if g.FastForward {
		return g.Merged, nil
	}
	date, err := events.ParseTime(g.Date)
	if err != nil {
		return "", fmt.Errorf("read effect %s: %w", d.Key, err)
	}
	parents := []string{g.Parent}
	if g.Merged != "" {
		parents = append(parents, g.Merged)
	}
	return repo.MakeCommit(ctx, workspace.Draft{
		Tree: g.Tree, Parents: parents, Author: workspace.Identity{Name: g.Name, Email: g.Email}, Date: date,
		Message: withTrailers(g.Message, trailerTask+": "+task, trailerKey+": "+d.Key, trailerToken+": "+token),
	})
}

// withTrailers ends a message with trailers: in its last paragraph where that
// is one of trailers, else in one of their own.
func withTrailers(message string, trailers ...string) string {
	message = strings.TrimRight(message, " \t\r\n")
	paragraphs := strings.Split(message, "\n\n")
	gap := "\n"
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		name, _, ok := strings.Cut(line, ": ")
		if !ok || len(paragraphs) == 1 || strings.ContainsAny(name, " \t") {
			gap = "\n\n"
		}
	}
	return message + gap + strings.Join(trailers, "\n") + "\n"
}

// branchCommand returns the one process that makes the newest try of an effect
// that moves a branch: from the commit that the intent names, or not at all.
func branchCommand(ctx context.Context, repo *workspace.Repo, task string, e *projections.Effect) ([]string, error) {
	g := e.Intent.Git
	to, err := newTip(ctx, repo, task, &e.Intent, e.Tries[len(e.Tries)-1].Token)
	if err != nil {
		return nil, err
	}
	return workspace.Move{Remote: g.Remote, Ref: g.Ref, From: g.Parent, To: to}.Command()
}

// branchTip returns the tip of a branch in the repository, or at a remote.
func (s *session) branchTip(ctx context.Context, repo *workspace.Repo, remote, ref string) (string, error) {
	if remote == "" {
		return repo.ResolveCommit(ctx, ref)
	}
	env := s.childEnv()
	for _, name := range []string{"HOME", "SSH_AUTH_SOCK"} {
		if value := s.env.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return repo.RemoteTip(ctx, remote, ref, env)
}

// underNobody refuses to move a branch under the files of a worktree: they would
// not follow, and the next commit there would undo the move. It is asked again
// before each call, since an approval may take days. A commit of what is staged
// here fits the files here.
func underNobody(ctx context.Context, repo *workspace.Repo, g *events.GitChange) error {
	if g == nil || g.Remote != "" {
		return nil
	}
	dir, err := repo.CheckedOut(ctx, g.Ref)
	if err != nil || dir == "" || g.Merged == "" && dir == repo.Top() {
		return err
	}
	branch := strings.TrimPrefix(g.Ref, "refs/heads/")
	err = refuse(ledger.CodeRule, "effect.intended/checked-out", "%s is checked out in %s: its files would not follow", branch, dir)
	return withHint(err, "leave it there: git -C %s switch --detach", wordOf(dir))
}

// askBranch is the probe of an effect that moves a branch: it asks git. The
// branch moves from one commit only, so that a call which is still on its way
// can never add to one that was made meanwhile: absence is complete.
//
//	the branch is where it was                       absent
//	a commit of ours on that place                   found, with its token
//	another commit with the same tree and parents    found, with our digest
//	the branch went another way                      a commit: found, with another digest; a merge: absent
//	the branch is gone or was rewritten              unknown
func (s *session) askBranch(ctx context.Context, repo *workspace.Repo, e *projections.Effect) runner.ProbeResult {
	unknown := func(reason string) runner.ProbeResult {
		return runner.ProbeResult{Status: runner.ProbeUnknown, Reason: reason}
	}
	g := e.Intent.Git
	tip, err := s.branchTip(ctx, repo, g.Remote, g.Ref)
	if err != nil {
		return unknown(err.Error())
	}
	absent := runner.ProbeResult{Status: runner.ProbeAbsent, Complete: true, Reason: g.Ref + " is at " + tip}
	if tip == g.Parent {
		return absent
	}
	kept, err := contains(ctx, repo, tip, g.Parent)
	switch {
	case err != nil:
		return unknown(err.Error())
	case !kept:
		return unknown(fmt.Sprintf("%s is at %s, which does not follow %s", g.Ref, tip, g.Parent))
	}
	if g.FastForward {
		on, err := contains(ctx, repo, tip, g.Merged)
		switch {
		case err != nil:
			return unknown(err.Error())
		case on:
			return runner.ProbeResult{Status: runner.ProbeFound, ExternalID: g.Merged, Digest: e.Intent.PayloadDigest, Reason: absent.Reason}
		}
		return absent
	}
	children, err := repo.Children(ctx, g.Parent, tip)
	if err != nil {
		return unknown(err.Error())
	}
	return weigh(e, children, absent)
}

// weigh returns what the commits that follow the effect's parent say of it.
func weigh(e *projections.Effect, children []workspace.Commit, absent runner.ProbeResult) runner.ProbeResult {
	var like, other *runner.ProbeResult
	for _, c := range children {
		found := runner.ProbeResult{
			Status: runner.ProbeFound, ExternalID: c.ID, Token: c.Trailer(trailerToken), Digest: changeDigest(e.Intent, c),
			Reason: fmt.Sprintf("commit %s follows %s", c.ID, e.Intent.Git.Parent),
		}
		switch {
		case hasToken(e, found.Token):
			return found
		case found.Digest == e.Intent.PayloadDigest:
			like = &found
		default:
			found.Token = "" // somebody's, and about something else
			other = &found
		}
	}
	switch {
	case like != nil:
		return *like
	case other != nil && e.Intent.Kind == events.EffectCommit:
		return *other
	}
	return absent
}

// changeDigest returns the payload digest of the change that a commit made:
// the intent's own where tree and parents are those of the intent.
func changeDigest(d events.Intent, c workspace.Commit) string {
	want := []string{d.Git.Parent}
	if d.Git.Merged != "" {
		want = append(want, d.Git.Merged)
	}
	if c.Tree == d.Git.Tree && strings.Join(c.Parents, " ") == strings.Join(want, " ") {
		return d.PayloadDigest
	}
	return events.Sum([]byte(c.ID)).String()
}

// hasToken reports whether a token is that of one of the effect's tries.
func hasToken(e *projections.Effect, token string) bool {
	for _, t := range e.Tries {
		if t.Token == token {
			return true
		}
	}
	return false
}

// sealBranch derives digests and key of an intent that moves a branch. Who made the
// commit, and when, is bound by the payload digest and no part of the key: the
// same change of the same branch is one effect.
func sealBranch(d *events.Intent, t *projections.Task) (err error) {
	if d.PayloadDigest, err = d.Git.Digest(); err != nil {
		return err
	}
	same := *d.Git
	same.Name, same.Email, same.Date = "", "", ""
	payload, err := same.Digest()
	if err != nil {
		return err
	}
	input, err := events.DigestOf(effectInput{Commit: d.Commit, Contract: contractDigest(t), Payload: payload})
	if err != nil {
		return err
	}
	d.InputDigest = input.String()
	d.Key, err = events.Identity{InputDigest: d.InputDigest, Kind: d.Kind, Occurrence: d.Occurrence, Target: d.Target, Task: t.ID}.Key()
	return err
}

// sign fills who makes a commit: the actor, with its address in the registry.
func (s *session) sign(g *events.GitChange, a author) {
	g.Name, g.Email = a.actor.Name, a.registry.GitIdentity(a.actor)
	g.Date = events.FormatTime(s.env.Now())
}

// branchCall returns a call that moves a branch. An effect with the same key
// is the same change: what was intended first counts.
func branchCall(t *projections.Task, d events.Intent, repo *workspace.Repo) (*call, error) {
	if err := sealBranch(&d, t); err != nil {
		return nil, err
	}
	if e := t.Effect(d.Key); e != nil {
		d = e.Intent
	}
	return &call{task: t.ID, intent: d, repo: repo, timeout: runner.DefaultTimeout}, nil
}

// againCall returns the call of an effect that is there already.
func againCall(t *projections.Task, e *projections.Effect, repo *workspace.Repo) *call {
	return &call{task: t.ID, intent: e.Intent, repo: repo, timeout: runner.DefaultTimeout}
}

// errNoBranch says that a branch is not there.
func errNoBranch(err error, ref string) error {
	if errors.Is(err, workspace.ErrUnknownRevision) {
		return fmt.Errorf("%w: there is no branch %s", errMissing, strings.TrimPrefix(ref, "refs/heads/"))
	}
	return err
}

package workspace

import (
	"context"
	"errors"
	"sync"

	"github.com/deedledger/deed/boundary"
)

// CaptureOptions say what to hold the worktree against.
type CaptureOptions struct {
	// Target is the branch that the work goes to, a revision; "" for none.
	Target string
	// Base is the commit that an attempt started from; "" for none.
	Base string
	// Host names the machine for the identity of the workspace.
	Host string
	// PolicyCommit is whose [CapturePolicy] counts; "" for none: no skill is allowed and
	// nothing is asked. Ask runs its commands; nil asks nothing.
	PolicyCommit string
	Ask          Ask
}

// Capture reads the facts of a worktree: repository, head, what differs on the disk, by
// content, and what the work depends on. Of the inputs, tools, image, model, prompt and
// boundary are the caller's to add. It writes nothing, not even git's index, and takes no
// lock. What a policy's commands do is theirs.
//
// What has two answers during the capture, such as a commit made meanwhile, shows as
// differences; ask again when nothing runs. Errors: [ErrMissingObject] for a damaged
// store, [ErrGitOutput], git's, or the file system's.
func (r *Repo) Capture(ctx context.Context, o CaptureOptions) (Facts, error) {
	f := Facts{Schema: FactsSchema, Precision: PrecisionContent, Top: boundary.EncodePath(r.top)}
	n := &notes{}
	var err error
	if f.Head, err = r.headFacts(ctx); err != nil {
		return Facts{}, err
	}
	state, history := &worktreeRead{repo: r, head: f.Head.Commit}, &notes{}
	err = together(
		func() error { return state.read(ctx) },
		func() error { return r.history(ctx, o, &f, history) },
	)
	if err != nil {
		return Facts{}, err
	}
	f.Files, f.Inputs = len(state.index.entries), state.inputs
	r.hiddenByIndex(state.index, n)
	if f.Worktree, err = state.facts(ctx, n); err != nil {
		return Facts{}, err
	}
	if err := r.askPolicy(ctx, o, &f, n); err != nil {
		return Facts{}, err
	}
	f.Notes = append(history.list, n.list...)
	return f, nil
}

// history reads everything but the files.
func (r *Repo) history(ctx context.Context, o CaptureOptions, f *Facts, n *notes) error {
	var err error
	if f.Repository, err = r.identify(ctx, o.Host); err != nil {
		return err
	}
	head, target := f.Head.Commit, ""
	if head != "" {
		if f.Repository.Project, err = r.project(ctx, head); err != nil {
			return err
		}
	}
	if f.Repository.Project == "" {
		n.add("project-unknown", "the first commit of this history is not here, so a clone cannot be recognised")
	}
	if o.Target != "" {
		if f.Target, err = r.targetFacts(ctx, o.Target, head, n); err != nil {
			return err
		}
		target = f.Target.Commit
	}
	if o.Base != "" {
		if f.Base, err = r.baseFacts(ctx, o.Base, head, target, n); err != nil {
			return err
		}
	}
	return r.hiddenByRepository(ctx, n)
}

// together runs functions at once and gives all their errors.
func together(run ...func() error) error {
	errs := make([]error, len(run))
	var group sync.WaitGroup
	for i, f := range run {
		group.Go(func() { errs[i] = f() })
	}
	group.Wait()
	return errors.Join(errs...)
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
)

// askPolicy adds what a repository's policy allows and asks. A policy that cannot be read
// allows no skill and asks nothing; a note says why.
func (r *Repo) askPolicy(ctx context.Context, o CaptureOptions, f *Facts, n *notes) error {
	if o.PolicyCommit == "" {
		n.add(NoteNoPolicy, "no commit says which policy counts: no skill is allowed, and no command of a policy ran")
		return nil
	}
	in := &f.Inputs
	in.PolicyCommit = o.PolicyCommit
	var err error
	if in.Policy, err = r.policyFiles(ctx, o.PolicyCommit); err != nil {
		return err
	}
	policy, err := r.CapturePolicyAt(ctx, o.PolicyCommit)
	if errors.Is(err, ErrCapturePolicy) || errors.Is(err, ErrNotFile) {
		n.add("policy-invalid", boundary.DisplayPath(err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	in.Image = policy.Image
	if f.Head.Commit != "" {
		in.Skills, err = r.Skills(ctx, f.Head.Commit, policy)
		if errors.Is(err, ErrSkill) {
			n.add("skill-refused", boundary.DisplayPath(err.Error()))
		} else if err != nil {
			return err
		}
	}
	n.some("skill-changed", "files of allowed skills differ on the disk from the head, whose skills these facts name", policy.touched(f.Worktree))
	if o.Ask == nil {
		return nil
	}
	in.Capabilities, in.Missing = policy.AskCapabilities(ctx, o.Ask)
	var ok bool
	if in.Schema, ok = policy.AskSchema(ctx, o.Ask); !ok && policy.Schema != nil {
		n.add("schema-unknown", "the policy's command did not tell the version of the schema")
	}
	if in.Flags, ok = policy.AskFlags(ctx, o.Ask); !ok && policy.FlagsCommand != nil {
		n.add("flags-unknown", "the policy's command did not tell the feature flags")
	}
	return ctx.Err()
}

// policyFiles gives the digests of a commit's policy files, sorted by encoded path.
func (r *Repo) policyFiles(ctx context.Context, commit string) ([]events.PinnedFile, error) {
	list, err := r.entries(ctx, commit, PolicyDir)
	if err != nil {
		return nil, fmt.Errorf("read policy files: %w", err)
	}
	list = slices.DeleteFunc(list, func(e treeEntry) bool { return e.kind != "blob" })
	files, err := r.digests(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("read policy files: %w", err)
	}
	return Lockfiles{Files: files}.pinned(), nil
}

// touched gives the raw paths of allowed skills among what differs from the head.
func (p CapturePolicy) touched(w *WorktreeFacts) []string {
	var paths []string
	look := func(encoded string) {
		path, err := boundary.DecodePath(encoded)
		if err != nil {
			return
		}
		for _, root := range p.SkillRoots {
			for _, name := range p.Skills {
				if within(path, root+"/"+name) {
					paths = append(paths, path)
				}
			}
		}
	}
	for _, c := range slices.Concat(w.Staged, w.Unstaged) {
		look(c.Path)
	}
	for _, u := range w.Untracked {
		look(u.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

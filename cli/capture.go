package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// captureFlags are what "deed capture" is told.
type captureFlags struct {
	target, base, out   string
	model, promptDigest string
	recent              int
}

// newCaptureCommand builds "deed capture".
func newCaptureCommand(e *Env, f *flags) *cobra.Command {
	var c captureFlags
	cmd := &cobra.Command{
		Use: "capture [TASK]", Short: "Print what the disk says, without any model's word", Args: cobra.MaximumNArgs(1),
		Long: `Print the facts of the git worktree around the working directory: which repository,
what is checked out, what differs by content, what the work depends on, and what git
hides. Nothing is written, not even git's index, and without TASK no service is asked.

With --target the repository's policy at the tip of that branch says which skills are
allowed and which commands tell capabilities, schema and feature flags; those commands
run. With TASK target, base and boundary are those of its open attempt.

In a folder without git the newest files are listed, with lower precision.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			facts, err := s.readFacts(ctx, args, c)
			if err != nil {
				return err
			}
			if c.out != "" {
				return s.keepFacts(facts, c.out)
			}
			return s.result("capture", facts, func(w *textWriter) { w.facts(facts) })
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&c.target, "target", "", "branch that the work goes to; its policy counts and its commands run")
	fs.StringVar(&c.base, "base", "", "commit that the work started from")
	fs.StringVar(&c.out, "out", "", "write the JSON to this file and nothing to standard output")
	fs.StringVar(&c.model, "model", "", "id of the model that works")
	fs.StringVar(&c.promptDigest, "prompt-digest", "", "SHA-256 of its instructions")
	fs.IntVar(&c.recent, "recent", workspace.DefaultRecent, "how many of the newest files to list without git")
	return cmd
}

// readFacts returns the facts of the working directory.
func (s *session) readFacts(ctx context.Context, args []string, c captureFlags) (workspace.Facts, error) {
	if c.promptDigest != "" && !isDigest(c.promptDigest) {
		return workspace.Facts{}, fmt.Errorf("%w: --prompt-digest: want 64 lower-case hex digits", errUsage)
	}
	if c.recent < 1 {
		return workspace.Facts{}, fmt.Errorf("%w: --recent: want at least 1", errUsage)
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	var facts workspace.Facts
	switch {
	case errors.Is(err, workspace.ErrNotRepository) && len(args) == 0 && c.target == "" && c.base == "":
		facts, err = s.captureFolder(ctx, c)
	case err == nil:
		facts, err = s.captureRepo(ctx, repo, args, &c)
	}
	if err != nil {
		return workspace.Facts{}, fmt.Errorf("capture: %w", err)
	}
	in := &facts.Inputs
	in.Image = first(s.env.Getenv("DEED_IMAGE"), in.Image)
	in.Schema = first(in.Schema, s.env.Getenv("DEED_SCHEMA"))
	if in.Flags == nil {
		in.Flags = s.statedFlags()
	}
	in.Model, in.PromptDigest = c.model, c.promptDigest
	return facts, nil
}

// isDigest reports whether a text is a SHA-256 in lower hex.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func (s *session) captureFolder(ctx context.Context, c captureFlags) (workspace.Facts, error) {
	facts, err := workspace.CaptureFolder(ctx, s.env.Dir, c.recent)
	if err != nil {
		return facts, err
	}
	entries, err := os.ReadDir(s.env.Dir)
	if err != nil {
		return facts, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	facts.Inputs.Tools = s.toolVersions(ctx, toolsFor(names))
	return facts, nil
}

// captureRepo returns the facts of a worktree. What a task pins stands in for
// what no flag says.
func (s *session) captureRepo(ctx context.Context, repo *workspace.Repo, args []string, c *captureFlags) (workspace.Facts, error) {
	o := workspace.CaptureOptions{Host: s.env.Host, Base: c.base, Target: c.target, Ask: s.probing(repo.Top())}
	bounds := ""
	if len(args) > 0 {
		s.about(args[0])
		state, err := s.existing(ctx, args[0])
		if err != nil {
			return workspace.Facts{}, err
		}
		l, err := s.attemptLimits(ctx, repo, state.Task)
		if err != nil {
			return workspace.Facts{}, err
		}
		pinned := state.Task.Attempt().Snapshot
		o.Target, o.Base = first(o.Target, pinned.Target), first(o.Base, pinned.BaseCommit)
		o.PolicyCommit, bounds = l.commit, l.Digest()
		c.model, c.promptDigest = first(c.model, pinned.Model), first(c.promptDigest, pinned.PromptDigest)
	}
	if o.Target != "" {
		ref, tip, err := targetRef(ctx, repo, o.Target)
		if err != nil && !errors.Is(err, workspace.ErrUnknownRevision) {
			return workspace.Facts{}, err
		}
		o.Target = first(ref, "refs/heads/"+o.Target)
		o.PolicyCommit = first(tip, o.PolicyCommit)
	}
	facts, err := repo.Capture(ctx, o)
	if err != nil {
		return workspace.Facts{}, err
	}
	facts.Inputs.Boundary = bounds
	tools := toolsFor(nil)
	if facts.Head.Commit != "" {
		if tools, err = neededTools(ctx, repo, facts.Head.Commit); err != nil {
			return workspace.Facts{}, err
		}
	}
	facts.Inputs.Tools = s.toolVersions(ctx, tools)
	return facts, nil
}

// targetRef returns the ref that targetTip reads, and its commit.
func targetRef(ctx context.Context, repo *workspace.Repo, target string) (ref, tip string, err error) {
	for _, ref = range []string{"refs/heads/" + target, "refs/remotes/origin/" + target} {
		if tip, err = repo.ResolveCommit(ctx, ref); !errors.Is(err, workspace.ErrUnknownRevision) {
			return ref, tip, err
		}
	}
	return "", "", err
}

// keepFacts writes facts as JSON to a file, in one step.
func (s *session) keepFacts(facts workspace.Facts, out string) error {
	text, err := json.Marshal(envelope{Schema: outputSchema, Kind: "capture", Data: facts}, jsontext.Multiline(true))
	if err != nil {
		return fmt.Errorf("write %s: %w", plain(out), err)
	}
	if err := replaceFile(s.abs(out), append(escape(text), '\n')); err != nil {
		return fmt.Errorf("write %s: %w", plain(out), err)
	}
	s.note("wrote %s", out)
	return nil
}

// facts writes facts for people.
func (w *textWriter) facts(f workspace.Facts) {
	w.line("%s: %s of %s", f.Top, f.Precision, counted(f.Files, "file"))
	if r := f.Repository; r != nil {
		w.line("  repository  %s, worktree %s, %s", r.ID[:12], r.Worktree, r.Layout)
		w.line("  project     %s", first(r.Project, "unknown"))
		for _, m := range r.Remotes {
			w.line("  remote      %s %s", m.Name, m.URL)
		}
		if r.Task != "" {
			w.line("  task        %s", r.Task)
		}
		if len(r.Operations) > 0 {
			w.line("  in progress %s", strings.Join(r.Operations, ", "))
		}
		if r.Stashes > 0 {
			w.line("  stashed     %s", counted(r.Stashes, "change"))
		}
	}
	w.position(f)
	w.differences(f)
	for _, r := range f.Recent {
		w.line("  %s %12d %s", r.Modified, r.Bytes, r.Path)
	}
	w.inputs(f.Inputs)
	for _, n := range f.Notes {
		w.line("  note: %s: %s", n.Code, n.Text)
		for _, p := range n.Paths {
			w.line("    %s", p)
		}
		if left := n.Count - len(n.Paths); left > 0 {
			w.line("    and %d more", left)
		}
	}
}

func (w *textWriter) position(f workspace.Facts) {
	if h := f.Head; h != nil {
		w.line("  head        %s %s %s", h.State, h.Branch, h.Commit)
		w.line("  pushed      %s (as last fetched)", h.Pushed)
		if u := h.Upstream; u != nil {
			w.line("  upstream    %s %s, %d ahead, %d behind", u.Ref, first(u.Commit, "is gone"), u.Ahead, u.Behind)
		}
	}
	if t := f.Target; t != nil {
		w.line("  target      %s %s, merge base %s", t.Ref, first(t.Commit, "is not here"), first(t.MergeBase, "unknown"))
	}
	if b := f.Base; b != nil {
		w.line("  base        %s, here %s, in head %s, on target %s", b.Commit, b.Present, b.InHead, b.OnTarget)
	}
}

func (w *textWriter) differences(f workspace.Facts) {
	d := f.Worktree
	if d == nil {
		return
	}
	if len(d.Staged)+len(d.Unstaged)+len(d.Untracked)+len(d.Conflicted) == 0 {
		w.line("  clean       every tracked file has the content of the head")
	}
	changes := func(kind string, list []workspace.FileChange) {
		for _, c := range list {
			from := ""
			if c.From != "" {
				from = " from " + c.From
			}
			w.line("  %-11s %s %s>%s %s%s", kind, c.Status, c.OldMode, c.NewMode, c.Path, from)
		}
	}
	changes("staged", d.Staged)
	changes("unstaged", d.Unstaged)
	for _, u := range d.Untracked {
		w.line("  untracked   ? %s %s", u.Mode, u.Path)
	}
	for _, p := range d.Conflicted {
		w.line("  conflicted  U %s", p)
	}
	for _, m := range d.Submodules {
		w.line("  submodule   %s head %s index %s disk %s, %d changed inside", m.Path, first(m.Head, "none"), first(m.Index, "none"), first(m.Disk, "none"), m.Changed)
	}
}

func (w *textWriter) inputs(in workspace.CaptureInputs) {
	for _, l := range in.Lockfiles {
		w.line("  lockfile    %s %s", l.Digest[:12], l.Path)
	}
	named := func(kind string, list []events.Tool) {
		for _, t := range list {
			w.line("  %-11s %s %s%s", kind, t.Name, t.Version, prefixedBy(" ", t.Digest))
		}
	}
	named("tool", in.Tools)
	named("skill", in.Skills)
	for _, row := range [][2]string{
		{"capability", strings.Join(in.Capabilities, ", ")}, {"missing", strings.Join(in.Missing, ", ")}, {"flags", strings.Join(in.Flags, ", ")},
		{"schema", in.Schema}, {"image", in.Image}, {"model", in.Model}, {"prompt", in.PromptDigest}, {"boundary", in.Boundary},
	} {
		if row[1] != "" {
			w.line("  %-11s %s", row[0], row[1])
		}
	}
}

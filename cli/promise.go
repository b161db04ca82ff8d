package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/guard"
)

// statedClaims reads --claim, --evidence and --pushed.
func statedClaims(o resultOptions) ([]events.Stated, error) {
	claims, err := parseClaims(o.claims)
	if err != nil {
		return nil, err
	}
	for _, arg := range o.evidence {
		item, path, ok := strings.Cut(arg, "=")
		if !ok || path == "" {
			return nil, fmt.Errorf("%w: --evidence %q, want A1=PATH", errUsage, arg)
		}
		encoded, err := encodedPath(path)
		if err != nil {
			return nil, err
		}
		if err := attach(claims, "--evidence "+arg, item, guard.EvidencePath+encoded); err != nil {
			return nil, err
		}
	}
	for _, arg := range o.pushed {
		item, branch, ok := strings.Cut(arg, "=")
		if remote, name, slash := strings.Cut(branch, "/"); !ok || !slash || remote == "" || name == "" || strings.HasPrefix(remote, "-") {
			return nil, fmt.Errorf("%w: --pushed %q, want A1=REMOTE/BRANCH", errUsage, arg)
		}
		if err := attach(claims, "--pushed "+arg, item, guard.EvidenceRemote+branch); err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// attach adds a line of evidence to the claim about an item.
func attach(claims []events.Stated, arg, item, line string) error {
	i := slices.IndexFunc(claims, func(c events.Stated) bool { return c.Acceptance == item })
	if i < 0 {
		return fmt.Errorf("%w: %s: say what you claim with --claim %s=TEXT", errUsage, plain(arg), plain(item))
	}
	claims[i].Evidence = append(claims[i].Evidence, line)
	return nil
}

// brokenPromises are the claims of a result that git does not bear out.
type brokenPromises struct{ list []guard.Mismatch }

// Error names the first.
func (b *brokenPromises) Error() string {
	return fmt.Sprintf("%s: %s", b.list[0].Rule, b.list[0].Text)
}

// keepPromises refuses a result whose claims are not what git says, with
// *brokenPromises. A remote that cannot be asked is an error: a claim about it
// would otherwise pass unseen.
func (s *session) keepPromises(ctx context.Context, repo *workspace.Repo, r events.Result) error {
	found, unasked, err := s.mismatches(ctx, repo, r)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return &brokenPromises{found}
	}
	if len(unasked) > 0 {
		return withHint(unasked[0], "leave --pushed out, or try again when the remote answers")
	}
	return nil
}

// mismatches holds the claims of a result against git, and gives the errors of
// remotes that could not be asked.
func (s *session) mismatches(ctx context.Context, repo *workspace.Repo, r events.Result) ([]guard.Mismatch, []error, error) {
	promises := guard.Promises(r.Claims)
	if len(promises) == 0 {
		return nil, nil, nil
	}
	changes, err := repo.Changes(ctx, r.Base, r.Head)
	if err != nil {
		return nil, nil, err
	}
	said := guard.Range{Head: r.Head, Tips: map[guard.Branch]guard.Tip{}}
	if said.Tree, err = repo.TreePaths(ctx, r.Head); err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		said.Changed = append(said.Changed, c.Path)
	}
	unasked := s.askTips(ctx, repo, promises, &said)
	found := guard.CheckPromises(promises, said)
	if !slices.ContainsFunc(found, func(m guard.Mismatch) bool { return m.Rule == guard.RuleAbsent }) {
		return found, unasked, nil
	}
	if said.Fresh, err = freshWords(ctx, repo, changes); err != nil {
		return nil, nil, err
	}
	return guard.CheckPromises(promises, said), unasked, nil
}

// askTips asks the remotes of promises where their branches are.
func (s *session) askTips(ctx context.Context, repo *workspace.Repo, promises []guard.Promise, said *guard.Range) []error {
	var unasked []error
	for _, p := range promises {
		for _, branch := range p.Remotes {
			if _, asked := said.Tips[branch]; asked {
				continue
			}
			tip, err := s.branchTip(ctx, repo, branch.Remote, "refs/heads/"+branch.Name)
			if errors.Is(err, workspace.ErrUnknownRevision) {
				said.Tips[branch] = guard.Tip{}
				continue
			}
			has := false
			if err == nil {
				has, err = contains(ctx, repo, tip, said.Head)
			}
			if err != nil {
				unasked = append(unasked, fmt.Errorf("ask %s: %w", plain(branch.String()), err))
				continue
			}
			said.Tips[branch] = guard.Tip{Commit: tip, Has: has}
		}
	}
	return unasked
}

const (
	// freshFiles is how many changed files are read for a hint, freshBytes how
	// much of each.
	freshFiles = 200
	freshBytes = 256 << 10
)

// freshWords returns for each changed file the words that it has in head and
// not in base.
func freshWords(ctx context.Context, repo *workspace.Repo, changes []workspace.Change) (map[string][]string, error) {
	regular := func(mode string) bool { return mode == workspace.ModeFile || mode == workspace.ModeExecutable }
	fresh := map[string][]string{}
	for _, c := range changes[:min(len(changes), freshFiles)] {
		if !regular(c.NewMode) {
			continue
		}
		ids := []string{c.NewBlob}
		if regular(c.OldMode) {
			ids = append(ids, c.OldBlob)
		}
		texts, err := repo.Contents(ctx, ids, freshBytes)
		if err != nil {
			return nil, err
		}
		words := guard.Words(string(texts[0]))
		if len(texts) == 2 {
			old := guard.Words(string(texts[1]))
			words = slices.DeleteFunc(words, func(w string) bool {
				_, found := slices.BinarySearch(old, w)
				return found
			})
		}
		fresh[c.Path] = words
	}
	return fresh, nil
}

// brokenClaim is one entry of a refused result.
type brokenClaim struct {
	Rule       string `json:"rule"`
	Acceptance string `json:"acceptance"`
	Path       string `json:"path,omitzero"` // encoded
	Text       string `json:"text"`
}

// showBroken prints the claims that git does not bear out.
func (s *session) showBroken(task string, b *brokenPromises) error {
	list := []brokenClaim{}
	for _, m := range b.list {
		list = append(list, brokenClaim{m.Rule, m.Item, boundary.EncodePath(m.Path), m.Text})
	}
	err := s.result("claims", map[string]any{"task": task, "findings": list}, func(w *textWriter) {
		for _, m := range b.list {
			w.line("%s: item %s%s: %s", m.Rule, m.Item, inFile(m.Path), m.Text)
		}
	})
	if err != nil {
		return err
	}
	return told{withHint(fmt.Errorf("%w: %s, nothing was recorded", errClaim, counted(len(list), "finding")), "do what is claimed, or claim what is done: deed result record %s", task)}
}

// inFile names a path in a line about an item.
func inFile(path string) string {
	if path == "" {
		return ""
	}
	return ", " + boundary.DisplayPath(path)
}

// inspectClaims holds the claims of a recorded result against git before its
// checks run. Each that git does not bear out is recorded as a fatal finding;
// the receipt waits until a person has closed it.
func (s *session) inspectClaims(ctx context.Context, repo *workspace.Repo, t *projections.Task) error {
	findings, err := s.examineClaims(ctx, repo, t)
	if err != nil {
		return err
	}
	open := 0
	for i := range findings {
		f := &findings[i]
		recorded, err := s.recordFinding(ctx, t, f)
		if err != nil {
			return err
		}
		if recorded {
			open++
			s.note("%s: %s", f.Rule, f.Text)
		}
	}
	if open == 0 {
		return nil
	}
	err = fmt.Errorf("%w: %s of the result of task %s is not what git says", errClaim, counted(open, "claim"), t.ID)
	return withHint(err, "a new result mends it, or an owner or reviewer closes the findings: deed finding acknowledge %s --finding ID --reason TEXT", t.ID)
}

// recordFinding records a finding about a task's result, once, and reports
// whether it is open: a person may have closed it since.
func (s *session) recordFinding(ctx context.Context, t *projections.Task, f *events.Finding) (bool, error) {
	var same steady
	known, open := false, true
	_, err := s.append(ctx, t.ID, func(state protocol.TaskState, _ author) (draft, error) {
		binding, _ := state.Task.Binding()
		if err := same.hold("the result", binding.Result); err != nil {
			return draft{}, err
		}
		known, open = false, true
		for _, k := range state.Task.Findings {
			if k.Data == *f && (k.Open || mayPass(f.Rule)) {
				known, open = true, k.Open
			}
		}
		if known {
			return draft{}, errFindingKnown
		}
		return draft{payload: f}, nil
	})
	if err != nil && !known {
		return open, fmt.Errorf("record finding %s: %w", f.Rule, err)
	}
	return open, nil
}

// mayPass reports whether a result may go on to its checks once a person has
// closed a finding of a rule: a claim is no more than a claim, and the checks
// decide. What is out of boundary never is in it.
func mayPass(rule string) bool {
	return rule == guard.RuleAbsent || rule == guard.RuleUnchanged || rule == guard.RuleUnpushed
}

// examineClaims holds the claims of a recorded result against git, for a
// verifier. A remote that does not answer here, or has another name, says
// nothing.
func (s *session) examineClaims(ctx context.Context, repo *workspace.Repo, t *projections.Task) ([]events.Finding, error) {
	found, unasked, err := s.mismatches(ctx, repo, t.Result.Data)
	if err != nil {
		return nil, err
	}
	for _, err := range unasked {
		s.note("not held against its remote: %s", err)
	}
	var list []events.Finding
	for _, m := range found {
		list = append(list, events.Finding{
			Severity: "fatal", Rule: m.Rule, Path: boundary.EncodePath(m.Path), Text: printable("item "+m.Item+": "+m.Text, events.MaxText),
		})
	}
	return list, nil
}

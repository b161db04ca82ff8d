package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/workspace"
)

// content is a result as git knows it: what nobody has to claim.
type content struct {
	result  events.Result // base, head, tree and authors
	changes []workspace.Change
	outside []workspace.Violation
}

// readContent reads base..head of an open attempt and holds it against the
// boundary: the same rules as the ledger's, and those that need the content
// (links, submodules) or the repository's policy. Uncommitted changes inside the scope are refused: what
// is handed over is a commit.
func (s *session) readContent(ctx context.Context, repo *workspace.Repo, t *projections.Task, head string) (content, error) {
	contract := t.Contract().Contract
	base := t.Attempt().Snapshot.BaseCommit
	l, err := s.attemptLimits(ctx, repo, t)
	if err == nil {
		err = l.pinned(t)
	}
	if err != nil {
		return content{}, err
	}
	kept, err := contains(ctx, repo, head, base)
	if err != nil {
		return content{}, err
	}
	if !kept {
		return content{}, refuseStale("result.recorded/base", "commit %s does not contain the attempt's base %s", head, base)
	}
	if err := checkCommitted(ctx, repo, l.Paths); err != nil {
		return content{}, err
	}
	c, err := readRange(ctx, repo, base, head)
	if err != nil {
		return content{}, err
	}
	if len(c.changes) == 0 {
		return content{}, refuse(ledger.CodeRule, "result.recorded/empty", "nothing differs between the attempt's base and %s", head)
	}
	c.outside, err = trespasses(ctx, repo, boundaryCheck{l.Paths, c.changes, contract, base, head})
	return c, err
}

// readRange reads what git says about base..head.
func readRange(ctx context.Context, repo *workspace.Repo, base, head string) (content, error) {
	c := content{result: events.Result{Base: base, Head: head}}
	var err error
	if c.result.Tree, err = repo.Tree(ctx, head); err != nil {
		return content{}, err
	}
	if c.changes, err = repo.Changes(ctx, base, head); err != nil {
		return content{}, err
	}
	c.result.Authors, err = authors(ctx, repo, base, head)
	return c, err
}

// checkCommitted refuses uncommitted changes inside the scope.
func checkCommitted(ctx context.Context, repo *workspace.Repo, bounds boundary.Boundary) error {
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return err
	}
	var inside []string
	for _, path := range dirty.Paths() {
		if bounds.Allows(path) {
			inside = append(inside, boundary.DisplayPath(path))
		}
	}
	if len(inside) > 0 {
		return refuse(ledger.CodeRule, "result.recorded/committed", "commit or drop first: %s", enumerate(inside))
	}
	return nil
}

// boundaryCheck is one change set and what it is held against.
type boundaryCheck struct {
	bounds   boundary.Boundary
	changes  []workspace.Change
	contract events.Contract
	base     string
	head     string
}

// checkBoundary refuses changes outside the boundary with CodeBoundary; the
// text names each path and its rule.
func checkBoundary(ctx context.Context, repo *workspace.Repo, c boundaryCheck) error {
	violations, err := trespasses(ctx, repo, c)
	if err != nil || len(violations) == 0 {
		return err
	}
	return refuse(ledger.CodeBoundary, "boundary", "%s", enumerate(violationLines(violations)))
}

// trespasses returns the changes that the boundary does not allow.
func trespasses(ctx context.Context, repo *workspace.Repo, c boundaryCheck) ([]workspace.Violation, error) {
	links, err := repo.Links(ctx, c.head)
	if err != nil {
		return nil, err
	}
	before, err := repo.Links(ctx, c.base)
	if err != nil {
		return nil, err
	}
	pinned, err := pinnedFiles(c.contract)
	if err != nil {
		return nil, err
	}
	found := workspace.Check(c.bounds, c.changes, pinned, links)
	turned, err := workspace.CheckUnchangedLinks(c.bounds, c.changes, before, links)
	found = append(found, turned...)
	slices.SortFunc(found, func(a, b workspace.Violation) int { return strings.Compare(a.Path, b.Path) })
	return found, err
}

// pinnedFiles returns the raw paths of the files of a contract's checks.
func pinnedFiles(contract events.Contract) ([]string, error) {
	var pinned []string
	for _, item := range contract.Acceptance {
		for _, check := range item.Checks {
			for _, f := range check.Files {
				raw, err := boundary.DecodePath(f.Path)
				if err != nil {
					return nil, fmt.Errorf("read contract: check %s: %w", check.ID, err)
				}
				pinned = append(pinned, raw)
			}
		}
	}
	return pinned, nil
}

// violationLines returns a line for each violation: path, rule, detail.
func violationLines(violations []workspace.Violation) []string {
	lines := make([]string, len(violations))
	for i, v := range violations {
		lines[i] = boundary.DisplayPath(v.Path) + ": " + string(v.Rule)
		if v.Detail != "" {
			lines[i] += " (" + v.Detail + ")"
		}
	}
	return lines
}

// Bounds of what a refusal names one by one: entries, and bytes of them, so that
// what follows is seen on a terminal too.
const (
	enumerateLimit = 50
	enumerateBytes = plainLimit / 2
)

// enumerate joins entries and says how many it leaves off.
func enumerate(entries []string) string {
	text := ""
	for i, entry := range entries {
		if i > 0 && (i == enumerateLimit || len(text)+len(entry) > enumerateBytes) {
			return fmt.Sprintf("%s; and %d more", text, len(entries)-i)
		}
		if i > 0 {
			text += "; "
		}
		text += entry
	}
	return text
}

// addressLimit bounds an author's address, in characters.
const addressLimit = 110

// authors returns the addresses of authors and committers in base..head,
// sorted. Bytes that are no text, and addresses that are missing, show as
// escapes and as the name in brackets.
func authors(ctx context.Context, repo *workspace.Repo, base, head string) ([]string, error) {
	people, err := repo.Authors(ctx, base, head)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, p := range people {
		address := projections.Plain(p.Email, addressLimit)
		if address == "" {
			address = "<" + projections.Plain(p.Name, addressLimit) + ">"
		}
		list = append(list, address)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// mapChanges says for each change which acceptance items it serves. Without
// arguments all changes serve the only item; a contract with more items needs
// each path mapped.
func mapChanges(changes []workspace.Change, args []string, c events.Contract) ([]events.ChangedPath, error) {
	maps, err := parseMaps(args)
	if err != nil {
		return nil, err
	}
	if len(maps) == 0 && len(c.Acceptance) == 1 {
		maps = []pathMap{{"**", []string{c.Acceptance[0].ID}}}
	}
	for _, m := range maps {
		for _, item := range m.items {
			if err := hasItem(c, item); err != nil {
				return nil, err
			}
		}
	}
	used := make([]bool, len(maps))
	var unmapped []string
	list := make([]events.ChangedPath, len(changes))
	for i, change := range changes {
		list[i] = events.ChangedPath{Path: boundary.EncodePath(change.Path), Status: string(change.Status)}
		for n, m := range maps {
			if m.matches(change.Path) {
				used[n] = true
				list[i].Acceptance = append(list[i].Acceptance, m.items...)
			}
		}
		slices.Sort(list[i].Acceptance)
		list[i].Acceptance = slices.Compact(list[i].Acceptance)
		if len(list[i].Acceptance) == 0 {
			unmapped = append(unmapped, boundary.DisplayPath(change.Path))
		}
	}
	if len(unmapped) > 0 {
		return nil, fmt.Errorf("%w: say with --map PATH=A1 which acceptance items these serve: %s", errUsage, enumerate(unmapped))
	}
	if n := slices.Index(used, false); n >= 0 {
		return nil, fmt.Errorf("%w: --map %s matches no changed path", errUsage, plain(maps[n].pattern))
	}
	sortChanges(list)
	return list, nil
}

func sortChanges(list []events.ChangedPath) {
	slices.SortFunc(list, func(a, b events.ChangedPath) int { return strings.Compare(a.Path, b.Path) })
}

// hasItem refuses an acceptance item that a contract does not have, and lists
// those that it has.
func hasItem(c events.Contract, id string) error {
	ids := make([]string, len(c.Acceptance))
	for i, item := range c.Acceptance {
		ids[i] = item.ID
	}
	if slices.Contains(ids, id) {
		return nil
	}
	return fmt.Errorf("%w: the contract has no acceptance item %q, but %s", errMissing, id, strings.Join(ids, ", "))
}

// pathMap gives the changed paths that a pattern matches to acceptance items.
type pathMap struct {
	pattern string // a raw path, or a pattern of the workspace package
	items   []string
}

func (m pathMap) matches(path string) bool {
	return m.pattern == path || boundary.MatchPattern(m.pattern, path)
}

// parseMaps reads "PATH=A1,A2" arguments. The last "=" divides, since paths
// may hold one and item names do not.
func parseMaps(args []string) ([]pathMap, error) {
	var maps []pathMap
	for _, arg := range args {
		n := strings.LastIndexByte(arg, '=')
		if n <= 0 || n == len(arg)-1 {
			return nil, fmt.Errorf("%w: --map %q, want PATH=A1,A2", errUsage, arg)
		}
		m := pathMap{arg[:n], strings.Split(arg[n+1:], ",")}
		if m.pattern == "*" {
			m.pattern = "**" // all paths, in folders too
		}
		if clean, err := boundary.CleanPath(m.pattern); err == nil {
			m.pattern = clean
		}
		if slices.Contains(m.items, "") {
			return nil, fmt.Errorf("%w: --map %q, want PATH=A1,A2", errUsage, arg)
		}
		maps = append(maps, m)
	}
	return maps, nil
}

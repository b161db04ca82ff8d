package workspace

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
)

// Violation is one change that the boundary does not allow.
type Violation struct {
	Path   string // raw bytes
	Rule   boundary.Rule
	Detail string // the pattern, or what is wrong with a link; escaped for terminals
}

// Check holds every change against the boundary and gives the violations, one for each
// path, sorted as the changes are. pinned are the raw paths of checks' own files, which no
// spelling of their names may change. links are those of the tree that the changes lead to;
// the zero Links refuse every link.
func Check(b boundary.Boundary, changes []Change, pinned []string, links Links) []Violation {
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

func refuseChange(b boundary.Boundary, change Change, pinned []string, links Links) (boundary.Rule, string) {
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
	if pattern := b.DeniedBelow(change.Path); pattern != "" {
		return boundary.RuleLink, "stands in the place of " + pattern
	}
	return refuseTarget(b, change.Path, links)
}

// refuseTarget holds where a link leads against the boundary: on a file system that
// tells names apart by their bytes, and on one that does not.
func refuseTarget(b boundary.Boundary, link string, links Links) (boundary.Rule, string) {
	for _, reader := range []linkReader{links.exact, links.folded} {
		target, err := followLink(link, reader)
		if err != nil {
			return boundary.RuleLink, err.Error()
		}
		if rule, _ := b.Refusal(target); rule != "" {
			return boundary.RuleLink, fmt.Sprintf("leads to %s (%s)", target, rule)
		}
		if pattern := b.DeniedBelow(target); pattern != "" {
			return boundary.RuleLink, fmt.Sprintf("leads to %s, which holds %s", target, pattern)
		}
	}
	return "", ""
}

// CheckUnchangedLinks gives, sorted, the links that are not among the changes and
// lead outside the boundary because of them: a link on their way was put in, taken out or
// turned. before and after are the links of both trees. Error: that of reading them.
func CheckUnchangedLinks(b boundary.Boundary, changes []Change, before, after Links) ([]Violation, error) {
	changed := map[string]bool{}
	turned := false
	for _, change := range changes {
		changed[change.Path] = true
		turned = turned || change.OldMode == ModeLink || change.NewMode == ModeLink
	}
	if !turned {
		return nil, nil // only a link makes a path lead elsewhere
	}
	paths, err := after.Paths()
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, path := range paths {
		if changed[path] {
			continue
		}
		if leadsAlike(path, before.exact, after.exact) && leadsAlike(path, before.folded, after.folded) {
			continue
		}
		if rule, detail := refuseTarget(b, path, after); rule != "" {
			found = append(found, Violation{Path: path, Rule: rule, Detail: boundary.DisplayPath(detail)})
		}
	}
	return found, nil
}

// leadsAlike tells whether a link leads to the same place in two trees.
func leadsAlike(path string, before, after linkReader) bool {
	was, errWas := followLink(path, before)
	is, errIs := followLink(path, after)
	return was == is && (errWas == nil) == (errIs == nil)
}

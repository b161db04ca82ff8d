package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
)

// Code names a rule.
type Code string

// The rules; the package comment says what each is about. There is no W3.
const (
	R1 Code = "R1"
	R2 Code = "R2"
	R3 Code = "R3"
	R4 Code = "R4"
	W1 Code = "W1"
	W2 Code = "W2"
	W4 Code = "W4"
	N1 Code = "N1"
	N2 Code = "N2"
	N3 Code = "N3"
	N4 Code = "N4"
)

// Codes lists the rules in their order.
func Codes() []Code { return []Code{R1, R2, R3, R4, W1, W2, W4, N1, N2, N3, N4} }

// About says what a rule reports.
func (c Code) About() string {
	switch c {
	case R1:
		return "the evidence of a done thing is not there"
	case R2:
		return "a text that a frozen decision forbids occurs"
	case R3:
		return "a text that a banned approach forbids occurs"
	case R4:
		return "a text that a frozen decision demands occurs nowhere"
	case W1:
		return "a done thing names no evidence"
	case W2:
		return "the stored snapshot was taken at another HEAD"
	case W4:
		return "evidence is there, and this change did not touch it"
	case N1:
		return "no decision is frozen"
	case N2:
		return "there is no acceptance criterion"
	case N3:
		return "a todo names no next step"
	case N4:
		return "a changed file is no done thing's evidence"
	}
	return "unknown rule"
}

// Level is 'R', fatal; 'W', to be checked by a person; or 'N', a hint.
func (c Code) Level() byte { return c[0] }

// Finding is one thing that does not match. Texts are as they were written:
// untrusted.
type Finding struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
	// Claim is the title of what was claimed, Reason its stated reason.
	Claim  string `json:"claim,omitzero"`
	Reason string `json:"reason,omitzero"`
	// Path is raw bytes below the project, Line where in it, from 1.
	Path    string `json:"-"`
	Line    int    `json:"line,omitzero"`
	Keyword string `json:"keyword,omitzero"`
	// Said is the line of the task file that claims it.
	Said int `json:"said,omitzero"`
	// Acknowledged is what a person says of a W finding, "" for nothing.
	Acknowledged string `json:"acknowledged,omitzero"`
}

// Presence is what is known of a path that is named as evidence.
type Presence struct {
	Found  bool
	Folder bool
	// Reason is why it is not found, where that is not plain absence: a path
	// that leaves the project is never looked at.
	Reason string
}

// Hit is the first line of a file in which a text occurs.
type Hit struct {
	Keyword string
	Path    string
	Line    int
}

// World is what was measured.
type World struct {
	// Stored is whether there is a snapshot, StoredHead the HEAD that it was
	// taken at, Head the one of now; "" where there is no git or no commit.
	Stored     bool
	StoredHead string
	Head       string
	// Changed are the files of this change, raw paths, sorted.
	Changed []string
	// Evidence has every path that the claims name.
	Evidence map[string]Presence
	// Hits are sorted by keyword, then path.
	Hits []Hit
}

// Check holds claims against a world. The findings are in the order of
// [Codes], then of the claims, then of paths.
func Check(c Claims, w World) []Finding {
	var found []Finding
	found = append(found, checkDone(c, w)...)
	found = append(found, checkForbidden(R2, c.Frozen, w)...)
	found = append(found, checkForbidden(R3, c.Banned, w)...)
	found = append(found, checkDemanded(c, w)...)
	if w.Stored && w.StoredHead != w.Head {
		found = append(found, Finding{Code: W2, Text: fmt.Sprintf("the snapshot was taken at %s, HEAD is %s: capture again", orNone(w.StoredHead), orNone(w.Head))})
	}
	found = append(found, checkGaps(c)...)
	found = append(found, checkUnnamed(c, w)...)
	order := Codes()
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code)) })
	return found
}

// checkDone is R1, W1 and W4.
func checkDone(c Claims, w World) []Finding {
	var found []Finding
	for _, d := range c.Done {
		f := Finding{Claim: d.What, Path: d.Evidence, Said: d.Line}
		p := w.Evidence[d.Evidence]
		switch {
		case strings.TrimSpace(d.Evidence) == "":
			f.Code, f.Path, f.Text = W1, "", "it names no evidence"
		case !p.Found && p.Reason != "":
			f.Code, f.Text = R1, "its evidence "+p.Reason
		case !p.Found:
			f.Code, f.Text = R1, "its evidence is not there"
		case !touched(w.Changed, d.Evidence, p.Folder):
			f.Code, f.Text = W4, "its evidence is there, and this change did not touch it"
		default:
			continue
		}
		found = append(found, f)
	}
	return found
}

// touched reports whether a change has the path, or something below a folder.
func touched(changed []string, path string, folder bool) bool {
	path = cleaned(path)
	return slices.ContainsFunc(changed, func(c string) bool {
		return c == path || folder && (path == "." || strings.HasPrefix(c, path+"/"))
	})
}

// covers reports whether a rule is about a file.
func (r Rule) covers(path string) bool {
	return len(r.Paths) == 0 || slices.ContainsFunc(r.Paths, func(p string) bool { return boundary.MatchPattern(p, path) })
}

// checkForbidden is R2 and R3: one finding per text and file.
func checkForbidden(code Code, rules []Rule, w World) []Finding {
	var found []Finding
	type place struct{ word, path string }
	seen := map[place]bool{}
	for _, rule := range rules {
		for _, word := range rule.Forbids {
			for _, h := range w.Hits {
				if h.Keyword != word || seen[place{word, h.Path}] || !rule.covers(h.Path) {
					continue
				}
				seen[place{word, h.Path}] = true
				found = append(found, Finding{
					Code: code, Claim: rule.Title, Reason: rule.Reason, Path: h.Path, Line: h.Line, Keyword: word, Said: rule.Line,
					Text: fmt.Sprintf("%q occurs, and must not", word),
				})
			}
		}
	}
	return found
}

// checkDemanded is R4: one finding per text and set of files.
func checkDemanded(c Claims, w World) []Finding {
	var found []Finding
	seen := map[string]bool{}
	for _, rule := range c.Frozen {
		for _, word := range rule.Contains {
			key := strings.Join(append([]string{word}, rule.Paths...), "\x00")
			if seen[key] || slices.ContainsFunc(w.Hits, func(h Hit) bool { return h.Keyword == word && rule.covers(h.Path) }) {
				continue
			}
			seen[key] = true
			found = append(found, Finding{Code: R4, Claim: rule.Title, Reason: rule.Reason, Keyword: word, Said: rule.Line, Text: fmt.Sprintf("%q occurs nowhere, and must", word)})
		}
	}
	return found
}

// checkGaps is N1, N2 and N3.
func checkGaps(c Claims) []Finding {
	var found []Finding
	if len(c.Frozen) == 0 {
		found = append(found, Finding{Code: N1, Text: "no decision is frozen"})
	}
	if len(c.Accept) == 0 {
		found = append(found, Finding{Code: N2, Text: "there is no acceptance criterion"})
	}
	for _, t := range c.Todo {
		if strings.TrimSpace(t.Next) == "" {
			found = append(found, Finding{Code: N3, Claim: t.What, Said: t.Line, Text: "it names no next step"})
		}
	}
	return found
}

// checkUnnamed is N4.
func checkUnnamed(c Claims, w World) []Finding {
	var found []Finding
	for _, path := range w.Changed {
		named := slices.ContainsFunc(c.Done, func(d Done) bool {
			return d.Evidence != "" && touched([]string{path}, d.Evidence, w.Evidence[d.Evidence].Folder)
		})
		if !named {
			found = append(found, Finding{Code: N4, Path: path, Text: "it changed, and no done thing names it"})
		}
	}
	return found
}

func orNone(head string) string {
	if head == "" {
		return "no commit"
	}
	return head
}

// Count returns how many findings are of a level.
func Count(found []Finding, level byte) int {
	n := 0
	for _, f := range found {
		if f.Code.Level() == level {
			n++
		}
	}
	return n
}

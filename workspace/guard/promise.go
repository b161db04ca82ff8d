package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/deedledger/deed/boundary"
)

// The rules that hold the claims of a result against a range of commits.
const (
	RuleAbsent    = "claim-evidence-absent" // a path that is claimed is not in the head's tree
	RuleUnchanged = "claim-unchanged"       // a path that is claimed is the same in base and head
	RuleUnpushed  = "claim-not-pushed"      // a branch that is said to have the head has not
)

// Promise is what a result says of one acceptance item.
type Promise struct {
	Item    string
	Text    string
	Paths   []string // raw, cleaned, below the repository
	Remotes []Branch // that are said to have the head
}

// Branch is a branch of a remote.
type Branch struct{ Remote, Name string }

// String is the branch as people write it.
func (b Branch) String() string { return b.Remote + "/" + b.Name }

// Tip is what a remote said of a branch: Commit is "" where it has none.
type Tip struct {
	Commit string
	Has    bool // the head is the tip, or an ancestor of it
}

// Range is what git says of base..head.
type Range struct {
	Head    string
	Tree    []string // every path of the head's tree, raw, sorted
	Changed []string // raw paths that differ between base and head
	// Tips are the branches that were asked for; one that could not be asked
	// is missing, and nothing is said of it.
	Tips map[Branch]Tip
	// Fresh has, for changed text files of the head, the words that base's
	// file has not.
	Fresh map[string][]string
}

// Mismatch is a claim that git does not bear out. Texts are untrusted.
type Mismatch struct {
	Rule string
	Item string
	Path string // raw, "" for a branch
	Text string
}

// CheckPromises holds claims against a range: a mismatch for each item and
// path, or branch, in the order of the claims. A deleted path counts as absent:
// what shows a deletion is what is left.
func CheckPromises(list []Promise, r Range) []Mismatch {
	var found []Mismatch
	for _, p := range list {
		for _, path := range p.Paths {
			m := Mismatch{Item: p.Item, Path: path}
			switch {
			case !Has(r.Tree, path):
				m.Rule, m.Text = RuleAbsent, "evidence path absent: commit "+r.Head+" has no such path"+similar(p, path, r)
			case !touched(r.Changed, path, true):
				m.Rule, m.Text = RuleUnchanged, "claimed, no change in range base..head up to "+r.Head
			default:
				continue
			}
			found = append(found, m)
		}
		for _, branch := range p.Remotes {
			tip, asked := r.Tips[branch]
			if !asked || tip.Has {
				continue
			}
			text := fmt.Sprintf("claimed pushed, remote head differs: %s is at %s, the result's head is %s", branch, orNone(tip.Commit), r.Head)
			found = append(found, Mismatch{Rule: RuleUnpushed, Item: p.Item, Text: text})
		}
	}
	return found
}

// Has reports whether a sorted list of raw paths has a file, or something below a folder.
func Has(tree []string, path string) bool {
	if path == "." {
		return len(tree) > 0
	}
	i, found := slices.BinarySearch(tree, path)
	if found {
		return true
	}
	i, _ = slices.BinarySearch(tree, path+"/")
	return i < len(tree) && strings.HasPrefix(tree[i], path+"/")
}

// similar names the changed file that most of all seems to hold what an absent
// one was to hold, as a hint: new words that the path's name or the claim has.
func similar(p Promise, path string, r Range) string {
	wanted := Words(p.Text)
	name := path[strings.LastIndexByte(path, '/')+1:]
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToLower(stem)
	best, most := "", 0
	for _, file := range slices.Sorted(slices.Values(r.Changed)) {
		score := 0
		if strings.HasSuffix(file, "/"+name) && Has(r.Tree, file) {
			score = 100 // the same name in another folder
		}
		for _, word := range r.Fresh[file] {
			if len(stem) >= 3 && strings.Contains(strings.ToLower(word), stem) || slices.Contains(wanted, word) {
				score++
			}
		}
		if score > most {
			best, most = file, score
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; %s has similar new symbols, which proves nothing", boundary.DisplayPath(best))
}

// maxWords bounds the words that are kept of one text.
const maxWords = 10_000

// Words returns the identifiers of a text that have four characters or more,
// sorted, once each.
func Words(text string) []string {
	split := func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }
	var words []string
	for word := range strings.FieldsFuncSeq(text, split) {
		if len(word) >= 4 && len(word) <= 128 {
			words = append(words, word)
		}
		if len(words) == maxWords {
			break
		}
	}
	slices.SortFunc(words, cmp.Compare)
	return slices.Compact(words)
}

package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
)

// emptyNames say nothing about what a package holds.
func emptyNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "type", "types", "pkg", "misc", "shared", "base", "lib"}
}

// checkNames reports folders and packages that are named after nothing.
func checkNames(t *tree) []finding {
	const rule, why = "names", "a package is named by the domain's noun; a drawer fills with everything"
	var found []finding
	for _, dir := range t.folders {
		if slices.Contains(emptyNames(), path.Base(dir)) {
			found = append(found, finding{rule, dir, "folder " + path.Base(dir), why})
		}
	}
	for _, f := range t.files {
		if slices.Contains(emptyNames(), f.ast.Name.Name) {
			found = append(found, finding{rule, f.at(f.ast.Name.Pos()), "package " + f.ast.Name.Name, why})
		}
	}
	return found
}

// checkUnfinished reports marks of unfinished work.
func checkUnfinished(t *tree) []finding {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	var found []finding
	for _, f := range t.files {
		for _, span := range marks.FindAllIndex(f.text, -1) {
			line := 1 + bytes.Count(f.text[:span[0]], []byte("\n"))
			found = append(found, finding{"unfinished", fmt.Sprintf("%s:%d", f.path, line), string(f.text[span[0]:span[1]]),
				"unfinished work is an issue with an owner; a known fault is marked BUG and says what happens"})
		}
	}
	return found
}

// checkTests reports tests that can pass without testing, or that wait for time to pass.
func checkTests(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		if !f.test && !within(f.dir(), "internal") && f.dir() != "journal/journaltest" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
				found = append(found, finding{"no skips", f.at(s.Sel.Pos()), "calls " + s.Sel.Name, "a test that can be skipped is not a proof"})
			}
			return true
		})
		for _, pos := range f.uses("time", "Sleep") {
			found = append(found, finding{"no sleeps", f.at(pos), "calls time.Sleep",
				"wait for the thing itself: a channel, a condition with a deadline, or testing/synctest"})
		}
	}
	return found
}

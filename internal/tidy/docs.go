package tidy

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// checkDocs reports exported names without a comment that starts with the name, and packages without exactly one package comment.
func checkDocs(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		if f.test || within(f.dir(), "internal") {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && firstWord(d.Doc.Text()) != d.Name.Name {
					found = append(found, undocumented(f, d.Name))
				}
			case *ast.GenDecl:
				found = append(found, groupDocs(f, d)...)
			}
		}
	}
	return append(found, packageComments(t)...)
}

func undocumented(f *file, name *ast.Ident) finding {
	return finding{"documentation", f.at(name.Pos()), fmt.Sprintf("%s has no comment that starts with its name", name.Name),
		"the comment is the contract: shapes, units, limits, errors"}
}

// exportedReceiver reports whether a reader of the package's documentation sees the function.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	expr := d.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// groupDocs checks a type, const or var declaration. In a group with a comment of its own, that comment covers constants and
// variables; a type always has its own, and so does a declaration that stands alone.
func groupDocs(f *file, d *ast.GenDecl) []finding {
	var found []finding
	grouped := d.Lparen.IsValid()
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if !grouped {
				doc = d.Doc
			}
			if s.Name.IsExported() && firstWord(doc.Text()) != s.Name.Name {
				found = append(found, undocumented(f, s.Name))
			}
		case *ast.ValueSpec:
			i := slices.IndexFunc(s.Names, (*ast.Ident).IsExported)
			if i < 0 {
				continue
			}
			covered := grouped && (d.Doc.Text() != "" || s.Comment.Text() != "")
			doc := s.Doc
			if !grouped {
				doc = d.Doc
			}
			if !covered && firstWord(doc.Text()) != s.Names[i].Name {
				found = append(found, undocumented(f, s.Names[i]))
			}
		}
	}
	return found
}

// packageComments wants exactly one per package: in its production files, or in its tests where there is nothing else.
func packageComments(t *tree) []finding {
	const rule, why = "package comment", "one place tells what the package holds, promises and does not do"
	by, order := t.packages()
	var found []finding
	for _, dir := range order {
		files := slices.DeleteFunc(slices.Clone(by[dir]), func(f *file) bool { return f.test })
		if len(files) == 0 {
			files = by[dir]
		}
		var commented []string
		for _, f := range files {
			if f.ast.Doc.Text() == "" {
				continue
			}
			commented = append(commented, f.path)
			name := f.ast.Name.Name
			if name != "main" && !strings.HasPrefix(f.ast.Doc.Text(), "Package "+name+" ") {
				found = append(found, finding{rule, f.at(f.ast.Package), "does not start with Package " + name, why})
			}
		}
		if len(commented) != 1 {
			found = append(found, finding{rule, dir, fmt.Sprintf("%d package comments %v, want one", len(commented), commented), why})
		}
	}
	return found
}

// firstWord returns what a comment starts with, without an article.
func firstWord(text string) string {
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word, _, _ = strings.Cut(word, "\n")
	return strings.TrimRight(word, ",.:;'")
}

package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// globalException is a package-level variable that no other clause allows.
type globalException struct {
	name string // folder.variable
	why  string
}

func globalExceptions() []globalException {
	return []globalException{
		{"cmd/deed.version", "the linker of a release sets it; nothing else can"},
	}
}

const globalsWhy = "a package variable is shared by every caller and built before main; allowed are error sentinels, embedded files, " +
	"compile-time assertions, lazy values through sync.OnceValue, and unexported literal tables whose comment says read-only"

// checkGlobals reports package-level variables that could change or cost something before main. Tests are free.
func checkGlobals(t *tree) []finding {
	const rule = "package variables"
	var found []finding
	for _, f := range t.files {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				if !t.variableAllowed(f, group, v) {
					found = append(found, finding{rule, f.at(v.Pos()), names(v), globalsWhy})
				}
			}
		}
	}
	return found
}

func names(v *ast.ValueSpec) string {
	list := make([]string, len(v.Names))
	for i, n := range v.Names {
		list[i] = n.Name
	}
	return "var " + strings.Join(list, ", ")
}

func (t *tree) variableAllowed(f *file, group *ast.GenDecl, v *ast.ValueSpec) bool {
	excepted := func(n *ast.Ident) bool {
		return slices.ContainsFunc(globalExceptions(), func(e globalException) bool { return e.name == f.dir()+"."+n.Name })
	}
	if !slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return !excepted(n) }) {
		return true
	}
	return isAssertion(v) || isSentinel(f, v) || isEmbedded(f, group, v) || isLazy(f, v) || t.isTable(f, group, v)
}

// isAssertion: var _ I = T{} or (*T)(nil), without a call that would run.
func isAssertion(v *ast.ValueSpec) bool {
	for _, n := range v.Names {
		if n.Name != "_" {
			return false
		}
	}
	return v.Type != nil && !slices.ContainsFunc(v.Values, runs)
}

// isSentinel: errors named Err… or err… made by errors.New, or by fmt.Errorf from another sentinel.
func isSentinel(f *file, v *ast.ValueSpec) bool {
	if len(v.Values) != len(v.Names) {
		return false
	}
	for i, n := range v.Names {
		call, ok := v.Values[i].(*ast.CallExpr)
		if !ok || !strings.HasPrefix(n.Name, "Err") && !strings.HasPrefix(n.Name, "err") {
			return false
		}
		if !calls(f, call, "errors", "New") && !calls(f, call, "fmt", "Errorf") {
			return false
		}
	}
	return true
}

// isEmbedded: an embed.FS or a string, which nobody can write to, filled by the compiler.
func isEmbedded(f *file, group *ast.GenDecl, v *ast.ValueSpec) bool {
	if !strings.Contains(raw(group.Doc)+raw(v.Doc), "//go:embed ") || len(v.Values) != 0 {
		return false
	}
	if id, ok := v.Type.(*ast.Ident); ok {
		return id.Name == "string"
	}
	sel, ok := v.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	local, imported := f.localName("embed")
	return ok && imported && x.Name == local && sel.Sel.Name == "FS"
}

// isLazy: built once at first use, unexported.
func isLazy(f *file, v *ast.ValueSpec) bool {
	if len(v.Names) != 1 || len(v.Values) != 1 || v.Names[0].IsExported() {
		return false
	}
	call, ok := v.Values[0].(*ast.CallExpr)
	return ok && (calls(f, call, "sync", "OnceValue") || calls(f, call, "sync", "OnceValues") || calls(f, call, "sync", "OnceFunc"))
}

// isTable: an unexported composite literal that runs nothing and whose comment promises that nobody writes to it.
func (t *tree) isTable(f *file, group *ast.GenDecl, v *ast.ValueSpec) bool {
	if len(v.Names) != 1 || len(v.Values) != 1 || v.Names[0].IsExported() {
		return false
	}
	literal, ok := v.Values[0].(*ast.CompositeLit)
	comment := raw(v.Doc) + raw(v.Comment)
	if !group.Lparen.IsValid() {
		comment += raw(group.Doc)
	}
	return ok && strings.Contains(strings.ToLower(comment), "read-only") && !runs(literal) && !t.written(f.dir(), v.Names[0].Name)
}

// written reports whether any file of the package assigns to the table or to one of its elements, or passes it to delete, clear or
// append. A local variable that shadows the table's name counts too: choose another name.
func (t *tree) written(dir, name string) bool {
	return slices.ContainsFunc(t.files, func(f *file) bool { return f.dir() == dir && writes(f.ast, name) })
}

func writes(node ast.Node, name string) bool {
	root := func(e ast.Expr) bool {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.Ident:
				return x.Name == name
			default:
				return false
			}
		}
	}
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, root)
		case *ast.IncDecStmt:
			found = found || root(n.X)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && root(n.X)
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			found = found || ok && (id.Name == "delete" || id.Name == "clear" || id.Name == "append") && len(n.Args) > 0 && root(n.Args[0])
		}
		return !found
	})
	return found
}

// runs reports whether evaluating the expression would call something: any call but a conversion of a written type or a builtin.
// The bodies of function literals do not run.
func runs(expr ast.Expr) bool {
	found := false
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.CallExpr:
			switch fun := n.Fun.(type) {
			case *ast.ParenExpr, *ast.ArrayType, *ast.MapType:
			case *ast.Ident:
				found = found || !slices.Contains([]string{"len", "string", "int", "int64", "uint64", "byte", "rune"}, fun.Name)
			default:
				found = true
			}
		}
		return !found
	})
	return found
}

func calls(f *file, call *ast.CallExpr, importPath, member string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != member {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	local, imported := f.localName(importPath)
	return ok && imported && x.Name == local
}

// raw returns a comment with its directives.
func raw(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	var text strings.Builder
	for _, line := range c.List {
		fmt.Fprintln(&text, line.Text)
	}
	return text.String()
}

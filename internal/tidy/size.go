package tidy

import (
	"fmt"
	"go/ast"
)

const (
	maxFunctionLines = 70  // between the braces, in production code
	maxFileLines     = 500 // production code
	maxTestFileLines = 900
	maxParameters    = 4 // a leading context.Context is not counted
)

// checkSize reports files, functions and parameter lists beyond the limits.
func checkSize(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		limit := maxFileLines
		if f.test {
			limit = maxTestFileLines
		}
		if f.lines > limit {
			found = append(found, finding{"file length", f.path, fmt.Sprintf("%d lines, limit %d", f.lines, limit),
				"a file holds one noun; a second noun deserves its own name"})
		}
		if f.test {
			continue
		}
		found = append(found, functionSizes(f)...)
	}
	return found
}

func functionSizes(f *file) []finding {
	var found []finding
	parameters := func(name string, sig *ast.FuncType) {
		if n := countParameters(f, sig); n > maxParameters {
			found = append(found, finding{"parameters", f.at(sig.Pos()), fmt.Sprintf("%s takes %d, limit %d", name, n, maxParameters),
				"a longer list is a struct whose fields have names, units and defaults"})
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			parameters(n.Name.Name, n.Type)
			if lines := bodyLines(f, n.Body); lines > maxFunctionLines {
				found = append(found, finding{"function length", f.at(n.Pos()),
					fmt.Sprintf("%s has %d lines, limit %d", n.Name.Name, lines, maxFunctionLines),
					"one function owns the control flow and fits a screen; its leaves are pure and have names"})
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if sig, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
					parameters(m.Names[0].Name, sig)
				}
			}
		}
		return true
	})
	return found
}

// bodyLines counts the lines between a body's braces.
func bodyLines(f *file, body *ast.BlockStmt) int {
	if body == nil {
		return 0
	}
	return max(0, f.fset.Position(body.Rbrace).Line-f.fset.Position(body.Lbrace).Line-1)
}

// countParameters counts names; an unnamed parameter counts as one. A leading context.Context is free.
func countParameters(f *file, sig *ast.FuncType) int {
	n := 0
	for i, field := range sig.Params.List {
		if i == 0 && len(field.Names) <= 1 && isContext(f, field.Type) {
			continue
		}
		n += max(1, len(field.Names))
	}
	return n
}

func isContext(f *file, expr ast.Expr) bool {
	local, ok := f.localName("context")
	if !ok {
		return false
	}
	sel, ok := expr.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Context" {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == local
}

// checkInit reports init functions, in tests too.
func checkInit(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, finding{"init", f.at(fn.Pos()), "declares init",
					"nothing runs before main: agents' hooks start the binary hundreds of times"})
			}
		}
	}
	return found
}

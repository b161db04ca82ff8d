package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// checkStale reports exceptions that no longer say anything about the tree. A package that is not there yet is no finding.
func checkStale(t *tree) []finding {
	var found []finding
	stale := func(name, what string) {
		found = append(found, finding{"stale exception", name, what, "a stale exception hides the next one of that name"})
	}
	for _, row := range shellFiles() {
		if t.has(path.Dir(row.path)) && !t.has(row.path) {
			stale(row.path, "listed as shell in internal/tidy/pure.go but not there")
		}
	}
	for _, row := range admittedImports() {
		if t.has(path.Dir(row.path)) && !t.imports(row.path, row.imp) {
			stale(row.path, "admitted to import "+row.imp+" in internal/tidy/pure.go but does not")
		}
	}
	for _, row := range globalExceptions() {
		if dir, name, _ := strings.Cut(row.name, "."); t.has(dir) && !t.declares(dir, name) {
			stale(dir, "variable "+name+" listed in internal/tidy/globals.go but not there")
		}
	}
	return found
}

// imports reports whether the file at this path imports a package.
func (t *tree) imports(file, imp string) bool {
	for _, f := range t.files {
		if _, ok := f.localName(imp); ok && f.path == file {
			return true
		}
	}
	return false
}

// declares reports whether a package has a package-level variable of this name.
func (t *tree) declares(dir, name string) bool {
	for _, f := range t.files {
		if f.dir() != dir {
			continue
		}
		for _, decl := range f.ast.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				if slices.ContainsFunc(spec.(*ast.ValueSpec).Names, func(n *ast.Ident) bool { return n.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}

package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// module is the import path of the tree's root.
const module = "github.com/deedledger/deed"

// finding is one broken rule at one place. Why is the rule's reason, so that nobody has to look for it.
type finding struct {
	rule string
	at   string // path:line, or the path of a folder
	what string
	why  string
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s [%s: %s]", f.at, f.what, f.rule, f.why)
}

// file is one parsed Go file.
type file struct {
	path  string // slash separated, from the root
	test  bool   // its name ends in _test.go
	text  []byte
	lines int
	ast   *ast.File
	fset  *token.FileSet
}

// dir is the package's folder, "." for the root.
func (f *file) dir() string { return path.Dir(f.path) }

func (f *file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.fset.Position(pos).Line)
}

// imports returns each import path with its position.
func (f *file) imports() []imported {
	list := make([]imported, 0, len(f.ast.Imports))
	for _, spec := range f.ast.Imports {
		list = append(list, imported{path: strings.Trim(spec.Path.Value, "`\""), spec: spec})
	}
	return list
}

type imported struct {
	path string
	spec *ast.ImportSpec
}

// localName returns the name by which the file refers to the package with this import path; ok is false when it does not import it.
func (f *file) localName(importPath string) (name string, ok bool) {
	for _, im := range f.imports() {
		if im.path != importPath {
			continue
		}
		if im.spec.Name != nil {
			return im.spec.Name.Name, true
		}
		return path.Base(importPath), true
	}
	return "", false
}

// tree is every Go file under a root, in order of path, and every folder.
type tree struct {
	files   []*file
	folders []string
}

// load parses every Go file under fsys. Hidden folders and testdata are left out, as the go command leaves them out. A file that
// does not parse is returned as a finding and left out.
func load(fsys fs.FS) (*tree, []finding, error) {
	t, broken := &tree{}, []finding(nil)
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
				return fs.SkipDir
			}
			t.folders = append(t.folders, name)
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if f, err := parse(name, text); err == nil {
			t.files = append(t.files, f)
		} else {
			broken = append(broken, finding{"parse", name, err.Error(), "nothing can be said of a file that is not Go"})
		}
		return nil
	})
	return t, broken, err
}

func parse(name string, text []byte) (*file, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	lines := bytes.Count(text, []byte("\n"))
	return &file{path: name, test: strings.HasSuffix(name, "_test.go"), text: text, lines: lines, ast: parsed, fset: fset}, nil
}

// packages returns the files by folder, and the folders that hold Go files in order.
func (t *tree) packages() (map[string][]*file, []string) {
	by, order := map[string][]*file{}, []string(nil)
	for _, f := range t.files {
		if by[f.dir()] == nil {
			order = append(order, f.dir())
		}
		by[f.dir()] = append(by[f.dir()], f)
	}
	slices.Sort(order)
	return by, order
}

// has reports whether the tree holds a Go file at this path, or a package in this folder.
func (t *tree) has(name string) bool {
	for _, f := range t.files {
		if f.path == name || f.dir() == name {
			return true
		}
	}
	return false
}

// within reports whether dir is root or below it.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, root+"/")
}

// selectors calls visit for every expression NAME.Sel in the node where NAME is a plain identifier.
func selectors(node ast.Node, visit func(name, sel string, pos token.Pos)) {
	ast.Inspect(node, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				visit(x.Name, s.Sel.Name, s.Pos())
			}
		}
		return true
	})
}

// uses returns where the file names importPath's member, for each of members.
func (f *file) uses(importPath string, members ...string) []token.Pos {
	local, ok := f.localName(importPath)
	if !ok {
		return nil
	}
	var at []token.Pos
	selectors(f.ast, func(name, sel string, pos token.Pos) {
		if name == local && slices.Contains(members, sel) {
			at = append(at, pos)
		}
	})
	return at
}

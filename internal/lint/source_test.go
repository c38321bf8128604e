package lint

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the path of this module.
const module = "github.com/sectional/sectional"

// source is one parsed Go file.
type source struct {
	path string // from the top of the repository
	file *ast.File
	set  *token.FileSet
}

// directory is the package's place in the repository.
func (s source) directory() string { return filepath.ToSlash(filepath.Dir(s.path)) }

// test reports whether the file is one of tests.
func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// line returns the line of a position.
func (s source) line(p token.Pos) int { return s.set.Position(p).Line }

// imports lists the file's imports.
func (s source) imports(t *testing.T) (paths []string) {
	t.Helper()
	for _, i := range s.file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// sources parses every Go file of the repository.
func sources(t *testing.T) (list []source) {
	t.Helper()
	set := token.NewFileSet()
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		file, err := parser.ParseFile(set, filepath.Join(top, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, source{path, file, set})
	})
	if len(list) < 50 {
		t.Fatalf("only %d Go files were found", len(list))
	}
	return list
}

// top is the way from this package to the top of the repository.
const top = "../.."

// walk visits every file of ours, by its path from the top.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	for _, root := range []string{"bench", "cmd", "embed", "internal", "test", "docs"} {
		err := filepath.WalkDir(filepath.Join(top, root), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if name := entry.Name(); name == "testdata" || name == "node_modules" {
					return fs.SkipDir
				}
				return nil
			}
			relative, err := filepath.Rel(top, path)
			if err == nil {
				visit(filepath.ToSlash(relative))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// text reads a file by its path from the top.
func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

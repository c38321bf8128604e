package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// targets are what there are releases for, as .goreleaser.yaml has them. What this machine builds itself is among them.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// otherSystems is a step that has the types of the program checked for each system of a release, from the sources of
// everything in it. That is what a build for another system fails by, in seconds instead of minutes: bodies of libraries'
// functions are passed over, and no code is made.
func otherSystems(ctx context.Context, t *tally) error {
	var failures []error
	for _, target := range targets {
		goos, goarch, _ := strings.Cut(target, "/")
		err := checkTypes(ctx, goos, goarch, "./cmd/sectional", "./embed")
		t.add("types for "+target, err == nil)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// goPackage is a package as `go list` prints it.
type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// checkTypes checks packages with everything that they import, for a system.
func checkTypes(ctx context.Context, goos, goarch string, packages ...string) error {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"}, packages...)...)
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list for %s/%s: %w", goos, goarch, err)
	}
	c := typeCheck{system: goos + "/" + goarch, sizes: types.SizesFor("gc", goarch), files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); { // each after what it imports
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return err
		}
		if err := c.check(&p); err != nil {
			return err
		}
	}
	return errors.Join(c.failures...)
}

// typeCheck checks packages one after the other.
type typeCheck struct {
	system   string
	sizes    types.Sizes
	files    *token.FileSet
	done     map[string]*types.Package
	failures []error // of our own packages
}

func (c *typeCheck) check(p *goPackage) error {
	if p.ImportPath == "unsafe" {
		return nil
	}
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	ours := p.Module != nil && p.Module.Main
	conf := types.Config{Sizes: c.sizes, IgnoreFuncBodies: !ours, Importer: importing{c, p.ImportMap}, Error: func(err error) {
		if ours {
			c.failures = append(c.failures, fmt.Errorf("%s: %w", c.system, err))
		}
	}}
	// Of libraries, what matters is missed where it is used.
	c.done[p.ImportPath], _ = conf.Check(p.ImportPath, c.files, parsed, nil)
	return nil
}

// importing finds what a package imports among those that were checked.
type importing struct {
	*typeCheck
	names map[string]string
}

// Import implements types.Importer.
func (i importing) Import(path string) (*types.Package, error) {
	if other, renamed := i.names[path]; renamed {
		path = other
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not there", path)
}

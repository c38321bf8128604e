package couch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// deviation is an entry of differences.json: a scenario in which Sectional answers otherwise than CouchDB, step by
// step. What is not listed must agree, and what is listed must differ, or the entry fails.
type deviation struct {
	Scenario string // "subject: name"
	Steps    departures
}

// departures are the steps, from 1, at which answers differ.
type departures map[int]departure

// departure names the paragraph of docs/DIFFERENCES.md that gives the reason, and a part of the mismatch.
type departure struct {
	Number int
	Shows  string
}

// deviations returns the entries by scenario.
func deviations() (map[string]departures, error) { return readDeviations("testdata/differences.json") }

func readDeviations(file string) (map[string]departures, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var list []deviation
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	all := map[string]departures{}
	for _, v := range list {
		if _, twice := all[v.Scenario]; twice {
			return nil, fmt.Errorf("%s names %q twice", file, v.Scenario)
		}
		if len(v.Steps) == 0 {
			return nil, fmt.Errorf("%s names no step of %q", file, v.Scenario)
		}
		for _, d := range v.Steps {
			if d.Shows == "" {
				return nil, fmt.Errorf("%s does not say what %q shows", file, v.Scenario)
			}
		}
		all[v.Scenario] = v.Steps
	}
	return all, nil
}

// judge holds the outcome of one step to what is listed for it.
func (d departures) judge(step int, outcome error) error {
	listed, ok := d[step]
	switch {
	case !ok:
		return outcome
	case outcome == nil:
		return fmt.Errorf("agrees with CouchDB now: take it out of differences.json (number %d)", listed.Number)
	case !strings.Contains(outcome.Error(), listed.Shows):
		return fmt.Errorf("differs otherwise than listed (%q): %w", listed.Shows, outcome)
	}
	return nil
}

// paragraphs returns the numbers of the differences in docs/DIFFERENCES.md, each at the start of a heading, list item or
// table row.
func paragraphs() (map[int]bool, error) {
	text, err := os.ReadFile("../../docs/DIFFERENCES.md")
	if err != nil {
		return nil, err
	}
	numbers := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:#+ +|\| *|[-*] +)?(\d+)(?:\.|\)| *\||:)\s`).FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return nil, err
		}
		if numbers[n] {
			return nil, fmt.Errorf("docs/DIFFERENCES.md has number %d twice", n)
		}
		numbers[n] = true
	}
	return numbers, nil
}

// TestDifferencesAreDocumented holds differences.json and tenant.json to docs/DIFFERENCES.md and to the recordings.
func TestDifferencesAreDocumented(t *testing.T) {
	listed, err := deviations()
	if err != nil {
		t.Fatal(err)
	}
	documented, err := paragraphs()
	if err != nil {
		t.Fatal(err)
	}
	files, err := recordings()
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]int{}
	for _, f := range files {
		for _, s := range f.scenarios {
			steps[f.subject+": "+s.Name] = len(s.Steps)
		}
	}
	besides, err := readDeviations("testdata/tenant.json")
	if err != nil {
		t.Fatal(err)
	}
	for scenario, departures := range besides {
		if listed[scenario] == nil {
			listed[scenario] = departures
		}
		maps.Copy(listed[scenario], departures)
	}
	for scenario, departures := range listed {
		for step, d := range departures {
			if !documented[d.Number] {
				t.Errorf("%q: docs/DIFFERENCES.md has no number %d", scenario, d.Number)
			}
			if step < 1 || step > steps[scenario] {
				t.Errorf("%q has no step %d in the recordings", scenario, step)
			}
		}
	}
}

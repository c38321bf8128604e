package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLicencesOfAll: the committed file has everything that is in the program now, and nothing else. It is made anew by
// `npm ci` in dashboard and `go run ./deploy/release licences > THIRD_PARTY_LICENSES.new`.
func TestLicencesOfAll(t *testing.T) {
	t.Chdir("../..")
	all, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(licencesFile)
	if err != nil {
		t.Fatal(err)
	}
	now, err := licences(all, string(committed))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(committed), "\n"), strings.Split(now, "\n")); diff != "" {
		t.Errorf("%s holds something else (-file +now):\n%s", licencesFile, diff)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := sbom(out, "1.2.3", all); err != nil {
			t.Fatal(err)
		}
	}
	var b bill
	if err := json.Unmarshal(first.Bytes(), &b); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) || len(b.Components) != len(all) {
		t.Errorf("%v: %d of %d parts", err, len(b.Components), len(all))
	}
	text := first.String()
	for _, needed := range []string{`"pkg:golang/github.com/cockroachdb/pebble/v2@v2.`, `"pkg:golang/std@1.`, `"pkg:npm/%40codemirror/view@6.`, `"type": "data"`, `"expression": "Unicode-3.0"`} {
		if !strings.Contains(text, needed) {
			t.Errorf("the bill of materials lacks %s", needed)
		}
	}
}

func TestIdentify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache  License\n Version 2.0, January 2004":                                            "Apache-2.0",
		"Permission is hereby granted,\nfree of charge, to … THE SOFTWARE IS PROVIDED \"AS IS\"": "MIT",
		"Redistribution and use in source and binary forms … Neither the name of":                "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without modification":        "BSD-2-Clause",
		"Mozilla Public License Version 2.0":                                                     "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                   "GPL-3.0",
		"Copyright 2020 by somebody":                                                             "",
	} {
		if got := identify(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestNotAllowed: what asks for more than to be passed on, or is not known, is refused.
func TestNotAllowed(t *testing.T) {
	for _, licence := range []string{"", "GPL-3.0", "MIT AND MPL-2.0", "UNLICENSED"} {
		if err := permitted([]part{{name: "x", version: "1", licence: "MIT"}, {name: "y", version: "1", licence: licence}}); err == nil {
			t.Errorf("%q may be in the program", licence)
		}
	}
}

func TestTexts(t *testing.T) {
	a := part{name: "a", version: "1", licence: "MIT", texts: []string{"One.\r\n\r\nTwo. \n", strings.Repeat("=", 80) + "\nNotice."}}
	b := part{name: "b", version: "2", licence: "MIT", texts: []string{"One.\n\nTwo.\n"}}
	first, err := licences([]part{a, b}, "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(first, "Two.") != 1 {
		t.Errorf("a text is there twice:\n%s", first)
	}
	a.texts, b.texts = nil, nil // of packages that are not installed
	if second, err := licences([]part{a, b}, first); err != nil || second != first {
		t.Errorf("%v\n%s", err, cmp.Diff(first, second))
	}
	b.version = "3"
	if _, err := licences([]part{a, b}, first); err == nil {
		t.Error("the texts of another version are taken")
	}
}

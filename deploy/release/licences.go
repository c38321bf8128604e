package main

import (
	"fmt"
	"slices"
	"strings"
)

// licencesFile is where the licences are committed.
const licencesFile = "THIRD_PARTY_LICENSES"

// Sentences by which licences are known, in the order in which they are looked for.
var sentences = []struct {
	id    string
	words []string // all of them, with single spaces
}{
	{"AGPL-3.0", []string{"gnu affero general public license"}},
	{"LGPL-3.0", []string{"gnu lesser general public license"}},
	{"GPL-3.0", []string{"gnu general public license"}},
	{"MPL-2.0", []string{"mozilla public license"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"Unicode-3.0", []string{"unicode license v3"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "names of its contributors"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "the software is provided \"as is\""}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose with or without fee"}},
	{"Zlib", []string{"altered source versions must be plainly marked"}},
}

// identify returns the identifier of the licence that a text is; "" for a notice, or a licence that is not known.
func identify(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, s := range sentences {
		if !slices.ContainsFunc(s.words, func(w string) bool { return !strings.Contains(text, w) }) {
			return s.id
		}
	}
	return ""
}

const ruler = "================================================================================\n"

// licences returns the file of licences: a list of everything, then each text once, with what it is of. Of packages that
// are not installed here the texts are those of the file before, as long as their version is the same. Errors: for a part
// whose text is nowhere.
func licences(all []part, before string) (string, error) {
	var b strings.Builder
	b.WriteString("What others made that is in Sectional, and the licences that it comes with.\n\n")
	of := map[string][]string{}
	var order []string
	for _, p := range all {
		title := p.name + " " + p.version
		fmt.Fprintf(&b, "%s (%s)\n", title, p.licence)
		texts := p.texts
		if texts == nil {
			texts = textsOf(before, title)
		}
		if len(texts) == 0 {
			return "", fmt.Errorf("the licence of %s is not on this machine: `npm ci` in dashboard first", title)
		}
		for _, text := range texts {
			text = tidy(text)
			if of[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(of[text], title) {
				of[text] = append(of[text], title)
			}
		}
	}
	for _, text := range order {
		b.WriteString("\n" + ruler + strings.Join(of[text], "\n") + "\n" + ruler + "\n" + text + "\n")
	}
	return b.String(), nil
}

// tidy is a text with line ends of one kind and without spaces at them.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\f")
		if lines[i]+"\n" == ruler {
			lines[i] = lines[i][1:] // only a heading of this file has the ruler whole
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// textsOf returns the texts that a file of licences has under a title.
func textsOf(file, title string) (texts []string) {
	sections := strings.Split(file, "\n"+ruler)
	for i := 1; i < len(sections); i++ {
		titles, text, found := strings.Cut(sections[i], "\n"+ruler)
		if !found && i+1 < len(sections) { // the ruler below the titles was cut at
			titles, text = sections[i], sections[i+1]
			i++
		}
		if slices.Contains(strings.Split(titles, "\n"), title) {
			texts = append(texts, strings.Trim(text, "\n"))
		}
	}
	return texts
}

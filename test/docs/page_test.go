package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/process"
)

// page is a page of the documentation, cut into what is executed.
type page struct {
	name  string // from the top of the repository
	needs string // server, demo, shell, or nothing
	steps []block
}

// block is a fenced block or, with the language run, a hidden command.
type block struct {
	line     int // of its fence
	language string
	option   string // what comes after the language
	text     string
	file     string // the name that its first line gives, if it does
	output   string // what the page says that it prints
	shown    bool   // the page says what it prints
}

var (
	fence    = regexp.MustCompile("^( *)```(.*)$")
	needs    = regexp.MustCompile(`^<!-- test: (\w+) -->$`)
	hidden   = regexp.MustCompile(`^<!-- run: (.*) -->$`)
	fileName = regexp.MustCompile(`^(?://|;|#|<!--) ?([\w./-]+\.\w+|Caddyfile)(?: -->)?$`)
)

// languages are those that a block may have. Blocks without one would be overlooked.
var languages = []string{"sh", "json", "text", "js", "ini", "nginx", "caddyfile", "yaml", "html", "python"}

// parse cuts a page into its blocks. An output is joined to the commands that it follows.
func parse(name, text string) (page, error) {
	p := page{name: name}
	var open *block
	indent := ""
	fresh := false // nothing but empty lines came since the last block
	for i, line := range strings.Split(text, "\n") {
		if open != nil {
			if strings.TrimSpace(line) != "```" {
				open.text += strings.TrimPrefix(line, indent) + "\n"
				continue
			}
			if err := p.add(*open, fresh); err != nil {
				return p, err
			}
			open, fresh = nil, true
			continue
		}
		if m := fence.FindStringSubmatch(line); m != nil {
			indent = m[1]
			language, option, _ := strings.Cut(m[2], " ")
			open = &block{line: i + 1, language: language, option: option}
		} else if m := needs.FindStringSubmatch(line); m != nil && i == 0 {
			p.needs = m[1]
		} else if m := hidden.FindStringSubmatch(line); m != nil {
			p.steps = append(p.steps, block{line: i + 1, language: "run", text: m[1]})
			fresh = false
		} else if strings.TrimSpace(line) != "" {
			fresh = false
		}
	}
	if open != nil {
		return p, fmt.Errorf("%s:%d: the block does not end", name, open.line)
	}
	return p, nil
}

// add appends a block, or makes it the output of the one before.
func (p *page) add(b block, fresh bool) error {
	if !slices.Contains(languages, b.language) {
		return fmt.Errorf("%s:%d: a block in the language %q is not tested, known are %q", p.name, b.line, b.language, languages)
	}
	if n := len(p.steps); fresh && n > 0 && p.steps[n-1].language == "sh" && !p.steps[n-1].shown && (b.language == "json" || b.language == "text") {
		p.steps[n-1].output, p.steps[n-1].shown = b.text, true
		return nil
	}
	first, _, _ := strings.Cut(b.text, "\n")
	if m := fileName.FindStringSubmatch(first); m != nil && b.language != "sh" {
		b.file = m[1]
	}
	p.steps = append(p.steps, b)
	return nil
}

// executes reports whether the page has commands.
func (p page) executes() bool {
	return slices.ContainsFunc(p.steps, func(b block) bool { return b.language == "sh" })
}

// usesNode reports whether the page has commands of Node or its packages.
func (p page) usesNode() bool {
	return slices.ContainsFunc(p.steps, func(b block) bool {
		return b.language == "sh" && regexp.MustCompile(`(?m)^(node|npx|couchbackup|couchrestore)\b|\| (node|couchrestore)\b`).MatchString(b.text)
	})
}

// pages reads all pages, but for the notes on decisions, which tell of a day and stay as they are.
func pages(t *testing.T) (list []page) {
	t.Helper()
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"README.md"}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "decisions" {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".md") {
			names = append(names, strings.TrimPrefix(path, root+string(filepath.Separator)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(name, string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		list = append(list, p)
	}
	return list
}

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/process"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.*)$`)
	fences  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// anchors returns the places of a page that links may lead to, by the rule of GitHub.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		title = regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(title), "")
		names = append(names, strings.ReplaceAll(title, " ", "-"))
	}
	return names
}

// TestLinks holds that links between pages lead somewhere.
func TestLinks(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range pages(t) {
		text := read(t, root, p.name)
		for _, m := range link.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := p.name
			if file != "" {
				target = filepath.Join(filepath.Dir(p.name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", p.name, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(read(t, root, target)), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", p.name, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d links were found", found)
	}
}

// TestContents holds that the tables of contents of long pages name every heading of the first three levels.
func TestContents(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"docs/api.md", "docs/access.md"} {
		text := read(t, root, page)
		for _, name := range anchors(regexp.MustCompile(`(?m)^####.*$`).ReplaceAllString(text, ""))[1:] {
			if !strings.Contains(text, "](#"+name+")") {
				t.Errorf("the contents of %s lack #%s", page, name)
			}
		}
	}
}

// TestIndex holds that docs/README.md names every page.
func TestIndex(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	index := read(t, root, "docs/README.md")
	for _, p := range pages(t) {
		name := strings.TrimPrefix(p.name, "docs/")
		if name != "README.md" && !strings.HasPrefix(name, "formats/") && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

// TestUnit holds that the guide shows the unit that the packages install.
func TestUnit(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	unit := strings.Split(read(t, root, "deploy/package/sectional.service"), "\n")
	_, shown, _ := strings.Cut(read(t, root, "docs/guides/operations.md"), "# sectional.service\n")
	shown, _, found := strings.Cut(shown, "\n```")
	if !found {
		t.Fatal("the guide shows no unit")
	}
	for _, line := range strings.Split(shown, "\n") {
		if !slices.Contains(unit, line) {
			t.Errorf("the guide has %q, and deploy/package/sectional.service has not", line)
		}
	}
}

// read returns the text of a page.
func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

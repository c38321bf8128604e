package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is what a manual page says beside the commands: which it is of, and what holds for all of them.
type Page struct {
	Version string
	Exit    [][2]string // exit codes, and what they mean
	More    string      // where there is more to read
}

// Man returns the manual pages by their names: one of the program, and one of each command.
func (c Commands) Man(p Page) map[string]string {
	pages := map[string]string{c.root.Name + ".1": p.program(c)}
	c.walk(func(n *kong.Node) { pages[pageName(n)+".1"] = p.command(n) })
	return pages
}

// pageName is the name of a command's page.
func pageName(n *kong.Node) string { return strings.ReplaceAll(n.FullPath(), " ", "-") }

func (p Page) program(c Commands) string {
	var b roff
	b.head(c.root.Name, c.root.Help, p.Version)
	b.section("SYNOPSIS")
	b.macro("B", c.root.Name)
	b.text("COMMAND [FLAGS] [ARGUMENTS]")
	b.section("COMMANDS")
	c.walk(func(n *kong.Node) {
		if len(n.Children) == 0 {
			b.item(strings.TrimPrefix(n.FullPath(), c.root.Name+" "), n.Help)
		}
	})
	p.foot(&b)
	return b.String()
}

func (p Page) command(n *kong.Node) string {
	var b roff
	b.head(pageName(n), n.Help, p.Version)
	b.section("SYNOPSIS")
	b.macro("B", n.FullPath())
	if rest := strings.TrimPrefix(usage(n), n.FullPath()); rest != "" {
		b.text(strings.TrimSpace(rest))
	}
	b.section("DESCRIPTION")
	b.text(n.Help)
	if n.Detail != "" {
		b.text(n.Detail)
	}
	if len(n.Children) > 0 {
		b.section("COMMANDS")
		walk(n, func(child *kong.Node) { b.item(child.Name, child.Help) })
	}
	if len(n.Positional) > 0 {
		b.section("ARGUMENTS")
		for _, a := range n.Positional {
			b.item(argument(a), a.Help)
		}
	}
	b.section("OPTIONS")
	for _, f := range flags(n) {
		b.item(flag(f), described(f))
	}
	b.item("-h, --help", "Tell of the command.")
	p.foot(&b)
	return b.String()
}

// described is what a flag's help says, with its default and the variable that sets it.
func described(f *kong.Flag) string {
	text := f.Help
	if d := defaults(f); d != "" {
		text += fmt.Sprintf(" Default: %s.", d)
	}
	for _, e := range f.Envs {
		text += fmt.Sprintf(" Environment: %s.", e)
	}
	return text
}

func (p Page) foot(b *roff) {
	b.section("EXIT STATUS")
	for _, e := range p.Exit {
		b.item(e[0], e[1])
	}
	b.section("SEE ALSO")
	b.text(p.More)
}

// roff writes a page in man's language.
type roff struct{ strings.Builder }

func (b *roff) head(name, help, version string) {
	b.macro("TH", strings.ToUpper(name), "1", "", "Sectional "+version, "Sectional")
	b.section("NAME")
	b.text(name + " - " + strings.TrimSuffix(help, "."))
}

func (b *roff) section(name string) { b.macro("SH", name) }

// item writes a term and what it means.
func (b *roff) item(term, text string) {
	b.macro("TP")
	b.macro("B", term)
	b.text(text)
}

func (b *roff) macro(name string, arguments ...string) {
	b.WriteString("." + name)
	for _, a := range arguments {
		b.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	b.WriteByte('\n')
}

func (b *roff) text(text string) {
	text = escape(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	b.WriteString(text + "\n")
}

// escape writes characters that mean something to man so that they stand for themselves.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
}

package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Markdown returns the commands as a part of a page of the documentation: a heading for each, its line, arguments and
// flags.
func (c Commands) Markdown() string {
	var b strings.Builder
	c.walk(func(n *kong.Node) {
		if len(n.Children) == 0 {
			fmt.Fprintf(&b, "## %s\n\n%s\n\n```text\n%s\n```\n\n", n.FullPath(), n.Help, usage(n))
			parameters(&b, n)
		}
	})
	return b.String()
}

// parameters is the table of a command's arguments and flags, if it has any.
func parameters(b *strings.Builder, n *kong.Node) {
	if len(n.Positional) == 0 && len(flags(n)) == 0 {
		return
	}
	b.WriteString("| | |\n|---|---|\n")
	for _, a := range n.Positional {
		fmt.Fprintf(b, "| `%s` | %s |\n", argument(a), cell(a.Help))
	}
	for _, f := range flags(n) {
		text := cell(f.Help)
		if d := defaults(f); d != "" {
			text += fmt.Sprintf(" Default: `%s`.", d)
		}
		for _, e := range f.Envs {
			text += fmt.Sprintf(" Or by the variable `%s`.", e)
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", cell(flag(f)), text)
	}
	b.WriteByte('\n')
}

// cell is text as a table holds it.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

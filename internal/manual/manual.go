// Package manual owns what is told of a program's commands besides their help: pages for man, the page of the
// documentation, and what a shell completes. All of it is made of the one declaration that the command line is parsed
// by, so that none of them can lack a command or a flag.
//
// Begin reading at Commands.
package manual

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Commands are a program's, as they are declared.
type Commands struct{ root *kong.Application }

// Of returns the commands of a parser.
func Of(parser *kong.Kong) Commands { return Commands{parser.Model} }

// walk calls f for each command that people see, in the order of the declaration; groups of commands come before theirs.
func (c Commands) walk(f func(*kong.Node)) { walk(c.root.Node, f) }

func walk(n *kong.Node, f func(*kong.Node)) {
	for _, child := range n.Children {
		if !child.Hidden {
			f(child)
			walk(child, f)
		}
	}
}

// flags are those of a command that people see, without the help that each has.
func flags(n *kong.Node) (all []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" {
			all = append(all, f)
		}
	}
	return all
}

// usage is a command's line with its arguments.
func usage(n *kong.Node) string {
	parts := []string{n.FullPath()}
	switch {
	case len(n.Children) > 0:
		parts = append(parts, "COMMAND")
	case len(flags(n)) > 0:
		parts = append(parts, "[FLAGS]")
	}
	for _, p := range n.Positional {
		parts = append(parts, argument(p))
	}
	return strings.Join(parts, " ")
}

// argument is an argument as it is written in a line of usage.
func argument(p *kong.Positional) string {
	name := strings.ToUpper(p.Name)
	if p.IsCumulative() {
		name += "..."
	}
	if !p.Required {
		name = "[" + name + "]"
	}
	return name
}

// flag is a flag as it is written, with what its value stands for.
func flag(f *kong.Flag) string {
	text := "--" + f.Name
	if f.Short != 0 {
		text = "-" + string(f.Short) + ", " + text
	}
	if !f.IsBool() {
		text += "=" + placeholder(f)
	}
	return text
}

// placeholder stands for a flag's value.
func placeholder(f *kong.Flag) string {
	if f.PlaceHolder != "" {
		return f.PlaceHolder
	}
	if f.Enum != "" {
		return strings.Join(f.EnumSlice(), "|")
	}
	if f.Tag.Type == "path" {
		return "PATH"
	}
	return strings.ToUpper(f.Name)
}

// defaults says what a flag is that is not given, "" where its help says it or where it is nothing.
func defaults(f *kong.Flag) string {
	if !f.HasDefault || f.Default == "" || f.IsBool() {
		return ""
	}
	return f.Default
}

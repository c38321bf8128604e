package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Files is the line of a completion that leaves it to the shell to complete names of files.
const Files = ":files"

// Complete returns what the last of the words can become, a line each: the word, a tab, and what it means; or Files. The
// words are those of a command line after the program's name, of which the last may be unfinished or empty.
func (c Commands) Complete(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	at := position{node: c.root.Node}
	for _, w := range before {
		at.pass(w)
	}
	return at.candidates(last)
}

// position is where in a command line a word is.
type position struct {
	node   *kong.Node
	value  *kong.Flag // whose value comes next; nil: of none
	given  []string   // names of flags before
	passed int        // arguments before
	plain  bool       // after "--" there are no flags
}

// pass goes on by one word.
func (p *position) pass(word string) {
	switch {
	case p.value != nil:
		p.value = nil
	case !p.plain && word == "--":
		p.plain = true
	case !p.plain && strings.HasPrefix(word, "-"):
		name, _, valued := strings.Cut(word, "=")
		if f := p.flag(name); f != nil {
			p.given = append(p.given, f.Name)
			if !valued && !f.IsBool() {
				p.value = f
			}
		}
	default:
		for _, child := range p.node.Children {
			if child.Name == word {
				p.node = child
				return
			}
		}
		p.passed++
	}
}

// flag returns the flag of a name with its dashes; nil if the command has none.
func (p *position) flag(name string) *kong.Flag {
	for _, f := range flags(p.node) {
		if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// candidates are what a word here can become.
func (p *position) candidates(word string) []string {
	switch {
	case p.value != nil:
		return values(p.value.Value, word)
	case !p.plain && strings.HasPrefix(word, "-"):
		return p.flags(word)
	case len(p.node.Children) > 0:
		return commands(p.node, word)
	case p.passed < len(p.node.Positional):
		return values(p.node.Positional[p.passed], word)
	}
	if last := len(p.node.Positional) - 1; last >= 0 && p.node.Positional[last].IsCumulative() {
		return values(p.node.Positional[last], word)
	}
	return nil
}

func (p *position) flags(word string) (lines []string) {
	for _, f := range flags(p.node) {
		name := "--" + f.Name
		if strings.HasPrefix(name, word) && (f.IsCumulative() || !slices.Contains(p.given, f.Name)) {
			lines = append(lines, line(name, f.Help))
		}
	}
	if strings.HasPrefix("--help", word) {
		lines = append(lines, line("--help", "Tell of the command."))
	}
	return lines
}

func commands(n *kong.Node, word string) (lines []string) {
	for _, child := range n.Children {
		if !child.Hidden && strings.HasPrefix(child.Name, word) {
			lines = append(lines, line(child.Name, child.Help))
		}
	}
	return lines
}

// values are what a flag or an argument can be.
func values(v *kong.Value, word string) (lines []string) {
	if v.Tag.Type == "path" {
		return []string{Files}
	}
	if v.Enum == "" {
		return nil
	}
	for _, e := range v.EnumSlice() {
		if strings.HasPrefix(e, word) {
			lines = append(lines, line(e, ""))
		}
	}
	return lines
}

// line is a candidate with the first sentence of what it means.
func line(word, meaning string) string {
	if end := strings.Index(meaning, ". "); end >= 0 {
		meaning = meaning[:end]
	}
	return word + "\t" + strings.TrimSuffix(meaning, ".")
}

// Script returns what a shell is told for it to complete the commands of a program, by asking the program itself: the
// command complete prints the lines of Commands.Complete. Errors: for a shell that is not known.
func Script(shell, program string) (string, error) {
	text, ok := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	if !ok {
		return "", fmt.Errorf("there are completions for bash, zsh and fish, and none for %s", shell)
	}
	return strings.ReplaceAll(text, "PROGRAM", program), nil
}

const bash = `# Completion of PROGRAM for bash: source this file, or put it into
# /usr/share/bash-completion/completions/PROGRAM.
_PROGRAM() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            compopt -o default
        elif [[ -n $line ]]; then
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _PROGRAM PROGRAM
`

const zsh = `#compdef PROGRAM
# Completion of PROGRAM for zsh: put this file as _PROGRAM into a directory of $fpath.
_PROGRAM() {
    local -a found
    local line
    for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :files ]]; then
            _files
            return
        elif [[ -n $line ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        fi
    done
    _describe PROGRAM found
}
if [[ ${funcstack[1]} == _PROGRAM ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi
`

const fish = `# Completion of PROGRAM for fish: put this file as PROGRAM.fish into
# ~/.config/fish/completions or /usr/share/fish/vendor_completions.d.
function __PROGRAM_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] "$last" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$last"
        else
            echo $line
        end
    end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
`

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sectional/sectional/internal/manual"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// declared are the commands of the program.
func declared(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&commands{}, kong.Name(programName), kong.Description(programHelp), kong.Bind(&console{}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// TestPageOfCommands: docs/commands.md is what the commands are declared as. -update writes it.
func TestPageOfCommands(t *testing.T) {
	golden.File(t, "../../docs/commands.md", commandsHead+strings.TrimRight(manual.Of(declared(t)).Markdown(), "\n")+"\n")
}

const commandsHead = `# Commands

Made from the commands in cmd/sectional by their test; change them there.

Every command has ` + "`--help`" + `, a page for ` + "`man`" + ` (` + "`sectional man DIR`" + ` writes them) and is completed by shells (` + "`sectional completion SHELL`" + `); [installing](guides/install.md) says where these go.
The exit code is 0 when the work is done, 1 when it failed, 2 when the command line is not one, and 3 when a sync, a migration or an import ended with documents that were not taken. What a command found is on standard output, everything else on
standard error, where a line shows the progress of what takes longer than a second, if it is a terminal. Passwords are taken from the environment and never shown.
In what is printed for people, characters of names and ids that a terminal would act on are escaped, as \x1b.

`

// TestCommandsAgree: help, completion and manual pages tell of every command and every flag.
func TestCommandsAgree(t *testing.T) {
	parser := declared(t)
	about := manual.Of(parser)
	pages := about.Man(manualPage)
	var look func(n *kong.Node, line []string)
	look = func(n *kong.Node, line []string) {
		for _, child := range n.Children {
			if child.Hidden {
				continue
			}
			words := append(slices.Clone(line), child.Name)
			if !slices.ContainsFunc(about.Complete(words), func(l string) bool { return strings.HasPrefix(l, child.Name+"\t") }) {
				t.Errorf("%s is not completed", words)
			}
			help := sectional(t, append(slices.Clone(words), "--help")...)
			page := pages[strings.Join(append([]string{programName}, words...), "-")+".1"]
			if child.Help == "" || !strings.Contains(page, strings.ReplaceAll(child.Help, "-", `\-`)) {
				t.Errorf("the page of %s does not say what it is:\n%s", words, page)
			}
			for _, f := range child.Flags {
				if f.Name == "help" {
					continue
				}
				name := "--" + f.Name
				if f.Help == "" || !strings.Contains(help.out, name) || !strings.Contains(page, strings.ReplaceAll(name, "-", `\-`)) || len(about.Complete(append(slices.Clone(words), name))) == 0 {
					t.Errorf("%s %s is not told of everywhere:\n%s\n%s", words, name, help.out, page)
				}
			}
			look(child, words)
		}
	}
	look(parser.Model.Node, nil)
	known := slices.Collect(func(yield func(string) bool) {
		for _, child := range parser.Model.Children {
			if len(child.Children) == 0 && !yield(child.Name) {
				return
			}
		}
	})
	for _, name := range known {
		if _, tested := subcommands[name]; !tested && name != "complete" {
			t.Errorf("%s is not in the tests' list of commands", name)
		}
	}
}

// TestManualCommand writes the pages.
func TestManualCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if c := sectional(t, "man", dir); c.code != exitDone || c.out != "" {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(filepath.Join(dir, "sectional-keys-create.1")); err != nil {
		t.Error(err)
	}
}

// TestCompletes asks the shells themselves, those that are there: bash is on every machine that runs these tests.
func TestCompletes(t *testing.T) {
	if c := sectional(t, "complete", "--", "keys", "c"); c.code != exitDone || !strings.HasPrefix(c.out, "create\t") {
		t.Errorf("%+v", c)
	}
	if c := sectional(t, "complete", "--", "serve", "--dat"); c.out != "--data\tDirectory for all data\n" {
		t.Errorf("%+v", c)
	}
	if c := sectional(t, "complete"); !strings.Contains(c.out, "serve\t") || strings.Contains(c.out, "script-child") {
		t.Errorf("%+v", c)
	}
	dir := t.TempDir()
	lines := strings.Join([]string{"keys\tMake keys", "--with:colon\tA flag"}, `\n`)
	stub := "#!/bin/sh\necho \"$@\" >" + dir + "/asked\nprintf '" + lines + "\\n'\n"
	if err := os.WriteFile(filepath.Join(dir, "sectional"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]string{
		"bash": `COMP_WORDS=(sectional keys --a "b"); COMP_CWORD=3; compopt() { :; }; _sectional; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh":  `compdef() { :; }; _describe() { print -l ${(P)2} }; words=(sectional keys --a b); CURRENT=4; _sectional`,
		"fish": `complete -C "sectional keys --a b" >/dev/null; function commandline; switch $argv[1]; case -ct; echo b; case '*'; printf '%s\n' sectional keys --a; end; end; __sectional_complete`,
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(shell + " is not on this machine: its completion is not tried")
			}
			script := sectional(t, "completion", shell)
			run := exec.CommandContext(t.Context(), shell, "-c", script.out+ask)
			run.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
			out, err := run.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "keys") || !strings.Contains(string(out), "--with") {
				t.Errorf("%v: %s", err, out)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil || string(asked) != "complete -- keys --a b\n" {
				t.Errorf("asked %q: %v", asked, err)
			}
		})
	}
}

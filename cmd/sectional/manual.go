package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sectional/sectional/internal/manual"
)

type completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints what the shell is told.
func (k *completion) Run(c *console) error {
	text, err := manual.Script(k.Shell, programName)
	if err == nil {
		_, err = fmt.Fprint(c.out, text)
	}
	return err
}

type completing struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of a command line; the last one is completed."`
}

// Run prints what the last word can become.
func (k *completing) Run(c *console) error {
	words := k.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, line := range c.commands.Complete(words) {
		if _, err := fmt.Fprintln(c.out, line); err != nil {
			return err
		}
	}
	return nil
}

type manPages struct {
	Dir string `arg:"" help:"Directory for the pages; created if it does not exist." type:"path"`
}

// Run writes the manual pages.
func (k *manPages) Run(c *console) error {
	if err := os.MkdirAll(k.Dir, 0o755); err != nil {
		return err
	}
	for name, text := range c.commands.Man(manualPage) {
		if err := os.WriteFile(filepath.Join(k.Dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manualPage is what all manual pages say.
var manualPage = manual.Page{
	Version: version,
	Exit: [][2]string{
		{"0", "Done."},
		{"1", "The work failed; standard error says why."},
		{"2", "The command line is not one; nothing was done."},
		{"3", "A sync came to its end, but some documents were not taken."},
	},
	More: "The documentation of Sectional: README.md and docs/README.md.",
}

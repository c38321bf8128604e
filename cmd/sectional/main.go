// Command sectional is the server and its tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/manual"
	"github.com/sectional/sectional/internal/progress"
)

// version is that of the release; a build of the sources between releases adds
// the commit it was made of.
const version = "0.1.0"

// The exit codes. A sync, a migration or an import may also end with exitRefused.
const (
	exitDone   = 0
	exitFailed = 1 // of the work
	exitUsage  = 2 // of the command line: nothing was done
)

// How the program is called, and what it is.
const (
	programName = "sectional"
	programHelp = "A partitioned JSON document database that speaks CouchDB's API."
)

// commands are all commands, with their arguments and flags. What is told of them elsewhere (completion, manual pages,
// docs/commands.md) is made of this.
type commands struct {
	Serve   serve      `cmd:"" help:"Run the server."`
	Check   check      `cmd:"" help:"Read all data and report errors in it."`
	Backup  backing    `cmd:"" name:"backup" help:"Create a backup, with or without a running server."`
	Restore restoring  `cmd:"" name:"restore" help:"Restore a backup into an empty data directory."`
	Salvage salvaging  `cmd:"" name:"salvage" help:"Rebuild what can be read of a damaged data directory in a new one."`
	Copy    copying    `cmd:"" name:"copy" help:"Copy all data of a stopped server from a data directory to a PostgreSQL server, or back."`
	Sync    syncing    `cmd:"" name:"sync" help:"Replicate one database to another, once or continuously."`
	Migrate migrating  `cmd:"" name:"migrate" help:"Copy a database without partitions into a partitioned one, while it is in use."`
	Import  importing  `cmd:"" name:"import" help:"Store the documents of files: JSON lines, CSV, files of couchbackup, exports of DynamoDB."`
	Export  exporting  `cmd:"" name:"export" help:"Write documents of a database or a partition to a file."`
	Keys    keys       `cmd:"" name:"keys" help:"Create, list and revoke access keys of users, for the DynamoDB API."`
	Stats   stats      `cmd:"" name:"stats" help:"Print the size of a server, a database or a partition."`
	Top     top        `cmd:"" name:"top" help:"Show the databases, partitions and requests of a server, refreshed periodically."`
	Explain explaining `cmd:"" name:"explain" help:"Print how a Mango query is answered, and what it reads."`
	Up      asking     `cmd:"" name:"up" help:"Check whether a server is ready: the exit code is 0 if a load balancer may send it requests."`
	Version printer    `cmd:"" help:"Print the version."`
	Shell   completion `cmd:"" name:"completion" help:"Print the script that makes a shell complete commands and flags."`
	Man     manPages   `cmd:"" name:"man" help:"Write the manual pages to a directory."`
	Words   completing `cmd:"" name:"complete" hidden:"" help:"Print completions of the last word of a command line, for completion scripts."`
	Child   child      `cmd:"" name:"script-child" hidden:"" help:"Run functions of design documents for a server; started by the server itself."`
}

// console is what a command reads and writes.
type console struct {
	in       io.Reader
	out, err *os.File
	commands manual.Commands
}

func main() { os.Exit(run(os.Args[1:], &console{in: os.Stdin, out: os.Stdout, err: os.Stderr})) }

// run runs a command line and returns its exit code.
func run(args []string, c *console) int {
	var line commands
	helped := false
	parser, err := kong.New(&line, kong.Name(programName), kong.Description(programHelp),
		kong.Writers(c.out, c.err), kong.Exit(func(int) { helped = true }), kong.Bind(c))
	if err != nil {
		return c.fail(err) // the command line is not declared as it should be
	}
	c.commands = manual.Of(parser)
	k, err := parser.Parse(args)
	switch {
	case helped:
		return exitDone
	case err != nil:
		return c.refuse(err)
	}
	if err := k.Run(); err != nil {
		return c.fail(err)
	}
	return exitDone
}

// refuse reports what is wrong with a command line.
func (c *console) refuse(err error) int {
	of := ""
	if p := (*kong.ParseError)(nil); errors.As(err, &p) && p.Context != nil && p.Context.Selected() != nil {
		for n := p.Context.Selected(); n.Parent != nil; n = n.Parent {
			of = " " + n.Name + of
		}
	}
	fmt.Fprintln(c.err, "sectional: "+progress.Lines(credentials.ReplaceAllString(err.Error(), "://…@"))+"\nSee: sectional"+of+" --help")
	return exitUsage
}

// credentials are those in a URL.
var credentials = regexp.MustCompile(`://\S*@`)

// fail reports why a command failed.
func (c *console) fail(err error) int {
	fmt.Fprintln(c.err, "sectional:", progress.Lines(explain(err)))
	if errors.Is(err, errRefused) {
		return exitRefused
	}
	return exitFailed
}

type printer struct{}

// Run prints the version.
func (printer) Run(c *console) error {
	_, err := fmt.Fprintln(c.out, built())
	return err
}

// built returns the version with the commit, where the build knows it.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + "+" + s.Value[:12]
		}
	}
	return version
}

// explain returns what an operator needs to read: the sentence for the public,
// and the cause where there is one. Whoever has handed the error on has kept the sentence: it is said once.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "ended before its time"
	}
	var e *dberr.Error
	if !errors.As(err, &e) || e.Reason == "" {
		return err.Error()
	}
	for inner := (*dberr.Error)(nil); errors.As(e.Cause, &inner) && inner.Reason == e.Reason; {
		e = inner
	}
	switch cause := e.Cause.(type) {
	case nil:
		return e.Reason
	case *dberr.Error:
		return e.Reason + " (" + explain(cause) + ")"
	default: // which may have words of its own around another error
		return e.Reason + " (" + cause.Error() + ")"
	}
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/docfile"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/transfer"
)

type exporting struct {
	Source string `arg:"" help:"URL of the database or partition to read: http://[user:password@]host:5984/db[/_partition/p]."`
	File   string `arg:"" optional:"" help:"File to write, compressed with gzip if its name ends in .gz; - is standard output." default:"-"`

	Format      string   `enum:"auto,jsonl,csv,couchbackup" default:"auto" help:"Format of the file: ${enum}. auto goes by the name; couchbackup has all revisions."`
	Selector    string   `placeholder:"JSON" help:"Only the documents that match this Mango selector."`
	Revs        bool     `help:"Include revisions and their histories, so that an import stores the same revisions."`
	Attachments bool     `help:"Include attachments, in base64."`
	Conflicts   bool     `help:"Include conflicting revisions; implies --revs."`
	Deleted     bool     `help:"Include deleted documents; implies --revs."`
	NoDesign    bool     `name:"no-design" help:"Without design documents."`
	Column      []string `placeholder:"MEMBER" help:"CSV: these members, in this order. Default: those of the first thousand documents."`
	JSON        bool     `name:"json" help:"Print the result as one line of JSON, on standard error if the documents are on standard output."`
	account
}

// Validate looks at what the values say.
func (x *exporting) Validate() error {
	if x.Source == "" {
		return nil // which is told by others
	}
	if _, err := couchclient.New(x.Source, couchclient.Options{}); err != nil {
		return errors.New("SOURCE: " + explain(err))
	}
	if x.Selector != "" && !json.Valid([]byte(x.Selector)) {
		return errors.New("--selector is no JSON")
	}
	if x.Selector != "" && (x.Revs || x.Conflicts || x.Deleted || x.Attachments || x.format() == docfile.FormatBackup) {
		return errors.New("--selector gives documents without revisions and attachments")
	}
	if x.format() == docfile.FormatCSV && (x.Revs || x.Conflicts || x.Deleted || x.Attachments) {
		return errors.New("CSV has no place for revisions and attachments")
	}
	return nil
}

// format is the one that is named, or the one of the file's name.
func (x *exporting) format() string {
	switch {
	case x.Format != "auto" && x.Format != "":
		return x.Format
	case strings.HasSuffix(strings.TrimSuffix(strings.ToLower(x.File), ".gz"), ".csv"):
		return docfile.FormatCSV
	}
	return docfile.FormatLines
}

// Run writes the file: under another name until it is whole.
func (x *exporting) Run(c *console) (err error) {
	line := progress.On(c.err)
	out := line.Above(c.err)
	from, err := side(x.Source, x.User, x.PasswordFile, "SECTIONAL_", out)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	task := &transfer.Export{Source: from, Revs: x.Revs, Attachments: x.Attachments, Conflicts: x.Conflicts, Deleted: x.Deleted,
		NoDesign: x.NoDesign || x.format() == docfile.FormatCSV, Line: line}
	if x.Selector != "" {
		task.Selector = json.RawMessage(x.Selector)
	}
	if x.format() == docfile.FormatBackup {
		task.Conflicts, task.Deleted = true, true
	}
	file, err := x.open(c)
	if err != nil {
		return err
	}
	to, err := x.writer(file)
	if err != nil {
		return errors.Join(err, file.drop())
	}
	o, err := task.Run(ctx, to)
	line.Clear()
	if ctx.Err() != nil {
		err = errors.New("ended before its time")
	}
	if err != nil {
		if file.path != "" {
			err = fmt.Errorf("%w; no file was written", err)
		}
		return errors.Join(err, file.drop())
	}
	if err := file.keep(); err != nil {
		return err
	}
	return x.report(c, o, to)
}

func (x *exporting) writer(to io.Writer) (docfile.Writer, error) {
	switch x.format() {
	case docfile.FormatCSV:
		return docfile.WriteCSV(to, x.Column)
	case docfile.FormatBackup:
		return docfile.WriteBackup(to, x.Attachments)
	}
	return docfile.WriteLines(to), nil
}

// report says what came of it.
func (x *exporting) report(c *console, o transfer.Exported, to docfile.Writer) error {
	where := c.out
	if x.File == "-" {
		where = c.err
	}
	if x.JSON {
		if err := json.NewEncoder(where).Encode(o); err != nil {
			return err
		}
	} else {
		progress.Fprintf(c.err, "%d documents written\n", o.Written)
	}
	if o.Stubs > 0 {
		progress.Fprintf(c.err, "%d have attachments, which are left out: --attachments has them\n", o.Stubs)
	}
	if t, ok := to.(*docfile.CSVWriter); ok && t.Beyond > 0 {
		progress.Fprintf(c.err, "%d values have no column, of members such as %s: name columns with --column\n", t.Beyond, strings.Join(t.Missed, ", "))
	}
	return nil
}

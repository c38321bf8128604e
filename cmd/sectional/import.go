package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/docfile"
	"github.com/sectional/sectional/internal/partitionkey"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/transfer"
)

// account is who asks a database.
type account struct {
	User         string `help:"User, if the URL has none. The password is taken from SECTIONAL_PASSWORD, or a token from SECTIONAL_TOKEN." env:"SECTIONAL_USER" placeholder:"NAME"`
	PasswordFile string `help:"File with the password." placeholder:"FILE" type:"path"`
}

type importing struct {
	Target string   `arg:"" help:"URL of the database or partition to write: http://[user:password@]host:5984/db[/_partition/p]."`
	File   []string `arg:"" optional:"" help:"Files to read, compressed with gzip or not; - is standard input. A directory is an export of DynamoDB." default:"-"`

	Format      string `enum:"auto,jsonl,json,csv,couchbackup,dynamodb" default:"auto" help:"Format of the files: ${enum}. auto goes by name and content."`
	ID          string `name:"id" placeholder:"TEMPLATE" help:"Template of the ids, such as {country}:{id} or {country}:{_id}. Default: the documents' own ids, or ids made of line and text."`
	Existing    string `enum:"reject,keep,replace" default:"reject" help:"What to do with a document whose id exists already: ${enum}."`
	NoRevs      bool   `name:"no-revs" help:"Ignore revisions. Otherwise documents with a _rev are stored as that revision."`
	Create      bool   `help:"Create the database if it does not exist."`
	Partitioned bool   `help:"With --create: partitioned."`
	Skip        int64  `placeholder:"LINES" help:"Skip this number of lines, which an earlier run has stored."`

	Detect    bool     `help:"CSV: cells that are JSON numbers, true, false, null, arrays or objects are stored as such."`
	Number    []string `placeholder:"COLUMN" help:"CSV: a column of numbers."`
	Boolean   []string `placeholder:"COLUMN" help:"CSV: a column of true and false, yes and no, 1 and 0."`
	JSONCells []string `name:"json-column" placeholder:"COLUMN" help:"CSV: a column of JSON."`
	Separator string   `default:"" placeholder:"CHARACTER" help:"CSV: the separator of cells. Default: a comma, or a tab in files named .tsv."`

	Rejected string `placeholder:"FILE" help:"Write documents that were not stored to this file, as JSON lines. Default: standard error." type:"path"`
	JSON     bool   `name:"json" help:"Print the result as one line of JSON."`
	account
}

// Validate looks at what the values say.
func (m *importing) Validate() error {
	if m.Target == "" {
		return nil // which is told by others
	}
	if _, err := couchclient.New(m.Target, couchclient.Options{}); err != nil {
		return errors.New("TARGET: " + explain(err))
	}
	if utf8.RuneCountInString(m.Separator) > 1 {
		return errors.New("--separator is one character")
	}
	if m.Skip > 0 && len(m.File) > 1 {
		return errors.New("--skip goes with one file")
	}
	if m.Partitioned && !m.Create {
		return errors.New("--partitioned goes with --create")
	}
	_, err := m.template()
	if err != nil {
		return errors.New("--id: " + explain(err))
	}
	return nil
}

func (m *importing) template() (*partitionkey.Template, error) {
	if m.ID == "" {
		return nil, nil
	}
	t, err := partitionkey.Parse(m.ID)
	return &t, err
}

// Run stores the documents. It can be ended at any time, and run again.
func (m *importing) Run(c *console) (err error) {
	line := progress.On(c.err)
	out := line.Above(c.err)
	to, err := side(m.Target, m.User, m.PasswordFile, "SECTIONAL_", out)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	read, err := m.found(c.in) // before anything is made at the server
	if err != nil {
		return err
	}
	list, err := newRejects(m.Rejected, out, read...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	if m.Create {
		if err := transfer.Create(ctx, to, m.Partitioned); err != nil {
			return err
		}
	}
	id, err := m.template()
	if err != nil {
		return err
	}
	task := &transfer.Import{Target: to, ID: id, NoRevs: m.NoRevs, Existing: transfer.Existing(m.Existing), Skip: m.Skip, Line: line,
		Rejected: func(r transfer.Rejected) {
			list.add(r, fmt.Sprintf("line %d: %s", r.Line, sentence(r)))
		}}
	o, err := m.files(ctx, c.in).Run(ctx, task, m.File)
	line.Clear()
	return m.report(ctx, c, o, list, err)
}

// found returns the files that are read. Errors: one is not there.
func (m *importing) found(in io.Reader) (read []fs.FileInfo, err error) {
	for _, name := range m.File {
		info, err := os.Stat(name)
		if name == "-" {
			if file, ok := in.(*os.File); ok {
				info, err = file.Stat()
			} else {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		read = append(read, info)
	}
	return read, nil
}

// sentence says why a document was not stored.
func sentence(r transfer.Rejected) string {
	if r.ID != "" {
		return r.ID + ": " + r.Code + ": " + r.Reason
	}
	return r.Code + ": " + r.Reason
}

func (m *importing) files(ctx context.Context, in io.Reader) *transfer.Files {
	f := &transfer.Files{Format: m.Format, In: in, CSV: docfile.CSVOptions{Detect: m.Detect, Numbers: m.Number, Booleans: m.Boolean, JSON: m.JSONCells}}
	if f.Format == "auto" {
		f.Format = ""
	}
	f.CSV.Comma, _ = utf8.DecodeRuneInString(m.Separator)
	if m.Separator == "" {
		f.CSV.Comma = 0
	}
	if file, ok := in.(*os.File); ok {
		context.AfterFunc(ctx, func() { _ = file.Close() }) // whoever waits for input goes on
	}
	return f
}

// report says what came of it.
func (m *importing) report(ctx context.Context, c *console, o transfer.Imported, list *rejects, err error) error {
	if m.JSON {
		if err := json.NewEncoder(c.out).Encode(o); err != nil {
			return err
		}
	} else {
		progress.Fprintf(c.err, "%d documents read: %d written, %d were there already, %d rejected\n", o.Read, o.Written, o.Unchanged+o.Kept, o.Rejected)
	}
	if ctx.Err() != nil {
		err = errors.New("ended before its time")
	}
	switch {
	case couchclient.Missing(err) && !m.Create:
		return fmt.Errorf("%w; --create makes the database", err)
	case err != nil && len(m.File) == 1 && o.Through > 0:
		return fmt.Errorf("%w; what is in the first %d lines is stored: the next run goes on with --skip %d, or finds what is there", err, o.Through, o.Through)
	case err != nil:
		return err
	case o.Rejected > 0:
		return list.refused()
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/progress"
)

type explaining struct {
	Of    string `arg:"" help:"A database, a partition as DATABASE/PARTITION, or the URL of either."`
	Query string `arg:"" help:"The query as JSON, @FILE, or - for standard input."`
	NoRun bool   `help:"Print only the plan: the query is not run, and what it reads is not counted."`
	asked
	machine
}

// maxQuery is how long a query may be, in bytes.
const maxQuery = 1 << 20

// Run prints how a query is answered, and what it reads.
func (k *explaining) Run(c *console) error {
	query, err := k.query(c)
	if err != nil {
		return err
	}
	database, partition, err := k.target(k.Of)
	if err != nil {
		return err
	}
	if database == "" {
		return errOf
	}
	return k.do(func(ctx context.Context, s *operate.Server) error {
		e, err := s.Explain(ctx, database, partition, query, !k.NoRun)
		if err != nil {
			return err
		}
		return k.print(c, e, func(w io.Writer) { explained(w, e) })
	})
}

// query reads the query from where it is.
func (k *explaining) query(c *console) ([]byte, error) {
	from := c.in
	switch file, named := strings.CutPrefix(k.Query, "@"); {
	case named:
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	case k.Query != "-":
		return []byte(k.Query), nil
	}
	text, err := io.ReadAll(io.LimitReader(from, maxQuery+1))
	if len(text) > maxQuery {
		return nil, errors.New("the query is longer than 1 MB")
	}
	return text, err
}

// explained writes a plan for people.
func explained(w io.Writer, e operate.Explained) {
	progress.Fprintf(w, "index\t%s\n", indexName(e.Index))
	if e.Range != nil {
		progress.Fprintf(w, "reads\t%s to %s, %s\n", e.Range.Start, e.Range.End, e.Range.Direction)
	}
	for _, step := range e.Plan {
		progress.Fprintf(w, "reads\t%s: %s, %s, about %d rows\n", step.Index, strings.Join(step.Ranges, ", "), step.Direction, step.Rows)
	}
	if e.Query != "" {
		progress.Fprintf(w, "asks\t%s\n", e.Query)
	}
	if e.Covering != nil && *e.Covering {
		progress.Fprintf(w, "documents\tnone: the index has all that is asked for\n")
	}
	for _, other := range candidates(e.Candidates) {
		progress.Fprintf(w, "not\t%s\n", other)
	}
	if r := e.Run; r != nil {
		progress.Fprintf(w, "read\t%d keys, %d documents of %d partitions, %s, for %d results in %.3f ms\n", r.Keys, r.Documents, r.Partitions, progress.Size(r.Bytes), r.Returned, r.Milliseconds)
	}
	if e.Warning != "" {
		for _, line := range strings.Split(strings.TrimSpace(e.Warning), "\n") {
			progress.Fprintf(w, "warning\t%s\n", line)
		}
	}
}

// indexName is an index as people name it: its design document, its name and its fields.
func indexName(text json.RawMessage) string {
	var i *struct {
		DDoc *string
		Name string
		Type string
		Def  struct{ Fields json.RawMessage }
	}
	if json.Unmarshal(text, &i) != nil || i == nil {
		return "none: all documents are read"
	}
	if i.DDoc == nil {
		return i.Name
	}
	return fmt.Sprintf("%s/%s (%s) %s", *i.DDoc, i.Name, i.Type, i.Def.Fields)
}

// candidates are the indexes that were not chosen, and why.
func candidates(text json.RawMessage) (lines []string) {
	var all []struct {
		Index    json.RawMessage
		Analysis struct{ Reasons []struct{ Name string } }
	}
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	for _, one := range all {
		var why []string
		for _, r := range one.Analysis.Reasons {
			why = append(why, strings.ReplaceAll(r.Name, "_", " "))
		}
		lines = append(lines, indexName(one.Index)+": "+strings.Join(why, ", "))
	}
	return lines
}

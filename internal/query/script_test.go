package query

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestScripts runs the files of testdata, each over a database of its own. A
// file is made of blocks parted by empty lines:
//
//	partitioned                 as the first block: what the database is
//	docs                        and a document on each following line
//	index NAME DEFINITION       an index for the whole database, built
//	partindex NAME DEFINITION   an index for each partition, built
//	geo NAME DEFINITION         a geo index for the whole database, built
//	partgeo NAME DEFINITION     a geo index for each partition, built
//	building NAME DEFINITION    an index that is not built yet
//	plan REQUEST                the plan, or the error
//	find REQUEST                the documents, bookmark left out, what they cost and the warnings
//
// The last two take a partition before the request, as in "plan @p {…}", and
// have their output after "----".
func TestScripts(t *testing.T) {
	golden.Scripts(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		partitioned, w := false, (*world)(nil)
		return func(command string) string {
			switch {
			case strings.HasPrefix(command, "#"):
				return ""
			case command == "partitioned":
				partitioned = true
				return ""
			case w == nil:
				w = newWorld(t, partitioned)
			}
			return w.command(command)
		}
	})
}

// command runs one command and returns its output.
func (w *world) command(command string) (out string) {
	verb, arg, _ := strings.Cut(command, " ")
	if first, lines, _ := strings.Cut(command, "\n"); first == "docs" {
		w.put(strings.Split(lines, "\n")...)
		return ""
	}
	switch verb {
	case "geo", "partgeo":
		name, definition, _ := strings.Cut(arg, " ")
		w.places(name, definition, verb == "partgeo")
		w.build()
		return ""
	case "index", "partindex", "building":
		name, definition, _ := strings.Cut(arg, " ")
		w.index(name, definition, verb == "partindex")
		if verb != "building" {
			w.build()
		}
		return ""
	}
	partition := ""
	if rest, found := strings.CutPrefix(arg, "@"); found {
		partition, arg, _ = strings.Cut(rest, " ")
	}
	req, err := Parse([]byte(arg))
	if err == nil {
		switch verb {
		case "plan":
			out, err = w.planText(partition, req)
		case "find":
			out, err = w.findText(partition, arg)
		default:
			w.t.Fatalf("unknown command %q", verb)
		}
	}
	var e *dberr.Error
	if errors.As(err, &e) {
		return e.Code + ": " + e.Reason
	}
	must(w.t, err)
	return out
}

func (w *world) planText(partition string, req *Request) (text string, err error) {
	scope := w.scope(partition)
	err = scope.View(ctx, func(r *store.Reader) error {
		p, err := plannerAt(ctx, r, req, pathsOf)
		if err != nil {
			return err
		}
		plan, err := p.plan(w.db.Partitioned())
		if err != nil {
			return err
		}
		if text = plan.String(); plan.await != nil {
			text = "waits for " + plan.await.label()
		}
		return nil
	})
	return text, err
}

func (w *world) findText(partition, request string) (string, error) {
	q, c, err := w.find(partition, request)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if q.req.Summarizes() {
		w.summaryText(&b, q)
	}
	for _, d := range c.docs {
		fmt.Fprintln(&b, d)
	}
	s := q.Stats()
	fmt.Fprintf(&b, "keys %d, documents %d, partitions %d\n", s.Keys, s.Docs, s.Partitions)
	if warning := q.Warning(); warning != "" {
		fmt.Fprintln(&b, warning)
	}
	return b.String(), nil
}

// summaryText shows what count and group found, in the form of the answers of _find.
func (w *world) summaryText(b *strings.Builder, q *Query) {
	if q.req.Count {
		fmt.Fprintf(b, "\"count\":%d\n", q.Count())
		return
	}
	var groups []string
	for key, values := range q.Groups() {
		for i, c := range q.req.Group.Compute {
			values[i] = fmt.Appendf(nil, "%q:%s", c.Name, values[i])
		}
		groups = append(groups, fmt.Sprintf("\n{\"key\":[%s],\"value\":{%s}}", bytes.Join(key, []byte(",")), bytes.Join(values, []byte(","))))
	}
	fmt.Fprintf(b, "\"groups\":[%s\n]\n", strings.Join(groups, ","))
}

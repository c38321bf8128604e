package selector

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestScripts runs the files of testdata. A file is made of blocks parted by
// empty lines: "docs" with a document on each following line, or a command
// with a JSON argument, "----", and the output:
//
//	match      ids of the documents that match, sorted, or the error
//	normalize  the normalized selector, or the error
//	query      the same, of a query
//	project    the fields of the first document, or the error
func TestScripts(t *testing.T) {
	golden.Scripts(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		var docs []*Doc
		return func(command string) string {
			switch lines := strings.Split(command, "\n"); {
			case strings.HasPrefix(command, "#"):
				return ""
			case lines[0] == "docs":
				docs = nil
				for _, l := range lines[1:] {
					docs = append(docs, parseDoc(l))
				}
				return ""
			}
			return runCommand(t, command, docs)
		}
	})
}

func runCommand(t *testing.T, command string, docs []*Doc) string {
	verb, arg, _ := strings.Cut(command, " ")
	switch verb {
	case "match":
		s, err := Parse([]byte(arg))
		if err != nil {
			return errorText(t, err)
		}
		var ids []string
		for _, d := range docs {
			if matches(t, s, d) {
				ids = append(ids, d.ID)
			}
		}
		if slices.Sort(ids); len(ids) == 0 {
			return "(none)"
		}
		return strings.Join(ids, " ")
	case "normalize", "query":
		parse := map[string]func([]byte) (*Selector, error){"normalize": Parse, "query": ParseQuery}[verb]
		s, err := parse([]byte(arg))
		if err != nil {
			return errorText(t, err)
		}
		return string(s.JSON())
	case "project":
		f, err := ParseFields([]byte(arg))
		if err != nil {
			return errorText(t, err)
		}
		return string(f.Project(docs[0]))
	}
	t.Errorf("unknown command %q", verb)
	return ""
}

func errorText(t *testing.T, err error) string {
	var e *dberr.Error
	if !errors.As(err, &e) || e.Kind != dberr.Invalid {
		t.Errorf("%v is not of kind Invalid", err)
		return err.Error()
	}
	return e.Code + ": " + e.Reason
}

// parseDoc takes a document as clients write it apart.
func parseDoc(line string) *Doc {
	d := &Doc{Rev: "1-x"}
	body := []byte("{")
	for m := jsonscan.MembersOf([]byte(line)); ; {
		n, v, ok := m.Next()
		if !ok {
			break
		}
		switch name := string(jsonscan.Text(nil, n)); {
		case name == "_id":
			d.ID = string(jsonscan.Text(nil, v))
		case name == "_rev":
			d.Rev = string(jsonscan.Text(nil, v))
		case name == "_deleted":
			d.Deleted = string(v) == "true"
		case strings.HasPrefix(name, "_"):
			d.Meta = append(d.Meta, Member{name, v})
		default:
			body = append(append(append(append(body, n...), ':'), v...), ',')
		}
	}
	d.Body = append(bytes.TrimRight(body, ","), '}')
	return d
}

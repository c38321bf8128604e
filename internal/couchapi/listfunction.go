package couchapi

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script"
)

// listFunction answers _list: the rows of a view, as the function writes them.
func listFunction(r *request) error {
	names := strings.Split(r.arg("path"), "/")
	if len(names) < 2 || len(names) > 3 {
		return dberr.New(dberr.NotFound, "list_error", "Invalid path.")
	}
	c, err := r.call("lists")
	if err != nil {
		return err
	}
	of, design := r.arg("ddoc"), c.design
	if len(names) == 3 {
		of = names[1]
		if design, err = r.designNamed(of); err != nil {
			return err
		}
	}
	var raw []byte
	var members []document.Member
	if r.method == http.MethodPost {
		if raw, members, err = r.rawMembers(); err != nil {
			return err
		}
	}
	if keys := memberOf(members, "keys"); keys != nil && jsonscan.KindOf(keys) != jsonscan.Array {
		return queryError("`keys` must be an array of strings.")
	}
	q, err := readViewQuery(members, r.query)
	if err != nil {
		return err
	}
	l, err := r.viewListerOf(design, of, names[len(names)-1], &q)
	if err != nil {
		return err
	}
	req, err := r.functionJSON(functionRequest{body: raw})
	if err != nil {
		return err
	}
	return r.runList(&c, l, req)
}

// runList runs a list function over the rows of a view.
func (r *request) runList(c *called, l *viewLister, req []byte) error {
	rows := newRowFeed(r, l)
	defer rows.close()
	head, err := rows.head()
	if err != nil {
		return err
	}
	var out *stream
	err = r.api.scripts.List(r.ctx(), c.realm, &script.List{
		Name: c.name, Head: head, Req: req, Rows: rows.next,
		Start: func(a script.Response) error {
			status, err := r.functionHead(&a, http.StatusOK)
			if err == nil {
				out = r.stream(status, a.Type)
			}
			return err
		},
		Send: func(chunk []byte) error {
			out.Buf = append(out.Buf, chunk...)
			return out.Spill()
		},
	})
	if err != nil {
		return err
	}
	return out.End()
}

// rowFeed gives the rows of a view one page after the other. The lister writes
// them into a stream that goes nowhere, from where they are taken.
type rowFeed struct {
	l     *viewLister
	first [][]byte // what was read with the head
	over  bool
}

func newRowFeed(r *request, l *viewLister) *rowFeed {
	l.stream = &stream{r: r, pooled: takeBuffer(), aside: true}
	l.Buf = (*l.pooled)[:0]
	return &rowFeed{l: l}
}

func (f *rowFeed) close() { f.l.release() }

// rowsBegin is what the lister writes between its head and its rows.
var rowsBegin = []byte(`"rows":[`)

// head gives what stands before the rows, as list functions see it.
func (f *rowFeed) head() ([]byte, error) {
	rows, err := f.page()
	if err != nil {
		return nil, err
	}
	head, rest, _ := bytes.Cut(rows, rowsBegin)
	f.first = rowsIn(rest)
	return append(bytes.TrimSuffix(bytes.Clone(head), []byte{','}), '}'), nil
}

// next gives the next rows, none at the end.
func (f *rowFeed) next() ([][]byte, error) {
	rows := f.first
	f.first = nil
	for len(rows) == 0 && !f.over {
		text, err := f.page()
		if err != nil {
			return nil, err
		}
		rows = rowsIn(text)
	}
	return rows, nil
}

// page takes what the lister writes next.
func (f *rowFeed) page() (text []byte, err error) {
	f.over, err = f.l.step()
	text = bytes.Clone(f.l.Buf)
	f.l.Buf = f.l.Buf[:0]
	return text, err
}

// rowsIn takes the rows out of what stands between the brackets of a list.
func rowsIn(text []byte) (rows [][]byte) {
	for it := jsonscan.ElementsOf(append(append([]byte{'['}, bytes.TrimLeft(text, ",\r\n")...), ']')); ; {
		row, ok := it.Next()
		if !ok {
			return rows
		}
		rows = append(rows, row)
	}
}

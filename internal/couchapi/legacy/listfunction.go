package legacy

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/lists"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/web"
)

// allDocsName stands for the list of all documents where a view is named.
const allDocsName = "_all_docs"

// listFunction answers _list: the rows of a view, or of all documents, as the
// function writes them.
func listFunction(r *couchhttp.Request) error {
	names := strings.Split(r.Arg("path"), "/")
	if len(names) < 2 || len(names) > 3 {
		return dberr.New(dberr.NotFound, "list_error", "Invalid path.")
	}
	c, err := call(r, "lists")
	if err != nil {
		return err
	}
	of, design := r.Arg("ddoc"), c.design
	if len(names) == 3 {
		of = names[1]
		if design, err = r.DesignNamed(of); err != nil {
			return err
		}
	}
	var raw []byte
	var members []document.Member
	if r.Method == http.MethodPost {
		if raw, members, err = r.RawMembers(); err != nil {
			return err
		}
	}
	if keys := couchhttp.MemberOf(members, "keys"); keys != nil && jsonscan.KindOf(keys) != jsonscan.Array {
		return couchhttp.QueryError("`keys` must be an array of strings.")
	}
	var l couchhttp.Pages
	if name := names[len(names)-1]; name == allDocsName {
		l, err = allDocsPages(r, members)
	} else {
		l, err = viewPages(r, &c, design, of, name, members)
	}
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet && r.Unmodified() {
		return nil
	}
	req, err := r.FunctionJSON(couchhttp.FunctionRequest{Body: raw})
	if err != nil {
		return err
	}
	return runList(r, &c, l, req)
}

// viewPages returns the rows of a view to a list function. The answer to a GET has
// an ETag where that of the view has one: what the function sees besides is the
// request and its caller.
func viewPages(r *couchhttp.Request, c *called, design couchhttp.DesignFunctions, of, name string, members []document.Member) (couchhttp.Pages, error) {
	q, err := lists.ParseViewQuery(members, r.Query)
	if err != nil {
		return nil, err
	}
	l, err := lists.ViewListerOf(r, design, of, name, &q)
	if err != nil || r.Method != http.MethodGet {
		return l, err
	}
	r.Vary("Accept")
	if err := l.Tag(); err != nil {
		return nil, err
	}
	if tag := r.Answer()["Etag"]; tag != nil {
		renderedTag(r, c.realm.Version, tag[0])
	}
	return l, nil
}

// allDocsPages returns the rows of all documents to a list function; to those who
// may list them.
func allDocsPages(r *couchhttp.Request, members []document.Member) (couchhttp.Pages, error) {
	if r.IsSystem() {
		if err := auth.RequireServerAdmin(r.Caller); err != nil {
			return nil, err
		}
	}
	q, err := lists.ParseListQuery(members, r.Query)
	if err != nil {
		return nil, err
	}
	return lists.NewLister(r, lists.AllDocsKind, &q)
}

// runList runs a list function over rows.
func runList(r *couchhttp.Request, c *called, l couchhttp.Pages, req []byte) error {
	rows := newRowFeed(l)
	defer rows.close()
	head, err := rows.head()
	if err != nil {
		return err
	}
	var out *web.Stream
	err = r.API.Scripts.List(r.Ctx(), c.realm, &script.List{
		Name: c.name, Head: head, Req: req, Rows: rows.next,
		Start: func(a script.Response) error {
			status, err := functionHead(r, &a, http.StatusOK)
			if err == nil {
				out = r.Stream(status, a.Type)
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

// rowFeed returns rows one page after the other. The lister writes them into a
// stream that goes nowhere, from where they are taken.
type rowFeed struct {
	l      couchhttp.Pages
	buffer *web.Stream
	first  [][]byte // what was read with the head
	over   bool
}

func newRowFeed(l couchhttp.Pages) *rowFeed {
	s := web.BufferStream()
	l.To(s)
	return &rowFeed{l: l, buffer: s}
}

func (f *rowFeed) close() {
	f.l.Release()
	f.buffer.Release()
}

// rowsBegin is what the lister writes between its head and its rows.
var rowsBegin = []byte(`"rows":[`)

// head returns what comes before the rows, as list functions see it.
func (f *rowFeed) head() ([]byte, error) {
	for {
		rows, err := f.page()
		if err != nil {
			return nil, err
		}
		if head, rest, ok := bytes.Cut(rows, rowsBegin); ok {
			f.first = rowsIn(rest)
			return append(bytes.TrimSuffix(bytes.Clone(head), []byte{','}), '}'), nil
		}
	}
}

// next returns the next rows, none at the end.
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
	f.over, err = f.l.Step()
	text = bytes.Clone(f.buffer.Buf)
	f.buffer.Buf = f.buffer.Buf[:0]
	return text, err
}

// rowsIn takes the rows out of what is between the brackets of a list.
func rowsIn(text []byte) (rows [][]byte) {
	for it := jsonscan.ElementsOf(append(append([]byte{'['}, bytes.TrimLeft(text, ",\r\n")...), ']')); ; {
		row, ok := it.Next()
		if !ok {
			return rows
		}
		rows = append(rows, row)
	}
}

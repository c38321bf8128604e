package lists

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	textfind "github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// searchAnswer writes the answer of a search. Documents that come along are read in
// pages.
type searchAnswer struct {
	couchhttp.RowStream
	q       *searchQuery
	s       *index.Session
	long    *store.LongView // what the documents are read through
	result  *textfind.Result
	nouveau *nouveauQuery // what was asked for, instead of q
}

// include reports whether documents come along.
func (a *searchAnswer) include() bool { return a.Form.Include }

// piece is a row, and what surrounds it in the answer.
type piece struct {
	before string
	row    *textfind.Row // nil: none
	behind string
}

func (a *searchAnswer) write() error {
	if a.R.Head {
		a.result.Rows, a.result.Groups = nil, nil
	}
	pieces, err := a.pieces()
	if err != nil {
		return err
	}
	a.long = a.R.Scope.LongView()
	defer a.long.Release()
	a.To(a.R.Stream(http.StatusOK, web.JSON))
	for len(pieces) > 0 {
		if pieces, err = a.page(pieces); err != nil {
			return err
		}
		if err := a.Spill(); err != nil {
			return err
		}
	}
	a.Buf = append(a.Buf, '\n')
	return a.End()
}

// page writes the next pieces, and returns those that are left.
func (a *searchAnswer) page(pieces []piece) ([]piece, error) {
	if !a.include() {
		for i := range pieces {
			if err := a.piece(nil, &pieces[i]); err != nil {
				return nil, err
			}
			if a.Full() {
				return pieces[i+1:], nil
			}
		}
		return nil, nil
	}
	written, left := len(a.Buf), pieces
	err := a.long.View(a.R.Ctx(), func(rd *store.Reader) error {
		a.Buf, pieces = a.Buf[:written], left // it may have begun before
		for n := 0; len(pieces) > 0 && n < couchhttp.PageRows && !a.Full(); n++ {
			if err := a.piece(rd, &pieces[0]); err != nil {
				return err
			}
			pieces = pieces[1:]
		}
		return nil
	})
	return pieces, err
}

// piece writes a row. With a reader its document comes along.
func (a *searchAnswer) piece(rd *store.Reader, p *piece) error {
	a.Buf = append(a.Buf, p.before...)
	if p.row == nil {
		a.Buf = append(a.Buf, p.behind...)
		return nil
	}
	id := document.ID(p.row.ID)
	if a.s.Shared() {
		own, ok := a.R.Scope.Shown(id)
		if !ok {
			return errors.New("couchapi: a row of another partition") // its reader returns none
		}
		id = own
	}
	a.Buf = couchhttp.AppendString(append(a.Buf, `{"id":`...), string(id))
	if err := a.order(p.row.Order, id); err != nil {
		return err
	}
	a.Buf = append(a.Buf, `,"fields":{`...)
	for i, f := range p.row.Fields {
		a.member(i, f.Name)
		if err := a.value("", f.Value); err != nil {
			return err
		}
	}
	a.Buf = append(a.Buf, '}')
	if a.q != nil && a.q.Highlight != nil {
		a.Buf = append(a.Buf, `,"highlights":{`...)
		for i, m := range p.row.Highlights {
			a.member(i, m.Field)
			a.Buf = couchhttp.AppendStrings(a.Buf, m.Fragments)
		}
		a.Buf = append(a.Buf, '}')
	}
	if rd == nil {
		a.Buf = append(append(a.Buf, '}'), p.behind...)
		return nil
	}
	return a.document(rd, id, "}"+p.behind)
}

// document appends the document of a row and tail.
func (a *searchAnswer) document(rd *store.Reader, id document.ID, tail string) error {
	rev, err := rd.Winner(id)
	if dberr.Is(err, dberr.NotFound) { // deleted since the index saw it
		lacking := `,"error":"not_found"`
		if a.nouveau != nil {
			lacking = `,"doc":null`
		}
		a.Buf = append(append(a.Buf, lacking...), tail...)
		return nil
	}
	if err != nil {
		return err
	}
	a.Buf = append(a.Buf, `,"doc":`...)
	a.Document(rev, nil, tail)
	return nil
}

// order appends the values that a row is sorted by.
func (a *searchAnswer) order(values []any, id document.ID) error {
	if a.nouveau == nil {
		return a.value(`,"order":`, values)
	}
	return a.value(`,"order":`, nouveauOrder(values, id))
}

// member begins the nth member of an object.
func (a *searchAnswer) member(n int, name string) {
	if n > 0 {
		a.Buf = append(a.Buf, ',')
	}
	a.Buf = append(couchhttp.AppendString(a.Buf, name), ':')
}

// value appends a value of a row.
func (a *searchAnswer) value(before string, v any) error {
	b, err := json.Marshal(v)
	a.Buf = append(append(a.Buf, before...), b...)
	return err
}

// pieces takes the answer apart.
func (a *searchAnswer) pieces() (all []piece, err error) {
	rows := func(before string, rows []textfind.Row, behind string) {
		for i := range rows {
			all = append(all, piece{before: before + "\r\n", row: &rows[i]})
			before = ","
		}
		if len(rows) == 0 {
			behind = before + behind
		}
		all = append(all, piece{behind: behind})
	}
	if a.nouveau != nil {
		a.nouveauPieces(rows)
		return all, nil
	}
	if a.q.Group != nil {
		a.groups(rows)
		return all, nil
	}
	head := couchhttp.AppendCount(nil, `{"total_rows":`, a.result.Total)
	head = couchhttp.AppendString(append(head, `,"bookmark":`...), a.result.Bookmark)
	tail := []byte("\r\n]")
	if a.q.Counts != nil {
		tail = appendFacets(append(tail, `,"counts":{`...), a.result.Counts)
	}
	if a.q.Ranges != nil {
		tail = appendFacets(append(tail, `,"ranges":{`...), a.result.Ranges)
	}
	rows(string(head)+`,"rows":[`, a.result.Rows, string(tail)+"}")
	return all, nil
}

// appendFacets appends how many documents have which values.
func appendFacets(b []byte, facets []textfind.Facet) []byte {
	for i, f := range facets {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(couchhttp.AppendString(b, f.Field), ":{"...)
		for j, c := range f.Counts {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(couchhttp.AppendString(b, c.Value), ':')
			b = couchhttp.AppendCount(b, "", uint64(c.Documents))
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// groups takes an answer of groups apart. That of group_by has older names.
func (a *searchAnswer) groups(rows func(before string, rows []textfind.Row, behind string)) {
	total, list := "total_rows", "rows"
	head := couchhttp.AppendCount(nil, `{"total_rows":`, a.result.Total)
	if a.q.oldGroups {
		total, list = "total_hits", "hits"
		head = couchhttp.AppendCount(nil, `{"total_hits":`, a.result.Total)
		grouped := uint64(0)
		for _, g := range a.result.Groups {
			grouped += g.Total
		}
		head = couchhttp.AppendCount(head, `,"total_grouped_hits":`, grouped)
	}
	before := string(head) + `,"groups":[`
	if len(a.result.Groups) == 0 {
		rows(before, nil, "\r\n]}")
		return
	}
	for i, g := range a.result.Groups {
		b := append([]byte(before), "\r\n{\"by\":"...)
		if before = ","; g.By == nil {
			b = append(b, "null"...)
		} else {
			b = couchhttp.AppendString(b, *g.By)
		}
		b = couchhttp.AppendCount(append(b, `,"`+total...), `":`, g.Total)
		behind := "]}"
		if i == len(a.result.Groups)-1 {
			behind += "\r\n]}"
		}
		rows(string(b)+`,"`+list+`":[`, g.Rows, behind)
	}
}

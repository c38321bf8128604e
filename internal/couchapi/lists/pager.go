package lists

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// partitionRows and partitionTime are Cloudant's limits for queries of a
// partition.
const (
	partitionRows = 2000
	partitionTime = 5 * time.Second
)

// pager writes the rows of an answer, whatever they are rows of: a list of documents, a view, a query. What lies in
// a page is read in one view, and goes out between two. All of them read one snapshot (store.LongView).
type pager struct {
	couchhttp.RowStream
	long  *store.LongView
	rows  int       // that were begun
	until time.Time // when the answer has to be there; zero for no bound
	late  *atomic.Uint64
}

// newPager makes a pager, whose stream is set later. A query of a partition has to be answered
// in the time that Cloudant gives it, if its limits hold; late counts those that are not.
func newPager(r *couchhttp.Request, form couchhttp.DocForm, p document.Partition, late *atomic.Uint64) pager {
	r.Read.Partition = string(p)
	w := pager{RowStream: couchhttp.RowStream{R: r, Form: form}, late: late}
	if p != "" && r.API.Settings.Value().Cloudant {
		w.until = r.Began.Add(partitionTime)
	}
	return w
}

// Release implements couchhttp.Pages.
func (w *pager) Release() { w.long.Release() }

// inTime returns an error if the time for the answer is over.
func (w *pager) inTime() error {
	if w.until.IsZero() || !w.R.API.Now().After(w.until) {
		return nil
	}
	w.late.Add(1)
	return web.ErrTimeout
}

// between appends what comes before a row.
func (w *pager) between(line string) {
	w.R.Read.Rows++
	if w.rows++; w.rows > 1 {
		w.Buf = append(w.Buf, ',')
	}
	w.Buf = append(w.Buf, line...)
}

// writeList appends all pages of a list to a stream.
func writeList(l couchhttp.Pages, s *web.Stream) error {
	defer l.Release()
	l.To(s)
	for over := false; !over; {
		var err error
		if over, err = l.Step(); err == nil {
			err = s.Spill()
		}
		if err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\r\n]}"...)
	return nil
}

// answerList answers with a list.
func answerList(r *couchhttp.Request, l couchhttp.Pages) error {
	s := r.Stream(http.StatusOK, web.JSON)
	if err := writeList(l, s); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '\n')
	return s.End()
}

// listMaker makes the list that a query asks for.
type listMaker func() (couchhttp.Pages, error)

// queryMemory is what one of several queries in a body takes at most, its list of keys
// apart.
const queryMemory = 1 << 10

// answerQueries answers the queries in the member "queries" of a body, in their order. parse reads one, and returns what
// makes its list: all are read before the first list is made, and all lists made before the first is answered.
func answerQueries(r *couchhttp.Request, body []document.Member, parse func([]document.Member) (listMaker, error)) error {
	raw := couchhttp.MemberOf(body, "queries")
	switch {
	case raw == nil:
		return dberr.New(dberr.Invalid, "bad_request", "POST body must include `queries` parameter.")
	case jsonscan.KindOf(raw) != jsonscan.Array:
		return dberr.New(dberr.Invalid, "bad_request", "`queries` member must be an array.")
	}
	var all []listMaker
	for it := jsonscan.ElementsOf(raw); ; {
		e, ok := it.Next()
		if !ok {
			return answerAll(r, all)
		}
		members, err := couchhttp.MembersOf(e)
		if err != nil {
			return err
		}
		if err := r.Hold(queryMemory); err != nil {
			return err
		}
		list, err := parse(members)
		if err != nil {
			return err
		}
		all = append(all, list)
	}
}

// answerAll answers with several lists.
func answerAll(r *couchhttp.Request, makers []listMaker) (err error) {
	all := make([]couchhttp.Pages, len(makers))
	for i, list := range makers {
		if all[i], err = list(); err != nil {
			return err
		}
	}
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, `{"results":[`...)
	for i, l := range all {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		s.Buf = append(s.Buf, '\n')
		if err := writeList(l, s); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\n]}\n"...)
	return s.End()
}

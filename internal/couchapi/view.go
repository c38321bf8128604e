package couchapi

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// queryView answers GET and POST …/_design/{ddoc}/_view/{view}.
func queryView(r *request) error {
	s, err := r.findView(r.arg("ddoc"), r.arg("view"))
	if err != nil {
		return err
	}
	var design designFunctions
	if s == nil {
		if design, err = r.designOfViews(r.arg("ddoc")); err != nil {
			return err
		}
	}
	var members []document.Member
	if r.Method == http.MethodPost {
		if members, err = r.viewBody(); err != nil {
			return err
		}
		if memberOf(members, "queries") != nil {
			return dberr.New(dberr.Invalid, "bad_request", "The `queries` parameter is no longer supported at this endpoint")
		}
	}
	q, err := readViewQuery(members, r.Query)
	if err != nil {
		return err
	}
	if s == nil {
		return design.noView(r.arg("view"))
	}
	l, err := r.foundLister(s, &q)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		if err := l.tag(); err != nil {
			return err
		}
		if r.Unmodified() {
			return nil
		}
	}
	if r.Head { // now that the query is judged, and has the ETag of a GET
		q.limit = 0
	}
	l.Stream = r.Stream(http.StatusOK, web.JSON)
	if err := l.list(); err != nil {
		return err
	}
	l.Buf = append(l.Buf, '\n')
	return l.End()
}

// viewQueries answers POST …/_design/{ddoc}/_view/{view}/queries. All queries are
// checked before the first is answered.
func viewQueries(r *request) error {
	design, err := r.designOfViews(r.arg("ddoc"))
	if err != nil {
		return err
	}
	queries, err := r.readViewQueries()
	if err != nil {
		return err
	}
	ls := make([]*viewLister, len(queries))
	for i := range queries {
		if ls[i], err = r.viewLister(design, &queries[i]); err != nil {
			return err
		}
	}
	return r.answerAll(len(ls), func(i int, s *web.Stream) error {
		ls[i].Stream = s
		return ls[i].list()
	})
}

// viewBody returns the members of a body that must be a JSON object.
func (r *request) viewBody() ([]document.Member, error) {
	raw, err := r.jsonBody()
	if err != nil {
		return nil, err
	}
	return membersOf(raw)
}

// readViewQueries reads the member "queries" of a body. What the query string
// says holds for all of them, unless they say otherwise.
func (r *request) readViewQueries() (queries []viewQuery, err error) {
	members, err := r.viewBody()
	if err != nil {
		return nil, err
	}
	raw := memberOf(members, "queries")
	switch {
	case raw == nil:
		return nil, dberr.New(dberr.Invalid, "bad_request", "POST body must include `queries` parameter.")
	case jsonscan.KindOf(raw) != jsonscan.Array:
		return nil, dberr.New(dberr.Invalid, "bad_request", "`queries` member must be an array.")
	}
	for it := jsonscan.ElementsOf(raw); ; {
		e, ok := it.Next()
		if !ok {
			return queries, nil
		}
		if err := r.Hold(queryMemory); err != nil {
			return nil, err
		}
		q, err := readViewQuery(nil, r.Query)
		if err != nil {
			return nil, err
		}
		members, err := membersOf(e)
		if err == nil {
			err = q.setMembers(members, "")
		}
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
}

// viewLister finds the view of the request's path, checks a query of it, brings
// its index up to date and makes the lister of the query, whose stream the caller
// sets.
func (r *request) viewLister(design designFunctions, q *viewQuery) (*viewLister, error) {
	return r.viewListerOf(design, r.arg("ddoc"), r.arg("view"), q)
}

// viewListerOf is viewLister for a view that the path does not name as views do.
func (r *request) viewListerOf(design designFunctions, of, name string, q *viewQuery) (*viewLister, error) {
	s, err := r.findView(of, name)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, design.noView(name)
	}
	return r.foundLister(s, q)
}

// foundLister is viewLister for a view that was found. If the view changes
// meanwhile, it looks for it again.
func (r *request) foundLister(s *index.Session, q *viewQuery) (*viewLister, error) {
	for try := 0; ; try++ {
		l, err := r.listerOf(s, q)
		if !errors.Is(err, index.ErrGone) || try == 3 {
			return l, err
		}
		if s, err = r.findView(strings.TrimPrefix(string(s.Design), "_design/"), s.Name); err != nil {
			return nil, err
		}
		if s == nil {
			return nil, index.ErrGone
		}
	}
}

func (r *request) listerOf(s *index.Session, q *viewQuery) (l *viewLister, err error) {
	if err := q.check(view.Of(s.Index)); err != nil {
		return nil, err
	}
	l = &viewLister{rowStream: rowStream{r: r, form: q.form}, q: q, s: s}
	if l.partition, err = r.viewPartition(s, q); err != nil {
		return nil, err
	}
	if err := q.checkRange(view.Of(s.Index)); err != nil {
		return nil, err
	}
	if err := l.bound(r); err != nil {
		return nil, err
	}
	if l.draft, err = r.draftView(s, l.partition, q.update); l.draft != nil || err != nil {
		return l, err
	}
	if err := r.readyView(s, q.update); err != nil {
		return nil, err
	}
	// What answers may be an older definition, with other means.
	if err := q.check(view.Of(s.Answers)); err != nil {
		return nil, err
	}
	if s.Answers.Partitioned != s.Index.Partitioned {
		return nil, index.ErrGone
	}
	return l, nil
}

// viewPartition returns the partition that a query is about, "" for a global view.
func (r *request) viewPartition(s *index.Session, q *viewQuery) (document.Partition, error) {
	if s.Shared() {
		if q.partition != nil {
			return "", errNotPartitionedView
		}
		return r.scope.Tenant(), nil
	}
	p, partitioned := r.scope.Partition(), s.Index.Partitioned
	if q.partition != nil {
		if p != "" && string(p) != *q.partition {
			return "", dberr.New(dberr.Invalid, "bad_request", "Conflicting value for `partition` in query string")
		}
		if !partitioned {
			return "", errNotPartitionedView
		}
		return document.ParsePartition(*q.partition)
	}
	switch {
	case partitioned && p == "":
		return "", queryError("`partition` parameter is mandatory for queries to this view.")
	case !partitioned && p != "":
		return "", errNotPartitionedView
	}
	return p, nil
}

var errNotPartitionedView = queryError("`partition` parameter is not supported in this design doc")

// tag sets the ETag of the answer: what the index holds, and where documents come
// along, what the database does. There is none while a partition is being dropped,
// whose rows the index holds still, none for restricted readers: it would change whenever
// somebody writes to another partition, and none for a draft, of which the index tells nothing.
func (l *viewLister) tag() error {
	if l.r.scope.Restricted() || l.draft != nil {
		return nil
	}
	h, hidden := fnv.New64a(), false
	err := l.s.View(l.r.Ctx(), func(rd *store.Reader, gone bool) error {
		if hidden = gone || rd.Hides(); hidden {
			return nil
		}
		x := l.s.Answers
		p, err := x.Progress(rd.Snapshot(), l.r.db.Number())
		if err != nil {
			return err
		}
		numbers := []uint64{uint64(p.Mark.Seq), p.Mark.Removals, p.Done, uint64(l.q.limit)} // the limit may be the configuration's
		if l.q.form.include || l.q.updateSeq {
			m, err := rd.Mark()
			if err != nil {
				return err
			}
			numbers = append(numbers, uint64(m.Seq), m.Removals)
		}
		h.Write([]byte(x.Signature))
		var b []byte
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
		h.Write(b)
		return nil
	})
	if err == nil && !hidden {
		l.r.Etag(strconv.FormatUint(h.Sum64(), 36))
	}
	return err
}

// noViewName answers …/_view without a name, and names with a slash.
func noViewName(*request) error { return notAllowed("GET,POST,HEAD") }

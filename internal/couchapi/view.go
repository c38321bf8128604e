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
	named, mark, err := r.findView(r.arg("ddoc"), r.arg("view"))
	if err != nil {
		return err
	}
	var design designFunctions
	if named == nil {
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
	if named == nil {
		return design.noView(r.arg("view"))
	}
	l, err := r.foundLister(named, mark, &q)
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
	named, mark, err := r.findView(of, name)
	if err != nil {
		return nil, err
	}
	if named == nil {
		return nil, design.noView(name)
	}
	return r.foundLister(named, mark, q)
}

// foundLister is viewLister for a view that was found. If the view changes
// meanwhile, it looks for it again.
func (r *request) foundLister(named *index.Named, mark store.Mark, q *viewQuery) (*viewLister, error) {
	for try := 0; ; try++ {
		l, err := r.listerOf(named, mark, q)
		if !errors.Is(err, index.ErrGone) || try == 3 {
			return l, err
		}
		design, name := named.Design, named.Name
		if named, mark, err = r.findView(strings.TrimPrefix(string(design), "_design/"), name); err != nil {
			return nil, err
		}
		if named == nil {
			return nil, index.ErrGone
		}
	}
}

func (r *request) listerOf(named *index.Named, mark store.Mark, q *viewQuery) (l *viewLister, err error) {
	if err := q.check(view.Of(named.Index)); err != nil {
		return nil, err
	}
	l = &viewLister{rowStream: rowStream{r: r, form: q.form}, q: q, mark: mark}
	if l.partition, err = r.viewPartition(named.Index, q); err != nil {
		return nil, err
	}
	if err := q.checkRange(view.Of(named.Index)); err != nil {
		return nil, err
	}
	if err := l.bound(r); err != nil {
		return nil, err
	}
	draft, at, err := r.draftView(named, l.partition, q.update)
	if err != nil {
		return nil, err
	}
	if draft != nil {
		l.x, l.draft, l.mark = named.Index, draft, at
		return l, nil
	}
	if l.x, err = r.readyView(named, mark, q.update); err != nil {
		return nil, err
	}
	// What answers may be an older definition, with other means.
	if err := q.check(view.Of(l.x)); err != nil {
		return nil, err
	}
	if l.x.Partitioned != named.Index.Partitioned {
		return nil, index.ErrGone
	}
	return l, nil
}

// viewPartition returns the partition that a query is about, "" for a global view.
func (r *request) viewPartition(x *index.Index, q *viewQuery) (document.Partition, error) {
	if r.isShared(x) {
		if q.partition != nil {
			return "", errNotPartitionedView
		}
		return r.scope.Tenant(), nil
	}
	p, partitioned := r.scope.Partition(), x.Partitioned
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
	err := l.r.namespaceOf(l.x).View(l.r.Ctx(), func(rd *store.Reader) error {
		x, gone, err := viewAt(rd, l.x)
		if hidden = gone || rd.Hides(); hidden || err != nil {
			return err
		}
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

package lists

import (
	"encoding/binary"
	"hash/fnv"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/store"
)

var errTempView = dberr.New(dberr.NotFound, "gone", "Temporary views are not supported in CouchDB")

// queryView answers GET and POST …/_design/{ddoc}/_view/{view}.
func queryView(r *couchhttp.Request) error {
	a, err := askedFor(r, rememberedView, "view")
	if err != nil {
		return err
	}
	if couchhttp.MemberOf(a.members, "queries") != nil {
		return dberr.New(dberr.Invalid, "bad_request", "The `queries` parameter is no longer supported at this endpoint")
	}
	q, err := ParseViewQuery(a.members, r.Query)
	if err != nil {
		return err
	}
	if a.session == nil {
		return noView(a.design, r.Arg("view"))
	}
	l, err := foundLister(r, a.session, &q)
	if err != nil {
		return err
	}
	l.tagged = r.Method == http.MethodGet
	if l.tagged && (r.Head || r.Header("If-None-Match") != "") { // else it comes with the first page
		if err := l.Tag(); err != nil {
			return err
		}
		if r.Unmodified() {
			return nil
		}
	}
	if r.Head { // now that the query is judged, and has the ETag of a GET
		q.limit = 0
	}
	return answerList(r, l)
}

// viewQueries answers POST …/_design/{ddoc}/_view/{view}/queries. What the query string
// says holds for all queries, unless they say otherwise.
func viewQueries(r *couchhttp.Request) error {
	design, err := designOfViews(r, r.Arg("ddoc"))
	if err != nil {
		return err
	}
	body, err := viewBody(r)
	if err != nil {
		return err
	}
	return answerQueries(r, body, func(members []document.Member) (listMaker, error) {
		q, err := ParseViewQuery(nil, r.Query)
		if err == nil {
			err = q.setMembers(members, "")
		}
		return func() (couchhttp.Pages, error) {
			return ViewListerOf(r, design, r.Arg("ddoc"), r.Arg("view"), &q)
		}, err
	})
}

// viewBody returns the members of a body that must be a JSON object.
func viewBody(r *couchhttp.Request) ([]document.Member, error) {
	raw, err := r.JSONBody()
	if err != nil {
		return nil, err
	}
	return couchhttp.MembersOf(raw)
}

// ViewListerOf finds a view, checks a query of it, brings its index up to date and makes the lister of the query, whose
// stream is set later.
func ViewListerOf(r *couchhttp.Request, design couchhttp.DesignFunctions, of, name string, q *viewQuery) (*viewLister, error) {
	s, err := findView(r, of, name)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, noView(design, name)
	}
	return foundLister(r, s, q)
}

// foundLister is ViewListerOf for a view that was found. If the view changes
// meanwhile, it looks for it again.
func foundLister(r *couchhttp.Request, s *index.Session, q *viewQuery) (*viewLister, error) {
	return onIndex(r, s, findView, func(s *index.Session) (*viewLister, error) { return listerOf(r, s, q) })
}

func listerOf(r *couchhttp.Request, s *index.Session, q *viewQuery) (l *viewLister, err error) {
	if err := q.check(view.Of(s.Index)); err != nil {
		return nil, err
	}
	l = &viewLister{q: q, s: s}
	if l.partition, err = viewPartition(r, s, q); err != nil {
		return nil, err
	}
	if err := q.checkRange(view.Of(s.Index)); err != nil {
		return nil, err
	}
	if l.partition != "" {
		r.API.Stats.PartitionViews.Add(1)
	}
	l.pager = newPager(r, q.form, l.partition, &r.API.Stats.PartitionViewTimeouts)
	if q.limit, err = boundRows(r, q.limit, q.limited, l.partition); err != nil {
		return nil, err
	}
	if l.draft, err = draftView(r, s, l.partition, q.update); l.draft != nil || err != nil {
		return l, err
	}
	if err := readyView(r, s, q.update); err != nil {
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
func viewPartition(r *couchhttp.Request, s *index.Session, q *viewQuery) (document.Partition, error) {
	if s.Shared() {
		if q.partition != nil {
			return "", errNotPartitionedView
		}
		return r.Scope.Tenant(), nil
	}
	p, partitioned := r.Scope.Partition(), s.Index.Partitioned
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
		return "", couchhttp.QueryError("`partition` parameter is mandatory for queries to this view.")
	case !partitioned && p != "":
		return "", errNotPartitionedView
	}
	return p, nil
}

var errNotPartitionedView = couchhttp.QueryError("`partition` parameter is not supported in this design doc")

// Tag sets the ETag of the answer: what the index holds, and where documents come
// along, what the database does. There is none while a partition is being dropped,
// whose rows the index holds still, none for restricted readers: it would change whenever
// somebody writes to another partition, and none for a draft, of which the index says nothing.
func (l *viewLister) Tag() (err error) {
	etag := ""
	if l.mayTag() {
		err = l.s.View(l.R.Ctx(), func(rd *store.Reader, gone bool) (err error) {
			etag, err = l.tag(rd, gone)
			return err
		})
	}
	l.setTag(etag, err)
	return err
}

func (l *viewLister) mayTag() bool { return !l.R.Scope.Restricted() && l.draft == nil }

// setTag sets the ETag unless it is empty.
func (l *viewLister) setTag(etag string, err error) {
	if l.tagged = false; err == nil && etag != "" {
		l.R.Etag(etag)
	}
}

// tag returns what Tag sets, of a snapshot; "" for none.
func (l *viewLister) tag(rd *store.Reader, gone bool) (string, error) {
	if gone || rd.Hides() {
		return "", nil
	}
	x := l.s.Answers
	p, err := x.Progress(rd.Snapshot(), l.R.DB.Number())
	if err != nil {
		return "", err
	}
	numbers := []uint64{uint64(p.UpTo.Seq), p.UpTo.Removals, p.Done, uint64(l.q.limit)} // the limit may be the configuration's
	if l.q.form.Include || l.q.updateSeq {
		m, err := rd.Sequences()
		if err != nil {
			return "", err
		}
		numbers = append(numbers, uint64(m.Seq), m.Removals)
	}
	h := fnv.New64a()
	h.Write([]byte(x.Signature))
	var b []byte
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	h.Write(b)
	return strconv.FormatUint(h.Sum64(), 36), nil
}

// noViewName answers …/_view without a name, and names with a slash.
func noViewName(*couchhttp.Request) error { return couchhttp.NotAllowed("GET,POST,HEAD") }

// tempView answers whatever is asked of temporary views.
func tempView(*couchhttp.Request) error { return errTempView }

package lists

import (
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// listDocs makes the handler of a list of documents, by GET and POST.
func listDocs(kind *ListKind) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		var members []document.Member
		if r.Method == http.MethodPost {
			var err error
			if members, err = r.BodyMembers(); err != nil {
				return err
			}
		}
		q, err := ReadListQuery(members, r.Query)
		if err != nil {
			return err
		}
		l, err := NewLister(r, kind, &q)
		if err != nil {
			return err
		}
		if r.Head { // now that the query is judged
			q.limit = 0
		}
		l.Stream = r.Stream(http.StatusOK, web.JSON)
		if err := l.list(); err != nil {
			return err
		}
		l.Buf = append(l.Buf, '\n')
		return l.End()
	}
}

// listQueries makes the handler that answers several queries of a list. All
// are checked before the first is answered.
func listQueries(kind *ListKind) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		queries, err := readQueries(r)
		if err != nil {
			return err
		}
		ls := make([]*lister, len(queries))
		for i := range queries {
			if ls[i], err = NewLister(r, kind, &queries[i]); err != nil {
				return err
			}
		}
		return answerAll(r, len(ls), func(i int, s *web.Stream) error {
			ls[i].Stream = s
			return ls[i].list()
		})
	}
}

// answerAll answers n queries of one request in order; each writes its answer.
func answerAll(r *couchhttp.Request, n int, each func(i int, s *web.Stream) error) error {
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, `{"results":[`...)
	for i := range n {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		s.Buf = append(s.Buf, '\n')
		if err := each(i, s); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\n]}\n"...)
	return s.End()
}

// queryMemory is what one of several queries in a body takes at most, its list of keys
// apart.
const queryMemory = 1 << 10

// readQueries reads the member "queries" of a body.
func readQueries(r *couchhttp.Request) ([]listQuery, error) {
	members, err := r.BodyMembers()
	if err != nil {
		return nil, err
	}
	raw := couchhttp.MemberOf(members, "queries")
	switch {
	case raw == nil:
		return nil, dberr.New(dberr.Invalid, "bad_request", "POST body must include `queries` parameter.")
	case jsonscan.KindOf(raw) != jsonscan.Array:
		return nil, dberr.New(dberr.Invalid, "bad_request", "`queries` member must be an array.")
	}
	var queries []listQuery
	for it := jsonscan.ElementsOf(raw); ; {
		e, ok := it.Next()
		if !ok {
			return queries, nil
		}
		members, err := couchhttp.MembersOf(e)
		if err != nil {
			return nil, err
		}
		if err := r.Hold(queryMemory); err != nil {
			return nil, err
		}
		q, err := ReadListQuery(members, nil)
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
}

// NewLister makes the lister of a query, whose stream the caller sets.
func NewLister(r *couchhttp.Request, kind *ListKind, q *listQuery) (*lister, error) {
	scope, err := narrowed(r, q.partition)
	if err != nil {
		return nil, err
	}
	if kind == designDocsKind && q.partition == nil {
		scope = r.Scope.Namespace() // whose design documents are seen through every partition
	}
	l := &lister{kind: kind, q: q, scope: scope, RowStream: couchhttp.RowStream{R: r, Form: q.form}}
	if scope.Partition() != "" {
		r.API.Stats.PartitionLists.Add(1)
		l.until = partitionEnd(r)
	}
	q.limit, err = boundRows(r, q.limit, q.limited(), scope.Partition())
	return l, err
}

// partitionEnd returns when a query of a partition has to be answered, zero for no
// bound.
func partitionEnd(r *couchhttp.Request) time.Time {
	if !r.API.Settings.Value().Cloudant {
		return time.Time{}
	}
	return r.Began.Add(partitionTime)
}

// boundRows returns the most rows of a query of a view or of a list of documents: what
// was asked for, as far as the configuration lets it.
func boundRows(r *couchhttp.Request, limit int, given bool, p document.Partition) (int, error) {
	s := r.API.Settings.Value()
	most := s.QueryRows
	if p != "" {
		most = s.PartitionRows
		if s.Cloudant {
			most = min(most, partitionRows)
		}
	}
	if given && limit > most {
		return 0, couchhttp.QueryError("Limit is too large, must not exceed %d", most)
	}
	return min(limit, most), nil
}

// narrowed returns the scope of the request, within the partition that a
// parameter names.
func narrowed(r *couchhttp.Request, partition *string) (store.Scope, error) {
	if partition == nil {
		return r.Scope, nil
	}
	if p := r.Scope.Partition(); p != "" {
		if string(p) != *partition {
			return r.Scope, dberr.New(dberr.Invalid, "bad_request", "Conflicting value for `partition` in query string")
		}
		return r.Scope, nil
	}
	if !r.Scope.Partitioned() {
		return r.Scope, couchhttp.QueryError("`partition` parameter is not supported on this db")
	}
	p, err := document.ParsePartition(*partition)
	if err != nil {
		return r.Scope, err
	}
	return r.DB.Within(p), nil
}

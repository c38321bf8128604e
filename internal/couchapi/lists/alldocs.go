package lists

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
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
		q, err := ParseListQuery(members, r.Query)
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
		return answerList(r, l)
	}
}

// listQueries makes the handler that answers several queries of a list.
func listQueries(kind *ListKind) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		body, err := r.BodyMembers()
		if err != nil {
			return err
		}
		return answerQueries(r, body, func(members []document.Member) (listMaker, error) {
			q, err := ParseListQuery(members, nil)
			return func() (couchhttp.Pages, error) { return NewLister(r, kind, &q) }, err
		})
	}
}

// NewLister makes the lister of a query, whose stream the caller sets.
func NewLister(r *couchhttp.Request, kind *ListKind, q *listQuery) (*lister, error) {
	scope, err := narrowed(r, q.partition)
	if err != nil {
		return nil, err
	}
	r.Read.Index = "_all_docs"
	if kind == designDocsKind && q.partition == nil {
		scope = r.Scope.Namespace() // whose design documents are seen through every partition
	}
	l := &lister{kind: kind, q: q, scope: scope, pager: newPager(r, q.form, scope.Partition(), &r.API.Stats.PartitionTimeouts)}
	if scope.Partition() != "" {
		r.API.Stats.PartitionLists.Add(1)
	}
	q.limit, err = boundRows(r, q.limit, q.limited(), scope.Partition())
	return l, err
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

package couchapi

import (
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// listDocs makes the handler of a list of documents, by GET and POST.
func listDocs(kind *listKind) handler {
	return func(r *request) error {
		var members []document.Member
		if r.Method == http.MethodPost {
			var err error
			if members, err = r.bodyMembers(); err != nil {
				return err
			}
		}
		q, err := readListQuery(members, r.Query)
		if err != nil {
			return err
		}
		l, err := r.lister(kind, &q)
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
func listQueries(kind *listKind) handler {
	return func(r *request) error {
		queries, err := r.readQueries()
		if err != nil {
			return err
		}
		ls := make([]*lister, len(queries))
		for i := range queries {
			if ls[i], err = r.lister(kind, &queries[i]); err != nil {
				return err
			}
		}
		return r.answerAll(len(ls), func(i int, s *web.Stream) error {
			ls[i].Stream = s
			return ls[i].list()
		})
	}
}

// answerAll answers n queries of one request in order; each writes its answer.
func (r *request) answerAll(n int, each func(i int, s *web.Stream) error) error {
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
func (r *request) readQueries() ([]listQuery, error) {
	members, err := r.bodyMembers()
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
	var queries []listQuery
	for it := jsonscan.ElementsOf(raw); ; {
		e, ok := it.Next()
		if !ok {
			return queries, nil
		}
		members, err := membersOf(e)
		if err != nil {
			return nil, err
		}
		if err := r.Hold(queryMemory); err != nil {
			return nil, err
		}
		q, err := readListQuery(members, nil)
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
}

// bodyMembers returns the members of a body that is a JSON object or nothing.
func (r *request) bodyMembers() ([]document.Member, error) {
	_, members, err := r.rawMembers()
	return members, err
}

// rawMembers is bodyMembers and gives the body, too; nil for an empty one.
func (r *request) rawMembers() (raw []byte, members []document.Member, err error) {
	raw, err = r.jsonBody()
	if err != nil || len(raw) == 0 {
		return nil, nil, err
	}
	members, err = membersOf(raw)
	return raw, members, err
}

// lister makes the lister of a query, whose stream the caller sets.
func (r *request) lister(kind *listKind, q *listQuery) (*lister, error) {
	scope, err := r.narrowed(q.partition)
	if err != nil {
		return nil, err
	}
	if kind == designDocsKind && q.partition == nil {
		scope = r.scope.Namespace() // whose design documents are seen through every partition
	}
	l := &lister{kind: kind, q: q, scope: scope, rowStream: rowStream{r: r, form: q.form}}
	if scope.Partition() != "" {
		r.api.stats.partitionLists.Add(1)
		l.until = r.partitionEnd()
	}
	q.limit, err = r.boundRows(q.limit, q.limited(), scope.Partition())
	return l, err
}

// partitionEnd returns when a query of a partition has to be answered, zero for no
// bound.
func (r *request) partitionEnd() time.Time {
	if !r.api.settings.Value().cloudant {
		return time.Time{}
	}
	return r.Began.Add(partitionTime)
}

// boundRows returns the most rows of a query of a view or of a list of documents: what
// was asked for, as far as the configuration lets it.
func (r *request) boundRows(limit int, given bool, p document.Partition) (int, error) {
	s := r.api.settings.Value()
	most := s.queryRows
	if p != "" {
		most = s.partitionRows
		if s.cloudant {
			most = min(most, partitionRows)
		}
	}
	if given && limit > most {
		return 0, queryError("Limit is too large, must not exceed %d", most)
	}
	return min(limit, most), nil
}

// narrowed returns the scope of the request, within the partition that a
// parameter names.
func (r *request) narrowed(partition *string) (store.Scope, error) {
	if partition == nil {
		return r.scope, nil
	}
	if p := r.scope.Partition(); p != "" {
		if string(p) != *partition {
			return r.scope, dberr.New(dberr.Invalid, "bad_request", "Conflicting value for `partition` in query string")
		}
		return r.scope, nil
	}
	if !r.scope.Partitioned() {
		return r.scope, queryError("`partition` parameter is not supported on this db")
	}
	p, err := document.ParsePartition(*partition)
	if err != nil {
		return r.scope, err
	}
	return r.db.Within(p), nil
}

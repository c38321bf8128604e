package lists

import (
	"context"
	"errors"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	textfind "github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// search answers GET and POST …/_design/{ddoc}/_search/{index}.
func search(r *couchhttp.Request) error {
	a, err := askedFor(r, findSearch, "index")
	if err != nil {
		return err
	}
	q, err := ParseSearch(a.members, r.Query, r.Method == http.MethodPost)
	if err != nil {
		return err
	}
	if a.session == nil {
		return noSearch(a.design, "indexes", r.Arg("index"))
	}
	answer, err := onIndex(r, a.session, findSearch, func(s *index.Session) (*searchAnswer, error) { return searchOf(r, s, q) })
	if err != nil {
		return err
	}
	return answer.write()
}

// findSearch finds a full-text index by its names, for a request that may query; nil
// if there is none.
func findSearch(r *couchhttp.Request, design, name string) (*index.Session, error) {
	s, err := findText(r, design, text.KindName, name)
	if s == nil || err != nil {
		return nil, err
	}
	if err := s.Index.Failure(); err != nil {
		return nil, err
	}
	return s, nil
}

// findText finds an index of one of the kinds of full-text search.
func findText(r *couchhttp.Request, design, kind, name string) (*index.Session, error) {
	if err := r.MayQuery(); err != nil {
		return nil, err
	}
	return r.API.Indexes.Session(r.Ctx(), r.Scope, document.ID("_design/"+design), kind, name)
}

// noSearch says why there is no such full-text index in a member of a design document.
func noSearch(d couchhttp.DesignFunctions, member, name string) error {
	if indexes, _ := jsonscan.Member(d.Body, member); jsonscan.KindOf(indexes) == jsonscan.Object {
		if _, ok := jsonscan.Member(indexes, name); ok {
			return dberr.New(dberr.Invalid, "invalid_design_doc", "index `%s` must have parameter `index`", name)
		}
	}
	return dberr.New(dberr.NotFound, "not_found", "%s not found.", name)
}

// searchOf checks a search, and runs it over the index as it is after all changes so far,
// unless that is not wanted.
func searchOf(r *couchhttp.Request, s *index.Session, q *searchQuery) (*searchAnswer, error) {
	p, err := q.check(r, s)
	if err != nil {
		return nil, err
	}
	a := &searchAnswer{RowStream: couchhttp.RowStream{R: r, Form: couchhttp.DocForm{Include: q.include}}, q: q, s: s}
	a.result, err = searched(r, s, p, q.stale, func(d *text.Def) (*textfind.Request, error) {
		req := q.Request
		req.Analyzers = d.Analyzers
		return &req, q.parse(&req, p != "" || s.Answers.Tenant != "")
	})
	return a, err
}

// searched reads an index as far as it is wanted, all of it or, stale, what there is, and
// runs what asked makes of the definition that answers.
func searched(r *couchhttp.Request, s *index.Session, p document.Partition, stale bool, asked func(*text.Def) (*textfind.Request, error)) (*textfind.Result, error) {
	over, err := amended(r, s, stale, p)
	if over == nil && err == nil {
		over, err = followed(r, s, stale, p)
	}
	if err != nil {
		return nil, err
	}
	defer over.Close()
	if s.Answers.Partitioned != s.Index.Partitioned {
		return nil, index.ErrGone
	}
	req, err := asked(text.Of(s.Answers))
	if err != nil {
		return nil, err
	}
	return runSearch(r, p, over, req)
}

// followed brings the index as far as a search asks for, and reads it then.
func followed(r *couchhttp.Request, s *index.Session, stale bool, p document.Partition) (over *segment.Reader, err error) {
	update := updateFirst
	if stale {
		update = updateNever
	}
	if err := readyView(r, s, update); err != nil {
		return nil, err
	}
	err = s.View(r.Ctx(), func(rd *store.Reader, _ bool) (err error) {
		over, err = r.API.Texts.NewReader(rd, s.Answers, p)
		return err
	})
	return over, err
}

// amended reads the index together with what it has not taken in, without waiting for it;
// nil if that is too much, or not wanted.
func amended(r *couchhttp.Request, s *index.Session, stale bool, p document.Partition) (over *segment.Reader, err error) {
	if stale || s.Index.State != index.Readable {
		return nil, nil
	}
	var tail *index.Tail
	err = s.View(r.Ctx(), func(rd *store.Reader, gone bool) (err error) {
		if over, tail = nil, nil; !gone {
			tail, err = s.Tail(rd)
		}
		if tail != nil && err == nil {
			over, err = r.API.Texts.NewReader(rd, s.Answers, p)
		}
		return err
	})
	if over == nil || err != nil {
		return nil, err
	}
	ok, read := false, over
	defer func() {
		if !ok {
			read.Close()
		}
	}()
	if ok, err = r.API.Texts.Amend(r.Ctx(), read, r.DB, s.Answers, p, tail); !ok {
		return nil, err
	}
	s.Keep(tail)
	return read, nil
}

// parse parses what a search asks for, by the analyzers of the index. Within a partition
// all vectors are compared.
func (q *searchQuery) parse(req *textfind.Request, partition bool) (err error) {
	if q.query != nil {
		if req.Query, err = textfind.Parse(*q.query, req.Analyzers); err != nil {
			return err
		}
	}
	if q.Nearest == nil {
		return nil
	}
	near := *q.Nearest
	if near.Exact = near.Exact || partition; q.nearFilter != nil {
		near.Filter, err = textfind.Parse(*q.nearFilter, req.Analyzers)
	}
	req.Nearest = &near
	return err
}

// runSearch runs a search. One of a partition has the time that Cloudant gives it, if its
// limits hold.
func runSearch(r *couchhttp.Request, p document.Partition, over *segment.Reader, req *textfind.Request) (*textfind.Result, error) {
	r.Read.Partition = string(p)
	ctx := r.Ctx()
	limited := p != "" && r.API.Settings.Value().Cloudant
	if limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.Began.Add(partitionTime))
		defer cancel()
	}
	result, err := textfind.Run(ctx, over, req)
	if limited && errors.Is(err, context.DeadlineExceeded) && r.Ctx().Err() == nil {
		r.API.Stats.PartitionTimeouts.Add(1)
		return nil, dberr.New(dberr.Invalid, "bad_request", "Query exceeded allowed time: %dms.", partitionTime.Milliseconds())
	}
	return result, err
}

var (
	errNoPartition   = dberr.New(dberr.Invalid, "bad_request", "`partition` not supported on this index")
	errPartition     = dberr.New(dberr.Invalid, "bad_request", "`partition` parameter is mandatory for queries to this index.")
	errFacets        = dberr.New(dberr.Invalid, "bad_request", "`partition` and any of `drilldown`, `ranges`, `group_field`, `group_sort`, `group_limit` or `group_by` are incompatible")
	errNothingFused  = dberr.New(dberr.Invalid, "bad_request", "knn: `boost` and `fusion` are about scores of `q`, which is not there")
	errNothingSought = couchhttp.QueryError("Query must include a 'q' or 'query' argument")
)

// check completes a search and returns the partition that it is about, "" for all.
// What doesn't go together is refused in CouchDB's order.
func (q *searchQuery) check(r *couchhttp.Request, s *index.Session) (p document.Partition, err error) {
	switch {
	case q.query == nil && q.Nearest == nil:
		return "", errNothingSought
	case q.query == nil && q.fused:
		return "", errNothingFused
	}
	if p, err = q.partitionOf(r, s); err != nil {
		return "", err
	}
	most, limit := searchMost, searchRows
	if r.Scope.Partitioned() {
		most, limit = searchMostPartition, searchMostPartition
	}
	if q.Limit = limit; q.limited {
		if q.Limit, err = searchCount("limit", q.limit, 0, most); err != nil {
			return "", err
		}
	}
	facets := q.Counts != nil || q.Ranges != nil || q.Drilldown != nil || q.grouped || q.grouping.Field != ""
	if facets && p != "" && !s.Shared() && r.API.Settings.Value().Cloudant {
		return "", errFacets
	}
	if q.Group = nil; q.grouping.Field != "" {
		g := q.grouping
		if g.Field, err = textfind.ParseGroupField(g.Field); err != nil {
			return "", err
		}
		q.Group = &g
	}
	if q.Highlight = nil; len(q.highlight.Fields) > 0 {
		q.Highlight = &q.highlight
	}
	return p, nil
}

// partitionOf returns the partition that a search is about.
func (q *searchQuery) partitionOf(r *couchhttp.Request, s *index.Session) (document.Partition, error) {
	if s.Shared() {
		if q.partition != nil {
			return "", errNoPartition
		}
		return r.Scope.Tenant(), nil
	}
	p := r.Scope.Partition()
	if q.partition != nil {
		if p != "" && string(p) != *q.partition {
			return "", conflicting(r)
		}
		if !s.Index.Partitioned {
			return "", errNoPartition
		}
		return document.ParsePartition(*q.partition)
	}
	switch {
	case s.Index.Partitioned && p == "":
		return "", errPartition
	case !s.Index.Partitioned && p != "":
		return "", errNoPartition
	}
	return p, nil
}

// conflicting is the error of a search that names another partition than its path: in the
// query string, or in a body.
func conflicting(r *couchhttp.Request) error {
	if _, ok := r.Query.Get("partition"); ok {
		return dberr.New(dberr.Invalid, "bad_request", "Conflicting value for `partition` in query string")
	}
	return errManyPartitions
}

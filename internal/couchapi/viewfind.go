package couchapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// previousHeader says that an answer comes from what a view was before its design
// document changed, because the new index is not built yet.
const previousHeader = "X-Sectional-View"

var errNoView = dberr.New(dberr.NotFound, "not_found", "missing_named_view")

// findView finds a view by its names, with the mark up to which its index has to
// be brought for this request. To a tenant the database's partitioned
// views are there too, but for those of design documents whose names his own have.
func (r *request) findView(design, name string) (n *index.Named, m store.Mark, err error) {
	if err := r.mayQuery(); err != nil {
		return nil, m, err
	}
	err = r.scope.Namespace().View(r.Ctx(), func(rd *store.Reader) error {
		s, err := index.Of(rd)
		if err == nil {
			n = s.Lookup(document.ID("_design/"+design), view.KindName, name)
			m, err = rd.Mark()
		}
		if err == nil && n == nil {
			n, err = index.LookupShared(rd, document.ID("_design/"+design), view.KindName, name)
		}
		return err
	})
	if err != nil || n == nil {
		return nil, m, err
	}
	if err := n.Index.Failure(); err != nil {
		return nil, m, err
	}
	return n, m, nil
}

// isShared reports whether an index that answers the request is one of the database's,
// of which a tenant sees the rows of his partition.
func (r *request) isShared(x *index.Index) bool { return r.scope.Tenant() != "" && x.Tenant == "" }

// namespaceOf returns the scope in which an index that answers the request is defined.
func (r *request) namespaceOf(x *index.Index) store.Scope {
	if r.isShared(x) {
		return r.scope.DatabaseNamespace()
	}
	return r.scope.Namespace()
}

// designOfViews reads the design document that a request names for its views: one
// that designNamed finds, or one of the database's whose views a tenant can query.
func (r *request) designOfViews(name string) (designFunctions, error) {
	d, err := r.designNamed(name)
	if r.scope.Tenant() == "" || !dberr.Is(err, dberr.NotFound) {
		return d, err
	}
	whole := *r
	whole.scope = r.scope.DatabaseNamespace()
	shared, sharedErr := whole.designNamed(name)
	if sharedErr == nil && index.PartitionedDesign(r.db, shared.Body) {
		return shared, nil
	}
	return d, err
}

// noView tells why there is no such view.
func (d designFunctions) noView(name string) error {
	views, _ := jsonscan.Member(d.Body, "views")
	if jsonscan.KindOf(views) != jsonscan.Object {
		return errNoView
	}
	v, ok := jsonscan.Member(views, name)
	if !ok {
		return errNoView
	}
	if _, ok := jsonscan.Member(v, "map"); !ok {
		return errNoView
	}
	if language, ok := jsonscan.Member(d.Body, "language"); ok && !jsonscan.NameIs(language, "javascript") {
		return &dberr.Error{Kind: dberr.Internal, Code: "unknown_query_language", Reason: string(jsonscan.Text(nil, language))}
	}
	return errNoView
}

// readyView brings the index of a view up to date as far as the query asks for it,
// and returns the index that answers.
func (r *request) readyView(n *index.Named, m store.Mark, update viewUpdate) (*index.Index, error) {
	x := n.Index
	if update == updateFirst && x.State == index.Building {
		var err error
		if x, err = r.awaitView(n); err != nil {
			return nil, err
		}
	} else if x.State == index.Building && n.Previous != nil {
		x = n.Previous
	}
	if x != n.Index {
		r.Set(previousHeader, "previous")
	}
	switch update {
	case updateFirst:
		return x, r.api.indexes.CatchUp(r.Ctx(), r.db, x, m)
	case updateLater:
		a, db := r.api, r.db
		r.After = func() {
			a.Tasks.Start(indexerOf(db, n), string(n.Design), func(ctx context.Context) error {
				if err := a.indexes.CatchUp(ctx, db, n.Index, m); !errors.Is(err, index.ErrGone) {
					return err
				}
				return nil // there is nothing left to bring up to date
			})
		}
	}
	return x, nil
}

// indexerOf is the work of bringing the index of a view up to date.
func indexerOf(db *store.Database, n *index.Named) web.Job {
	return web.Job{Kind: indexerTask, Database: db.Name(), About: n.Index.Signature}
}

// awaitView waits for an index that is being built. Where another index still
// answers for the view, it waits no longer than the setting says.
func (r *request) awaitView(n *index.Named) (*index.Index, error) {
	if n.Previous == nil {
		return n.Index, r.api.indexes.Await(r.Ctx(), r.db, n.Index)
	}
	ctx, cancel := context.WithTimeout(r.Ctx(), r.api.settings.Value().viewWait)
	defer cancel()
	err := r.api.indexes.Await(ctx, r.db, n.Index)
	if errors.Is(err, context.DeadlineExceeded) && r.Ctx().Err() == nil {
		return n.Previous, nil
	}
	return n.Index, err
}

// Bounds of a partition that is answered from its documents while the index of
// its view is being built for the first time, and how long the build may take before.
const (
	draftDocs     = 1000
	draftBytes    = 4 << 20
	draftPatience = 50 * time.Millisecond
)

// draftView makes a draft of a partition of a view whose index is being built, and
// its mark: nobody waits for the documents of others. nil: the index answers, which was built meanwhile, is
// not built by the background, or the partition is too large.
func (r *request) draftView(n *index.Named, p document.Partition, update viewUpdate) (d *view.Draft, m store.Mark, err error) {
	x := n.Index
	if p == "" || update != updateFirst || x.State != index.Building || x.Manual || x.Tenant != "" {
		return nil, m, nil
	}
	ctx, cancel := context.WithTimeout(r.Ctx(), draftPatience)
	defer cancel()
	err = r.api.indexes.Await(ctx, r.db, x)
	if !errors.Is(err, context.DeadlineExceeded) || r.Ctx().Err() != nil {
		return nil, m, err
	}
	var docs []index.Change
	var all bool
	err = r.namespaceOf(x).View(r.Ctx(), func(rd *store.Reader) (err error) {
		if docs, all, err = x.PartitionDocs(rd, p, draftDocs, draftBytes); err == nil {
			m, err = rd.Mark()
		}
		return err
	})
	if err != nil || !all {
		return nil, m, err
	}
	d, err = r.api.views.Draft(r.Ctx(), r.db, x, p, docs)
	return d, m, index.Told(err)
}

// viewAt returns an index as it is at a reader's snapshot. One that was dropped a
// moment ago still has its rows: who reads it already may go on.
func viewAt(rd *store.Reader, x *index.Index) (now *index.Index, gone bool, err error) {
	s, err := index.Of(rd)
	if err != nil {
		return nil, false, err
	}
	for _, now := range s.Indexes {
		if now.Number == x.Number {
			return now, false, nil
		}
	}
	return x, true, nil
}

// redirectDesign sends a client that wrote a design document's id as one segment
// to the address that has a slash.
func (r *request) redirectDesign() bool {
	at := r.below()
	name, ok := strings.CutPrefix(r.Path.Parts()[at], "_design/")
	if !ok || name == "" {
		return false
	}
	target := r.place(append([]string{"_design", name}, r.Path.Parts()[at+1:]...)...)
	if _, q := web.TargetOf(r.HTTP); q != "" {
		target += "?" + q
	}
	r.Set("Location", target)
	r.Begin(http.StatusMovedPermanently, 0)
	return true
}

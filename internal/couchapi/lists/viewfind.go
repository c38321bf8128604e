package lists

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// PreviousHeader says that an answer comes from what a view was before its design
// document changed, because the new index is not built yet.
const PreviousHeader = "X-Sectional-View"

var errNoView = dberr.New(dberr.NotFound, "not_found", "missing_named_view")

// findView finds a view by its names, for a request that may query; nil if there is
// none.
func findView(r *couchhttp.Request, design, name string) (*index.Session, error) {
	return viewFrom(r, design, name, r.API.Indexes.Session)
}

// rememberedView is findView for who is about to read the view (index.Indexes.Remembered).
func rememberedView(r *couchhttp.Request, design, name string) (*index.Session, error) {
	return viewFrom(r, design, name, r.API.Indexes.Remembered)
}

func viewFrom(r *couchhttp.Request, design, name string,
	session func(context.Context, store.Scope, document.ID, string, string) (*index.Session, error)) (*index.Session, error) {
	if err := r.MayQuery(); err != nil {
		return nil, err
	}
	s, err := session(r.Ctx(), r.Scope, document.ID("_design/"+design), view.KindName, name)
	if s == nil || err != nil {
		return nil, err
	}
	if err := s.Index.Failure(); err != nil {
		return nil, err
	}
	return s, nil
}

// designOfViews reads the design document that a request names for its views: one
// that designNamed finds, or one of the database's whose views a tenant can query.
func designOfViews(r *couchhttp.Request, name string) (couchhttp.DesignFunctions, error) {
	d, err := r.DesignNamed(name)
	if r.Scope.Tenant() == "" || !dberr.Is(err, dberr.NotFound) {
		return d, err
	}
	whole := *r
	whole.Scope = r.Scope.DatabaseNamespace()
	shared, sharedErr := whole.DesignNamed(name)
	if sharedErr == nil && index.PartitionedDesign(r.DB, shared.Body) {
		return shared, nil
	}
	return d, err
}

// noView reports why there is no such view.
func noView(d couchhttp.DesignFunctions, name string) error {
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
	if !document.IsJavaScript(d.Body) {
		language, _ := jsonscan.Member(d.Body, "language")
		return &dberr.Error{Kind: dberr.Internal, Code: "unknown_query_language", Reason: string(jsonscan.Text(nil, language))}
	}
	return errNoView
}

// readyView brings the index of a view up to date as far as the query asks for it.
func readyView(r *couchhttp.Request, s *index.Session, update viewUpdate) (err error) {
	if update == updateFirst {
		err = s.Ready(r.Ctx(), r.API.Settings.Value().ViewWait)
	} else {
		s.Soon()
	}
	if err != nil {
		return err
	}
	if s.Answers != s.Index {
		r.Set(PreviousHeader, "previous")
	}
	switch update {
	case updateFirst:
		return s.CatchUp(r.Ctx())
	case updateLater:
		a, work := r.API, indexerOf(r.DB, &s.Named)
		r.After = func() { a.Tasks.Start(work, string(s.Design), s.Follow) }
	}
	return nil
}

// indexerOf is the work of bringing the index of a view up to date.
func indexerOf(db *store.Database, n *index.Named) web.Job {
	return web.Job{Kind: couchhttp.IndexerTask, Database: db.Name(), About: n.Index.Signature}
}

// Bounds of a partition that is answered from its documents while the index of
// its view is being built for the first time, and how long the build may take before.
const (
	draftDocs  = 1000
	draftBytes = 4 << 20
	draftWait  = 50 * time.Millisecond
)

// draftView makes a draft of a partition of a view whose index is being built, as of a
// position of its own to catch up to: nobody waits for the documents of others. nil: the index answers, which was built meanwhile, is
// not built by the background, or the partition is too large.
func draftView(r *couchhttp.Request, s *index.Session, p document.Partition, update viewUpdate) (*view.Draft, error) {
	x := s.Index
	if p == "" || update != updateFirst || x.State != index.Building || x.Manual || x.Tenant != "" {
		return nil, nil
	}
	if built, err := s.Built(r.Ctx(), draftWait); built || err != nil {
		return nil, err
	}
	var docs []index.Change
	var all bool
	var upTo store.Sequences
	err := s.View(r.Ctx(), func(rd *store.Reader, _ bool) (err error) {
		if docs, all, err = x.PartitionDocs(rd, p, draftDocs, draftBytes); err == nil {
			upTo, err = rd.Sequences()
		}
		return err
	})
	if err != nil || !all {
		return nil, err
	}
	s.UpTo = upTo
	d, err := r.API.Views.Draft(r.Ctx(), r.DB, x, p, docs)
	return d, index.Public(err)
}

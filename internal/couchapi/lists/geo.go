package lists

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// queryGeo answers GET and POST …/_design/{ddoc}/_geo/{index}.
func queryGeo(r *couchhttp.Request) error {
	a, err := askedFor(r, findGeo, "index")
	if err != nil {
		return err
	}
	q, err := readGeoQuery(a.members, r.Query)
	if err != nil {
		return err
	}
	if a.session == nil {
		return dberr.New(dberr.NotFound, "not_found", "%s not found.", r.Arg("index"))
	}
	l, err := onIndex(r, a.session, findGeo, func(s *index.Session) (*geoLister, error) { return geoListerOf(r, s, q) })
	if err != nil {
		return err
	}
	return l.answer()
}

// findGeo finds a geo index by its names, for a request that may query; nil if there is
// none.
func findGeo(r *couchhttp.Request, design, name string) (*index.Session, error) {
	if err := r.MayQuery(); err != nil {
		return nil, err
	}
	var s *index.Session
	for _, kind := range []string{geo.KindName, geo.FieldsName} {
		var err error
		if s, err = r.API.Indexes.Session(r.Ctx(), r.Scope, document.ID("_design/"+design), kind, name); err != nil {
			return nil, err
		}
		if s != nil {
			break
		}
	}
	if s == nil {
		return nil, nil
	}
	return s, s.Index.Failure()
}

// geoListerOf checks a query against its index and brings that up to date.
func geoListerOf(r *couchhttp.Request, s *index.Session, q *geoQuery) (*geoLister, error) {
	p, err := geoPartition(r, s, q)
	if err != nil {
		return nil, err
	}
	l := &geoLister{q: q, s: s, partition: p, skip: q.skip, search: geo.Query{Shape: q.shape, Relation: q.relation}}
	if err := l.goOn(r.Scope); err != nil {
		return nil, err
	}
	l.pager = newPager(r, couchhttp.DocForm{Include: q.include}, p, &r.API.Stats.PartitionTimeouts)
	if err := readyGeo(r, s, q.update); err != nil {
		return nil, err
	}
	if s.Answers.Partitioned != s.Index.Partitioned {
		return nil, index.ErrGone
	}
	return l, nil
}

// readyGeo brings an index up to date as far as a query asks for it. One by a field is so
// once it is built.
func readyGeo(r *couchhttp.Request, s *index.Session, update viewUpdate) error {
	if s.Kind != geo.FieldsName {
		return readyView(r, s, update)
	}
	if update != updateFirst {
		return nil
	}
	return s.Ready(r.Ctx(), r.API.Settings.Value().ViewWait)
}

// geoPartition returns the partition that a query is about, "" for a global index.
func geoPartition(r *couchhttp.Request, s *index.Session, q *geoQuery) (document.Partition, error) {
	notHere := dberr.New(dberr.Invalid, "bad_request", "`partition` not supported on this index")
	if s.Shared() {
		if q.partition != nil {
			return "", notHere
		}
		return r.Scope.Tenant(), nil
	}
	p := r.Scope.Partition()
	if q.partition != nil {
		if p != "" && string(p) != *q.partition {
			return "", dberr.New(dberr.Invalid, "bad_request", "Conflicting value for `partition` in query string")
		}
		if !s.Index.Partitioned {
			return "", notHere
		}
		return document.ParsePartition(*q.partition)
	}
	switch {
	case s.Index.Partitioned && p == "":
		return "", dberr.New(dberr.Invalid, "bad_request", "`partition` parameter is mandatory for queries to this index.")
	case !s.Index.Partitioned && p != "":
		return "", notHere
	}
	return p, nil
}

// geoBookmarkVersion is the format of bookmarks.
const geoBookmarkVersion = 1

var errGeoBookmark = couchhttp.QueryError("Invalid bookmark parameter supplied")

// fingerprint tells queries apart whose rows are others, or in another order.
func (q *geoQuery) fingerprint() []byte {
	number := func(f *float64) string {
		if f == nil {
			return "-"
		}
		return fmt.Sprint(*f)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %q %s %s %s %s %s %q %t", q.bbox, q.wkt, number(q.lat), number(q.lon), number(q.radius),
		number(q.rangeX), number(q.rangeY), q.relation, q.nearest))
	return sum[:8]
}

// bookmark is the text of the place that was reached. It names a place in the order of the
// index, so that it is as good after writes as before.
func (l *geoLister) bookmark() string {
	w := packed.Writer{geoBookmarkVersion}
	w.Raw(l.q.fingerprint())
	shown := l.R.Scope.Shown
	if !l.s.Shared() {
		shown = asStored
	}
	switch {
	case !l.q.nearest:
		at, _ := geo.Rename(l.at, shown)
		w.Raw(at)
	case l.behind != nil:
		w.Float(l.behind.Distance)
		w.Uint(uint64(l.behind.Number))
		id, _ := shown(l.behind.ID)
		w.Raw([]byte(id))
	}
	return base64.RawURLEncoding.EncodeToString(w)
}

// asStored shows an id as it is.
func asStored(id document.ID) (document.ID, bool) { return id, true }

// goOn goes to the place of the query's bookmark.
func (l *geoLister) goOn(scope store.Scope) error {
	if l.q.bookmark == "" {
		return nil
	}
	stored := asStored
	if l.s.Shared() {
		stored = func(id document.ID) (document.ID, bool) { return scope.Stored(id), true }
	}
	b, err := base64.RawURLEncoding.DecodeString(l.q.bookmark)
	r := packed.ReadVersion(b, geoBookmarkVersion)
	if of := r.Take(8); err != nil || of == nil || binary.BigEndian.Uint64(of) != binary.BigEndian.Uint64(l.q.fingerprint()) {
		return errGeoBookmark
	}
	switch rest := r.Rest(); {
	case len(rest) == 0:
	case !l.q.nearest:
		var ok bool
		if l.at, ok = geo.Rename(rest, stored); !ok {
			return errGeoBookmark
		}
	default:
		l.behind = &geo.Behind{Distance: r.Float(), Number: int(r.UpTo(1 << 30))}
		l.behind.ID, _ = stored(document.ID(r.Rest()))
	}
	if r.Failed() || l.behind != nil && !(l.behind.Distance >= 0) { // NaN is not less than 0 either
		return errGeoBookmark
	}
	return nil
}

// geoInfo answers GET …/_design/{ddoc}/_geo_info/{index}. It counts what the caller may see.
func geoInfo(r *couchhttp.Request) error {
	if err := r.MayQuery(); err != nil {
		return err
	}
	design, err := r.DesignNamed(r.Arg("ddoc"))
	if err != nil {
		return err
	}
	i, err := geoStateOf(r, design.ID, r.Arg("index"))
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendString(append(b, `{"name":`...), string(design.ID)+"/"+r.Arg("index"))
		b = couchhttp.AppendCount(b, `,"geo_index":{"doc_count":`, i.docs)
		b = couchhttp.AppendCount(b, `,"disk_size":`, i.size)
		b = couchhttp.AppendCount(b, `,"data_size":`, i.size)
		if i.skipped > 0 {
			b = couchhttp.AppendCount(b, `,"skipped":`, i.skipped)
		}
		return append(b, "}}"...)
	})
}

// geoState is what is told of a geo index.
type geoState struct {
	docs, size, skipped uint64
}

// geoStateOf reads what an index has, of documents that the caller may see. To a
// restricted reader it shows neither how large it is nor what was left out, which may be
// of others' documents, unless all of it is a tenant's.
func geoStateOf(r *couchhttp.Request, design document.ID, name string) (i geoState, err error) {
	var rows [][]byte
	err = r.Scope.Namespace().View(r.Ctx(), func(rd *store.Reader) error {
		n, err := geoNamed(rd, design, name)
		if err != nil {
			return err
		}
		if i.docs, i.skipped, err = geo.Documents(r.Ctx(), rd.As(r.Scope), n.Index); err != nil {
			return err
		}
		if !r.Scope.Restricted() {
			rows = n.Index.Kind.Prefixes(r.DB.Number(), n.Index.Number)
		}
		if !r.Scope.Restricted() || n.Index.Tenant != "" {
			var p index.Progress
			p, err = n.Index.Progress(rd.Snapshot(), r.DB.Number())
			i.skipped += p.Skipped
		}
		return err
	})
	for _, prefix := range rows {
		if err == nil {
			var part uint64
			part, err = r.DB.Measure(r.Ctx(), prefix)
			i.size += part
		}
	}
	return i, err
}

// geoNamed finds a geo index of either kind in the reader's namespace.
func geoNamed(rd *store.Reader, design document.ID, name string) (*index.Named, error) {
	set, err := index.Of(rd)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{geo.KindName, geo.FieldsName} {
		if n := set.Lookup(design, kind, name); n != nil {
			return n, nil
		}
	}
	return nil, dberr.New(dberr.NotFound, "not_found", "%s not found.", name)
}

// geoRoutes are the geo queries of design documents.
func geoRoutes() []couchhttp.Route {
	const ddoc = "/{db}/_design/{ddoc}"
	return []couchhttp.Route{
		{Methods: "GET,POST", Pattern: ddoc + "/_geo/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Reader, Class: couchhttp.ClassQuery, Run: queryGeo},
		{Methods: "GET", Pattern: ddoc + "/_geo_info/{index}", At: couchhttp.EveryEndpoint, Rights: couchhttp.Member, Class: couchhttp.ClassQuery, Run: geoInfo},
	}
}

// contentType is the type of an answer.
func (q *geoQuery) contentType() string {
	if q.format == geoJSONVnd {
		return string(geoJSONVnd)
	}
	return web.JSON
}

package lists

import (
	"errors"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// geoLister writes the answer to a geo query. It reads in pages.
type geoLister struct {
	pager
	q         *geoQuery
	s         *index.Session
	partition document.Partition
	search    geo.Query
	skip      int

	at     []byte      // the place after the last row, of a search
	behind *geo.Behind // and of the nearest
}

// answer answers the query.
func (l *geoLister) answer() error {
	if l.q.format == geoView && l.R.Header("Accept") == string(geoJSONVnd) {
		l.q.format = geoJSONVnd
	}
	stream := l.R.Stream(http.StatusOK, l.q.contentType())
	l.To(stream)
	if l.q.format == geoView {
		l.Buf = append(l.Buf, `{"rows":[`...)
	} else {
		l.Buf = append(l.Buf, `{"type":"FeatureCollection","features":[`...)
	}
	l.long = l.s.Hold()
	defer l.Release()
	for over := l.q.limit == 0; !over; {
		if err := l.inTime(); err != nil {
			return err
		}
		err := l.s.View(l.R.Ctx(), func(rd *store.Reader, _ bool) (err error) {
			over, err = l.page(rd)
			return err
		})
		if err == nil {
			err = stream.Spill()
		}
		if err != nil {
			return err
		}
	}
	l.Buf = couchhttp.AppendString(append(l.Buf, "\n],\"bookmark\":"...), l.bookmark())
	l.Buf = append(l.Buf, "}\n"...)
	return stream.End()
}

// geoPage is how many geometries are read at a time.
const geoPage = 50

// page appends the next page of rows; over: they are the last ones.
func (l *geoLister) page(rd *store.Reader) (over bool, err error) {
	v := geo.NewReader(rd, l.s.Answers, l.partition)
	hits, end, err := l.next(v)
	if err != nil {
		return false, err
	}
	found, err := v.Geometries(hits)
	if err != nil {
		return false, err
	}
	docs := rd
	if l.s.Shared() {
		docs = rd.As(l.R.Scope)
	}
	for i := range hits {
		if err := l.row(docs, &hits[i], &found[i]); err != nil {
			return false, err
		}
		l.at, l.behind = hits[i].At, hits[i].Where()
		if l.rows >= l.q.limit || l.Full() {
			return l.rows >= l.q.limit, nil
		}
	}
	return end, nil
}

// next returns the next hits after those that are to be skipped; end: there are no more.
func (l *geoLister) next(v *geo.Reader) (hits []geo.Hit, end bool, err error) {
	if l.q.nearest {
		return l.nextNearest(v)
	}
	room := min(geoPage, l.q.limit-l.rows)
	place, err := v.Search(l.R.Ctx(), &l.search, l.at, func(h geo.Hit) bool {
		if l.skip > 0 {
			l.skip--
			return true
		}
		hits = append(hits, h)
		return len(hits) < room
	})
	if len(hits) == 0 { // what lies before has been looked at
		l.at = place.At
	}
	return hits, place.End, err
}

// maxNear is how many of the nearest are worked out at a time.
const maxNear = 1000

func (l *geoLister) nextNearest(v *geo.Reader) ([]geo.Hit, bool, error) {
	q := geo.Near{From: l.q.shape.Center()}
	if l.q.exact && l.q.relation != "none" {
		q.Filter = &l.search
	}
	n := min(maxNear, l.skip+l.q.limit-l.rows)
	hits, err := v.Nearest(l.R.Ctx(), &q, l.behind, n)
	if err != nil {
		return nil, false, err
	}
	end := len(hits) < n
	if skipped := min(l.skip, len(hits)); skipped > 0 {
		l.skip -= skipped
		l.behind = hits[skipped-1].Where()
		hits = hits[skipped:]
	}
	return hits, end, nil
}

// row appends a row in the form that was asked for.
func (l *geoLister) row(rd *store.Reader, h *geo.Hit, g *geo.Found) error {
	id := h.ID
	if l.s.Shared() {
		own, ok := l.R.Scope.Shown(id)
		if !ok {
			return errors.New("couchapi: a geometry of another partition") // its reader returns none
		}
		id = own
	}
	var rev *store.Revision
	if l.q.include || g.Rev == "" {
		var err error
		if rev, err = rd.Winner(id); dberr.Is(err, dberr.NotFound) {
			rev, err = nil, nil // the index has not followed
		}
		if err != nil {
			return err
		}
	}
	if rev != nil && g.Rev == "" { // of an index by a field, which is of the winner
		g.Rev = rev.Rev.String()
	}
	if !l.q.include {
		rev = nil
	}
	l.between("\n")
	switch l.q.format {
	case geoView:
		l.viewRow(id, rev, g)
	case geoLegacy:
		l.legacyRow(id, rev)
	default:
		l.featureRow(id, rev, g)
	}
	return nil
}

func (l *geoLister) appendGeometry(g *geo.Found) {
	if l.Buf = append(l.Buf, `,"geometry":`...); l.q.noGeometries {
		l.Buf = append(l.Buf, "null"...)
	} else {
		l.Buf = append(l.Buf, g.Geometry...)
	}
}

func (l *geoLister) viewRow(id document.ID, rev *store.Revision, g *geo.Found) {
	l.Buf = couchhttp.AppendString(append(l.Buf, `{"id":`...), string(id))
	l.Buf = couchhttp.AppendString(append(l.Buf, `,"rev":`...), g.Rev)
	l.appendGeometry(g)
	if !l.q.include {
		l.Buf = append(l.Buf, '}')
		return
	}
	if l.Buf = append(l.Buf, `,"doc":`...); rev == nil {
		l.Buf = append(l.Buf, "null}"...)
		return
	}
	l.Document(rev, nil, "}")
}

// legacyRow appends a feature that is the document itself.
func (l *geoLister) legacyRow(id document.ID, rev *store.Revision) {
	l.Buf = couchhttp.AppendString(append(l.Buf, `{"id":`...), string(id))
	if rev != nil {
		if _, has := jsonscan.Member(rev.Body, "type"); !has {
			l.Buf = append(l.Buf, `,"type":"Feature"`...)
		}
		if members := jsonscan.Trim(rev.Body); len(members) > 2 {
			l.Buf = append(append(l.Buf, ','), members[1:len(members)-1]...)
		}
	}
	l.Buf = append(l.Buf, '}')
}

// featureRow appends a feature as GeoJSON has it.
func (l *geoLister) featureRow(id document.ID, rev *store.Revision, g *geo.Found) {
	l.Buf = couchhttp.AppendString(append(l.Buf, `{"_id":`...), string(id))
	l.appendGeometry(g)
	kind, properties := []byte(`"Feature"`), []byte("{}")
	if rev != nil {
		l.Buf = couchhttp.AppendString(append(l.Buf, `,"_rev":`...), rev.Rev.String())
		if v, ok := jsonscan.Member(rev.Body, "type"); ok {
			kind = v
		}
		if v, ok := jsonscan.Member(rev.Body, "properties"); ok {
			properties = v
		}
	}
	l.Buf = append(append(l.Buf, `,"type":`...), kind...)
	l.Buf = append(append(append(l.Buf, `,"properties":`...), properties...), '}')
}

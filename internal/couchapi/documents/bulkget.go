package documents

import (
	"crypto/rand"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

var bulkGetParams = couchhttp.Params[ReadOptions]{
	"latest":            readParams["latest"],
	"revs":              readParams["revs"],
	"attachments":       readParams["attachments"],
	"att_encoding_info": readParams["att_encoding_info"],
}

// bulkGet answers _bulk_get. Each entry is read at a snapshot of its own, so
// that none stays open while the client reads.
func bulkGet(r *couchhttp.Request) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	wanted, err := couchwire.ParseWanted(raw, r.Rules())
	if err != nil {
		return err
	}
	var o ReadOptions
	if err := bulkGetParams.Read(r.Query, &o); err != nil {
		return err
	}
	accept := r.Header("Accept")
	switch {
	case web.Accepts(accept, web.JSON):
		return bulkGetJSON(r, wanted, o)
	case web.Accepts(accept, "multipart/mixed"):
		return bulkGetMultipart(r, wanted, o, "mixed")
	case web.Accepts(accept, "multipart/related"):
		return bulkGetMultipart(r, wanted, o, "related")
	}
	return dberr.New(dberr.Invalid, "not_acceptable", "Accept application/json, multipart/mixed or multipart/related.")
}

// answerTo reads what one entry asks for. Errors are the entry's own.
func answerTo(r *couchhttp.Request, w *couchwire.Wanted, o ReadOptions) (items []opened, err error) {
	if w.Err != nil {
		return nil, w.Err
	}
	o.openAll = w.Rev.IsZero()
	o.open = append(o.open[:0], w.Rev)
	if len(w.Since) > 0 {
		o.since, o.attachments = w.Since, true
	}
	if w.ID.IsLocal() {
		return nil, couchhttp.ErrMissing
	}
	if r.Scope.Partitioned() {
		if err := w.ID.CheckPartitioned(); err != nil {
			w.RevText = []byte("null")
			return nil, err
		}
	}
	if err := r.Scope.CheckID(w.ID); err != nil {
		return nil, err
	}
	err = r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := NewLoader(r, rd, w.ID, &o)
		if err == nil {
			items, err = l.openRevs()
		}
		return err
	})
	return items, err
}

// refusedEntry tells an error that is an entry's own from one that ends the
// whole answer.
func refusedEntry(err error) bool {
	switch dberr.KindOf(err) {
	case dberr.Invalid, dberr.NotFound, dberr.Forbidden, dberr.Unauthorized, dberr.Conflict:
		return true
	}
	return false
}

func appendEntryError(dst []byte, w *couchwire.Wanted, err error) []byte {
	_, word, reason := couchhttp.Words(err)
	return w.AppendMissing(dst, word, reason)
}

func bulkGetJSON(r *couchhttp.Request, wanted []couchwire.Wanted, o ReadOptions) error {
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, `{"results":[`...)
	for i := range wanted {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		if err := streamEntry(r, s, &wanted[i], o); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}\n"...)
	return s.End()
}

// streamEntry writes the results of one entry.
func streamEntry(r *couchhttp.Request, s *web.Stream, w *couchwire.Wanted, o ReadOptions) error {
	items, err := answerTo(r, w, o)
	if err != nil && !refusedEntry(err) {
		return err
	}
	s.Buf = append(s.Buf, `{"id":`...)
	s.Buf = append(s.Buf, w.IDText...)
	s.Buf = append(s.Buf, `,"docs":[`...)
	if err != nil {
		s.Buf = append(s.Buf, `{"error":`...)
		s.Buf = append(appendEntryError(s.Buf, w, err), '}')
	}
	for i := range items {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		if items[i].found == nil {
			s.Buf = append(s.Buf, `{"error":`...)
			s.Buf = append(appendEntryError(s.Buf, w, couchhttp.ErrMissing), '}')
		} else if err := streamOpened(r, s, &items[i]); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}"...)
	return s.Spill()
}

// bulkGetMultipart answers with a part for each revision; one with attachments
// is a multipart/related part of its own.
func bulkGetMultipart(r *couchhttp.Request, wanted []couchwire.Wanted, o ReadOptions, sub string) error {
	boundary, err := bulkBoundary()
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, "multipart/"+sub+`; boundary="`+boundary+`"`)
	// CouchDB ends a line before the first delimiter and behind the last.
	s.Buf = append(s.Buf, "\r\n"...)
	parts := couchwire.NewParts(s, boundary)
	for i := range wanted {
		items, err := answerTo(r, &wanted[i], o)
		if err != nil && !refusedEntry(err) {
			return err
		}
		if err != nil {
			items = []opened{{}}
		} else {
			err = couchhttp.ErrMissing // of items without a revision
		}
		for j := range items {
			if err := bulkPart(r, s, parts, &items[j], &wanted[i], err); err != nil {
				return err
			}
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	s.Buf = append(s.Buf, "\r\n"...)
	return s.End()
}

func bulkPart(r *couchhttp.Request, s *web.Stream, parts *couchwire.Parts, it *opened, w *couchwire.Wanted, missing error) error {
	f := it.found
	switch {
	case f == nil:
		if err := parts.Part("Content-Type", `application/json; error="true"`); err != nil {
			return err
		}
		s.Buf = appendEntryError(s.Buf, w, missing)
		return s.Spill()
	case len(f.Attachments) == 0:
		if err := parts.Part("Content-Type", web.JSON); err != nil {
			return err
		}
		s.Buf = couchwire.AppendDocument(s.Buf, &f.Revision, f.form)
		return s.Spill()
	}
	inner, err := bulkBoundary()
	if err != nil {
		return err
	}
	if err := parts.Part("X-Doc-Id", string(f.ID), "X-Rev-Id", f.Rev.String(), "Content-Type", "multipart/related; boundary="+inner); err != nil {
		return err
	}
	return couchwire.WriteRelated(s, inner, &f.Revision, f.form, r.Open)
}

// bulkBoundary makes a boundary as CouchDB's _bulk_get has it.
func bulkBoundary() (string, error) {
	b, err := couchwire.NewBoundary(rand.Reader)
	return "--" + b, err
}

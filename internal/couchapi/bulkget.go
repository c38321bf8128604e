package couchapi

import (
	"crypto/rand"
	"net/http"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

var bulkGetParams = params[readOptions]{
	"latest":            readParams["latest"],
	"revs":              readParams["revs"],
	"attachments":       readParams["attachments"],
	"att_encoding_info": readParams["att_encoding_info"],
}

// bulkGet answers _bulk_get. Each entry is read at a snapshot of its own, so
// that none stays open while the client reads.
func bulkGet(r *request) error {
	raw, err := r.jsonBody()
	if err != nil {
		return err
	}
	wanted, err := couchwire.ParseWanted(raw, r.rules())
	if err != nil {
		return err
	}
	var o readOptions
	if err := bulkGetParams.read(r.Query, &o); err != nil {
		return err
	}
	accept := r.Header("Accept")
	switch {
	case web.Accepts(accept, web.JSON):
		return r.bulkGetJSON(wanted, o)
	case web.Accepts(accept, "multipart/mixed"):
		return r.bulkGetMultipart(wanted, o, "mixed")
	case web.Accepts(accept, "multipart/related"):
		return r.bulkGetMultipart(wanted, o, "related")
	}
	return dberr.New(dberr.Invalid, "not_acceptable", "Accept application/json, multipart/mixed or multipart/related.")
}

// answerTo reads what one entry asks for. Errors are the entry's own.
func (r *request) answerTo(w *couchwire.Wanted, o readOptions) (items []opened, err error) {
	if w.Err != nil {
		return nil, w.Err
	}
	o.openAll = w.Rev.IsZero()
	o.open = append(o.open[:0], w.Rev)
	if len(w.Since) > 0 {
		o.since, o.attachments = w.Since, true
	}
	if w.ID.IsLocal() {
		return nil, errMissing
	}
	if r.scope.Partitioned() {
		if err := w.ID.CheckPartitioned(); err != nil {
			w.RevText = []byte("null")
			return nil, err
		}
	}
	if err := r.scope.CheckID(w.ID); err != nil {
		return nil, err
	}
	err = r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := r.loader(rd, w.ID, &o)
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
	_, word, reason := words(err)
	return w.AppendMissing(dst, word, reason)
}

func (r *request) bulkGetJSON(wanted []couchwire.Wanted, o readOptions) error {
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, `{"results":[`...)
	for i := range wanted {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		if err := r.streamEntry(s, &wanted[i], o); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}\n"...)
	return s.End()
}

// streamEntry writes the results of one entry.
func (r *request) streamEntry(s *web.Stream, w *couchwire.Wanted, o readOptions) error {
	items, err := r.answerTo(w, o)
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
			s.Buf = append(appendEntryError(s.Buf, w, errMissing), '}')
		} else if err := r.streamOpened(s, &items[i]); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}"...)
	return s.Spill()
}

// bulkGetMultipart answers with a part for each revision; one with attachments
// is a multipart/related part of its own.
func (r *request) bulkGetMultipart(wanted []couchwire.Wanted, o readOptions, sub string) error {
	boundary, err := bulkBoundary()
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, "multipart/"+sub+`; boundary="`+boundary+`"`)
	// CouchDB ends a line before the first delimiter and behind the last.
	s.Buf = append(s.Buf, "\r\n"...)
	parts := couchwire.NewParts(s, boundary)
	for i := range wanted {
		items, err := r.answerTo(&wanted[i], o)
		if err != nil && !refusedEntry(err) {
			return err
		}
		if err != nil {
			items = []opened{{}}
		} else {
			err = errMissing // of items without a revision
		}
		for j := range items {
			if err := r.bulkPart(s, parts, &items[j], &wanted[i], err); err != nil {
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

func (r *request) bulkPart(s *web.Stream, parts *couchwire.Parts, it *opened, w *couchwire.Wanted, missing error) error {
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
	return couchwire.WriteRelated(s, inner, &f.Revision, f.form, r.open)
}

// bulkBoundary makes a boundary as CouchDB's _bulk_get has it.
func bulkBoundary() (string, error) {
	b, err := couchwire.NewBoundary(rand.Reader)
	return "--" + b, err
}

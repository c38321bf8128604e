package couchapi

import (
	"crypto/rand"
	"io"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// getDocument answers GET and HEAD of a document.
func getDocument(r *request) error {
	if strings.HasPrefix(r.arg("id"), "_") {
		if done, err := r.special(); done {
			return err
		}
	}
	id, err := r.readID()
	if err != nil {
		return err
	}
	r.api.stats.docReads.Add(1)
	if len(r.Query) == 0 {
		return r.plain(id)
	}
	var o readOptions
	if err := readParams.read(r.Query, &o); err != nil {
		return err
	}
	if o.openAll || len(o.open) > 0 {
		return r.openRevs(id, &o)
	}
	return r.single(id, &o)
}

// special answers for ids that the path holds in one escaped segment: the
// address of a design document is the one with a slash, a local document is
// read elsewhere.
func (r *request) special() (done bool, err error) {
	id := r.arg("id")
	if name, ok := strings.CutPrefix(id, "_design/"); ok && name != "" && len(r.Path.Parts()) == r.below()+1 {
		target := r.place("_design", name)
		if _, q := web.TargetOf(r.HTTP); q != "" {
			target += "?" + q
		}
		r.Set("Location", target)
		r.Begin(http.StatusMovedPermanently, 0)
		return true, nil
	}
	if strings.HasPrefix(id, "_local/") {
		return true, getLocal(r)
	}
	return false, nil
}

// plain answers a read without any options: the one that has to be fast.
func (r *request) plain(id document.ID) error {
	buf := web.TakeBuffer()
	defer web.GiveBuffer(buf)
	err := r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		rev, err := rd.Winner(id)
		if err != nil {
			return err
		}
		out := outgoing(rev)
		r.etagOf(rev.Rev)
		*buf = couchwire.AppendDocument((*buf)[:0], &out, couchwire.Form{})
		return nil
	})
	if err != nil {
		return err
	}
	if r.notModified() {
		return nil
	}
	return r.json(http.StatusOK, *buf)
}

// single answers a read of one revision with options.
func (r *request) single(id document.ID, o *readOptions) error {
	var f *found
	err := r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := r.loader(rd, id, o)
		if err != nil {
			return err
		}
		if o.rev.IsZero() {
			f, err = l.winner()
		} else {
			f, err = l.named()
		}
		return err
	})
	if err != nil {
		return err
	}
	if !f.meta {
		r.etagOf(f.Rev)
		if r.notModified() {
			return nil
		}
	}
	return r.sendFound(f)
}

// sendFound answers with one revision: as multipart/related if the bytes of
// attachments are asked for and the client takes that, else as JSON.
func (r *request) sendFound(f *found) error {
	if !f.form.Data || len(f.Attachments) == 0 {
		return r.build(http.StatusOK, func(b []byte) []byte {
			return couchwire.AppendDocument(b, &f.Revision, f.form)
		})
	}
	if !web.Accepts(r.Header("Accept"), "multipart/related") {
		s := r.Stream(http.StatusOK, web.JSON)
		if !r.Head {
			if err := r.streamDocument(s, f); err != nil {
				return err
			}
		}
		s.Buf = append(s.Buf, '\n')
		return s.End()
	}
	boundary, err := couchwire.NewBoundary(rand.Reader)
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, `multipart/related; boundary="`+boundary+`"`)
	if !r.Head {
		if err := couchwire.WriteRelated(s, boundary, &f.Revision, f.form, r.open); err != nil {
			return err
		}
	}
	return s.End()
}

// open returns the stored bytes of an attachment.
func (r *request) open(a *document.Attachment) io.Reader {
	return r.scope.Download(r.Ctx(), *a, 0, a.Encoded)
}

// openRevs answers a read with open_revs.
func (r *request) openRevs(id document.ID, o *readOptions) error {
	var items []opened
	err := r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := r.loader(rd, id, o)
		if dberr.Is(err, dberr.NotFound) && !o.openAll {
			for _, rev := range o.open {
				items = append(items, opened{rev: rev})
			}
			return nil
		}
		if err != nil {
			return err
		}
		items, err = l.openRevs()
		return err
	})
	if err != nil {
		return err
	}
	if web.Accepts(r.Header("Accept"), "multipart/mixed") {
		return r.mixed(items)
	}
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, '[')
	for i := range items {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		if err := r.streamOpened(s, &items[i]); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]\n"...)
	return s.End()
}

func (r *request) streamOpened(s *web.Stream, it *opened) error {
	if it.found == nil {
		s.Buf = appendMissing(s.Buf, it.rev)
		return nil
	}
	s.Buf = append(s.Buf, `{"ok":`...)
	if err := r.streamDocument(s, it.found); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '}')
	return s.Spill()
}

// streamDocument writes a revision as JSON. The bytes of attachments that the
// form wants in it stream; a document without them is made where it goes out
// from.
func (r *request) streamDocument(s *web.Stream, f *found) error {
	if f.form.Data && len(f.Attachments) > 0 {
		return couchwire.WriteDocument(s, &f.Revision, f.form, r.open)
	}
	s.Buf = couchwire.AppendDocument(s.Buf, &f.Revision, f.form)
	return nil
}

func appendMissing(dst []byte, rev document.Rev) []byte {
	dst = append(dst, `{"missing":"`...)
	dst = rev.AppendText(dst)
	return append(dst, `"}`...)
}

// mixed answers with revisions as multipart/mixed; one with attachments is a
// multipart/related part of its own, with their bytes.
func (r *request) mixed(items []opened) error {
	boundary, err := couchwire.NewBoundary(rand.Reader)
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, `multipart/mixed; boundary="`+boundary+`"`)
	parts := couchwire.NewParts(s, boundary)
	for i := range items {
		if err := r.mixedPart(s, parts, &items[i]); err != nil {
			return err
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	return s.End()
}

func (r *request) mixedPart(s *web.Stream, parts *couchwire.Parts, it *opened) error {
	if it.found == nil {
		if err := parts.Part("Content-Type", `application/json; error="true"`); err != nil {
			return err
		}
		s.Buf = appendMissing(s.Buf, it.rev)
		return s.Spill()
	}
	f := it.found
	if len(f.Attachments) == 0 {
		if err := parts.Part("Content-Type", web.JSON); err != nil {
			return err
		}
		s.Buf = couchwire.AppendDocument(s.Buf, &f.Revision, f.form)
		return s.Spill()
	}
	inner, err := couchwire.NewBoundary(rand.Reader)
	if err != nil {
		return err
	}
	if err := parts.Part("Content-Type", `multipart/related; boundary="`+inner+`"`); err != nil {
		return err
	}
	return couchwire.WriteRelated(s, inner, &f.Revision, f.form, r.open)
}

// notModified answers 304 if If-None-Match lists the ETag that was set last.
// Unlike lists and views, documents and attachments want it quoted, weak or
// strong, and know no "*".
func (r *request) notModified() bool {
	header := r.HTTP.Header["If-None-Match"]
	if header == nil {
		return false
	}
	etag := r.Answer()["Etag"][0]
	for part := range strings.SplitSeq(header[0], ",") {
		if strings.TrimPrefix(strings.TrimSpace(part), "W/") == etag {
			r.Begin(http.StatusNotModified, 0)
			return true
		}
	}
	return false
}

package documents

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// getDocument answers GET and HEAD of a document.
func getDocument(r *couchhttp.Request) error {
	if strings.HasPrefix(r.Arg("id"), "_") {
		if done, err := special(r); done {
			return err
		}
	}
	id, err := r.ReadID()
	if err != nil {
		return err
	}
	r.API.Stats.DocReads.Add(1)
	if len(r.Query) == 0 {
		return plain(r, id)
	}
	var o ReadOptions
	if err := readParams.Read(r.Query, &o); err != nil {
		return err
	}
	if o.openAll || len(o.open) > 0 {
		return openRevs(r, id, &o)
	}
	return single(r, id, &o)
}

// special answers for ids that the path holds in one escaped segment: the
// address of a design document is the one with a slash, a local document is
// read elsewhere.
func special(r *couchhttp.Request) (done bool, err error) {
	id := r.Arg("id")
	if name, ok := strings.CutPrefix(id, "_design/"); ok && name != "" && len(r.Path.Parts()) == r.Below()+1 {
		target := r.Address("_design", name)
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
func plain(r *couchhttp.Request, id document.ID) error {
	buf := web.TakeBuffer()
	defer web.GiveBuffer(buf)
	err := r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		rev, err := rd.Winner(id)
		if err != nil {
			return err
		}
		out := couchhttp.Outgoing(rev)
		r.EtagOf(rev.Rev)
		*buf = couchwire.AppendDocument((*buf)[:0], &out, couchwire.Form{})
		return nil
	})
	if err != nil {
		return err
	}
	if notModified(r) {
		return nil
	}
	return r.JSON(http.StatusOK, *buf)
}

// single answers a read of one revision with options.
func single(r *couchhttp.Request, id document.ID, o *ReadOptions) error {
	var f *found
	err := r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := NewLoader(r, rd, id, o)
		if err != nil {
			return err
		}
		if o.rev.IsZero() {
			f, err = l.Winner()
		} else {
			f, err = l.named()
		}
		return err
	})
	if err != nil {
		return err
	}
	if !f.meta {
		r.EtagOf(f.Rev)
		if notModified(r) {
			return nil
		}
	}
	return sendFound(r, f)
}

// sendFound answers with one revision: as multipart/related if the bytes of
// attachments are asked for and the client takes that, else as JSON.
func sendFound(r *couchhttp.Request, f *found) error {
	if !f.form.Data || len(f.Attachments) == 0 {
		return r.Build(http.StatusOK, func(b []byte) []byte {
			return couchwire.AppendDocument(b, &f.Revision, f.form)
		})
	}
	if !web.Accepts(r.Header("Accept"), "multipart/related") {
		s := r.Stream(http.StatusOK, web.JSON)
		if !r.Head {
			if err := streamDocument(r, s, f); err != nil {
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
		if err := couchwire.WriteRelated(s, boundary, &f.Revision, f.form, r.Open); err != nil {
			return err
		}
	}
	return s.End()
}

// openRevs answers a read with open_revs.
func openRevs(r *couchhttp.Request, id document.ID, o *ReadOptions) error {
	var items []opened
	err := r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := NewLoader(r, rd, id, o)
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
		return mixed(r, items)
	}
	s := r.Stream(http.StatusOK, web.JSON)
	s.Buf = append(s.Buf, '[')
	for i := range items {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		if err := streamOpened(r, s, &items[i]); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]\n"...)
	return s.End()
}

func streamOpened(r *couchhttp.Request, s *web.Stream, it *opened) error {
	if it.found == nil {
		s.Buf = appendMissing(s.Buf, it.rev)
		return nil
	}
	s.Buf = append(s.Buf, `{"ok":`...)
	if err := streamDocument(r, s, it.found); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '}')
	return s.Spill()
}

// streamDocument writes a revision as JSON. The bytes of attachments that the
// form wants in it stream; a document without them is made where it goes out
// from.
func streamDocument(r *couchhttp.Request, s *web.Stream, f *found) error {
	if f.form.Data && len(f.Attachments) > 0 {
		return couchwire.WriteDocument(s, &f.Revision, f.form, r.Open)
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
func mixed(r *couchhttp.Request, items []opened) error {
	boundary, err := couchwire.NewBoundary(rand.Reader)
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusOK, `multipart/mixed; boundary="`+boundary+`"`)
	parts := couchwire.NewParts(s, boundary)
	for i := range items {
		if err := mixedPart(r, s, parts, &items[i]); err != nil {
			return err
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	return s.End()
}

func mixedPart(r *couchhttp.Request, s *web.Stream, parts *couchwire.Parts, it *opened) error {
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
	return couchwire.WriteRelated(s, inner, &f.Revision, f.form, r.Open)
}

// notModified answers 304 if If-None-Match lists the ETag that was set last.
// Unlike lists and views, documents and attachments want it quoted, weak or
// strong, and know no "*".
func notModified(r *couchhttp.Request) bool {
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

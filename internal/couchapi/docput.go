package couchapi

import (
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// rules are the settings for documents on their way in.
func (r *request) rules() *couchwire.Rules { return &r.api.settings.Value().rules }

// parseBody reads and parses a body that is one document.
func (r *request) parseBody() (couchwire.Document, error) {
	buf := web.TakeBuffer()
	defer web.GiveBuffer(buf)
	raw, err := r.Body((*buf)[:0])
	*buf = raw
	if err != nil {
		return couchwire.Document{}, err
	}
	d, err := couchwire.ParseDocument(raw, r.rules())
	if err == nil {
		err = d.CheckComplete()
	}
	err = r.located(err)
	r.Raw = nil // it is lent
	return d, err
}

// putDocument answers PUT of a document.
func putDocument(r *request) error {
	id, err := r.writeID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		return putLocal(r)
	}
	if boundary, ok := couchwire.Boundary(r.Header("Content-Type"), "related"); ok {
		return r.putRelated(id, boundary)
	}
	d, err := r.parseBody()
	if err != nil {
		return err
	}
	d.ID = id
	return r.writeDocument(&d, true)
}

// putRelated answers PUT of a document with its attachments beside it. Their
// bytes are stored as they come; if the document is refused then, nobody
// refers to them and they expire.
func (r *request) putRelated(id document.ID, boundary string) error {
	body, err := r.Reader(math.MaxInt64)
	if err != nil {
		return err
	}
	check := func(d *couchwire.Document) error {
		d.ID = id
		return r.precheck(id)
	}
	d, err := couchwire.ReadRelated(body, boundary, r.Action.Body.Most, r.rules(), check, r.sink(id))
	if err != nil {
		return err
	}
	return r.writeDocument(d, true)
}

// precheck refuses an id that the store would refuse, before attachments are
// uploaded for it.
func (r *request) precheck(id document.ID) error {
	if r.scope.Partitioned() {
		if err := id.CheckPartitioned(); err != nil {
			return err
		}
	}
	return r.scope.CheckID(id)
}

// sink takes attachments of id, and charges the request for what stays in memory.
func (r *request) sink(id document.ID) couchwire.Sink {
	cost := r.Action.Body
	return couchwire.Sink{Store: r.keeper(id), Hold: func(run []byte) error { return r.Hold(cost.Of(run)) }}
}

// keeper stores the bytes of attachments of id as they come.
func (r *request) keeper(id document.ID) couchwire.Store {
	return func(a *document.Attachment, from io.Reader, compress bool) error {
		buffered, end := r.Charged(from, uploadBuffer)
		defer end()
		up, err := r.scope.Upload(r.Ctx(), id, buffered, store.Upload{
			Compress: compress,
			Encoded:  a.Encoding != "",
			Max:      r.rules().MaxAttachment,
		})
		if dberr.Is(err, dberr.TooLarge) {
			return r.rules().AttachmentTooLarge(a.Name)
		}
		a.Digest, a.Length, a.Encoded, a.Encoding, a.Blob = up.Digest, up.Length, up.Encoded, up.Encoding, up.Blob
		return err
	}
}

// writeDocument stores a document that was sent whole and answers. put tells
// that the request names it: revisions in query and header count, and so does
// new_edits.
func (r *request) writeDocument(d *couchwire.Document, put bool) error {
	if err := d.CheckSize(r.rules()); err != nil {
		return err
	}
	rev, err := d.Rev(), error(nil)
	if put {
		if rev, err = r.namedRev(rev); err != nil {
			return err
		}
	}
	var e document.Edit
	if v, _ := r.Query.Get("new_edits"); put && v == "false" {
		if d.Path == nil && !rev.IsZero() {
			d.Path = []document.Rev{rev}
		}
		if e, err = d.Replicated(); err != nil {
			return err
		}
	} else {
		e = d.Edit(rev) // which makes the attachments new ones
	}
	w := written{etag: put, location: true}
	if !put {
		w.status = http.StatusCreated // CouchDB's answer to POST, also for a deletion
	}
	return r.answerWrite(&e, w)
}

// written tells how a write is answered.
type written struct {
	etag     bool
	location bool
	name     string // of the attachment that was written
	status   int    // 0: 201, or 200 for a deletion
}

// answerWrite stores an edit and answers with its outcome.
func (r *request) answerWrite(e *document.Edit, w written) error {
	rev, err := r.storeEdit(e)
	if err != nil {
		return err
	}
	if w.status == 0 {
		w.status = http.StatusCreated
		if e.Deleted {
			w.status = http.StatusOK
		}
	}
	return r.answerWritten(e.ID, rev, w)
}

// storeEdit stores one edit and notes its sequence.
func (r *request) storeEdit(e *document.Edit) (document.Rev, error) {
	r.api.stats.docWrites.Add(1)
	results, err := r.scope.Write(r.Ctx(), []document.Edit{*e}, store.WriteOptions{})
	if err != nil {
		return document.Rev{}, err
	}
	r.wrote = max(r.wrote, results[0].Seq)
	return results[0].Rev, results[0].Err
}

// answerWritten answers a write that is on disk. With batch=ok clients expect
// 202 and no revision; it is on disk all the same.
func (r *request) answerWritten(id document.ID, rev document.Rev, w written) error {
	if v, _ := r.Query.Get("batch"); v == "ok" {
		return r.build(http.StatusAccepted, func(b []byte) []byte {
			b = append(b, `{"ok":true,"id":`...)
			b = appendString(b, string(id))
			return append(r.appendSeq(b, r.wrote), '}')
		})
	}
	if w.etag {
		r.etagOf(rev)
	}
	if w.location && w.name != "" {
		r.location(string(id), w.name)
	} else if w.location {
		r.location(string(id))
	}
	return r.build(w.status, func(b []byte) []byte { return r.appendWritten(b, id, rev, r.wrote) })
}

// appendWritten appends the result of a write; q is its sequence, 0 for none.
func (r *request) appendWritten(b []byte, id document.ID, rev document.Rev, q store.Seq) []byte {
	b = append(b, `{"ok":true,"id":`...)
	b = appendString(b, string(id))
	b = append(b, `,"rev":"`...)
	b = rev.AppendText(b)
	b = r.appendSeq(append(b, '"'), q)
	return append(b, '}')
}

// postDocument answers POST to a database: a document that may be without id.
func postDocument(r *request) error {
	if err := r.requireJSON(); err != nil {
		return err
	}
	d, err := r.parseBody()
	if err != nil {
		return err
	}
	if d.ID == "" {
		d.ID = document.ID(newID(r.scope, r.api.newUUID()))
	}
	if d.ID.IsLocal() {
		return r.writeLocal(&d)
	}
	return r.writeDocument(&d, false)
}

// deleteDocument answers DELETE of a document.
func deleteDocument(r *request) error {
	if strings.HasPrefix(r.docID(), "_local/") {
		return deleteLocal(r)
	}
	id, err := r.readID()
	if err != nil {
		return err
	}
	if err := r.Drain(); err != nil {
		return err
	}
	err = r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		_, err := rd.Winner(id)
		return err
	})
	if err != nil {
		return err
	}
	rev, err := r.namedRev(document.Rev{})
	if err != nil {
		return err
	}
	return r.answerWrite(&document.Edit{ID: id, Parent: rev, Deleted: true, Body: []byte("{}")}, written{etag: true})
}

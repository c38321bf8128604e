package documents

import (
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// parseBody reads and parses a body that is one document.
func parseBody(r *couchhttp.Request) (couchwire.Document, error) {
	buf := web.TakeBuffer()
	defer web.GiveBuffer(buf)
	raw, err := r.Body((*buf)[:0])
	*buf = raw
	if err != nil {
		return couchwire.Document{}, err
	}
	d, err := couchwire.ParseDocument(raw, r.Rules())
	if err == nil {
		err = d.CheckComplete()
	}
	err = r.Located(err)
	r.Raw = nil // it is borrowed
	return d, err
}

// putDocument answers PUT of a document.
func putDocument(r *couchhttp.Request) error {
	id, err := r.WriteID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		return putLocal(r)
	}
	if boundary, ok := couchwire.Boundary(r.Header("Content-Type"), "related"); ok {
		return putRelated(r, id, boundary)
	}
	d, err := parseBody(r)
	if err != nil {
		return err
	}
	d.ID = id
	return writeDocument(r, &d, true)
}

// putRelated answers PUT of a document with its attachments beside it. Their
// bytes are stored as they come; if the document is refused then, nobody
// refers to them and they expire.
func putRelated(r *couchhttp.Request, id document.ID, boundary string) error {
	body, err := r.Reader(math.MaxInt64)
	if err != nil {
		return err
	}
	check := func(d *couchwire.Document) error {
		d.ID = id
		return precheck(r, id)
	}
	d, err := couchwire.ReadRelated(body, boundary, r.Action.Body.Max, r.Rules(), check, sink(r, id))
	if err != nil {
		return err
	}
	return writeDocument(r, d, true)
}

// precheck refuses an id that the store would refuse, before attachments are
// uploaded for it.
func precheck(r *couchhttp.Request, id document.ID) error {
	if r.Scope.Partitioned() {
		if err := id.CheckPartitioned(); err != nil {
			return err
		}
	}
	return r.Scope.CheckID(id)
}

// sink takes attachments of id, and charges the request for what stays in memory.
func sink(r *couchhttp.Request, id document.ID) couchwire.Sink {
	cost := r.Action.Body
	return couchwire.Sink{Store: storeOf(r, id), Hold: func(part []byte) error { return r.Hold(cost.Of(part)) }}
}

// storeOf stores the bytes of attachments of id as they come.
func storeOf(r *couchhttp.Request, id document.ID) couchwire.Store {
	return func(a *document.Attachment, from io.Reader, compress bool) error {
		buffered, end := r.Charged(from, couchhttp.UploadBuffer)
		defer end()
		up, err := r.Scope.Upload(r.Ctx(), id, buffered, store.Upload{
			Compress: compress,
			Encoded:  a.Encoding != "",
			Max:      r.Rules().MaxAttachment,
		})
		if dberr.Is(err, dberr.TooLarge) {
			return r.Rules().AttachmentTooLarge(a.Name)
		}
		a.Digest, a.Length, a.Encoded, a.Encoding, a.Blob = up.Digest, up.Length, up.Encoded, up.Encoding, up.Blob
		return err
	}
}

// writeDocument stores a document that was sent whole and answers. put says
// that the request names it: revisions in query and header count, and so does
// new_edits.
func writeDocument(r *couchhttp.Request, d *couchwire.Document, put bool) error {
	if err := d.CheckSize(r.Rules()); err != nil {
		return err
	}
	rev, err := d.Rev(), error(nil)
	if put {
		if rev, err = namedRev(r, rev); err != nil {
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
	return answerWrite(r, &e, w)
}

// written says how a write is answered.
type written struct {
	etag     bool
	location bool
	name     string // of the attachment that was written
	status   int    // 0: 201, or 200 for a deletion
}

// answerWrite stores an edit and answers with its outcome.
func answerWrite(r *couchhttp.Request, e *document.Edit, w written) error {
	rev, err := r.StoreEdit(e)
	if err != nil {
		return err
	}
	if w.status == 0 {
		w.status = http.StatusCreated
		if e.Deleted {
			w.status = http.StatusOK
		}
	}
	return answerWritten(r, e.ID, rev, w)
}

// answerWritten answers a write that is on disk. With batch=ok clients expect
// 202 and no revision; it is on disk all the same.
func answerWritten(r *couchhttp.Request, id document.ID, rev document.Rev, w written) error {
	if v, _ := r.Query.Get("batch"); v == "ok" {
		return r.Build(http.StatusAccepted, func(b []byte) []byte {
			b = append(b, `{"ok":true,"id":`...)
			b = couchhttp.AppendString(b, string(id))
			return append(r.AppendSeq(b, r.Wrote), '}')
		})
	}
	if w.etag {
		r.EtagOf(rev)
	}
	if w.location && w.name != "" {
		r.Location(string(id), w.name)
	} else if w.location {
		r.Location(string(id))
	}
	return r.Build(w.status, func(b []byte) []byte { return appendWritten(r, b, id, rev, r.Wrote) })
}

// appendWritten appends the result of a write; q is its sequence, 0 for none.
func appendWritten(r *couchhttp.Request, b []byte, id document.ID, rev document.Rev, q store.Seq) []byte {
	b = append(b, `{"ok":true,"id":`...)
	b = couchhttp.AppendString(b, string(id))
	b = append(b, `,"rev":"`...)
	b = rev.AppendText(b)
	b = r.AppendSeq(append(b, '"'), q)
	return append(b, '}')
}

// postDocument answers POST to a database: a document that may be without id.
func postDocument(r *couchhttp.Request) error {
	if err := r.RequireJSON(); err != nil {
		return err
	}
	d, err := parseBody(r)
	if err != nil {
		return err
	}
	if d.ID == "" {
		d.ID = document.ID(couchhttp.NewID(r.Scope, r.API.NewUUID()))
	}
	if d.ID.IsLocal() {
		return writeLocal(r, &d)
	}
	return writeDocument(r, &d, false)
}

// deleteDocument answers DELETE of a document.
func deleteDocument(r *couchhttp.Request) error {
	if strings.HasPrefix(r.DocID(), "_local/") {
		return deleteLocal(r)
	}
	id, err := r.ReadID()
	if err != nil {
		return err
	}
	if err := r.Drain(); err != nil {
		return err
	}
	err = r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		_, err := rd.Winner(id)
		return err
	})
	if err != nil {
		return err
	}
	rev, err := namedRev(r, document.Rev{})
	if err != nil {
		return err
	}
	return answerWrite(r, &document.Edit{ID: id, Parent: rev, Deleted: true, Body: []byte("{}")}, written{etag: true})
}

package documents

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// bulkDocs answers _bulk_docs.
func bulkDocs(r *couchhttp.Request) error {
	if err := r.RequireJSON(); err != nil {
		return err
	}
	bulk, err := parseBulk(r)
	if err != nil {
		return err
	}
	b := &batch{Bulk: bulk, results: make([]store.Result, len(bulk.Docs))}
	if err := b.split(r); err != nil {
		return err
	}
	if bulk.AllOrNothing && bulk.NewEdits && len(bulk.Docs) > 0 {
		return r.Build(http.StatusExpectationFailed, b.appendNotSupported)
	}
	if err := b.write(r); err != nil {
		return err
	}
	if bulk.Atomic && b.refused() {
		return r.Build(http.StatusConflict, b.appendRefusal)
	}
	return r.Build(http.StatusCreated, func(dst []byte) []byte { return b.appendResults(dst, r) })
}

func parseBulk(r *couchhttp.Request) (*couchwire.Bulk, error) {
	buf := web.TakeBody()
	defer web.GiveBody(buf)
	raw, err := r.Body((*buf)[:0])
	*buf = raw
	if err != nil {
		return nil, err
	}
	bulk, err := couchwire.ParseBulk(raw, r.Rules())
	err = r.Located(err)
	r.Raw = nil // it is borrowed
	return bulk, err
}

// batch is a _bulk_docs request on its way: its documents, divided into those
// that the store writes together and local ones, and the results in order.
type batch struct {
	*couchwire.Bulk
	edits   []document.Edit
	at      []int // the place of each edit among the documents
	local   []int // the places of local documents
	results []store.Result
}

// split makes edits of the documents.
func (b *batch) split(r *couchhttp.Request) error {
	b.edits = make([]document.Edit, 0, len(b.Docs))
	b.at = make([]int, 0, len(b.Docs))
	for i := range b.Docs {
		d := &b.Docs[i]
		if d.ID == "" {
			d.ID = document.ID(couchhttp.NewID(r.Scope, r.API.NewUUID()))
		}
		b.results[i] = store.Result{ID: d.ID, Rev: d.Rev(), Err: d.Refused}
		if d.Refused != nil {
			continue
		}
		if d.ID.IsLocal() {
			b.local = append(b.local, i)
			continue
		}
		e, err := b.edit(r, d)
		if err != nil {
			return couchwire.Nth(err, i, couchhttp.AppendString(nil, string(d.ID)))
		}
		b.edits = append(b.edits, e)
		b.at = append(b.at, i)
	}
	if b.Atomic && !b.NewEdits {
		return couchhttp.BadRequest("`atomic` can't be used with `new_edits`: false.")
	}
	if b.Atomic && len(b.local) > 0 {
		return couchhttp.BadRequest("Local documents can't be part of an atomic batch.")
	}
	return nil
}

// edit makes the edit of one document. An id that the database can't have refuses
// the request; one of another partition is refused by itself.
func (b *batch) edit(r *couchhttp.Request, d *couchwire.Document) (document.Edit, error) {
	if r.Scope.Partitioned() {
		if err := d.ID.CheckPartitioned(); err != nil {
			return document.Edit{}, err
		}
	}
	if b.NewEdits {
		return d.Edit(d.Rev()), nil
	}
	return d.Replicated()
}

// write stores the edits, then the local documents.
func (b *batch) write(r *couchhttp.Request) error {
	r.API.Stats.Bulk.Add(1)
	r.API.Stats.DocWrites.Add(uint64(len(b.edits)))
	if b.Atomic && b.refused() {
		return nil
	}
	if len(b.edits) > 0 {
		results, err := b.store(r)
		if err != nil {
			return err
		}
		for i := range results {
			b.results[b.at[i]] = results[i]
			r.Wrote = max(r.Wrote, results[i].Seq)
		}
	}
	for _, i := range b.local {
		d := &b.Docs[i]
		n, err := r.StoreLocal(d, d.Rev())
		b.results[i] = store.Result{ID: d.ID, Rev: couchhttp.LocalRev(n), Err: err}
	}
	return nil
}

// store stores the edits, together as far as the request asks for it.
func (b *batch) store(r *couchhttp.Request) ([]store.Result, error) {
	if b.Across {
		return r.API.Store.Transact(r.Ctx(), []store.ScopedEdits{{Scope: r.Scope, Edits: b.edits}})
	}
	return r.Scope.Write(r.Ctx(), b.edits, store.WriteOptions{Atomic: b.Atomic})
}

func (b *batch) refused() bool {
	for i := range b.results {
		if b.results[i].Err != nil {
			return true
		}
	}
	return false
}

// appendResults appends the answer: a result for each document or, for
// replicated ones, for each that was refused.
func (b *batch) appendResults(dst []byte, r *couchhttp.Request) []byte {
	dst = append(dst, '[')
	for i := range b.results {
		res := &b.results[i]
		if !b.NewEdits && res.Err == nil {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		if res.Err == nil {
			dst = appendWritten(r, dst, res.ID, res.Rev, res.Seq)
			continue
		}
		var rev document.Rev
		if !b.NewEdits {
			rev = res.Rev
		}
		dst = AppendFailed(dst, res.ID, rev, res.Err)
	}
	return append(dst, ']')
}

// errAllOrNothing is CouchDB's answer to all_or_nothing.
var errAllOrNothing = dberr.New(dberr.NotImplemented, "", "all_or_nothing is not supported")

// appendNotSupported appends the answer to all_or_nothing: each document is
// refused.
func (b *batch) appendNotSupported(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range b.Docs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendFailed(dst, b.Docs[i].ID, b.Docs[i].Rev(), errAllOrNothing)
	}
	return append(dst, ']')
}

// AppendFailed appends the result of a document that was refused.
func AppendFailed(dst []byte, id document.ID, rev document.Rev, err error) []byte {
	dst = append(dst, `{"id":`...)
	dst = couchhttp.AppendString(dst, string(id))
	if !rev.IsZero() {
		dst = append(dst, `,"rev":"`...)
		dst = rev.AppendText(dst)
		dst = append(dst, '"')
	}
	return append(append(dst, ','), couchhttp.AppendFailure(nil, err)[1:]...)
}

// appendRefusal appends the answer to an atomic batch of which nothing is
// stored: what is wrong with which document.
func (b *batch) appendRefusal(dst []byte) []byte {
	dst = append(dst, `{"error":"conflict","reason":"The batch was refused, nothing is stored.","results":[`...)
	for i := range b.results {
		if i > 0 {
			dst = append(dst, ',')
		}
		res := &b.results[i]
		if res.Err != nil {
			dst = AppendFailed(dst, res.ID, document.Rev{}, res.Err)
			continue
		}
		dst = append(dst, `{"id":`...)
		dst = couchhttp.AppendString(dst, string(res.ID))
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

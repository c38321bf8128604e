package documents

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// readLocal reads a local document.
func readLocal(r *couchhttp.Request, id document.ID) (l *store.Local, err error) {
	err = r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err = rd.Local(id)
		return err
	})
	return l, err
}

// getLocal answers GET and HEAD of a local document.
func getLocal(r *couchhttp.Request) error {
	id, err := r.ReadID()
	if err != nil {
		return err
	}
	var o ReadOptions
	if err := readParams.Read(r.Query, &o); err != nil {
		return err
	}
	if !o.rev.IsZero() || o.openAll || len(o.open) > 0 {
		return couchhttp.ErrMissing // local documents have no tree
	}
	l, err := readLocal(r, id)
	if err != nil {
		return err
	}
	out := couchwire.Revision{ID: l.ID, Rev: couchhttp.LocalRev(l.Rev), Body: l.Body}
	if o.Revs {
		out.Path = []document.Rev{out.Rev}
	}
	r.Etag(out.Rev.String())
	if notModified(r) {
		return nil
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		return couchwire.AppendDocument(b, &out, couchwire.Form{})
	})
}

// putLocal answers PUT of a local document.
func putLocal(r *couchhttp.Request) error {
	id, err := r.WriteID()
	if err != nil {
		return err
	}
	d, err := parseBody(r)
	if err != nil {
		return err
	}
	d.ID = id
	return writeLocal(r, &d)
}

// writeLocal stores a local document and answers. Its attachments are
// overlooked, as CouchDB does.
func writeLocal(r *couchhttp.Request, d *couchwire.Document) error {
	if err := d.CheckSize(r.Rules()); err != nil {
		return err
	}
	rev, err := namedRev(r, d.Rev())
	if err != nil {
		return err
	}
	n, err := r.StoreLocal(d, rev)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if d.Deleted && r.Method != http.MethodPost {
		status = http.StatusOK
	}
	return answerWritten(r, d.ID, couchhttp.LocalRev(n), written{etag: true, location: true, status: status})
}

// deleteLocal answers DELETE of a local document.
func deleteLocal(r *couchhttp.Request) error {
	id, err := r.ReadID()
	if err != nil {
		return err
	}
	if err := r.Drain(); err != nil {
		return err
	}
	d := couchwire.Document{ID: id, Deleted: true}
	rev, err := namedRev(r, document.Rev{})
	if err != nil {
		return err
	}
	if _, err := r.StoreLocal(&d, rev); err != nil {
		return err
	}
	return answerWritten(r, id, couchhttp.LocalRev(0), written{etag: true, status: http.StatusOK})
}

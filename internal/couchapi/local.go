package couchapi

import (
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// localRev returns the revision of a local document the form of others: "0-N".
func localRev(n uint64) document.Rev {
	return document.Rev{Hash: strconv.FormatUint(n, 10)}
}

// parseLocalRev reads N of "0-N".
func parseLocalRev(rev document.Rev) (uint64, error) {
	n, err := strconv.ParseUint(rev.Hash, 10, 63)
	if rev.Gen != 0 || err != nil {
		return 0, badRequest("Invalid rev format")
	}
	return n, nil
}

// readLocal reads a local document.
func (r *request) readLocal(id document.ID) (l *store.Local, err error) {
	err = r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err = rd.Local(id)
		return err
	})
	return l, err
}

// getLocal answers GET and HEAD of a local document.
func getLocal(r *request) error {
	id, err := r.readID()
	if err != nil {
		return err
	}
	var o readOptions
	if err := readParams.read(r.Query, &o); err != nil {
		return err
	}
	if !o.rev.IsZero() || o.openAll || len(o.open) > 0 {
		return errMissing // local documents have no tree
	}
	l, err := r.readLocal(id)
	if err != nil {
		return err
	}
	out := couchwire.Revision{ID: l.ID, Rev: localRev(l.Rev), Body: l.Body}
	if o.revs {
		out.Path = []document.Rev{out.Rev}
	}
	r.Etag(out.Rev.String())
	if r.notModified() {
		return nil
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		return couchwire.AppendDocument(b, &out, couchwire.Form{})
	})
}

// putLocal answers PUT of a local document.
func putLocal(r *request) error {
	id, err := r.writeID()
	if err != nil {
		return err
	}
	d, err := r.parseBody()
	if err != nil {
		return err
	}
	d.ID = id
	return r.writeLocal(&d)
}

// writeLocal stores a local document and answers. Its attachments are
// overlooked, as CouchDB does.
func (r *request) writeLocal(d *couchwire.Document) error {
	if err := d.CheckSize(r.rules()); err != nil {
		return err
	}
	rev, err := r.namedRev(d.Rev())
	if err != nil {
		return err
	}
	n, err := r.storeLocal(d, rev)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if d.Deleted && r.Method != http.MethodPost {
		status = http.StatusOK
	}
	return r.answerWritten(d.ID, localRev(n), written{etag: true, location: true, status: status})
}

// storeLocal writes or, for a deleted one, removes a local document; rev is
// the one the caller named, zero for none. It is not compared with what is
// stored, it only tells from which number to go on.
func (r *request) storeLocal(d *couchwire.Document, rev document.Rev) (n uint64, err error) {
	if !rev.IsZero() {
		if n, err = parseLocalRev(rev); err != nil {
			return 0, err
		}
	}
	if r.scope.Restricted() && !r.inPartition() {
		return 0, errNoLocals
	}
	if d.Deleted {
		return 0, r.scope.DeleteLocal(r.Ctx(), d.ID)
	}
	return r.scope.PutLocal(r.Ctx(), d.ID, n, d.Body)
}

// deleteLocal answers DELETE of a local document.
func deleteLocal(r *request) error {
	id, err := r.readID()
	if err != nil {
		return err
	}
	if err := r.Drain(); err != nil {
		return err
	}
	d := couchwire.Document{ID: id, Deleted: true}
	rev, err := r.namedRev(document.Rev{})
	if err != nil {
		return err
	}
	if _, err := r.storeLocal(&d, rev); err != nil {
		return err
	}
	return r.answerWritten(id, localRev(0), written{etag: true, status: http.StatusOK})
}

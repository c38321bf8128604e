package couchhttp

import (
	"strconv"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// Stubs makes the attachments of a revision those of an edit that keeps them.
func Stubs(atts []document.Attachment) []document.Attachment {
	out := make([]document.Attachment, len(atts))
	for i, a := range atts {
		out[i] = document.Attachment{Name: a.Name, RevPos: a.RevPos, Stub: true}
	}
	return out
}

// StoreEdit stores one edit and notes its sequence.
func (r *Request) StoreEdit(e *document.Edit) (document.Rev, error) {
	r.API.Stats.DocWrites.Add(1)
	results, err := r.Scope.Write(r.Ctx(), []document.Edit{*e}, store.WriteOptions{})
	if err != nil {
		return document.Rev{}, err
	}
	r.Wrote = max(r.Wrote, results[0].Seq)
	return results[0].Rev, results[0].Err
}

// LocalRev returns the revision of a local document the form of others: "0-N".
func LocalRev(n uint64) document.Rev {
	return document.Rev{Hash: strconv.FormatUint(n, 10)}
}

// parseLocalRev reads N of "0-N".
func parseLocalRev(rev document.Rev) (uint64, error) {
	n, err := strconv.ParseUint(rev.Hash, 10, 63)
	if rev.Gen != 0 || err != nil {
		return 0, BadRequest("Invalid rev format")
	}
	return n, nil
}

// StoreLocal writes or, for a deleted one, removes a local document; rev is
// the one the caller named, zero for none. It is not compared with what is
// stored, it only tells from which number to go on.
func (r *Request) StoreLocal(d *couchwire.Document, rev document.Rev) (n uint64, err error) {
	if !rev.IsZero() {
		if n, err = parseLocalRev(rev); err != nil {
			return 0, err
		}
	}
	if r.Scope.Restricted() && !r.inPartition() {
		return 0, errNoLocals
	}
	if d.Deleted {
		return 0, r.Scope.DeleteLocal(r.Ctx(), d.ID)
	}
	return r.Scope.PutLocal(r.Ctx(), d.ID, n, d.Body)
}

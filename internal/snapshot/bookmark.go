package snapshot

import (
	"encoding/base64"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// bookmark is a position in a snapshot: everything up to a document has been sent. It
// remembers the sequence at which the snapshot began, for the changes since
// then are what completes it, however many streams it took.
type bookmark struct {
	seq  store.Seq
	last document.ID
}

const bookmarkVersion = 1

// text returns the form that clients see.
func (m bookmark) text(s store.Scope) string {
	w := packed.Writer{bookmarkVersion}
	w.Text(s.FormatSeq(m.seq))
	w.Text(string(s.Partition()))
	w.Text(string(m.last))
	return base64.RawURLEncoding.EncodeToString(w)
}

var errBookmark = dberr.New(dberr.Invalid, "invalid_bookmark", "The bookmark does not belong to a snapshot of this database or partition: begin again without it.")

// parseMark reads what text gave of the same scope. Errors: Invalid
// invalid_bookmark for any other, also when the database was made anew.
func parseBookmark(s store.Scope, text string) (bookmark, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	p := packed.ReadVersion(b, bookmarkVersion)
	seq, partition, last := p.Text(), p.Text(), p.Text()
	if err != nil || p.Done() != nil || partition != string(s.Partition()) {
		return bookmark{}, errBookmark
	}
	q, own := s.OwnSeq(seq)
	if !own {
		return bookmark{}, errBookmark
	}
	return bookmark{seq: q, last: document.ID(last)}, nil
}

package query

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/packed"
)

// NoBookmark takes the place of a bookmark where an answer has none.
const NoBookmark = "nil"

const bookmarkVersion = 3

// position is one in a plan: after a row of a range of a branch, or before
// all of them.
type position struct {
	branch, span int // span in the order of reading
	row          *field.RowKey
}

// bookmark returns the text of a position.
func (p *Plan) bookmark(at position) string {
	w := packed.Writer(binary.BigEndian.AppendUint64([]byte{bookmarkVersion}, p.fingerprint()))
	w.Uint(uint64(len(p.choices)))
	for _, choice := range p.choices {
		w.Uint(choice)
	}
	w.Uint(uint64(at.branch))
	w.Uint(uint64(at.span))
	w.Bytes(at.row.Tuple)
	w.Raw([]byte(at.row.ID))
	return base64.RawURLEncoding.EncodeToString(w)
}

// parsedBookmark is a bookmark taken apart.
type parsedBookmark struct {
	fingerprint uint64
	choices     []uint64 // Plan.choices
	at          position
}

// parseBookmark parses what bookmark wrote. Whether the position exists is for the
// plan to say.
func parseBookmark(text string) (m parsedBookmark, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	r := packed.ReadVersion(b, bookmarkVersion)
	if at := r.Take(8); at != nil {
		m.fingerprint = binary.BigEndian.Uint64(at)
	}
	for range r.UpTo(maxConjuncts) {
		m.choices = append(m.choices, r.Uint())
	}
	m.at.branch, m.at.span = int(r.UpTo(maxConjuncts)), int(r.UpTo(1<<30))
	row := &field.RowKey{Tuple: r.Bytes(), ID: document.ID(r.Rest())}
	if err != nil || r.Failed() {
		return m, badBookmark(text)
	}
	m.at.row = row
	return m, nil
}

func badBookmark(text string) error {
	return dberr.New(dberr.Invalid, "invalid_bookmark", "Invalid bookmark value: %q", text)
}

// restore sets the position that the request's bookmark names.
func (q *Query) restore(p *planner) error {
	m, err := parseBookmark(q.req.Bookmark)
	if err != nil {
		return err
	}
	if q.plan, err = p.resume(q.plan, m.fingerprint, m.choices); q.plan == nil || err != nil {
		return cmp.Or(err, badBookmark(q.req.Bookmark))
	}
	if m.at.branch >= len(q.plan.Branches) || m.at.span >= len(q.plan.Branches[m.at.branch].ranges) {
		return badBookmark(q.req.Bookmark)
	}
	q.at = m.at
	q.stand(m.at.row.Tuple, m.at.row.ID)
	return nil
}

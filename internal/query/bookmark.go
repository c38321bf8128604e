package query

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/field"
)

// noBookmark stands where an answer has none.
const noBookmark = "nil"

const bookmarkVersion = 3

// place is a place in a plan: behind a row of a range of a branch, or before
// all of them.
type place struct {
	branch, span int // span in the order of reading
	row          *field.Place
}

// bookmark returns the text of a place.
func (p *Plan) bookmark(at place) string {
	b := binary.BigEndian.AppendUint64([]byte{bookmarkVersion}, p.fingerprint())
	b = binary.AppendUvarint(b, uint64(len(p.choices)))
	for _, choice := range p.choices {
		b = binary.AppendUvarint(b, choice)
	}
	b = binary.AppendUvarint(b, uint64(at.branch))
	b = binary.AppendUvarint(b, uint64(at.span))
	b = binary.AppendUvarint(b, uint64(len(at.row.Tuple)))
	b = append(append(b, at.row.Tuple...), at.row.ID...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// mark is a bookmark taken apart.
type mark struct {
	fingerprint uint64
	choices     []uint64 // Plan.choices
	at          place
}

// readBookmark reads what bookmark wrote. Whether the place exists is for the
// plan to say.
func readBookmark(text string) (m mark, err error) {
	bad := badBookmark(text)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 9 || b[0] != bookmarkVersion {
		return m, bad
	}
	m.fingerprint, b = binary.BigEndian.Uint64(b[1:]), b[9:]
	number := func() (n uint64) {
		n, w := binary.Uvarint(b)
		if w <= 0 {
			err, w = bad, len(b)
		}
		b = b[w:]
		return n
	}
	n := number()
	if n > maxConjuncts {
		return m, bad
	}
	for range n {
		m.choices = append(m.choices, number())
	}
	branch, span, tuple := number(), number(), number()
	if err != nil || branch > maxConjuncts || span > 1<<30 || tuple > uint64(len(b)) {
		return m, bad
	}
	m.at.branch, m.at.span = int(branch), int(span)
	m.at.row = &field.Place{Tuple: b[:tuple], ID: document.ID(b[tuple:])}
	return m, nil
}

func badBookmark(text string) error {
	return dberr.New(dberr.Invalid, "invalid_bookmark", "Invalid bookmark value: %q", text)
}

// restore sets the place that the request's bookmark names.
func (q *Query) restore(p *planner) error {
	m, err := readBookmark(q.req.Bookmark)
	if err != nil {
		return err
	}
	if q.plan, err = p.resume(q.plan, m.fingerprint, m.choices); err != nil {
		return badBookmark(q.req.Bookmark)
	}
	if m.at.branch >= len(q.plan.Branches) || m.at.span >= q.plan.Branches[m.at.branch].spans() {
		return badBookmark(q.req.Bookmark)
	}
	q.at = m.at
	q.stand(m.at.row.Tuple, m.at.row.ID)
	return nil
}

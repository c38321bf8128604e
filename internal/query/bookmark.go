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

const bookmarkVersion = 1

// place is a place in a plan: behind a row of a range of a branch, or before
// all of them.
type place struct {
	branch, span int // span in the order of reading
	row          *field.Place
}

// bookmark gives the text of a place.
func (p *Plan) bookmark(at place) string {
	b := binary.BigEndian.AppendUint64([]byte{bookmarkVersion}, p.fingerprint())
	b = binary.AppendUvarint(b, uint64(at.branch))
	b = binary.AppendUvarint(b, uint64(at.span))
	b = binary.AppendUvarint(b, uint64(len(at.row.Tuple)))
	b = append(append(b, at.row.Tuple...), at.row.ID...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// readBookmark reads what bookmark wrote. Whether the place exists is for the
// plan to say.
func readBookmark(text string) (fingerprint uint64, at place, err error) {
	bad := badBookmark(text)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 9 || b[0] != bookmarkVersion {
		return 0, at, bad
	}
	fingerprint, b = binary.BigEndian.Uint64(b[1:]), b[9:]
	var numbers [3]uint64
	for i := range numbers {
		n, w := binary.Uvarint(b)
		if w <= 0 {
			return 0, at, bad
		}
		numbers[i], b = n, b[w:]
	}
	if numbers[0] > maxConjuncts || numbers[1] > 1<<30 || numbers[2] > uint64(len(b)) {
		return 0, at, bad
	}
	at.branch, at.span = int(numbers[0]), int(numbers[1])
	at.row = &field.Place{Tuple: b[:numbers[2]], ID: document.ID(b[numbers[2]:])}
	return fingerprint, at, nil
}

func badBookmark(text string) error {
	return dberr.New(dberr.Invalid, "invalid_bookmark", "Invalid bookmark value: %q", text)
}

// restore sets the place that the request's bookmark names.
func (q *Query) restore(p *planner) error {
	fingerprint, at, err := readBookmark(q.req.Bookmark)
	if err != nil {
		return err
	}
	if q.plan, err = p.resume(q.plan, fingerprint); err != nil {
		return badBookmark(q.req.Bookmark)
	}
	if at.branch >= len(q.plan.Branches) || at.span >= q.plan.Branches[at.branch].spans() {
		return badBookmark(q.req.Bookmark)
	}
	q.at = at
	q.stand(at.row.Tuple, at.row.ID)
	return nil
}

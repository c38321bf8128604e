package view

import (
	"bytes"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
)

// Bound is an end of a range of rows: a key and, if ByID, a document among the
// rows with that key.
type Bound struct {
	Key  []byte // JSON; nil for no bound
	ID   document.ID
	ByID bool
}

// Range is what a query asks for. Start is where reading begins, so that it lies
// after End when Descending.
type Range struct {
	Start, End Bound
	Exclusive  bool // rows at End are left out
	Descending bool
}

// Inverted reports whether no row can lie in the range because its ends are in the
// wrong order.
func (r *Range) Inverted(d *Def) bool {
	if r.Start.Key == nil || r.End.Key == nil {
		return false
	}
	compare := keyspace.CompareJSON
	if d.Raw {
		compare = keyspace.CompareRawJSON
	}
	c := compare(r.Start.Key, r.End.Key)
	return r.Descending && c < 0 || !r.Descending && c > 0
}

// Span is a range of rows in one partition: from ≤ position < to.
type Span struct {
	from, to   []byte
	descending bool
	drop       int // rows to leave out among those that belong together and come first
}

// Whole is the span of all rows that the reader reads.
func (v *Reader) Whole() Span {
	head := v.head(v.partition)
	s := Span{from: head, to: after(head)}
	if v.gone {
		return s.nothing()
	}
	return s
}

// Span returns the rows of a range.
func (v *Reader) Span(r Range) (Span, error) {
	s := v.Whole()
	s.descending = r.Descending
	low, high := r.Start, r.End
	if r.Descending {
		low, high = high, low
	}
	var err error
	if low.Key != nil && !v.gone {
		if s.from, err = v.bound(low, r.Exclusive && r.Descending); err != nil {
			return s, err
		}
	}
	if high.Key != nil && !v.gone {
		if s.to, err = v.bound(high, !r.Exclusive || r.Descending); err != nil {
			return s, err
		}
	}
	return s, nil
}

// bound returns the first position of the rows at a bound, or after them.
func (v *Reader) bound(b Bound, behind bool) ([]byte, error) {
	key, err := v.collate(nil, b.Key)
	if err != nil {
		return nil, err
	}
	position := v.keyPosition(v.partition, key)
	if b.ByID {
		position = v.idPosition(v.partition, key, b.ID)
	}
	if behind {
		position = after(position)
	}
	return position, nil
}

// Empty reports whether no row lies in the span.
func (s *Span) Empty() bool { return bytes.Compare(s.from, s.to) >= 0 }

// Behind is what is left of the span after a row that gave At.
func (s *Span) Behind(at []byte) Span {
	rest := *s
	rest.drop = 0
	if s.descending {
		rest.to = at
	} else {
		rest.from = append(bytes.Clone(at), 0)
	}
	return rest
}

// Before is the span of the rows that come before this one in its direction.
func (s *Span) Before(whole Span) Span {
	whole.descending = s.descending
	if s.descending {
		whole.from = s.to
		if bytes.Compare(s.from, s.to) > 0 { // no row can lie in it
			whole.from = s.from
		}
	} else {
		whole.to = s.from
	}
	return whole
}

package store

import (
	"bytes"
	"math"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// begunChanges is what BeginChanges has read: the walk over a feed, and the row of the scope's
// numbers.
type begunChanges struct {
	from  []byte // where the walk begins
	it    kv.Iterator
	taken bool // by Changes, which is under way
	at    Seq  // where that is
	row   []byte
}

// BeginChanges says that Totals will be called, and Changes forward from since, of which want
// rows will be taken and Pending asked then; a want of 0 says nothing of that. Where a call of the engine is a round trip
// all of it takes one; elsewhere nothing is read. The caller calls end when it is done with
// them.
func (r *Reader) BeginChanges(since Seq, want int) (end func(), err error) {
	span := r.feedRange(since)
	if !r.db.store.distant || bytes.Compare(span.Start, span.End) >= 0 {
		return func() {}, nil
	}
	if want > 0 {
		want += pendingExact + 1
	}
	f, err := r.v.Read(kv.Reads{Keys: [][]byte{r.totalsKey()},
		Walks: []kv.Walk{{Range: span, IterOptions: kv.IterOptions{Want: want}}}})
	if err != nil {
		return nil, err
	}
	r.begun = &begunChanges{from: span.Start, it: f.Walks[0], row: f.Values[0]}
	return func() {
		r.begun = nil
		f.Close()
	}, nil
}

// docRows is how many rows of documents are expected at most: they may be large.
const docRows = 64

// ExpectDocs says that Totals will be called, and Docs with a span of which some documents are taken (Expect).
func (r *Reader) ExpectDocs(sp Span, docs int) {
	w := kv.Walk{Range: r.docRange(sp), IterOptions: kv.IterOptions{Reverse: sp.Descending}}
	if bytes.Compare(w.Start, w.End) < 0 {
		w.Want = min(docRows, 2*min(docs, docRows)+1) // a head and a body, and what comes behind the last
		r.Expect(kv.Reads{Keys: [][]byte{r.totalsKey()}, Walks: []kv.Walk{w}})
	}
}

// noSeq is not a sequence of a change.
const noSeq = Seq(math.MaxUint64)

// came notes that the walk that has been begun is at a sequence.
func (b *begunChanges) came(q Seq) {
	if b != nil && b.taken {
		b.at = q
	}
}

// totalsKey is the key of the row that holds the scope's numbers.
func (s Scope) totalsKey() []byte {
	if s.partition != "" {
		return s.db.partitionKey(s.partition)
	}
	return laneKey(s.db.number)
}

// laneRow reads the row of the lane head.
func (r *Reader) laneRow() ([]byte, error) {
	if r.begun != nil && r.partition == "" {
		return found(r.begun.row)
	}
	return r.v.Get(laneKey(r.db.number))
}

// partitionRow reads the row of a partition.
func (r *Reader) partitionRow(p document.Partition) (partition, error) {
	if r.begun != nil && r.partition == p {
		return r.db.decodePartitionRow(found(r.begun.row))
	}
	return r.db.decodePartitionRow(r.v.Get(r.db.partitionKey(p)))
}

// found is what Get returns for a value of GetMany.
func found(value []byte) ([]byte, error) {
	if value == nil {
		return nil, kv.ErrNotFound
	}
	return value, nil
}

// walkChanges returns an iterator over a range of the scope's feed, the one that has been begun if it is that.
func (r *Reader) walkChanges(span kv.Range, descending bool) (it kv.Iterator, done func(), err error) {
	if b := r.begun; b != nil && !b.taken && !descending && bytes.Equal(b.from, span.Start) {
		b.taken, b.at = true, noSeq
		return b.it, func() { b.taken = false }, nil
	}
	it, err = r.v.Iterate(span, kv.IterOptions{Reverse: descending})
	return it, func() { it.Close() }, err
}

// changesLeft returns an iterator over what the scope's feed has after q: the walk that has come
// to there, which is over with that, or another.
func (r *Reader) changesLeft(q Seq) (it kv.Iterator, done func(), err error) {
	if b := r.begun; b != nil && b.taken && b.at == q {
		return b.it, func() {}, nil
	}
	it, err = r.v.Iterate(r.feedRange(q), kv.IterOptions{Want: pendingExact + 1})
	return it, func() { it.Close() }, err
}

package store

import (
	"bytes"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// A long walk over winners prefetches: while the caller looks at one batch of
// documents, a goroutine reads the next, so that a scan uses two processors.
// Short walks, which are most, do without.
const (
	prefetchAfter = 256       // documents that are read one by one
	prefetchDocs  = 256       // documents in a batch
	prefetchBytes = 256 << 10 // of their bodies, about
)

// prefetched is documents that were read before they are asked for.
type prefetched struct {
	revs []Revision
	data []byte // the bodies
	text []byte // ids and hashes, of which one text is made
	ends []int  // in text: of each id and of each hash
	err  error
	end  bool // there are no more
}

// prefetch walks the rest. The goroutine has the iterator to itself until prefetch
// returns, which is not before it has ended.
func (w *winnerWalk) prefetch(yield func(*Revision, error) bool) {
	free, ready := make(chan *prefetched, 2), make(chan *prefetched, 2)
	var runs []*prefetched
	for range cap(free) {
		b := w.r.db.store.runs.Get().(*prefetched)
		runs = append(runs, b)
		free <- b
	}
	defer func() { // also where yield panics
		close(free)
		for range ready { // until the goroutine has ended
		}
		for _, b := range runs {
			w.r.db.store.runs.Put(b)
		}
	}()
	go func() {
		defer close(ready)
		for b := range free {
			if err := w.r.db.store.guard("store.Winners", func() error { b.fill(w); return nil }); err != nil {
				b.revs, b.err, b.end = b.revs[:0], err, true
			}
			ready <- b
			if b.end {
				return
			}
		}
	}()
	for b := range ready {
		if !b.each(yield) || b.end {
			return
		}
		free <- b
	}
}

// each yields the range's documents; false when the caller has enough.
func (b *prefetched) each(yield func(*Revision, error) bool) bool {
	for i := range b.revs {
		if !yield(&b.revs[i], nil) {
			return false
		}
	}
	return b.err == nil || yield(nil, dberr.Wrap("store.Winners", b.err))
}

// newPrefetched makes a run with room for as much as it holds, as a rule.
func newPrefetched() any {
	return &prefetched{revs: make([]Revision, 0, prefetchDocs), data: make([]byte, 0, prefetchBytes+prefetchBytes/4)}
}

// fill reads the next run.
func (b *prefetched) fill(w *winnerWalk) {
	b.revs, b.data, b.text, b.ends, b.err, b.end = b.revs[:0], b.data[:0], b.text[:0], b.ends[:0], nil, false
	for len(b.revs) < prefetchDocs && len(b.data) < prefetchBytes {
		found, err := w.next()
		if err != nil || !found {
			b.err, b.end = err, true
			break
		}
		rev := w.revision("", "")
		at := len(b.data)
		b.data = append(b.data, rev.Body...)
		if rev.Body != nil {
			rev.Body = b.data[at:len(b.data):len(b.data)]
		}
		rev.Attachments = ownAttachments(rev.Attachments)
		b.revs = append(b.revs, rev)
		b.text = append(b.text, w.id[w.cut:]...)
		b.ends = append(b.ends, len(b.text))
		b.text = append(b.text, w.hash...)
		b.ends = append(b.ends, len(b.text))
	}
	text, from := string(b.text), 0
	for i := range b.revs {
		id, hash := b.ends[2*i], b.ends[2*i+1]
		b.revs[i].ID, b.revs[i].Rev.Hash = document.ID(text[from:id]), text[id:hash]
		from = hash
	}
}

// ownAttachments copies the bytes that attachments hold.
func ownAttachments(as []document.Attachment) []document.Attachment {
	for i := range as {
		as[i].Data = bytes.Clone(as[i].Data)
	}
	return as
}

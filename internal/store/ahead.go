package store

import (
	"bytes"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// A long walk over winners reads ahead: while the caller looks at one run of
// documents, a goroutine reads the next, so that a scan uses two processors.
// Short walks, which are most, do without.
const (
	aheadAfter = 256       // documents that are read one by one
	aheadDocs  = 256       // documents in a run
	aheadBytes = 256 << 10 // of their bodies, about
)

// run is documents read ahead.
type run struct {
	revs []Revision
	data []byte // the bodies
	text []byte // ids and hashes, of which one text is made
	ends []int  // in text: of each id and of each hash
	err  error
	end  bool // there are no more
}

// ahead walks the rest. The goroutine has the iterator to itself until ahead
// returns, which is not before it has ended.
func (w *winnerWalk) ahead(yield func(*Revision, error) bool) {
	free, ready := make(chan *run, 2), make(chan *run, 2)
	for range cap(free) {
		b := w.r.db.store.runs.Get().(*run)
		defer w.r.db.store.runs.Put(b)
		free <- b
	}
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
			break
		}
		free <- b
	}
	close(free)
	for range ready { // until the goroutine has ended
	}
}

// each yields the run's documents; false when the caller has enough.
func (b *run) each(yield func(*Revision, error) bool) bool {
	for i := range b.revs {
		if !yield(&b.revs[i], nil) {
			return false
		}
	}
	return b.err == nil || yield(nil, dberr.Wrap("store.Winners", b.err))
}

// newRun makes a run with room for as much as it holds, as a rule.
func newRun() any {
	return &run{revs: make([]Revision, 0, aheadDocs), data: make([]byte, 0, aheadBytes+aheadBytes/4)}
}

// fill reads the next run.
func (b *run) fill(w *winnerWalk) {
	b.revs, b.data, b.text, b.ends, b.err, b.end = b.revs[:0], b.data[:0], b.text[:0], b.ends[:0], nil, false
	for len(b.revs) < aheadDocs && len(b.data) < aheadBytes {
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

package store

import (
	"errors"
	"iter"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Ask names a document that a reader is about to be asked for, and what of it.
type Ask struct {
	ID      document.ID
	Head    bool         // Doc will be called
	Winner  bool         // Winner will, or Doc and then Revision with the winner
	Creates bool         // Missing will
	Rev     document.Rev // Revision or Changed will, with this; zero for none
}

// Fetch reads ahead what is asked for, in two calls of the engine at most: heads and
// bodies of revisions that are named, then bodies of winners. Where a call is a round trip the first
// brings the last body of each document whose winner is asked for, which as a rule is that. Afterwards the methods
// that were announced read from memory, and all others as ever, until Fetch is
// called again. What a large body or tree has in rows of its own is read when it is
// asked for. The caller bounds how much it asks for at once.
func (r *Reader) Fetch(asks []Ask) error {
	a := kv.NewAhead(r.v)
	if old, ok := r.v.(*kv.Ahead); ok {
		a = kv.NewAhead(old.Snapshot)
	}
	r.v = a
	keys := make([][]byte, 0, len(asks))
	var last []kv.Walk
	for i := range asks {
		keys = r.appendAsked(keys, &asks[i])
		if r.db.store.distant && r.wantsWinner(&asks[i]) {
			last = append(last, r.db.lastBody(r.Stored(asks[i].ID)))
		}
	}
	if err := a.FetchFirst(keys, last); err != nil {
		return err
	}
	keys = keys[:0]
	for i := range asks {
		key, err := r.winnerAsked(&asks[i])
		if err != nil {
			return err
		}
		if key != nil {
			keys = append(keys, key)
		}
	}
	return a.Fetch(keys)
}

// heads reports whether the document's head will be read.
func (a *Ask) heads() bool { return a.Head || a.Winner || a.Creates }

// appendAsked appends the keys of the rows that are known beforehand.
func (r *Reader) appendAsked(keys [][]byte, a *Ask) [][]byte {
	id := r.Stored(a.ID)
	if a.heads() {
		keys = append(keys, r.db.headKey(id))
	}
	if a.Creates && r.db.settings.Load().markers {
		keys = append(keys, r.db.markerKey(id))
	}
	if !a.Rev.IsZero() {
		keys = append(keys, r.db.bodyKey(id, a.Rev))
	}
	return keys
}

// wantsWinner reports whether the winner's body will be read: a redactor looks at it before a head is shown.
func (r *Reader) wantsWinner(a *Ask) bool { return a.heads() && (a.Winner || r.redactor != nil) }

// lastBody is the walk whose first row is the body of a document's highest revision.
func (d *Database) lastBody(id document.ID) kv.Walk {
	bodies := kv.Prefix(keyspace.Doc.Key(d.number, keyspace.T(string(id)), keyspace.U(keyspace.SubBody)))
	return kv.Walk{Range: bodies, IterOptions: kv.IterOptions{Reverse: true, Want: 1}}
}

// winnerAsked returns the key of the winner's body if that will be read; nil for none.
func (r *Reader) winnerAsked(a *Ask) ([]byte, error) {
	if !r.wantsWinner(a) {
		return nil, nil
	}
	id := r.Stored(a.ID)
	value, err := r.head(id)
	if errors.Is(err, errMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, _, err := decodeWinner(value)
	return r.db.bodyKey(id, h.winner), err
}

// Ahead says how much the reader of many documents takes of one snapshot at most,
// and from that, how many to read ahead at once. Documents that are read ahead and
// not taken are read in vain.
type Ahead struct {
	Docs  int  // taken at most
	Bytes int  // of bodies, taken at most, about
	Heads bool // of changes: Doc will be called too

	all         bool // in one call: the next one is a round trip more
	docs, bytes int  // read so far
	page        int  // bytes of them that were read at this snapshot
}

// How many documents are read ahead at once: few as long as it is not known how
// large they are.
const (
	firstTogether = 32
	leastTogether = 8
	maxTogether   = 128
)

// Ahead begins the reading ahead of documents of the scope, as much as a says.
func (s Scope) Ahead(a Ahead) Ahead {
	a.all = s.db.store.distant
	return a
}

// Next returns how many documents to read ahead next.
func (a *Ahead) Next() int {
	n := firstTogether
	if a.all {
		n = maxTogether
	}
	if a.docs > 0 {
		n = max(leastTogether, (a.Bytes-a.page)/max(1, a.bytes/a.docs))
	}
	return max(1, min(n, maxTogether, a.Docs-a.docs))
}

// Fetch is Reader.Fetch, and notes how large the documents are.
func (a *Ahead) Fetch(r *Reader, asks []Ask) error {
	err := r.Fetch(asks)
	n := r.v.(*kv.Ahead).Bytes()
	a.docs, a.bytes, a.page = a.docs+len(asks), a.bytes+n, a.page+n
	return err
}

// NewPage says that what was read has been taken: reading goes on at a snapshot of
// its own.
func (a *Ahead) NewPage() { a.page = 0 }

// WithWinners is a walk over changes, as Changes and ChangesBefore give, in which the
// winners are read ahead of Changed.
func (r *Reader) WithWinners(walk iter.Seq2[*Change, error], a Ahead) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		a := r.Ahead(a)
		w := &winnersAhead{r: r, a: a, next: a.Next(), yield: yield}
		for c, err := range walk {
			if err != nil {
				if w.flush() {
					yield(nil, err)
				}
				return
			}
			if !w.take(c) {
				return
			}
		}
		w.flush()
	}
}

// winnersAhead gathers changes until their winners are read together.
type winnersAhead struct {
	r     *Reader
	a     Ahead
	next  int // how many are gathered
	page  []Change
	yield func(*Change, error) bool
}

// take adds a change, which the walk goes on with; false when the caller has enough.
func (w *winnersAhead) take(c *Change) bool {
	own := *c
	own.Leaves = slices.Clone(c.Leaves)
	w.page = append(w.page, own)
	return len(w.page) < w.next || w.flush()
}

// flush yields what was gathered.
func (w *winnersAhead) flush() bool {
	if len(w.page) == 0 {
		return true
	}
	asks := make([]Ask, len(w.page))
	for i := range w.page {
		leaves := w.page[i].Leaves
		asks[i] = Ask{ID: w.page[i].ID, Rev: leaves[0], Head: w.a.Heads || len(leaves) > 1}
	}
	if err := w.a.Fetch(w.r, asks); err != nil {
		w.yield(nil, err)
		return false
	}
	for i := range w.page {
		if !w.yield(&w.page[i], nil) {
			return false
		}
	}
	w.page, w.next = w.page[:0], w.a.Next()
	return true
}

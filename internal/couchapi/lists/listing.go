package lists

import (
	"iter"
	"math"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// offsetExact is up to how many rows before the first one are counted for
// the member "offset"; where there are more it is null.
const offsetExact = 1000

// lister writes one list. It reads in pages. Where these can't all be read at one
// snapshot the list holds every document that was there, unchanged, from beginning to
// end; of those written meanwhile it may hold the old or the new state.
type lister struct {
	pager
	kind  *ListKind
	q     *listQuery
	scope store.Scope

	sp      store.Span // what has not been read
	empty   bool       // nothing can match
	total   uint64
	offset  uint64
	counted bool // offset is known
	seq     store.Seq
	begun   bool // total and seq are known
	headed  bool
	next    int // the next key

	named    map[document.ID]struct{} // by keys, where conflicts are shown
	repeated int                      // conflicts of documents that were named before
}

// Step appends the next page. The head comes with the first row, or at the end.
func (l *lister) Step() (over bool, err error) {
	if err := l.inTime(); err != nil {
		return false, err
	}
	page := l.walk
	if l.q.keys != nil {
		page = l.lookUp
	}
	if l.long == nil {
		l.long = l.scope.LongView()
	}
	err = l.long.View(l.R.Ctx(), func(r *store.Reader) (err error) {
		if !l.begun && l.q.keys == nil && !l.kind.local && l.q.limit > 0 && l.q.skip == 0 {
			sp, _ := l.kind.span(l.q)
			r.ExpectDocs(sp, l.q.limit)
		}
		if !l.begun {
			if err := l.begin(r); err != nil {
				return err
			}
		}
		over, err = page(r)
		return err
	})
	if over || err != nil {
		l.Release()
	}
	if err == nil {
		err = l.Finish()
	}
	if err == nil && over {
		l.head()
	}
	return over, err
}

// begin finds where the rows lie and reads what comes before them. A view that finds out that
// it is of other definitions than is remembered runs it again.
func (l *lister) begin(r *store.Reader) (err error) {
	defer func() { l.begun = err == nil }()
	l.sp, l.empty = l.kind.span(l.q)
	t, err := r.Totals()
	if err != nil || l.kind.local {
		return err
	}
	l.total, l.seq = t.Docs, t.Seq
	if l.q.updateSeq && l.scope.Partition() == "" && l.R.Scope.Partition() != "" {
		// Design documents, seen from a partition, which has its own sequence.
		if l.seq, err = couchhttp.LastSeq(l.R.Ctx(), l.R.Scope); err != nil {
			return err
		}
	}
	if l.kind.from != "" {
		if l.total, _, err = l.count(r, l.kind.all(), math.MaxUint64); err != nil {
			return err
		}
	}
	if l.q.keys != nil {
		return nil
	}
	if sp, some := l.kind.before(l.q); some {
		l.offset, l.counted, err = l.count(r, sp, offsetExact)
	} else {
		l.counted = true
	}
	return err
}

// count counts the documents of a span up to a bound; exact is false if there
// are more.
func (l *lister) count(r *store.Reader, sp store.Span, bound uint64) (n uint64, exact bool, err error) {
	for e, err := range r.Docs(sp, false) {
		if err != nil {
			return 0, false, err
		}
		if e.Doc.Tree.Winner().Deleted {
			continue
		}
		if n == bound {
			return n, false, nil
		}
		n++
	}
	return n, true, nil
}

// listed is a document or local document of a list.
type listed struct {
	id    document.ID
	doc   *store.Doc
	body  *store.Revision // of the winner, if wanted
	local *store.Local
}

// entries walks the span.
func (l *lister) entries(r *store.Reader, bodies bool) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		if l.kind.local {
			for d, err := range r.Locals(l.sp) {
				e := listed{local: d}
				if err == nil {
					e.id = d.ID
				}
				if !yield(e, err) {
					return
				}
			}
			return
		}
		for d, err := range r.Docs(l.sp, bodies) {
			e := listed{doc: d.Doc, body: d.Winner}
			if err == nil {
				e.id = d.Doc.ID
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// walk appends the next page of a range.
func (l *lister) walk(r *store.Reader) (over bool, err error) {
	if l.empty || l.q.limit == 0 {
		return true, nil
	}
	n := 0
	bodies := l.q.form.Include && l.q.skip == 0
	for e, err := range l.entries(r, bodies) {
		if err != nil {
			return false, err
		}
		n++
		l.pass(e.id)
		switch {
		case e.doc != nil && e.doc.Tree.Winner().Deleted:
		case l.q.skip > 0:
			l.q.skip--
			l.offset++
			if l.q.skip == 0 && l.q.form.Include {
				return false, nil // go on with bodies
			}
		default:
			if err := l.row(e); err != nil {
				return false, err
			}
		}
		if l.rows == l.q.limit {
			return true, nil
		}
		if n == couchhttp.PageRows || l.Full() {
			return false, nil
		}
	}
	return true, nil
}

// pass takes an id and what lies before it out of the span.
func (l *lister) pass(id document.ID) {
	if l.sp.Descending {
		l.sp.To, l.sp.Before = string(id), true
	} else {
		l.sp.From = string(id) + "\x00"
	}
}

// lookUp appends the next page of rows asked for by key.
func (l *lister) lookUp(r *store.Reader) (over bool, err error) {
	ahead := r.Ahead(store.Ahead{Docs: min(couchhttp.PageRows, len(l.q.keys)-l.next), Bytes: couchhttp.PageBytes})
	fetched := l.next
	for n := 0; l.next < len(l.q.keys) && l.rows < l.q.limit; n++ {
		if n == couchhttp.PageRows || l.Full() {
			return false, nil
		}
		if l.next == fetched {
			if fetched, err = l.fetch(r, &ahead); err != nil {
				return false, err
			}
		}
		key := l.key(l.next)
		l.next++
		if l.q.skip > 0 {
			l.q.skip--
			continue
		}
		e, err := l.find(r, key)
		if err != nil {
			return false, err
		}
		switch {
		case e.doc == nil && e.local == nil:
			l.noRow(key, "not_found")
		case !l.mayRepeat(e):
			l.noRow(key, couchhttp.TooManyRevisions)
		default:
			if err := l.row(e); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// noRow appends why there is no row for a key.
func (l *lister) noRow(key []byte, why string) {
	l.open()
	l.Buf = append(append(l.Buf, `{"key":`...), key...)
	l.Buf = append(append(append(l.Buf, `,"error":"`...), why...), `"}`...)
}

// mayRepeat reports whether a document that a key names is shown, which may have been named before: with its conflicts it is as
// long as there are leaves, and a key takes a few bytes.
func (l *lister) mayRepeat(e listed) bool {
	if !l.Form.Include || !l.Form.Conflicts || e.body == nil {
		return true
	}
	if _, again := l.named[e.id]; again {
		if l.repeated > couchhttp.MaxRepeatedRevs {
			return false
		}
		l.repeated += len(couchhttp.ConflictsOf(&e.doc.Tree))
	}
	if l.named == nil {
		l.named = map[document.ID]struct{}{}
	}
	l.named[e.id] = struct{}{}
	return true
}

// key returns the i-th key in the order of the answer.
func (l *lister) key(i int) []byte {
	if l.q.descending {
		i = len(l.q.keys) - 1 - i
	}
	return l.q.keys[i]
}

// fetch reads ahead the documents that the next keys name, up to the key to.
func (l *lister) fetch(r *store.Reader, ahead *store.Ahead) (to int, err error) {
	var asks []store.Ask
	to = min(l.next+ahead.Next(), len(l.q.keys))
	for i := l.next; i < to; i++ {
		if b := boundOf(l.key(i)); b.text && !document.ID(b.id).IsLocal() && l.kind.has(b.id) {
			asks = append(asks, store.Ask{ID: document.ID(b.id), Head: true, Winner: l.Form.Include})
		}
	}
	return to, ahead.Fetch(r, asks)
}

// find reads the document that a key names; the zero listed if there is none.
func (l *lister) find(r *store.Reader, key []byte) (e listed, err error) {
	b := boundOf(key)
	e.id = document.ID(b.id)
	switch {
	case !b.text || !l.kind.has(b.id):
	case e.id.IsLocal():
		e.local, err = r.Local(e.id)
	case l.scope.Partition() != e.id.Partition() && l.scope.Partition() != "":
	default:
		e.doc, err = r.Doc(e.id)
		if err == nil && l.Form.Include && !e.doc.Tree.Winner().Deleted {
			e.body, err = r.Revision(e.doc, e.doc.Tree.Winner().Rev)
		}
	}
	if dberr.Is(err, dberr.NotFound) {
		return listed{}, nil
	}
	return e, err
}

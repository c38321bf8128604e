package lists

import (
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/store"
)

// pageGroups is how many groups are reduced at a time.
const pageGroups = 500

// viewLister writes the answer to one query of a view. Like lister it reads in
// pages.
type viewLister struct {
	pager
	q         *viewQuery
	partition document.Partition
	s         *index.Session
	draft     *view.Draft // of the index, which is being built; nil: it answers itself

	spans  []view.Span // what has not been read, in the order of the answer
	total  uint64
	offset uint64
	seq    store.Seq
	queue  []view.Row   // read, and not written yet
	groups []view.Group // of a page
	begun  bool         // the head is written
	tagged bool         // the first page sets the ETag
}

// Step appends the next page, the first time with the head. If the view changes before that, it looks for it again.
func (l *viewLister) Step() (over bool, err error) {
	for try := 0; ; try++ {
		over, err = l.step()
		if l.begun || !errors.Is(err, index.ErrGone) || try == 3 {
			return over, err
		}
		if err := l.reset(); err != nil {
			return false, err
		}
	}
}

// reset begins with the view that has the name now.
func (l *viewLister) reset() error {
	l.Release()
	fresh, err := ViewListerOf(l.R, couchhttp.DesignFunctions{}, strings.TrimPrefix(string(l.s.Design), "_design/"), l.s.Name, l.q)
	if err == nil {
		fresh.RowStream, fresh.tagged = l.RowStream, l.tagged
		*l = *fresh
	}
	return err
}

func (l *viewLister) step() (over bool, err error) {
	page := l.rowPage
	if l.q.reduced {
		page = l.groupPage
	}
	if err := l.inTime(); err != nil {
		return false, err
	}
	if l.long == nil {
		l.long = l.s.Hold()
	}
	etag := ""
	err = l.s.Expecting(l.R.Ctx(), l.expect, func(rd *store.Reader, gone bool) (err error) {
		if l.tagged && l.mayTag() {
			if etag, err = l.tag(rd, gone); err != nil {
				return err
			}
		}
		v, err := l.reader(rd)
		if err != nil {
			return err
		}
		defer v.Close()
		if !l.begun {
			if err := l.begin(rd, v, gone); err != nil {
				return err
			}
			l.begun = true
			l.head()
		}
		over, err = page(rd, v)
		return err
	})
	if over || err != nil {
		l.Release()
	}
	if l.tagged {
		l.setTag(etag, err)
	}
	if err == nil {
		err = l.reductions()
	}
	if err == nil {
		err = l.Finish()
	}
	return over, err
}

// expect says what the page is going to read of the index.
func (l *viewLister) expect(rd *store.Reader) {
	if l.draft != nil {
		return
	}
	rd.Remember()
	e := view.Expected{Spans: l.spans, Rows: l.q.limit - l.rows, Groups: l.q.reduced, Counts: !l.begun && !l.q.reduced}
	if !l.begun {
		e.Ranges = l.ranges()
	}
	view.Expect(rd, l.s.Answers, l.partition, e)
}

// ranges returns what is asked for, in the order of the answer.
func (l *viewLister) ranges() (all []view.Range) {
	if l.q.keys == nil {
		return []view.Range{l.stored(l.q.rows)}
	}
	for _, key := range l.q.keys {
		one := l.q.rows
		one.Start.Key, one.End.Key = key, key
		all = append(all, l.stored(one))
	}
	if l.q.rows.Descending && !l.q.reduced {
		slices.Reverse(all)
	}
	return all
}

// reader returns what reads the index, or its draft.
func (l *viewLister) reader(rd *store.Reader) (*view.Reader, error) {
	if l.draft != nil {
		return l.draft.Reader(rd)
	}
	return view.NewReader(rd, l.s.Answers, l.partition)
}

// begin finds where the rows lie and what comes before them.
func (l *viewLister) begin(rd *store.Reader, v *view.Reader, gone bool) (err error) {
	if l.seq = l.s.UpTo.Seq; l.q.updateSeq && !gone && l.draft == nil {
		p, err := l.s.Answers.Progress(rd.Snapshot(), l.R.DB.Number())
		if err != nil {
			return err
		}
		if l.seq = p.UpTo.Seq; l.q.update == updateFirst {
			l.seq = max(l.seq, l.s.UpTo.Seq)
		}
	}
	if l.q.updateSeq && l.R.Scope.Restricted() {
		if err := l.ownSeq(rd); err != nil {
			return err
		}
	}
	l.spans = l.spans[:0]
	for _, one := range l.ranges() {
		s, err := v.Span(one)
		if err != nil {
			return err
		}
		l.spans = append(l.spans, s)
	}
	if l.q.reduced {
		return nil
	}
	if l.total, err = v.Count(v.Whole()); err != nil {
		return err
	}
	return l.seekStart(v)
}

// seekStart works out the offset and passes over the rows to be skipped. The offset
// is that of the first row of all, and what is skipped, as in CouchDB.
func (l *viewLister) seekStart(v *view.Reader) error {
	found := false
	skip := uint64(l.q.skip)
	if len(l.spans) == 1 && skip == 0 {
		before, err := v.Count(l.spans[0].Before(v.Whole()))
		l.offset = min(l.total, before)
		return err
	}
	for i := range l.spans {
		n, err := v.Count(l.spans[i])
		if err != nil {
			return err
		}
		if !found && (n > 0 || i == len(l.spans)-1) {
			if l.offset, err = v.Count(l.spans[i].Before(v.Whole())); err != nil {
				return err
			}
			found = true
		}
		if skip > 0 {
			if l.spans[i], err = v.Skip(l.spans[i], skip); err != nil {
				return err
			}
			skip -= min(skip, n)
		} else if found {
			break
		}
	}
	l.offset = min(l.total, l.offset+uint64(l.q.skip))
	return nil
}

// ownSeq makes the sequence of the answer one of the partition's own, which
// stays the same whatever is written elsewhere.
func (l *viewLister) ownSeq(rd *store.Reader) (err error) {
	own := *rd
	own.Scope = l.R.Scope
	l.seq, err = own.SeqUpTo(l.seq)
	return err
}

// head appends what comes before the rows.
func (l *viewLister) head() {
	l.Buf = append(l.Buf, '{')
	if !l.q.reduced {
		l.Buf = couchhttp.AppendCount(l.Buf, `"total_rows":`, l.total)
		l.Buf = couchhttp.AppendCount(l.Buf, `,"offset":`, l.offset)
		l.Buf = append(l.Buf, ',')
	}
	if l.q.updateSeq {
		l.Buf = append(l.Buf, `"update_seq":"`...)
		l.Buf = l.R.Scope.AppendSeq(l.Buf, l.seq)
		l.Buf = append(l.Buf, `",`...)
	}
	l.Buf = append(l.Buf, `"rows":[`...)
}

// rowPage appends the next page of rows.
func (l *viewLister) rowPage(rd *store.Reader, v *view.Reader) (over bool, err error) {
	docs, ahead := rd, rd.Ahead(store.Ahead{Docs: couchhttp.PageRows, Bytes: couchhttp.PageBytes})
	if l.s.Shared() {
		docs = rd.As(l.R.Scope)
	}
	if end, err := l.drain(docs, &ahead); end || err != nil {
		return l.rows >= l.q.limit, err
	}
	room := l.together(&ahead)
	for n := 0; len(l.spans) > 0; l.spans = l.spans[1:] {
		for row, err := range v.Rows(l.spans[0]) {
			if err != nil {
				return false, err
			}
			n++
			if row.ID, err = l.shown(row.ID); err != nil {
				return false, err
			}
			l.queue = append(l.queue, row)
			if row.At == nil {
				continue // more that belong together follow
			}
			l.spans[0] = l.spans[0].Behind(row.At)
			if len(l.queue) < room {
				continue
			}
			if end, err := l.drain(docs, &ahead); end || err != nil {
				return l.rows >= l.q.limit, err
			}
			if n >= couchhttp.PageRows {
				return false, nil
			}
			room = l.together(&ahead)
		}
		if end, err := l.drain(docs, &ahead); end || err != nil {
			return l.rows >= l.q.limit, err
		}
	}
	return true, nil
}

// together is how many rows are gathered before they are appended: as many as have
// their documents read together.
func (l *viewLister) together(ahead *store.Ahead) int {
	if !l.q.form.Include {
		return 1
	}
	return min(ahead.Next(), l.q.limit-l.rows)
}

// drain appends the rows that were read, and reports whether the page or the answer
// ends with them.
func (l *viewLister) drain(rd *store.Reader, ahead *store.Ahead) (end bool, err error) {
	if l.q.form.Include && len(l.queue) > 0 {
		if err := l.fetch(rd, ahead); err != nil {
			return false, err
		}
	}
	for i := range l.queue {
		if l.rows >= l.q.limit || l.Full() {
			l.queue = append(l.queue[:0], l.queue[i:]...)
			return true, nil
		}
		if err := l.row(rd, &l.queue[i]); err != nil {
			return false, err
		}
	}
	l.queue = l.queue[:0]
	return l.rows >= l.q.limit || l.Full(), nil
}

// fetch reads ahead the documents of the rows that were read.
func (l *viewLister) fetch(rd *store.Reader, ahead *store.Ahead) error {
	asks := make([]store.Ask, 0, len(l.queue))
	for i := range l.queue {
		if id, rev, ok := l.link(&l.queue[i]); ok {
			asks = append(asks, store.Ask{ID: id, Head: true, Winner: rev.IsZero(), Rev: rev})
		}
	}
	return ahead.Fetch(rd, asks)
}

// row appends a row.
func (l *viewLister) row(rd *store.Reader, row *view.Row) error {
	l.between("\r\n")
	b := couchhttp.AppendString(append(l.Buf, `{"id":`...), string(row.ID))
	b = append(append(b, `,"key":`...), row.Key...)
	l.Buf = append(append(b, `,"value":`...), row.Value...)
	if !l.q.form.Include {
		l.Buf = append(l.Buf, '}')
		return nil
	}
	l.Buf = append(l.Buf, `,"doc":`...)
	rev, tree, err := l.linked(rd, row)
	if err != nil {
		return err
	}
	if rev == nil {
		l.Buf = append(l.Buf, "null}"...)
		return nil
	}
	l.Document(rev, tree, "}")
	return nil
}

// shown returns the id of a row as the request's scope has it: rows of the database's
// views hold stored ids.
func (l *viewLister) shown(id document.ID) (document.ID, error) {
	if !l.s.Shared() {
		return id, nil
	}
	own, ok := l.R.Scope.Shown(id)
	if !ok {
		return "", errors.New("couchapi: a row of another partition") // its reader returns none
	}
	return own, nil
}

// named returns the id that a row's value names as the request's scope has it; false
// if that is none of the scope's. Functions of the database name stored ids.
func (l *viewLister) named(id document.ID) (document.ID, bool) {
	if !l.s.Shared() {
		return id, true
	}
	return l.R.Scope.Shown(id)
}

// stored returns a range of rows with the ids at its ends as the index has them.
func (l *viewLister) stored(r view.Range) view.Range {
	if l.s.Shared() {
		for _, b := range []*view.Bound{&r.Start, &r.End} {
			if b.ByID {
				b.ID = l.R.Scope.Stored(b.ID)
			}
		}
	}
	return r
}

package changes

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

const (
	// pageRows is how many changes are looked at in one snapshot.
	pageRows = 500
	// maxLookups is up to how many ids are looked up one by one; with more the
	// feed is walked.
	maxLookups = 100
	// overrun is how many sequences a feed that is to end runs at least after
	// the writers that go on meanwhile; it runs as far as it had to go at first.
	overrun = 10 * pageRows
	noUpper = store.Seq(math.MaxUint64)
)

// stream is a feed under way.
//
// The first pass may go backwards or look documents up by id; whatever comes
// later is read forwards from at. What ends at a limit ends at the row's
// sequence, what ends for want of changes ends at the scope's last sequence,
// which may be beyond the last row: rows after it were filtered away or the
// documents purged.
//
// A document that changes while the pages of a feed are read moves to the end
// of it. A feed therefore reads on up to the end as it is then, not as it was
// at the first page: who takes one answer for the whole (a backup) must not
// miss the documents that moved. Only from writers that are faster than the
// reader for good it turns away, and says so by pending.
type stream struct {
	Feed
	src  Source
	sink Sink

	descending bool      // this pass goes backwards
	lookup     bool      // this pass looks documents up
	at         store.Seq // everything up to here has been seen
	upper      store.Seq // going backwards: everything from here up has been seen
	left       int       // rows until the limit; below 0 for none
	rows       int       // shown

	opened  bool      // the first page of the pass has been read
	newest  store.Seq // the last sequence at that page
	enough  store.Seq // where a feed that is to end gives up on writers that do not
	total   uint64    // changes in the pass, where end.Pending is counted down
	visited uint64

	end    End
	sentTo store.Seq // where to go on from after what has gone out
	begun  bool      // something has been read and sent
	sent   time.Time // when bytes last went out
	shown  time.Time // when the last row was shown
	change store.Change
	wanted map[document.ID]bool
	taken  []awaiting // by the judge, of the page at hand
}

// read returns the sink everything there is at present, or up to the limit.
func (u *stream) read(ctx context.Context) error {
	for {
		over, err := u.step(ctx)
		if err != nil {
			return err
		}
		if err := u.sink.Send(); err != nil {
			return err
		}
		u.begun = true
		if !u.descending {
			u.sentTo = u.at
		}
		if over {
			u.descending, u.lookup, u.opened = false, false, false
			return nil
		}
		if u.Mode == Endless && u.stopped() {
			return u.src.View(ctx, func(r Reader) error { return u.close(r, u.at, false) })
		}
		if u.Heartbeat > 0 && time.Since(u.sent) >= u.Heartbeat {
			if err := u.beat(); err != nil {
				return err
			}
		}
	}
}

// step gives the sink a page and reports whether the pass is over.
func (u *stream) step(ctx context.Context) (over bool, err error) {
	if u.Judge != nil {
		return u.judged(ctx)
	}
	err = u.src.View(ctx, func(r Reader) (err error) {
		over, err = u.page(r)
		return err
	})
	return over, err
}

// page reads one page and reports whether the pass is over.
func (u *stream) page(r Reader) (over bool, err error) {
	if !u.descending && !u.lookup {
		end, err := r.BeginChanges(u.at, u.want())
		if err != nil {
			return false, err
		}
		defer end()
	}
	totals, err := r.Totals()
	if err != nil {
		return false, err
	}
	last := totals.Seq
	if !u.opened {
		if err := u.open(r, totals); err != nil {
			return false, err
		}
	}
	if u.left == 0 {
		return true, u.close(r, u.at, true)
	}
	n := 0
	for c, err := range u.candidates(r) {
		if err != nil {
			return false, err
		}
		n++
		u.pass(c.Seq)
		full, err := u.show(r, c)
		if err != nil {
			return false, err
		}
		if u.left == 0 {
			return true, u.close(r, c.Seq, true)
		}
		if full || n == pageRows {
			return u.another(r)
		}
	}
	return true, u.finish(r, last)
}

// open notes the state of things at the beginning of a pass. A view whose first read fails
// runs it again.
func (u *stream) open(r Reader, totals store.Totals) (err error) {
	defer func() { u.opened = err == nil }()
	last := totals.Seq
	if u.Opened != nil {
		u.Opened(totals)
	}
	u.newest, u.visited = last, 0
	u.enough = last + (last - min(last, u.at)) + overrun
	if u.descending {
		u.at = 0
	}
	if u.descending || u.lookup {
		u.total, err = r.Pending(u.at)
	}
	return err
}

// want is how many rows a page reads that is going to end at the limit; 0 if nobody knows.
func (u *stream) want() int {
	if u.left < 0 || u.left >= pageRows || u.Filter != nil || u.Judge != nil || u.Design || u.IDs != nil {
		return 0
	}
	return u.left
}

// pass moves the feed's place past a change.
func (u *stream) pass(q store.Seq) {
	u.visited++
	if u.descending {
		u.upper = q
	} else {
		u.at = q
	}
}

// another says whether there is to be another page after a full one.
func (u *stream) another(r Reader) (over bool, err error) {
	u.end = End{Seq: u.at}
	if u.Mode == Endless || u.descending || u.lookup || u.at < u.enough {
		return false, nil
	}
	return true, u.close(r, u.at, false)
}

// finish ends a pass that has come to the end of the feed.
func (u *stream) finish(r Reader, last store.Seq) error {
	q := max(u.at, last)
	if u.descending {
		if q = u.upper; u.visited == 0 {
			q = last
		}
	}
	before := u.end
	u.end = End{Seq: q}
	switch {
	case u.lookup:
		u.end.Pending = u.countdown()
	case u.begun && u.visited == 0 && q == before.Seq:
		u.end.Pending = before.Pending // it was woken for nothing
	}
	u.at = max(u.at, last)
	if u.descending {
		// What came in meanwhile is for the next pass.
		u.at = u.newest
	}
	return nil
}

// close ends a feed in the middle, at q.
func (u *stream) close(r Reader, q store.Seq, limited bool) (err error) {
	u.end = End{Seq: q, Limited: limited}
	if u.descending || u.lookup {
		u.end.Pending = u.countdown()
		return nil
	}
	u.end.Pending, err = r.Pending(q)
	return err
}

// countdown returns what CouchDB reports as pending where a feed is not walked
// forwards: the changes less those looked at.
func (u *stream) countdown() uint64 { return u.total - min(u.total, u.visited) }

// show returns a change to the sink if it passes the filters.
func (u *stream) show(r Reader, c *store.Change) (full bool, err error) {
	if !u.wants(c.ID) {
		return false, nil
	}
	revs := c.Leaves
	if !u.Leaves {
		revs = revs[:min(1, len(revs))]
	}
	if u.Filter != nil {
		if revs, err = u.Filter(r, c, revs); err != nil || len(revs) == 0 {
			return false, err
		}
	}
	if u.Judge != nil {
		return u.take(r, c, revs)
	}
	return u.write(r, c, revs)
}

// write returns a change that passed to the sink.
func (u *stream) write(r Reader, c *store.Change, revs []document.Rev) (full bool, err error) {
	full, err = u.sink.Row(r, &Row{Seq: c.Seq, ID: c.ID, Deleted: c.Deleted, Winner: c.Leaves[0], Revs: revs})
	if err != nil {
		return false, err
	}
	u.rows++
	u.left--
	u.shown = time.Now()
	return full, nil
}

// wants applies the filters that look at the id alone.
func (u *stream) wants(id document.ID) bool {
	if u.Design {
		return id.IsDesign()
	}
	if u.IDs == nil || u.lookup {
		return true
	}
	if u.wanted == nil {
		u.wanted = make(map[document.ID]bool, len(u.IDs))
		for _, id := range u.IDs {
			u.wanted[id] = true
		}
	}
	return u.wanted[id]
}

// candidates returns the changes of the pass that have not been looked at.
func (u *stream) candidates(r Reader) iter.Seq2[*store.Change, error] {
	ahead := u.Ahead
	if ahead.Bytes == 0 {
		return u.changes(r)
	}
	ahead.Docs = pageRows
	if u.left > 0 && u.Filter == nil && u.Judge == nil {
		ahead.Docs = min(pageRows, u.left)
	}
	return r.WithWinners(u.changes(r), ahead)
}

// changes returns the changes that are left in the order of the feed.
func (u *stream) changes(r Reader) iter.Seq2[*store.Change, error] {
	if u.lookup {
		return u.lookups(r)
	}
	if u.descending {
		return r.ChangesBefore(u.at, u.upper)
	}
	return r.Changes(u.at, false)
}

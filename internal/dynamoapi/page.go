package dynamoapi

import (
	"hash/fnv"
	"iter"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

const (
	// pageBytes is how much a page reads, as at AWS, before what the filter leaves out.
	pageBytes = 1 << 20
	// passedBytes is how much of other segments a page of a scan passes by.
	passedBytes = 32 << 20
	// pageWork is how much a page looks at: for each item, and for each that is there no more,
	// parts of the filter, paths of the projection, and rowWork for coming by it. A part of the
	// filter may look at all of the item, so it counts once more for each partBytes of that.
	// Long filters reach it, and scans of hundreds of thousands of deleted items.
	pageWork  = 2_000_000
	rowWork   = 10
	partBytes = 64
	// readAhead is how many items behind an index's rows are read at once.
	readAhead = 32
)

// page is a page of a listing, as it is made.
type page struct {
	*listing
	out     []byte // the answer
	count   int
	scanned int
	bytes   int
	passed  int // bytes of other segments
	work    int // what was looked at
	memory  answerMemory
	entries int                   // bytes of rows of an index whose items were read
	fetched float64               // what reading these items took
	last    []attribute.Attribute // where the next page goes on; nil for the end
}

// itemsBegin begins an answer with items; finish makes it JSON.
const itemsBegin = `{,"Items":[`

// newPage begins a page, whose answer is written into the memory of buf.
func newPage(l *listing, buf []byte) *page {
	return &page{listing: l, out: append(buf[:0], itemsBegin...)}
}

// row is an item that a listing comes by.
type row struct {
	id   document.ID
	item attribute.Item
	size int
	body []byte // instead of item: the document, of which all is wanted; borrowed
	gone bool   // it was deleted
}

// answerMemory is what a request was charged for its answer.
type answerMemory struct{ bytes int }

// hold charges the request for an answer that has become so long. Errors: those of Hold; a
// page that has something ends then.
func (m *answerMemory) hold(r *Request, length int) error {
	if length <= m.bytes {
		return nil
	}
	err := r.Hold(int64(length - m.bytes))
	m.bytes = length
	return err
}

// read reads the page at a snapshot.
func (p *page) read(r *Request, rd *store.Reader) error {
	if err := p.enter(r); err != nil {
		return err
	}
	rows, work, parts := p.walkTable, p.workOfRow(), p.partsOfFilter()
	if p.x != nil {
		rows = p.walkIndex
	}
	for row, err := range rows(rd) {
		if err != nil {
			return err
		}
		p.add(row)
		p.work += work + parts*row.size/partBytes
		err = p.memory.hold(r, len(p.out))
		if err != nil && p.scanned < 2 {
			return err
		}
		if (p.full() || err != nil) && p.goOnAfter(row) {
			return nil
		}
	}
	return nil
}

// enter refuses who may not read what the listing reads.
func (p *page) enter(r *Request) error {
	if r.mayAll(p.t, false) {
		return nil
	}
	if p.x != nil && !p.x.Local || p.within.Hash.Type() == attribute.None {
		return r.denied(p.table)
	}
	partition, err := p.t.Partition(p.within.Hash.Text())
	if err != nil {
		return errKeySchema
	}
	return r.mayPartition(p.t, partition, false)
}

func (p *page) full() bool {
	return p.limit > 0 && p.scanned >= p.limit || p.bytes >= pageBytes || p.passed >= passedBytes || p.work >= pageWork
}

// partsOfFilter is how many parts the filter has, 0 without one.
func (l *listing) partsOfFilter() int {
	if l.filter == nil {
		return 0
	}
	return l.filter.Parts()
}

// workOfRow is how much is looked at for an item, whatever its size.
func (l *listing) workOfRow() int {
	parts := rowWork
	if l.filter != nil {
		parts = l.filter.Parts()
	}
	if l.projection != nil {
		parts += l.projection.Parts()
	}
	return parts
}

// elsewhere reports whether an item is of another segment of the scan. Segments are told
// apart by the ids' hashes, so they are even, whatever the keys are.
func (p *page) elsewhere(id document.ID) bool {
	if p.segments < 2 {
		return false
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return mixed(h.Sum32())%p.segments != p.segment
}

// mixed spreads a hash over all of its bits (the finalizer of MurmurHash3): the lowest of
// FNV's say little but what the last characters of an id are.
func mixed(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// add adds an item, if it is of the segment and passes the filter.
func (p *page) add(w row) {
	if w.gone {
		return
	}
	if p.elsewhere(w.id) {
		p.passed += w.size + len(w.body)
		return
	}
	p.scanned++
	if w.body != nil {
		p.addWhole(w)
		return
	}
	p.bytes += w.size
	if p.capacity != "NONE" && p.fetches() {
		p.fetched += readUnits(w.size, p.consistent)
		p.entries += p.t.projectedOf(p.x, w.item).Size()
	}
	if p.filter != nil && !p.filter.Holds(w.item) {
		return
	}
	p.count++
	if p.selected != selectCount {
		p.separate()
		p.out = appendItem(p.out, p.shown(w.item), p.projection)
	}
}

// addWhole adds a document of which all is wanted, without an item in between where it is one.
func (p *page) addWhole(w row) {
	before := len(p.out)
	p.separate()
	begin := len(p.out)
	out, size, err := attribute.AppendWire(p.out, w.body)
	if err != nil {
		item, _ := p.t.shownItem(w.id, w.body)
		out, size = attribute.AppendItem(p.out[:begin], item), item.Size()
	}
	if p.out = out; p.selected == selectCount {
		p.out = p.out[:before]
	}
	p.count++
	p.bytes += size
}

// shown returns what an index shows of an item that was read for its sake.
func (p *page) shown(item attribute.Item) attribute.Item {
	if p.x == nil || p.projection != nil || p.selected == selectAll || p.x.Projection == table.All {
		return item
	}
	return p.t.projectedOf(p.x, item)
}

// fetches reports whether items are read of which the index has a part alone.
func (p *page) fetches() bool { return p.x != nil && p.x.Projection != table.All && p.reads() }

// cost is what reading the page took.
func (p *page) cost() cost {
	switch {
	case p.x == nil:
		return reading(p.bytes, p.consistent)
	case !p.fetches():
		return cost{indexes: []indexCost{{p.index, p.x.Local, readUnits(p.bytes, p.consistent)}}}
	}
	return cost{table: p.fetched, indexes: []indexCost{{p.index, p.x.Local, readUnits(p.entries, p.consistent)}}}
}

func (p *page) separate() {
	if len(p.out) > len(itemsBegin) {
		p.out = append(p.out, ',')
	}
}

// goOnAfter notes the row after which the next page begins; false for a document that has
// no key, as one that was deleted may.
func (p *page) goOnAfter(w row) bool {
	item, ok := w.item, true
	switch {
	case w.gone:
		item, ok = p.t.keyOf(w.id)
	case w.body != nil:
		item, ok = p.t.shownItem(w.id, w.body)
	}
	if !ok {
		return false
	}
	for _, name := range p.allKeys() {
		v, _ := item.Get(name)
		p.last = append(p.last, attribute.Attribute{Name: name, Value: v})
	}
	return true
}

// walkTable gives the table's items.
func (p *page) walkTable(rd *store.Reader) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		sp, err := p.span()
		if err != nil {
			yield(row{}, err)
			return
		}
		whole := p.filter == nil && p.projection == nil && !p.t.IDs
		for rev, err := range rd.Winners(sp) {
			if err != nil {
				yield(row{}, err)
				return
			}
			if !p.t.Holds(rev.ID) { // others were written before the database was a table
				continue
			}
			w := row{id: rev.ID, body: rev.Body, gone: rev.Deleted}
			if !whole && !w.gone {
				w = p.rowOf(rev)
			}
			if !yield(w, nil) {
				return
			}
		}
	}
}

// rowOf returns the row of a document.
func (p *page) rowOf(rev *store.Revision) row {
	item, _ := p.t.shownItem(rev.ID, rev.Body)
	return row{id: rev.ID, item: item, size: item.Size()}
}

// walkIndex gives an index's items: as its rows have them, or read.
func (p *page) walkIndex(rd *store.Reader) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		entries, err := p.rows(rd)
		if err != nil {
			yield(row{}, err)
			return
		}
		if !p.reads() {
			for e, err := range entries {
				if err == nil && !rd.Sees(e.ID) {
					continue
				}
				w := row{id: e.ID}
				if err == nil {
					w.item, err = attribute.ParseBody(e.Attributes)
					w.size = w.item.Size()
				}
				if !yield(w, err) {
					return
				}
			}
			return
		}
		p.readEach(rd, entries, yield)
	}
}

// readEach reads the items behind rows, some at a time.
func (p *page) readEach(rd *store.Reader, entries iter.Seq2[secondary.Entry, error], yield func(row, error) bool) {
	var ids []document.ID
	give := func() bool {
		asks := make([]store.Ask, len(ids))
		for i, id := range ids {
			asks[i] = store.Ask{ID: id, Winner: true}
		}
		err := rd.Fetch(asks)
		for _, id := range ids {
			w := row{id: id}
			if err == nil {
				w, err = p.readOne(rd, id)
			}
			if !yield(w, err) || err != nil {
				return false
			}
		}
		ids = ids[:0]
		return true
	}
	ahead := 4 // most queries want few
	for e, err := range entries {
		if err != nil {
			yield(row{}, err)
			return
		}
		if !rd.Sees(e.ID) {
			continue
		}
		if ids = append(ids, e.ID); len(ids) >= ahead {
			if !give() {
				return
			}
			ahead = readAhead
		}
	}
	give()
}

func (p *page) readOne(rd *store.Reader, id document.ID) (row, error) {
	rev, err := rd.Winner(id)
	if err != nil {
		return row{}, dberr.Wrap("dynamoapi.readOne", err) // the row is of this snapshot: the document is there
	}
	return p.rowOf(rev), nil
}

// rows gives the index's rows.
func (p *page) rows(rd *store.Reader) (iter.Seq2[secondary.Entry, error], error) {
	set, err := index.Of(rd)
	if err != nil {
		return nil, err
	}
	named := set.Lookup(table.DesignID, secondary.KindName, p.index)
	if named == nil || named.Index.State != index.Readable {
		return nil, attribute.Invalid("Cannot read from backfilling global secondary index: %s", p.index)
	}
	sp, err := p.indexSpan()
	if err != nil {
		return nil, err
	}
	after, err := p.position()
	if err != nil {
		return nil, err
	}
	return secondary.Walk(rd, named.Index, sp, after, p.descending), nil
}

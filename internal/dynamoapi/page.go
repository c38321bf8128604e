package dynamoapi

import (
	"hash/fnv"
	"iter"
	"slices"

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
	// readAhead is how many items behind an index's rows are read at once.
	readAhead = 32
)

// page is a page of a listing, as it is made.
type page struct {
	*listing
	items   []byte // JSON
	count   int
	scanned int
	bytes   int
	passed  int                   // bytes of other segments
	last    []attribute.Attribute // where the next page goes on; nil for the end
}

// row is an item that a listing comes by.
type row struct {
	id   document.ID
	item attribute.Item
	size int
	body []byte // instead of item: the document, of which all is wanted; borrowed
}

// read reads the page at a snapshot.
func (p *page) read(r *Request, rd *store.Reader) error {
	if err := p.enter(r); err != nil {
		return err
	}
	rows := p.walkTable
	if p.x != nil {
		rows = p.walkIndex
	}
	for row, err := range rows(rd) {
		if err != nil {
			return err
		}
		p.add(row)
		if p.full() {
			p.goOnAfter(row)
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
	return p.limit > 0 && p.scanned >= p.limit || p.bytes >= pageBytes || p.passed >= passedBytes
}

// elsewhere reports whether an item is of another segment of the scan. Segments are told
// apart by the ids' hashes, so they are even, whatever the keys are.
func (p *page) elsewhere(id document.ID) bool {
	if p.segments < 2 {
		return false
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return h.Sum32()%p.segments != p.segment
}

// add adds an item, if it is of the segment and passes the filter.
func (p *page) add(w row) {
	if p.elsewhere(w.id) {
		p.passed += w.size + len(w.body)
		return
	}
	p.scanned++
	if w.body != nil {
		before := len(p.items)
		p.separate()
		begin, size := len(p.items), 0
		var err error
		if p.items, size, err = attribute.AppendWire(p.items, w.body); err != nil {
			item, _ := p.t.shownItem(w.id, w.body)
			p.items, size = attribute.AppendItem(p.items[:begin], item), item.Size()
		}
		if p.selected == selectCount {
			p.items = p.items[:before]
		}
		p.count++
		p.bytes += size
		return
	}
	p.bytes += w.size
	if p.filter != nil && !p.filter.Holds(w.item) {
		return
	}
	p.count++
	if p.selected != selectCount {
		p.separate()
		p.items = appendItem(p.items, p.shown(w.item), p.projection)
	}
}

// shown returns what an index shows of an item that was read for its sake.
func (p *page) shown(item attribute.Item) attribute.Item {
	if p.x == nil || p.projection != nil || p.selected == selectAll || p.x.Projection == table.All {
		return item
	}
	projected := p.t.Projected(p.x)
	var kept []attribute.Attribute
	for _, a := range item.Attributes() {
		if slices.Contains(projected, a.Name) {
			kept = append(kept, a)
		}
	}
	return attribute.NewItem(kept)
}

func (p *page) separate() {
	if len(p.items) > 1 {
		p.items = append(p.items, ',')
	}
}

// goOnAfter notes the row after which the next page begins.
func (p *page) goOnAfter(w row) {
	item := w.item
	if w.body != nil {
		item, _ = p.t.shownItem(w.id, w.body)
	}
	for _, name := range p.allKeys() {
		v, _ := item.Get(name)
		p.last = append(p.last, attribute.Attribute{Name: name, Value: v})
	}
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
			if rev.Deleted || rev.ID.IsDesign() || rev.ID.Designs(true) || !p.t.mayHold(rev.ID) {
				continue
			}
			w := row{id: rev.ID, body: rev.Body}
			if !whole {
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

// mayHold reports whether the table may have an item of an id. Others were written before
// the database was a table.
func (t *tableAt) mayHold(id document.ID) bool {
	if t.IDs {
		return true
	}
	_, err := t.KeyOf(id)
	return err == nil
}

// walkIndex gives an index's items: as its rows have them, or read.
func (p *page) walkIndex(rd *store.Reader) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		entries, err := p.entries(rd)
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

// entries gives the index's rows.
func (p *page) entries(rd *store.Reader) (iter.Seq2[secondary.Entry, error], error) {
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

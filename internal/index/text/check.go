package text

import (
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Check is index.Checked's: it reads every segment, from its rows and not from the cache,
// compares what the manifest says of it, and looks for rows of segments that there are not and for documents that are in
// the index twice. No index function is run.
func (k *Kind) Check(r *store.Reader, x *index.Index) ([]error, error) {
	c := &check{Kind: k, rows: rowsOf(r.Database(), x.Number), r: r, ids: map[string]bool{}}
	m, err := c.readManifest(r.Snapshot().Get)
	if err != nil {
		c.bad("%v", err)
		return c.found, nil
	}
	known := map[uint64]bool{}
	for i := range m.segments {
		e := &m.segments[i]
		if known[e.number] || e.number >= m.next {
			c.bad("segment %d is named twice, or has a number that was not given", e.number)
		}
		known[e.number] = true
		c.segment(e)
	}
	return c.found, c.strays(known)
}

// check is a Check under way.
type check struct {
	*Kind
	rows
	r     *store.Reader
	ids   map[string]bool
	found []error
}

func (c *check) bad(format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("database %s: index %d: %s", c.d.Name(), c.index, fmt.Sprintf(format, args...)))
}

// segment looks at one segment.
func (c *check) segment(e *entry) {
	s, deleted, err := c.open(e)
	if err != nil {
		c.bad("segment %d: %v", e.number, err)
		return
	}
	if n := uint32(deleted.GetCardinality()); n != e.deleted {
		c.bad("segment %d has %d deleted documents, not %d", e.number, n, e.deleted)
	}
	if err := s.CheckVectors(); err != nil {
		c.bad("segment %d: %v", e.number, err)
	}
	for doc := range e.docs {
		id, err := s.ID(doc)
		switch {
		case err != nil:
			c.bad("segment %d: %v", e.number, err)
			return
		case !e.mayHold(id):
			c.bad("segment %d has %s, which is not between %s and %s", e.number, id, e.first, e.last)
		case deleted.Contains(doc):
		case c.ids[id]:
			c.bad("%s is in the index twice", id)
		default:
			c.ids[id] = true
		}
	}
}

// open opens a segment from its rows, and reads what is deleted of it.
func (c *check) open(e *entry) (*segment.Segment, *roaring.Bitmap, error) {
	b := memory{make([]byte, 0, e.bytes)}
	if err := c.read(c.r.Snapshot(), e, &b); err != nil {
		return nil, nil, err
	}
	s, err := segment.Open(b.bytes)
	if err == nil && s.Count() != e.docs {
		err = segment.ErrDamaged
	}
	if err != nil {
		return nil, nil, err
	}
	deleted, err := c.readDeleted(c.r.Snapshot().Get, e.number)
	return s, deleted, err
}

// strays looks for rows of segments that the manifest does not name and that nobody is
// writing.
func (c *check) strays(known map[uint64]bool) error {
	number := keyspace.U(c.index)
	err := kv.Each(c.r.Snapshot(), kv.Prefix(keyspace.TextPending.Key(c.db, number)), func(key, _ []byte) error {
		_, parts, err := keyspace.TextPending.Decode(key)
		if err == nil {
			known[parts[1].Num()] = true
		}
		return err
	})
	for _, space := range []*keyspace.Space{&keyspace.TextChunk, &keyspace.TextDeleted} {
		if err != nil {
			return err
		}
		err = kv.Each(c.r.Snapshot(), kv.Prefix(space.Key(c.db, number)), func(key, _ []byte) error {
			_, parts, err := space.Decode(key)
			if err == nil && !known[parts[1].Num()] {
				known[parts[1].Num()] = true
				c.bad("%s is of no segment", keyspace.Print(key))
			}
			return err
		})
	}
	return err
}

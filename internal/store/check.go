package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Check reads everything and reports each broken invariant; nil when the store
// is sound. It compares, database by database:
//
//   - every document's head with its bodies: each leaf has one, no other rows
//     than superseded bodies that the sweeper knows, trunk chunks that the tree names;
//   - the feed and the partitions' feeds with the heads: one entry each, at the
//     head's sequence, with its leaves;
//   - the counters of the database and its partitions with sums over the heads;
//   - the queue of what expires with the heads, and these with the leaves' bodies
//     and the settings; the deletion markers with what can have been collected;
//   - the rows of indexes, if there is an Indexer, with what the documents give;
//   - the blobs' reference counts with the body rows that name them;
//   - the entries of the change log with each other, the heads and the bodies that
//     they name;
//   - the rows of those who follow it (Follower) with each other;
//   - the pieces of long values with the rows that are cut;
//   - the queue of jobs with what there is to do.
//
// It runs on a snapshot, so the store should be at rest: a large one outlives
// an engine's snapshot age otherwise, and then the error says so.
func (s *Store) Check(ctx context.Context) error {
	var found []error
	for name, err := range s.Names(ctx, "", "", false) {
		if err != nil {
			return err
		}
		d, err := s.Database(ctx, name)
		if err != nil {
			return err
		}
		bad, err := s.checkDatabase(ctx, d)
		found = append(found, bad...)
		if err != nil {
			return err
		}
	}
	err := s.engine.View(ctx, func(v kv.Snapshot) error {
		bad, strays, err := jobs.Check(v)
		found = append(found, bad...)
		for _, stray := range strays {
			s.o.Logger.Warn("a row of the queue of background work has no job and will be removed", "row", stray)
		}
		return err
	})
	return errors.Join(append(found, err)...)
}

// checker gathers what one database should have, from its documents, and holds
// it against what it has.
type checker struct {
	d          *Database
	v          kv.Snapshot
	found      []error
	lane       lane
	total      counts
	partitions map[document.Partition]counts
	feeds      map[Seq]document.ID
	references map[uint64]uint64
	superseded map[supersededRev]bool
	dropping   map[document.Partition]bool
	aging      aging
	read       uint64 // documents
	progress   func(database string, c Checked)
}

func newChecker(d *Database, v kv.Snapshot) *checker {
	return &checker{d: d, v: v, partitions: map[document.Partition]counts{}, feeds: map[Seq]document.ID{},
		references: map[uint64]uint64{}, superseded: map[supersededRev]bool{}, dropping: map[document.Partition]bool{}}
}

func (c *checker) bad(format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("database %s: "+format, append([]any{c.d.name}, args...)...))
}

func (c *checker) run() error {
	var err error
	if c.lane, err = c.d.decodeLaneRow(c.v); err != nil {
		return err
	}
	for _, step := range []func() error{c.readSuperseded, c.readDropping, c.readAging, c.documents, c.feed,
		c.partitionFeeds, c.counters, c.blobs, c.chunks, c.queue, c.markers, c.changeLog, c.jobs, c.cuts} {
		if err := step(); err != nil {
			return err
		}
	}
	if c.lane.counts != c.total {
		c.bad("lane head counts %+v, its documents are %+v", c.lane.counts, c.total)
	}
	return nil
}

func (c *checker) readSuperseded() error {
	return kv.Each(c.v, kv.Prefix(keyspace.Superseded.Key(c.d.number)), func(_, value []byte) error {
		u := packed.ReadVersion(value, rowVersion)
		for n := u.Uint(); n > 0 && !u.Failed(); n-- {
			c.superseded[supersededRev{document.ID(u.Text()), decodeRev(&u)}] = true
		}
		return u.Done()
	})
}

func (c *checker) readDropping() error {
	for _, kind := range []string{jobPartition, jobTombstones} {
		err := jobs.Each(c.v, kind, func(j jobs.Job) error {
			c.dropping[document.Partition(j.Subject)] = true
			return nil
		}, c.d.number)
		if err != nil {
			return err
		}
	}
	return nil
}

// documents walks all rows of documents.
func (c *checker) documents() error {
	var doc checkedDoc
	err := kv.Each(c.v, kv.Prefix(keyspace.Doc.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.Doc.Decode(key)
		if err != nil {
			return err
		}
		id := document.ID(parts[0].String())
		if id != doc.id {
			c.endDoc(&doc)
			c.tell()
			doc = checkedDoc{id: id, leaves: map[document.Rev]bool{}, chunks: map[uint32]bool{}, pieces: map[uint32]bool{}}
		}
		switch parts[1].Num() {
		case keyspace.SubHead:
			return c.head(&doc, value)
		case keyspace.SubChunk:
			doc.chunks[bodyRev(parts[2].String()).Gen] = true
			return nil
		case keyspace.SubTree:
			doc.pieces[bodyRev(parts[2].String()).Gen] = true
			return nil
		}
		return c.body(&doc, bodyRev(parts[2].String()), value)
	})
	c.endDoc(&doc)
	return err
}

// checkedDoc is a document whose rows are being walked.
type checkedDoc struct {
	id     document.ID
	head   head
	leaves map[document.Rev]bool // whether the body was met
	chunks map[uint32]bool
	pieces map[uint32]bool
}

func (c *checker) head(doc *checkedDoc, value []byte) error {
	var err error
	if doc.head, err = c.d.decodeHeadRow(c.v, doc.id, value); err != nil {
		return err
	}
	w := doc.head.tree.Winner()
	if w.Rev != doc.head.winner || w.Deleted != doc.head.dead {
		c.bad("document %q: the head names winner %s, the tree %s", doc.id, doc.head.winner, w.Rev)
	}
	for _, l := range doc.head.tree.Leaves() {
		doc.leaves[l.Rev] = false
	}
	if other, twice := c.feeds[doc.head.seq]; twice {
		c.bad("documents %q and %q have the same sequence %d", other, doc.id, doc.head.seq)
	}
	if doc.head.seq == 0 || doc.head.seq > c.lane.seq {
		c.bad("document %q: sequence %d is beyond the lane's %d", doc.id, doc.head.seq, c.lane.seq)
	}
	c.feeds[doc.head.seq] = doc.id
	if err := c.expires(doc.id, &doc.head); err != nil {
		return err
	}
	p := doc.id.Partition()
	if c.d.partitioned && p != "" {
		if c.dropping[p] {
			return nil // its counters are at zero, or grow as it gets tombstones
		}
		sum := c.partitions[p]
		sum.add(counts{}, doc.head.counts())
		c.partitions[p] = sum
	}
	c.total.add(counts{}, doc.head.counts())
	return nil
}

func (c *checker) body(doc *checkedDoc, rev document.Rev, value []byte) error {
	b, err := decodeBody(value)
	if err != nil {
		return err
	}
	for i := range b.attachments {
		c.references[b.attachments[i].Blob]++
	}
	if b.length > 0 {
		if _, err := c.d.openBody(c.v, doc.id, rev, value); err != nil {
			c.bad("document %q revision %s: its chunks are not whole: %v", doc.id, rev, err)
		}
	}
	if _, leaf := doc.leaves[rev]; leaf {
		doc.leaves[rev] = true
	} else if !c.superseded[supersededRev{doc.id, rev}] {
		c.bad("document %q: the body of %s belongs to no leaf and nobody will remove it", doc.id, rev)
	}
	return nil
}

func (c *checker) endDoc(doc *checkedDoc) {
	if doc.id == "" {
		return
	}
	if doc.head.seq == 0 && len(doc.leaves) == 0 && len(doc.chunks)+len(doc.pieces) > 0 {
		c.bad("document %q has parts of a tree and no head", doc.id)
		return
	}
	for n := range doc.pieces {
		if int(n) >= len(doc.head.pieces) {
			c.bad("document %q: piece %d is not the tree's", doc.id, n)
		}
	}
	for rev, met := range doc.leaves {
		if !met {
			c.bad("document %q: the leaf %s has no body", doc.id, rev)
		}
	}
	for _, gen := range doc.head.tree.ChunkGens() {
		if !doc.chunks[gen] {
			c.bad("document %q: trunk chunk %d is missing", doc.id, gen)
		}
		delete(doc.chunks, gen)
	}
	for gen := range doc.chunks {
		c.bad("document %q: trunk chunk %d is not the tree's", doc.id, gen)
	}
}

// feed holds the database's feed against the heads.
func (c *checker) feed() error {
	met := 0
	err := kv.Each(c.v, c.d.Whole().feedRange(0), func(key, value []byte) error {
		q, _, err := c.d.Whole().feedSeq(key, nil)
		if err != nil {
			return err
		}
		met++
		return c.feedEntry(q, value)
	})
	if met != len(c.feeds) {
		c.bad("the feed has %d entries for %d documents", met, len(c.feeds))
	}
	return err
}

func (c *checker) feedEntry(q Seq, value []byte) error {
	var ch Change
	if _, err := decodeFeed(value, &ch); err != nil {
		return err
	}
	if id := c.feeds[q]; id != ch.ID {
		c.bad("feed entry %d is of %q, the head there is of %q", q, ch.ID, id)
		return nil
	}
	headValue, err := c.v.Get(c.d.headKey(ch.ID))
	if err != nil {
		return err
	}
	h, err := c.d.decodeHeadRow(c.v, ch.ID, headValue)
	if err != nil {
		return err
	}
	if !bytes.Equal(encodeFeed(ch.ID, &h), value) {
		c.bad("feed entry %d of %q does not show its leaves", q, ch.ID)
	}
	return nil
}

// partitionFeeds holds the partitions' feeds against the database's.
func (c *checker) partitionFeeds() error {
	met := 0
	err := kv.Each(c.v, kv.Prefix(keyspace.PartitionFeed.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.PartitionFeed.Decode(key)
		if err != nil {
			return err
		}
		met++
		q := Seq(parts[1].Num())
		if p := document.Partition(parts[0].String()); c.feeds[q].Partition() != p {
			c.bad("the feed of partition %q has sequence %d of %q", p, q, c.feeds[q])
			return nil
		}
		return c.feedEntry(q, value)
	})
	want := 0
	for _, id := range c.feeds {
		if c.d.partitioned && id.Partition() != "" {
			want++
		}
	}
	if met != want {
		c.bad("the partitions' feeds have %d entries for %d documents", met, want)
	}
	return err
}

// counters holds the partition rows against the sums over heads.
func (c *checker) counters() error {
	err := kv.Each(c.v, kv.Prefix(keyspace.Partition.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.Partition.Decode(key)
		if err != nil {
			return err
		}
		t, err := decodePartition(value)
		if err != nil {
			return err
		}
		p := document.Partition(parts[0].String())
		if t.state != partitionLive {
			c.total.add(counts{}, t.counts) // what a drop with tombstones has counted again
			return nil
		}
		if want := c.partitions[p]; t.counts != want {
			c.bad("partition %q counts %+v, its documents are %+v", p, t.counts, want)
		}
		delete(c.partitions, p)
		return nil
	})
	for p := range c.partitions {
		c.bad("partition %q has documents and no row", p)
	}
	return err
}

// blobs holds the blobs' references against the bodies, and looks for chunks that
// belong to none.
func (c *checker) blobs() error {
	pending, err := c.d.pendingBlobs(c.v)
	if err != nil {
		return err
	}
	err = kv.Each(c.v, kv.Prefix(keyspace.Blob.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.Blob.Decode(key)
		if err != nil {
			return err
		}
		n := parts[0].Num()
		b, err := decodeBlob(value)
		if err != nil {
			return err
		}
		if b.references != c.references[n] {
			c.bad("blob %d counts %d references and has %d", n, b.references, c.references[n])
		}
		if b.references > 0 {
			err = c.blobWhole(n, &b)
		} else if !pending[n] {
			c.bad("blob %d is named by nothing and nobody will remove it", n)
		}
		delete(c.references, n)
		return err
	})
	if err != nil {
		return err
	}
	lost, err := c.d.orphanedBlobs(c.v)
	for _, n := range lost {
		c.bad("there are chunks of blob %d, which is lost; compacting the database removes them", n)
	}
	for n := range c.references {
		c.bad("a document names blob %d, which is not there", n)
	}
	return err
}

// blobWhole checks that a blob's chunks are all there and that it is found by
// its digest.
func (c *checker) blobWhole(n uint64, b *blob) error {
	length, err := c.d.blobLarge(n).Stored(c.v)
	if length != b.length {
		c.bad("blob %d has %d bytes of %d", n, length, b.length)
	}
	if found, digestErr := counter(c.v.Get(c.d.digestKey(b))); digestErr != nil || found != n {
		c.bad("blob %d is not the one of its digest", n)
	}
	return err
}

// chunks looks for chunks of large bodies whose body row is gone.
func (c *checker) chunks() error {
	return kv.Each(c.v, kv.Prefix(keyspace.BodyChunk.Key(c.d.number)), func(key, _ []byte) error {
		_, parts, err := keyspace.BodyChunk.Decode(key)
		if err != nil {
			return err
		}
		id, rev := document.ID(parts[0].String()), document.Rev{Gen: uint32(parts[1].Num()), Hash: parts[2].String()}
		if _, err := c.v.Get(c.d.bodyKey(id, rev)); errors.Is(err, kv.ErrNotFound) {
			c.bad("document %q: a chunk of %s has no body row", id, rev)
		}
		return nil
	})
}

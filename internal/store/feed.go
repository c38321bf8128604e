package store

import (
	"bytes"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Change is one entry of a feed.
type Change struct {
	Seq     Seq
	ID      document.ID
	Deleted bool           // the winner is a tombstone
	Leaves  []document.Rev // winner first
}

func (d *Database) feedKey(q Seq) []byte {
	return keyspace.Feed.Key(d.number, keyspace.U(0), keyspace.U(uint64(q)))
}

func (d *Database) partitionFeedKey(p document.Partition, q Seq) []byte {
	return keyspace.PartitionFeed.Key(d.number, keyspace.T(string(p)), keyspace.U(uint64(q)))
}

// feedRange is the range of the scope's feed after since.
func (s Scope) feedRange(since Seq) kv.Range {
	if s.partition == "" {
		all := kv.Prefix(keyspace.Feed.Key(s.db.number, keyspace.U(0)))
		return kv.Range{Start: s.db.feedKey(since + 1), End: all.End}
	}
	all := kv.Prefix(keyspace.PartitionFeed.Key(s.db.number, keyspace.T(string(s.partition))))
	return kv.Range{Start: s.db.partitionFeedKey(s.partition, since+1), End: all.End}
}

// feedSeq reads the sequence from a key of the scope's feed.
func (s Scope) feedSeq(key []byte, parts []keyspace.Part) (Seq, []keyspace.Part, error) {
	space := &keyspace.Feed
	if s.partition != "" {
		space = &keyspace.PartitionFeed
	}
	_, parts, err := space.DecodeInto(parts[:0], key)
	if err != nil {
		return 0, nil, err
	}
	return Seq(parts[1].Num()), parts, nil
}

// Changes walks the scope's feed after since, or, descending, from the end
// down to just above since. The Change is reused between steps.
func (r *Reader) Changes(since Seq, descending bool) iter.Seq2[*Change, error] {
	return r.changes(r.feedRange(since), descending)
}

// ChangesBefore walks the scope's feed from just below before down to just above
// since; a walk in pages goes on where the page before ended. The Change is reused
// between steps.
func (r *Reader) ChangesBefore(since, before Seq) iter.Seq2[*Change, error] {
	span := r.feedRange(since)
	if end := r.feedRange(before - 1).Start; before > 0 && bytes.Compare(end, span.End) < 0 {
		span.End = end
	}
	return r.changes(span, true)
}

// changes walks a range of the scope's feed.
func (r *Reader) changes(span kv.Range, descending bool) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		if r.partition != "" && r.state(r.partition) == partitionDropping || bytes.Compare(span.Start, span.End) >= 0 {
			return
		}
		it, done, err := r.walkChanges(span, descending)
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		var c Change
		var parts []keyspace.Part
		for it.Next() {
			if parts, err = r.change(it, &c, parts); err != nil {
				yield(nil, err)
				return
			}
			r.begun.came(c.Seq)
			if !r.shows(&c) {
				continue
			}
			if c.ID = r.shown(c.ID); !yield(&c, nil) {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// shows reports whether an entry may be shown: that of a partition being dropped
// only if it is a tombstone that stays.
func (r *Reader) shows(c *Change) bool {
	state := r.state(c.ID.Partition())
	return state == partitionLive || state == partitionTombstones && c.Deleted
}

func (r *Reader) change(it kv.Iterator, c *Change, parts []keyspace.Part) ([]keyspace.Part, error) {
	q, parts, err := r.feedSeq(it.Key(), parts)
	if err != nil {
		return parts, err
	}
	value, err := it.Value()
	if err != nil {
		return parts, err
	}
	c.Seq = q
	more, err := decodeFeed(value, c)
	if err == nil && more {
		err = r.allLeaves(c)
	}
	return parts, err
}

// allLeaves fills in the leaves of an entry that does not name all of them. At the
// reader's snapshot the entry is what the document's head says.
func (r *Reader) allLeaves(c *Change) error {
	value, err := r.v.Get(r.db.headKey(c.ID))
	if err != nil {
		return dberr.Wrap("store.Changes", err)
	}
	h, err := r.db.decodeHeadRow(r.v, c.ID, value)
	if err != nil {
		return err
	}
	c.Leaves = c.Leaves[:0]
	for _, l := range h.tree.Leaves() {
		c.Leaves = append(c.Leaves, l.Rev)
	}
	return nil
}

// counts reports whether the entry that it is on may be shown.
func (r *Reader) counts(it kv.Iterator) (bool, error) {
	if r.hidden == nil && r.before == nil {
		return true, nil
	}
	var c Change
	_, err := r.change(it, &c, nil)
	return err == nil && r.shows(&c), err
}

// pendingExact is up to how many entries Pending counts one by one.
const pendingExact = 1000

// Pending counts the entries after q: exactly up to a bound, an estimate above
// it (a feed has one entry for each document and tombstone, at most one for
// each sequence after q, which a restricted reader is not to count), 0 exactly at the end.
func (r *Reader) Pending(q Seq) (uint64, error) {
	t, err := r.Totals()
	if err != nil || q >= t.Seq {
		return 0, err
	}
	all := t.Docs + t.Deleted
	if q == 0 {
		return all, nil
	}
	it, done, err := r.changesLeft(q)
	if err != nil {
		return 0, err
	}
	defer done()
	n := uint64(0)
	for n <= pendingExact && it.Next() {
		if shown, err := r.counts(it); err != nil {
			return 0, err
		} else if shown {
			n++
		}
	}
	if err := it.Err(); err != nil || n <= pendingExact {
		return n, err
	}
	if r.Restricted() {
		return max(all, n), nil // the other bound counts what is written elsewhere
	}
	return max(min(all, uint64(t.Seq-q)), n), nil
}

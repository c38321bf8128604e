package store

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// The rankings of partitions follow the feed: a pass takes the changes since
// its checkpoint, and moves the partitions they are in to where their counters
// put them now. Writers pay nothing for it; purges and drops, which leave no
// trace in the feed, move their partition themselves.

var rankings = [...]Ranking{ByExternal, ByActive, ByDocs, ByWrites, ByLastWrite}

// ranks gives the values by which a partition is ranked, in order of rankings.
func (t *partition) ranks() (v [len(rankings)]uint64) {
	v[0], v[1], v[2] = t.external, t.active, t.docs
	v[3] = writesRank(t)
	v[4] = uint64(t.lastWrite.UnixMilli())
	return v
}

// writesRank orders decayed counts of writes the same way at any time: all
// decay by the same factor, so the logarithm of what a count would have been
// at a fixed time does. The fraction is in 1/1024 of writesDecay.
func writesRank(t *partition) uint64 {
	at := float64(t.lastWrite.UnixMilli()) / float64(writesDecay.Milliseconds())
	return uint64(max(0, (math.Log(t.writes)+at)*1024))
}

// A pass takes changes up to these numbers: many changes, because those of one
// partition are settled together, of a few partitions, because each costs a
// dozen rows.
const (
	rankChanges    = 100_000
	rankPartitions = 2000
)

// rank makes the rankings follow the feed by one page; it tells whether there
// may be more.
func (d *Database) rank(ctx context.Context) (more bool, err error) {
	if !d.partitioned {
		return false, nil
	}
	d.ranks.Lock()
	defer d.ranks.Unlock()
	now := d.store.o.Clock()
	names, from, to, more, err := d.unranked(ctx)
	if err == nil && to > from {
		err = d.store.commit(ctx, func(tx kv.Txn) error {
			for name := range names {
				if err := d.rerank(tx, name); err != nil {
					return err
				}
			}
			return tx.Put(d.checkpointKey(), binary.AppendUvarint(nil, uint64(to)))
		})
	}
	if err != nil {
		return false, err
	}
	if !more {
		d.ranks.passed = now
	}
	return more, nil
}

// unranked gives the partitions that changed in the next page of the feed, the
// checkpoint and the sequence that the page reaches.
func (d *Database) unranked(ctx context.Context) (names map[document.Partition]bool, from, to Seq, more bool, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		names, more = map[document.Partition]bool{}, false
		if from, err = d.ranked(r); err != nil {
			return err
		}
		l, err := r.lane()
		if err != nil {
			return err
		}
		to = l.seq
		n := 0
		for c, err := range r.Changes(from, false) {
			if err != nil {
				return err
			}
			if p := c.ID.Partition(); p != "" {
				names[p] = true
			}
			if n++; n == rankChanges || len(names) == rankPartitions {
				to, more = c.Seq, true
				break
			}
		}
		return nil
	})
	return names, from, to, more, err
}

// ranked reads the rankings' checkpoint.
func (d *Database) ranked(r *Reader) (Seq, error) {
	n, err := counter(r.v.Get(d.checkpointKey()))
	return Seq(n), err
}

func (d *Database) checkpointKey() []byte {
	return keyspace.RankCheckpoint.Key(d.number, keyspace.U(0))
}

// rankLag tells how far the rankings are behind the reader's snapshot.
func (d *Database) rankLag(r *Reader) (time.Duration, error) {
	from, err := d.ranked(r)
	if err != nil {
		return 0, err
	}
	l, err := r.lane()
	if err != nil || from >= l.seq {
		return 0, err
	}
	d.ranks.Lock()
	defer d.ranks.Unlock()
	if d.ranks.passed.IsZero() {
		d.ranks.passed = d.store.opened
	}
	return max(time.Millisecond, d.store.o.Clock().Sub(d.ranks.passed)), nil
}

// rerank moves a partition to its places in the rankings, or out of them.
func (d *Database) rerank(tx kv.Txn, name document.Partition) error {
	t, err := d.readPartition(tx.Get(d.partitionKey(name)))
	if err != nil {
		return err
	}
	rankedKey := keyspace.Ranked.Key(d.number, keyspace.T(string(name)))
	old, err := tx.GetForUpdate(rankedKey)
	switch {
	case err == nil:
		if err := d.unrank(tx, name, old); err != nil {
			return err
		}
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	if t.state != partitionLive || t.empty() {
		return tx.Delete(rankedKey)
	}
	p := packer{}
	p.byte(rowVersion)
	for i, v := range t.ranks() {
		p.uint(v)
		if err := tx.Put(d.rankKey(rankings[i], v, name), nil); err != nil {
			return err
		}
	}
	return tx.Put(rankedKey, p.b)
}

// unrank removes the places that a Ranked row notes.
func (d *Database) unrank(tx kv.Txn, name document.Partition, old []byte) error {
	u := open(old, rowVersion)
	for _, by := range rankings {
		if err := tx.Delete(d.rankKey(by, u.uint(), name)); err != nil {
			return err
		}
	}
	return u.done()
}

func (d *Database) rankKey(by Ranking, v uint64, name document.Partition) []byte {
	return keyspace.Rank.Key(d.number, keyspace.T(string(by)), keyspace.U(v), keyspace.T(string(name)))
}

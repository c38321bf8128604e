package store

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// The rankings of partitions follow the feed: a pass takes the changes since
// its checkpoint, and moves the partitions they are in to where their counters
// put them now. Writers pay nothing for it; purges and drops, which leave no
// trace in the feed, move their partition themselves.

var rankings = [...]Ranking{ByExternal, ByActive, ByDocs, ByWrites, ByLastWrite}

// ranks are the values by which a partition is ranked, in order of rankings.
type ranks [len(rankings)]uint64

func (t *partition) ranks() (v ranks) {
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

// A pass takes changes up to these bounds: many changes, because those of one
// partition are settled together, as long as the names of the partitions they
// are in take little memory. What it found is written in several commits, since
// each partition costs up to a dozen rows.
const (
	rankChanges    = 200_000
	rankBytes      = 4 << 20
	rankPartitions = 2000 // in a commit
)

// rank makes the rankings follow the feed by one pass; it reports whether there
// may be more.
func (d *Database) rank(ctx context.Context) (more bool, err error) {
	if !d.partitioned {
		return false, nil
	}
	d.ranks.Lock()
	defer d.ranks.Unlock()
	now := d.store.o.Clock()
	u, err := d.unranked(ctx)
	for rest := u.names(); err == nil && u.to > u.from; {
		page := rest[:min(rankPartitions, len(rest))]
		rest = rest[len(page):]
		if len(rest) == 0 {
			u.from = u.to
		}
		err = d.rerankAll(ctx, page, u.from)
	}
	if err != nil {
		return false, err
	}
	if !u.more {
		d.ranks.passed = now
	}
	return u.more, nil
}

// rerankAll ranks partitions anew and notes the sequence up to which the
// rankings are made.
func (d *Database) rerankAll(ctx context.Context, names []document.Partition, to Seq) error {
	return d.store.commit(ctx, func(tx kv.Txn) error {
		for _, name := range names {
			if err := d.rerank(tx, name); err != nil {
				return err
			}
		}
		return tx.Put(d.checkpointKey(), packed.Number(uint64(to)))
	})
}

// unranked is what a pass of the rankings has to do.
type unranked struct {
	partitions map[document.Partition]bool // that changed
	bytes      int                         // about what they take
	from, to   Seq                         // the changes looked at: after from, up to to
	more       bool                        // there are later ones
}

// names returns the partitions in order.
func (u *unranked) names() []document.Partition { return slices.Sorted(maps.Keys(u.partitions)) }

// add takes a change in; false when there is no room for it.
func (u *unranked) add(c *Change) bool {
	const each = 64 // bytes that a name takes beside its own
	p := c.ID.Partition()
	if p != "" && !u.partitions[p] {
		if u.bytes += len(p) + each; u.bytes > rankBytes {
			return false
		}
		u.partitions[document.Partition(strings.Clone(string(p)))] = true
	}
	u.to = c.Seq
	return true
}

// unranked looks at the changes since the checkpoint, as many as one pass takes.
func (d *Database) unranked(ctx context.Context) (u unranked, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		u = unranked{partitions: map[document.Partition]bool{}}
		if u.from, err = d.ranked(r); err != nil {
			return err
		}
		l, err := r.lane()
		if err != nil {
			return err
		}
		n := 0
		for c, err := range r.Changes(u.from, false) {
			if err != nil {
				return err
			}
			if u.more = n == rankChanges || !u.add(c); u.more {
				return nil
			}
			n++
		}
		u.to = l.seq
		return nil
	})
	return u, err
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

// rerank moves a partition to its places in the rankings, or out of them. A place
// that stays is not written.
func (d *Database) rerank(tx kv.Txn, name document.Partition) error {
	t, err := d.readPartition(tx.Get(d.partitionKey(name)))
	if err != nil {
		return err
	}
	rankedKey := keyspace.Ranked.Key(d.number, keyspace.T(string(name)))
	before, err := decodeRanked(tx.GetForUpdate(rankedKey))
	if err != nil {
		return err
	}
	var after *ranks
	if t.state == partitionLive && !t.empty() {
		values := t.ranks()
		after = &values
	}
	for i, by := range rankings {
		if before != nil && after != nil && before[i] == after[i] {
			continue
		}
		if before != nil {
			err = tx.Delete(d.rankKey(by, before[i], name))
		}
		if err == nil && after != nil {
			err = tx.Put(d.rankKey(by, after[i], name), nil)
		}
		if err != nil {
			return err
		}
	}
	if after == nil {
		return tx.Delete(rankedKey)
	}
	return tx.Put(rankedKey, after.encode())
}

func (v *ranks) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	for _, n := range v {
		p.Uint(n)
	}
	return p
}

// decodeRanked reads the values under which a partition stands; nil for none.
func decodeRanked(b []byte, err error) (*ranks, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u := packed.ReadVersion(b, rowVersion)
	var v ranks
	for i := range v {
		v[i] = u.Uint()
	}
	return &v, u.Done()
}

func (d *Database) rankKey(by Ranking, v uint64, name document.Partition) []byte {
	return keyspace.Rank.Key(d.number, keyspace.T(string(by)), keyspace.U(v), keyspace.T(string(name)))
}

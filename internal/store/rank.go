package store

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// The rankings of partitions are made when somebody asks for one, and so are right
// whenever they are read: the partitions that the feed names since the checkpoint
// move to where their counters put them now. Where too much has changed, or there
// were no rankings yet, all partitions are looked at instead. Writers pay nothing for
// it, and a database whose rankings nobody asks for has none. Purges and drops, which
// leave no trace in the feed, move their partition themselves if there are rankings.

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

const (
	rankChanges    = 50_000 // of the feed; above that all partitions are looked at
	rankPartitions = 2000   // in a commit
)

// rank brings the rankings up to the end of the feed.
func (d *Database) rank(ctx context.Context) error {
	if !d.partitioned {
		return nil
	}
	d.ranking.Lock()
	defer d.ranking.Unlock()
	for {
		u, err := d.unranked(ctx)
		if err == nil && u.to > u.from {
			err = d.rankPages(ctx, &u)
		}
		if !errors.Is(err, errPage) {
			return err
		}
	}
}

// unranked is what has to be ranked anew.
type unranked struct {
	from, to Seq                         // the rankings' checkpoint, as it is and as it is to be
	changed  map[document.Partition]bool // nil: all that changed after from have to be found
}

// unranked looks at the changes since the checkpoint.
func (d *Database) unranked(ctx context.Context) (u unranked, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		u = unranked{changed: map[document.Partition]bool{}}
		if u.from, err = d.ranked(r.v); err != nil {
			return err
		}
		l, err := r.lane()
		if u.to = l.seq; err != nil || u.from == u.to {
			return err
		}
		if u.from == 0 {
			u.changed = nil
			return nil
		}
		n := 0
		for c, err := range r.Changes(u.from, false) {
			if err != nil {
				return err
			}
			if n++; n > rankChanges {
				u.changed = nil
				return nil
			}
			if p := c.ID.Partition(); p != "" && !u.changed[p] {
				u.changed[document.Partition(strings.Clone(string(p)))] = true
			}
		}
		return nil
	})
	return u, err
}

// rankPages ranks what changed, a page of partitions in each commit. The checkpoint
// moves with the last; the first of all is written before anything is ranked, so that
// purges and drops from then on move their partitions. errPage when somebody else has
// moved it.
func (d *Database) rankPages(ctx context.Context, u *unranked) error {
	if u.from == 0 {
		if err := d.rankPage(ctx, nil, u.from, u.from); err != nil {
			return err
		}
	}
	if u.changed != nil {
		names := slices.Sorted(maps.Keys(u.changed))
		for ; len(names) > rankPartitions; names = names[rankPartitions:] {
			if err := d.rankPage(ctx, names[:rankPartitions], u.from, u.from); err != nil {
				return err
			}
		}
		return d.rankPage(ctx, names, u.from, u.to)
	}
	for after, more := "", true; more; {
		names, last, err := d.changedAfter(ctx, after, u.from)
		if err != nil {
			return err
		}
		to := u.from
		if more = last != ""; !more {
			to = u.to
		}
		if err := d.rankPage(ctx, names, u.from, to); err != nil {
			return err
		}
		after = last
	}
	return nil
}

// changedAfter returns the next partitions by name that changed after a sequence, and
// where to go on, "" at the end.
func (d *Database) changedAfter(ctx context.Context, after string, from Seq) (names []document.Partition, last string, err error) {
	rg := kv.Prefix(keyspace.Partition.Key(d.number))
	if after != "" {
		rg.Start = kv.PrefixEnd(d.partitionKey(document.Partition(after)))
	}
	err = d.store.engine.View(ctx, func(v kv.Snapshot) error {
		names, last = names[:0], ""
		err := kv.Each(v, rg, func(key, value []byte) error {
			_, parts, err := keyspace.Partition.Decode(key)
			if err != nil {
				return err
			}
			t, err := d.decodePartitionRow(value, nil)
			if err != nil || t.seq <= from {
				return err
			}
			if names = append(names, document.Partition(parts[0].String())); len(names) == rankPartitions {
				last = string(names[len(names)-1])
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	})
	return names, last, err
}

// rankPage ranks partitions anew and moves the checkpoint of the rankings.
func (d *Database) rankPage(ctx context.Context, names []document.Partition, from, to Seq) error {
	return d.store.commit(ctx, func(tx kv.Txn) error {
		n, err := counter(tx.GetForUpdate(d.checkpointKey()))
		if err == nil && Seq(n) != from {
			err = errPage
		}
		for i := 0; i < len(names) && err == nil; i++ {
			err = d.rerank(tx, names[i])
		}
		if err != nil {
			return err
		}
		return tx.Put(d.checkpointKey(), packed.Number(uint64(to)))
	})
}

// ranked reads the rankings' checkpoint.
func (d *Database) ranked(v kv.Snapshot) (Seq, error) {
	n, err := counter(v.Get(d.checkpointKey()))
	return Seq(n), err
}

func (d *Database) checkpointKey() []byte {
	return keyspace.RankCheckpoint.Key(d.number, keyspace.U(0))
}

// rerank moves a partition whose counters changed without a trace in the feed to its
// places in the rankings, if there are any.
func (g *group) rerank(p document.Partition) error {
	_, err := g.tx.GetForUpdate(g.db.checkpointKey())
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.db.rerank(g.tx, p)
}

// rerank moves a partition to its places in the rankings, or out of them. A place
// that stays is not written.
func (d *Database) rerank(tx kv.Txn, name document.Partition) error {
	t, err := d.decodePartitionRow(tx.Get(d.partitionKey(name)))
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

// decodeRanked decodes the values under which a partition is ranked; nil for none.
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

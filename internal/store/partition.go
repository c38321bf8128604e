package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"math"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// writesDecay is the time in which a partition's count of writes falls to 1/e;
// as that is an hour, the decayed count is a rate per hour.
const writesDecay = time.Hour

// decay is what is left of a count after d.
func decay(count float64, d time.Duration) float64 {
	return count * math.Exp(-max(0, d.Seconds())/writesDecay.Seconds())
}

// wrote counts n writes at now.
func (t *partition) wrote(now time.Time, n float64) {
	t.writes = decay(t.writes, now.Sub(t.lastWrite)) + n
	t.lastWrite = now
}

func (t *partition) totals(now time.Time) Totals {
	u := Totals{Docs: t.docs, Deleted: t.deleted, Active: t.active, External: t.external, Seq: t.seq}
	if t.writes > 0 {
		u.Writes, u.LastWrite = decay(t.writes, now.Sub(t.lastWrite)), t.lastWrite
	}
	return u
}

func (t *partition) empty() bool { return t.docs == 0 && t.deleted == 0 }

// Ranking is an order of partitions.
type Ranking string

// The orders in which Partitions can list.
const (
	ByName      Ranking = ""
	ByExternal  Ranking = "external"
	ByActive    Ranking = "active"
	ByDocs      Ranking = "docs"
	ByWrites    Ranking = "writes"
	ByLastWrite Ranking = "last_write"
)

// PartitionTotals is a row of Partitions.
type PartitionTotals struct {
	Partition document.Partition
	Totals
}

var errBookmark = dberr.New(dberr.Invalid, "invalid_bookmark", "The bookmark does not belong to this list.")

// Partitions lists up to limit partitions in the order by, going on after the
// opaque bookmark that an earlier call gave as next ("" at the end). By name it costs
// what it lists; a ranking is brought up to date first, which costs in proportion to
// what changed since it was read last, and at most to the number of partitions.
// lag says how far the ranking may be behind the counters it shows, for what is
// written meanwhile: 0 when nothing was (by name it never is behind). Invalid for a
// bookmark of another list.
func (d *Database) Partitions(ctx context.Context, by Ranking, descending bool, limit int, bookmark string) (rows []PartitionTotals, next string, lag time.Duration, err error) {
	l := list{by: by, descending: descending, limit: limit}
	if err := l.seek(d, bookmark); err != nil {
		return nil, "", 0, err
	}
	asked := d.store.o.Clock()
	if by != ByName {
		if err := d.rank(kv.Freeing(ctx)); err != nil {
			return nil, "", 0, dberr.Wrap("store.Partitions", err)
		}
	}
	behind := false
	err = d.Whole().View(ctx, func(r *Reader) error {
		if rows, err = l.read(r); err != nil || by == ByName {
			return err
		}
		behind, err = r.unranked()
		return err
	})
	if behind {
		lag = max(time.Millisecond, d.store.o.Clock().Sub(asked))
	}
	return rows, l.next, lag, dberr.Wrap("store.Partitions", err)
}

// unranked reports whether there are changes that the rankings do not know.
func (r *Reader) unranked() (bool, error) {
	l, err := r.lane()
	if err != nil || !r.db.partitioned {
		return false, err
	}
	to, err := r.db.ranked(r.v)
	return to < l.seq, err
}

// list is a call of Partitions.
type list struct {
	by         Ranking
	descending bool
	limit      int
	r          kv.Range
	next       string
}

func (l *list) seek(d *Database, bookmark string) error {
	space, parts := &keyspace.Partition, []keyspace.Part(nil)
	if l.by != ByName {
		space, parts = &keyspace.Rank, []keyspace.Part{keyspace.T(string(l.by))}
	}
	l.r = kv.Prefix(space.Key(d.number, parts...))
	if bookmark == "" {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(bookmark)
	if err != nil {
		return errBookmark
	}
	u := packed.ReadVersion(b, rowVersion)
	by, descending, incarnation, key := u.Text(), u.Byte() == 1, u.Uint(), u.Bytes()
	if u.Done() != nil || Ranking(by) != l.by || descending != l.descending || incarnation != d.incarnation ||
		bytes.Compare(key, l.r.Start) < 0 || bytes.Compare(key, l.r.End) >= 0 {
		return errBookmark
	}
	if l.descending {
		l.r.End = key
	} else {
		l.r.Start = append(key, 0)
	}
	return nil
}

func (l *list) read(r *Reader) (rows []PartitionTotals, err error) {
	it, err := r.v.Iterate(l.r, kv.IterOptions{Reverse: l.descending})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	l.next = ""
	for it.Next() {
		space := &keyspace.Partition
		if l.by != ByName {
			space = &keyspace.Rank
		}
		_, parts, err := space.Decode(it.Key())
		if err != nil {
			return nil, err
		}
		name := document.Partition(parts[len(parts)-1].String())
		row, there, err := r.listed(name)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		rows = append(rows, row)
		if len(rows) == l.limit {
			l.next = l.bookmark(r.db, it.Key())
			return rows, nil
		}
	}
	return rows, it.Err()
}

func (l *list) bookmark(d *Database, key []byte) string {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Text(string(l.by))
	p.Flag(l.descending)
	p.Uint(d.incarnation)
	p.Bytes(key)
	return base64.RawURLEncoding.EncodeToString(p)
}

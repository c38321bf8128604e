package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Bounds of a page: about how many superseded revisions, and how many blobs, one
// commit removes.
const (
	sweepPage      = 500
	sweepBlobsPage = 100
)

// sweeping is a page of what a sweep removes: entries of the change log that are old,
// bodies that were superseded long ago and that no entry names, and blobs that no
// document has named in time.
type sweeping struct {
	d      *Database
	now    time.Time // as far as the clock is believed
	before time.Time // bodies that were superseded before go
	keys   [][]byte
	revs   []supersededRev
	blobs  []pendingBlob
	log    [][]byte    // keys of entries
	last   LogPosition // of these
	more   bool
}

func (p *sweeping) size() int { return 256*(1+len(p.revs)+len(p.blobs)) + 32*len(p.log) }

func (p *sweeping) read(r *Reader, _ *jobs.Job) (err error) {
	if p.d.settings.Load().logged {
		if p.log, p.last, err = p.d.dueLog(r.v, p.now); err != nil || len(p.log) > 0 {
			p.more = true // what the entries kept
			return err
		}
	}
	first, err := p.d.firstEntry(r.v)
	if err != nil {
		return err
	}
	rg := kv.Prefix(keyspace.Superseded.Key(p.d.number))
	rg.End = keyspace.Superseded.Key(p.d.number, keyspace.U(uint64(p.before.UnixMilli())))
	err = kv.Each(r.v, rg, func(key, value []byte) error {
		if p.more = len(p.revs) >= sweepPage; p.more {
			return errEnough
		}
		if kept, err := first.names(key); err != nil || kept {
			return cmp.Or(err, errEnough)
		}
		p.keys = append(p.keys, append([]byte(nil), key...))
		u := packed.ReadVersion(value, rowVersion)
		for n := u.Uint(); n > 0 && !u.Failed(); n-- {
			p.revs = append(p.revs, supersededRev{document.ID(u.Text()), decodeRev(&u)})
		}
		return u.Done()
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return p.readBlobs(r.v)
}

func (p *sweeping) write(g *group, j *jobs.Job) (over bool, err error) {
	if len(p.log) > 0 {
		return false, g.trimLog(p.log, p.last)
	}
	for _, b := range p.revs {
		if err := g.sweepRev(b); err != nil {
			return false, err
		}
	}
	for _, key := range p.keys {
		if err := g.tx.Delete(key); err != nil {
			return false, err
		}
	}
	room := dropBodyRows
	for _, b := range p.blobs {
		if err := g.sweepBlob(b, &room); err != nil {
			return false, err
		}
	}
	j.Done += uint64(len(p.revs) + len(p.blobs))
	if p.more {
		return false, nil
	}
	return p.next(g, j)
}

// next makes the job due when the next row is old enough; over if there is none. (It
// reads ranges, which change only where the lane head does.)
func (p *sweeping) next(g *group, j *jobs.Job) (over bool, err error) {
	var due []time.Time
	logged, err := g.db.firstEntry(g.tx)
	if err != nil {
		return false, err
	}
	if logged != nil {
		due = append(due, logged.time.Add(g.db.settings.Load().log.Length))
	}
	superseded, err := g.db.firstRow(g.tx, &keyspace.Superseded)
	if err != nil {
		return false, err
	}
	if superseded != nil {
		if kept, err := logged.names(superseded.key); err != nil {
			return false, err
		} else if !kept {
			due = append(due, time.UnixMilli(int64(superseded.n)).Add(g.db.store.o.KeepSuperseded))
		}
	}
	pending, err := g.db.firstRow(g.tx, &keyspace.BlobPending)
	if pending != nil {
		due = append(due, time.Unix(int64(pending.n), 0))
	}
	if len(due) == 0 || err != nil {
		return true, err
	}
	j.Earliest = g.now.Add(sweepEvery)
	if j.Due = slices.MinFunc(due, time.Time.Compare); pending != nil && pending.n == 0 {
		j.Due = g.now // the rest of a large blob
	} else if j.Due.Before(j.Earliest) {
		j.Due = j.Earliest
	}
	return false, nil
}

// firstRow is the first row of a kind: its key, and the first column.
type firstRow struct {
	key []byte
	n   uint64
}

// firstRow returns the database's first row of a kind; nil for none.
func (d *Database) firstRow(v kv.Snapshot, space *keyspace.Space) (*firstRow, error) {
	it, err := v.Iterate(kv.Prefix(space.Key(d.number)), kv.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	_, parts, err := space.Decode(it.Key())
	if err != nil {
		return nil, err
	}
	return &firstRow{bytes.Clone(it.Key()), parts[0].Num()}, nil
}

// sweepRev removes a superseded revision's body, unless it is a leaf again (a
// stemmed revision may come back by replication).
func (g *group) sweepRev(b supersededRev) error {
	s, err := g.doc(b.id)
	if err != nil {
		return err
	}
	if _, leaf, _ := s.tree.Node(b.rev); leaf {
		return nil
	}
	return g.dropBody(b.id, b.rev)
}

// errEnough ends a walk over rows early.
var errEnough = errors.New("store: enough")

// Compact removes all superseded bodies, orphaned blobs and chunks of blobs that are not
// there now, and makes the
// engine give back the space of what was overwritten and removed, if it can.
func (d *Database) Compact(ctx context.Context) error {
	if err := d.condemnLost(ctx); err != nil {
		return err
	}
	now, err := d.store.believed(ctx)
	if err != nil {
		return err
	}
	id := d.job(jobSweep, "", now).ID
	for more := true; more; {
		p := &sweeping{d: d, now: now, before: d.store.o.Clock().Add(time.Millisecond)}
		if _, more, err = d.step(ctx, id, p); err != nil {
			return err
		}
	}
	if c, ok := d.store.engine.(kv.Compacter); ok {
		return c.Compact(ctx, kv.Prefix(keyspace.Database(d.number)))
	}
	return nil
}

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
	serial uint64    // of the lane head
	next   time.Time // when what stays is to be looked at; zero for nothing
}

func (p *sweeping) size() int { return 256*(1+len(p.revs)+len(p.blobs)) + 32*len(p.log) }

func (p *sweeping) read(r *Reader, _ *jobs.Job) error {
	l, err := r.lane()
	if err != nil {
		return err
	}
	p.serial = l.serial
	if err := p.readPage(r); err != nil || p.more {
		return err
	}
	return p.readNext(r.v)
}

// readPage reads what is to be removed.
func (p *sweeping) readPage(r *Reader) (err error) {
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
	if err := p.fetch(g); err != nil {
		return false, err
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
	for i := range p.blobs {
		if err := g.sweepBlob(&p.blobs[i]); err != nil {
			return false, err
		}
	}
	j.Done += uint64(len(p.revs) + len(p.blobs))
	if p.more {
		return false, nil
	}
	return p.end(g, j), nil
}

// fetch reads ahead what the commit will read.
func (p *sweeping) fetch(g *group) error {
	of := bodies{}
	var ids []document.ID
	for _, b := range p.revs {
		if of[b.id] == nil {
			ids = append(ids, b.id)
		}
		of[b.id] = append(of[b.id], b.rev)
	}
	if err := g.fetchDocs(ids, of); err != nil || g.careful {
		return err
	}
	var keys [][]byte
	for i := range p.blobs {
		keys = append(keys, g.db.blobKey(p.blobs[i].number))
	}
	_, err := g.ahead.FetchForUpdate(keys)
	return err
}

// end makes the job due when the next row is old enough, of this commit or of those that
// were there; over if there is none. Rows that came since the page was read have not been
// seen: then it is looked again soon.
func (p *sweeping) end(g *group, j *jobs.Job) (over bool) {
	seen, due := g.since == p.serial, g.earlier(jobSweep, p.next)
	if seen && due.IsZero() {
		return true
	}
	j.Earliest = g.now.Add(sweepEvery)
	switch j.Due = due; {
	case !due.IsZero() && due.Unix() <= 0:
		j.Due = g.now // a blob that nobody names any more, or the rest of a large one
	case !seen || due.Before(j.Earliest):
		j.Due = j.Earliest
	}
	return false
}

// readNext reads when what stays after this page is to be looked at.
func (p *sweeping) readNext(v kv.Snapshot) error {
	var due []time.Time
	logged, err := p.d.firstEntry(v)
	if err != nil {
		return err
	}
	if logged != nil {
		due = append(due, logged.time.Add(p.d.settings.Load().log.Length))
	}
	superseded, err := p.d.firstRow(v, &keyspace.Superseded, p.keys...)
	if err != nil {
		return err
	}
	if superseded != nil {
		if kept, err := logged.names(superseded.key); err != nil {
			return err
		} else if !kept {
			due = append(due, time.UnixMilli(int64(superseded.n)).Add(p.d.store.o.KeepSuperseded))
		}
	}
	var blobs [][]byte
	for _, b := range p.blobs {
		blobs = append(blobs, p.d.pendingKey(b.deadline, b.number))
	}
	pending, err := p.d.firstRow(v, &keyspace.BlobPending, blobs...)
	if pending != nil {
		due = append(due, time.Unix(int64(pending.n), 0))
	}
	if len(due) > 0 {
		p.next = slices.MinFunc(due, time.Time.Compare)
	}
	return err
}

// firstRow is the first row of a kind: its key, and the first column.
type firstRow struct {
	key []byte
	n   uint64
}

// firstRow returns the database's first row of a kind that comes after rows, which are the
// first ones; nil for none.
func (d *Database) firstRow(v kv.Snapshot, space *keyspace.Space, after ...[]byte) (*firstRow, error) {
	rg := kv.Prefix(space.Key(d.number))
	if n := len(after); n > 0 {
		rg.Start = append(bytes.Clone(after[n-1]), 0)
	}
	keys, err := keysIn(v, rg, 1)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	_, parts, err := space.Decode(keys[0])
	if err != nil {
		return nil, err
	}
	return &firstRow{keys[0], parts[0].Num()}, nil
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
	if err := d.dropOrphanedBlobs(ctx); err != nil {
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
		more = more || p.more // whether or not the job is due
	}
	if c, ok := d.store.base.(kv.Compacter); ok {
		return c.Compact(ctx, kv.Prefix(keyspace.Database(d.number)))
	}
	return nil
}

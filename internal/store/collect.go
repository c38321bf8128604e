package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Tombstones are dropped when they are older than a setting says. How old one
// is follows from its sequence: now and then the sweeper notes the time and the
// last sequence, and what has a sequence up to a sample's is older than that sample.
// Writers do nothing for it, and no row names a tombstone. As entries of the
// feed never move down, each is looked at once: the checkpoint is the sequence
// up to which there are no tombstones any more, but for those of design
// documents, which stay.
//
// Tombstones from before the setting was made count from then on: nobody knows
// how old they are.

const (
	settingDeletedTTL = "deleted_document_ttl"
	settingCollection = "graves"
)

// collection is the value of the setting row "graves": how far tombstones were
// dropped, and which sequences were when.
type collection struct {
	upTo    Seq
	samples []sample
}

type sample struct {
	at  time.Time // in seconds
	seq Seq       // was the last one
}

const (
	// maxSamples is how many samples there are; half of them go when there are more.
	maxSamples = 256
	// sampleParts is into how many parts samples divide the age, at least.
	sampleParts = 64
)

func (p *collection) encode() []byte {
	w := packed.Writer{}
	w.Byte(rowVersion)
	w.Uint(uint64(p.upTo))
	w.Uint(uint64(len(p.samples)))
	for _, m := range p.samples {
		w.Uint(uint64(m.at.Unix()))
		w.Uint(uint64(m.seq))
	}
	return w
}

func decodeCollection(b []byte) (p collection, err error) {
	u := packed.ReadVersion(b, rowVersion)
	p.upTo = Seq(u.Uint())
	for n := u.Uint(); n > 0 && !u.Failed(); n-- {
		p.samples = append(p.samples, sample{time.Unix(int64(u.Uint()), 0), Seq(u.Uint())})
	}
	return p, u.Done()
}

// sample notes the last sequence at a time, if the last sample is so old that it is
// worth it. It reports whether it did.
func (p *collection) sample(now time.Time, last Seq, age time.Duration) bool {
	now = now.Truncate(time.Second)
	for i := range p.samples {
		if p.samples[i].at.After(now) {
			p.samples[i].at = now // made by a clock that was ahead; its sequence is not younger than now
		}
	}
	if n := len(p.samples); n > 0 && (p.samples[n-1].seq >= last || now.Sub(p.samples[n-1].at) < age/sampleParts) {
		return false
	}
	p.samples = append(p.samples, sample{now, last})
	if len(p.samples) > maxSamples {
		for i := range maxSamples / 2 {
			p.samples[i] = p.samples[2*i+1]
		}
		p.samples = append(p.samples[:maxSamples/2], sample{now, last})
	}
	return true
}

// old returns the sequence up to which everything was written before a time.
func (p *collection) old(before time.Time) (q Seq) {
	for _, m := range p.samples {
		if !m.at.After(before) {
			q = max(q, m.seq)
		}
	}
	return q
}

// forget drops the samples that say nothing any more.
func (p *collection) forget() {
	p.samples = slices.DeleteFunc(p.samples, func(m sample) bool { return m.seq <= p.upTo })
}

func (d *Database) loadDeletedTTL(v kv.Snapshot, set *settings) error {
	value, err := v.Get(settingKey(d.number, settingDeletedTTL))
	switch {
	case err == nil:
		set.deletedTTL, err = ParsePeriod(string(value))
	case errors.Is(err, kv.ErrNotFound):
		err = nil
	}
	if err != nil {
		return err
	}
	_, err = v.Get(settingKey(d.number, settingCollection))
	set.markers = err == nil
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return err
}

// DeletedTTL is the age at which the database's tombstones are dropped, if it
// has a setting of its own.
func (d *Database) DeletedTTL() Period { return d.settings.Load().deletedTTL }

// SetDeletedTTL sets DeletedTTL; the zero Period takes the setting away.
func (d *Database) SetDeletedTTL(ctx context.Context, p Period) error {
	return d.do(ctx, "store.SetDeletedTTL", func(g *group) error {
		g.lane.version++
		g.stale = true
		if err := g.putJob(jobCollect, ""); err != nil { // it finds out what there is to do
			return err
		}
		if p.Text == "" {
			return g.tx.Delete(settingKey(d.number, settingDeletedTTL))
		}
		return g.tx.Put(settingKey(d.number, settingDeletedTTL), []byte(p.Text))
	})
}

// tombstoneAge is the age at which tombstones are dropped, 0 for never.
func (d *Database) tombstoneAge() time.Duration {
	if own := d.settings.Load().deletedTTL; own.Text != "" {
		return own.Length
	}
	return d.store.o.DeletedTTL()
}

// Bounds of one step of a collection: how many entries of the feed are looked at in
// a snapshot, and how many documents are collected in a commit.
const (
	collectLook = 2000
	collectPage = 100
)

// collection reads how far the collection has come.
func (d *Database) collection(v kv.Snapshot) (p collection, there bool, err error) {
	value, err := v.Get(settingKey(d.number, settingCollection))
	if errors.Is(err, kv.ErrNotFound) {
		return p, false, nil
	}
	if err == nil {
		p, err = decodeCollection(value)
	}
	return p, true, err
}

// tombstonePage is a range of the feed with the tombstones in it.
type tombstonePage struct {
	d        *Database
	age      time.Duration // 0: tombstones stay
	from, to Seq
	blocked  bool // the change log keeps some that are old
	more     bool
	docs     []dated
	found    *removing // of these
}

func (b *tombstonePage) size() int { return 512 * (1 + len(b.docs)) }

func (b *tombstonePage) read(r *Reader, _ *jobs.Job) error {
	*b = tombstonePage{d: b.d, age: b.d.tombstoneAge()}
	p, there, err := b.d.collection(r.v)
	if err != nil || !there {
		return err
	}
	held, err := b.d.logHolds(r.v)
	if err != nil {
		return err
	}
	old := p.old(b.d.store.o.Clock().Add(-b.age))
	b.blocked = held-1 < old
	b.from, b.to = p.upTo, max(p.upTo, min(old, held-1))
	if b.from == b.to || b.age == 0 {
		return nil
	}
	// What is hidden is looked at too: it must not be passed over for good if its
	// partition gets tombstones.
	all := Reader{Scope: r.Scope, v: r.v}
	looked := 0
	for c, err := range all.Changes(b.from, false) {
		if err != nil {
			return err
		}
		if c.Seq > b.to {
			break
		}
		if c.Deleted && !c.ID.Designs(b.d.partitioned) {
			b.docs = append(b.docs, dated{id: c.ID, seq: c.Seq})
		}
		if looked++; looked == collectLook || len(b.docs) == collectPage {
			b.more = c.Seq < b.to
			b.to = c.Seq
			break
		}
	}
	b.found, err = all.removing(b.ids())
	return err
}

func (b *tombstonePage) ids() (ids []document.ID) {
	for _, doc := range b.docs {
		ids = append(ids, doc.id)
	}
	return ids
}

// write collects a page of tombstones, from where the page began, and takes a sample if
// it is time for one. The first lets writers know that there will be deletion markers.
func (b *tombstonePage) write(g *group, j *jobs.Job) (over bool, err error) {
	p, there, err := b.d.collection(g.tx)
	if err != nil || b.age == 0 {
		return true, err
	}
	if p.upTo != b.from {
		return false, errPage
	}
	if !there {
		g.lane.version++
		g.stale = true
	}
	p.sample(g.now, g.lane.seq, b.age)
	j.Earliest = p.samples[len(p.samples)-1].at.Add(b.age / sampleParts)
	p.upTo = b.to
	more := b.more
	if len(b.docs) > 0 {
		g.knowRemovals(b.found)
		if err := g.fetchDocs(b.ids(), b.found.bodies); err != nil {
			return false, err
		}
	}
	for _, doc := range b.docs {
		done, err := g.collect(doc, b.found.bodies)
		if err != nil {
			return false, err
		}
		if done == collectedLater {
			p.upTo = doc.seq - 1
			more = true
			break
		}
		if done == collectedDone {
			j.Done++
		}
	}
	p.forget()
	switch j.Due = g.now; {
	case more:
	case b.blocked: // whoever trims the log makes it due
		j.Earliest, j.Due = g.now, g.now.Add(time.Hour)
	default:
		over = p.next(g, j, b.age)
	}
	return over, g.tx.Put(settingKey(b.d.number, settingCollection), p.encode())
}

// next makes the job due when the first sample is old, or when there are tombstones
// after the last sample, for another one; over if there is nothing to wait for.
func (p *collection) next(g *group, j *jobs.Job, age time.Duration) (over bool) {
	last := p.upTo
	over = true
	if n := len(p.samples); n > 0 {
		last, over = p.samples[n-1].seq, false
		j.Due = p.samples[0].at.Add(age)
	}
	if g.lane.deleted > 0 && last < g.lane.seq && (over || j.Earliest.Before(j.Due)) {
		j.Due, over = j.Earliest, false
	}
	if !over && !j.Due.After(g.now) {
		j.Due = g.now.Add(time.Second)
	}
	return over
}

// What became of a document that was to be collected.
type collected uint8

const (
	collectedDone  collected = iota
	collectedMoved           // it has changed since, or goes with its partition
	collectedLater           // it has more bodies than there is room for
)

// collect removes a document that is a tombstone and leaves a deletion marker. As long as
// it has too many superseded bodies for one commit, it removes some of them.
func (g *group) collect(doc dated, of bodies) (collected, error) {
	p, err := g.partition(doc.id.Partition())
	if err != nil || p != nil && p.state == partitionDropping {
		return collectedMoved, err
	}
	s, err := g.doc(doc.id)
	if err != nil || s.edits > 0 || s.head.seq != doc.seq {
		return collectedMoved, err
	}
	found, looked := of[doc.id]
	if !looked {
		return collectedLater, nil
	}
	left, err := g.thin(doc.id, found, dropBodyRows)
	if err != nil || left {
		return collectedLater, err
	}
	if !s.tree.Winner().Deleted {
		return collectedMoved, nil
	}
	s.leaves = markerOf(&s.tree)
	if p != nil && p.state == partitionTombstones {
		if err := g.uncount(s); err != nil {
			return collectedLater, err
		}
	}
	if err := g.remove(s, found); err != nil {
		return collectedLater, err
	}
	return collectedDone, g.finishNow(s)
}

// uncount takes a document of a partition that gets tombstones for one that counts
// for nothing, unless the job has come to it: the counters forgot the partition
// when the drop began, and the job counts what it has handled.
func (g *group) uncount(s *docState) error {
	j, err := jobs.Get(g.tx, g.db.job(jobTombstones, string(s.id.Partition()), g.now).ID)
	if err == nil && string(s.id) > j.Checkpoint {
		s.counted = counts{}
	}
	return err
}

// remove takes a document away without a trace in the feed.
func (g *group) remove(s *docState, found []document.Rev) error {
	if err := g.dropBodies(s, found); err != nil {
		return err
	}
	s.setTree(&document.Tree{})
	s.was = &winner{}
	g.moved(s)
	return nil
}

package store

import (
	"errors"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// aging is what a checker holds the queue of what expires and the deletion markers
// against.
type aging struct {
	fields  *fields
	walking map[string]bool        // partitions that a walk is on its way through, "" for everything
	due     map[document.ID]uint64 // what heads say of the queue
}

func (c *checker) readAging() error {
	c.aging = aging{walking: map[string]bool{}, due: map[document.ID]uint64{}}
	var err error
	if c.aging.fields, err = (&Reader{Scope: c.d.Whole(), v: c.v}).fields(); err != nil {
		return err
	}
	return jobs.Each(c.v, jobExpiry, func(j jobs.Job) error {
		c.aging.walking[j.Subject] = true
		return nil
	}, c.d.number)
}

// expires holds what a document's head says of the queue against its live
// leaves and the setting. A leaf may have been passed over only if its time was
// long ago, and only as long as no walk is under way may anything be missing.
func (c *checker) expires(id document.ID, h *head) error {
	if h.due != 0 {
		c.aging.due[id] = h.due
	}
	if c.aging.walking[""] || c.aging.walking[string(id.Partition())] {
		return nil
	}
	setting, err := c.aging.fields.of(id)
	if err != nil {
		return err
	}
	written, err := c.d.written(c.v, id, h.due)
	if errors.Is(err, kv.ErrNotFound) {
		return nil // a row that is missing is reported by queue
	}
	if err != nil {
		return err
	}
	all, err := c.d.dueOf(c.v, id, &h.tree, asked{setting: setting, written: written, since: 1})
	if errors.Is(err, kv.ErrNotFound) {
		return nil // a leaf without a body is reported elsewhere
	}
	if err != nil {
		return err
	}
	if all.relative && written == 0 || !all.relative && written != 0 {
		c.bad("document %q is queued for %d, with %d as the time of its last write", id, h.due, written)
		return nil
	}
	found, since := h.due == 0 || h.due == dueUnreadable && all.unreadable, dueSince(c.d.store.o.Clock().Unix())
	for _, l := range all.leaves {
		found = found || l.time == h.due || h.due == dueUnreadable && l.time < since && !setting.Seconds
		if (h.due == 0 || l.time < h.due) && l.time >= since {
			c.bad("document %q: the leaf %s expires at %d, the document is queued for %d", id, l.rev, l.time, h.due)
		}
	}
	if h.due == 0 && all.unreadable {
		c.bad("document %q has a time that nobody can read, and is not queued for that", id)
	}
	if !found {
		c.bad("document %q is queued for %d, and no leaf expires then", id, h.due)
	}
	return nil
}

// queue holds the queue of what expires against the heads.
func (c *checker) queue() error {
	err := kv.Each(c.v, kv.Prefix(keyspace.Due.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.Due.Decode(key)
		if err != nil {
			return err
		}
		time, id := parts[0].Num(), document.ID(parts[1].String())
		if _, err := decodeDue(value); err != nil {
			return err
		}
		if due := c.aging.due[id]; due != time {
			c.bad("the queue of what expires has %q at %d, its head says %d", id, time, due)
			return nil
		}
		delete(c.aging.due, id)
		return nil
	})
	for id, due := range c.aging.due {
		c.bad("document %q expires at %d and is not in the queue", id, due)
	}
	return err
}

// markers looks for deletion markers that nobody could have dug: in a database that never
// dropped tombstones, of design documents, in partitions that are not there.
func (c *checker) markers() error {
	p, there, err := c.d.collection(c.v)
	if err != nil {
		return err
	}
	if p.upTo > c.lane.seq {
		c.bad("tombstones were dropped up to sequence %d, the last is %d", p.upTo, c.lane.seq)
	}
	last := sample{}
	for _, m := range p.samples {
		if m.seq > c.lane.seq || m.seq < last.seq || m.at.Before(last.at) {
			c.bad("sequence %d was the last at %s, after %d at %s", m.seq, m.at, last.seq, last.at)
		}
		last = m
	}
	return kv.Each(c.v, kv.Prefix(keyspace.Marker.Key(c.d.number)), func(key, value []byte) error {
		_, parts, err := keyspace.Marker.Decode(key)
		if err != nil {
			return err
		}
		id := document.ID(parts[0].String())
		g, err := decodeMarker(value)
		if err != nil {
			return err
		}
		for i, r := range g.revs {
			if i > 0 && r.Compare(g.revs[i-1]) >= 0 {
				c.bad("the deletion marker of %q is out of order at %s", id, r)
			}
		}
		if !there || id.Designs(c.d.partitioned) || len(g.revs) > maxMarker {
			c.bad("%q can have no such deletion marker", id)
		}
		return c.markerWithin(id)
	})
}

func (c *checker) markerWithin(id document.ID) error {
	p := id.Partition()
	if !c.d.partitioned || p == "" {
		return nil
	}
	_, err := c.v.Get(c.d.partitionKey(p))
	if errors.Is(err, kv.ErrNotFound) {
		c.bad("the deletion marker of %q lies in a partition that is not there", id)
		return nil
	}
	return err
}

// jobs holds the queue of jobs against what there is to do: where there are superseded
// bodies, pending blobs or documents that expire, a job is due when the first of them
// is, or soon after.
func (c *checker) jobs() error {
	if _, err := jobs.Get(c.v, jobs.ID{Kind: jobSurvey}); !errors.Is(err, jobs.ErrGone) {
		return err
	}
	entry, err := c.d.firstEntry(c.v)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		space *keyspace.Space
		kind  string
		due   func(n uint64) time.Time
	}{
		{&keyspace.Superseded, jobSweep, func(n uint64) time.Time { return time.UnixMilli(int64(n)).Add(c.d.store.o.KeepSuperseded) }},
		{&keyspace.BlobPending, jobSweep, func(n uint64) time.Time { return time.Unix(int64(n), 0) }},
		{&keyspace.Due, jobDue, func(n uint64) time.Time { return time.Unix(int64(n), 0) }},
	} {
		first, err := c.d.firstRow(c.v, row.space)
		if err != nil {
			return err
		}
		if first == nil || first.n == dueUnreadable {
			continue
		}
		kept := false
		if row.space == &keyspace.Superseded {
			if kept, err = entry.names(first.key); err != nil {
				return err
			}
		}
		j, err := jobs.Get(c.v, c.d.job(row.kind, "", time.Time{}).ID)
		switch latest := row.due(first.n); {
		case errors.Is(err, jobs.ErrGone):
			c.bad("there is a row of %s, and no job %q", row.space.Name, row.kind)
		case err != nil:
			return err
		case !kept && j.Due.After(latest) && j.Due.After(c.d.store.o.Clock().Add(sweepEvery)):
			c.bad("the job %q is due at %v, and there is something to do at %v", row.kind, j.Due, latest)
		}
	}
	return nil
}

package store

import (
	"errors"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// changeLog holds the entries of the change log against each other (each goes on
// from the winner that the one before left of the document), against the heads, and
// against the bodies, of which those are there that were not purged or dropped since.
func (c *checker) changeLog() error {
	floor, _, err := c.d.logFloor(c.v)
	if err != nil {
		return err
	}
	winners, commit := map[document.ID]winner{}, uint64(0)
	err = kv.Each(c.v, c.d.logAfter(floor), func(key, value []byte) error {
		at, err := logPosition(key)
		if err != nil {
			return err
		}
		e, err := decodeLogEntry(value)
		if err != nil {
			return err
		}
		if at.Seq > c.lane.seq || e.commit < commit || e.commit > c.lane.serial {
			c.bad("the change log's entry %v is of commit %d: out of order", at, e.commit)
		}
		commit = e.commit
		c.follow(winners, at, &e)
		return nil
	})
	for id, w := range winners {
		err = errors.Join(err, c.lastLogged(id, w))
	}
	return errors.Join(err, c.images(floor))
}

// follow notes the winner that an entry leaves.
func (c *checker) follow(winners map[document.ID]winner, at LogPosition, e *logEntry) {
	if e.cause == ByRemoval {
		for id := range winners {
			if id.Partition() == e.partition() {
				delete(winners, id)
			}
		}
		return
	}
	last, known := winners[e.id]
	if collected := last.deleted && e.old == (winner{}); known && last != e.old && !collected {
		c.bad("the change log's entry %v of %q goes on from %s, the one before ended with %s", at, e.id, e.old.rev, last.rev)
	}
	winners[e.id] = e.now
}

// lastLogged holds the winner of a document's last entry against its head.
func (c *checker) lastLogged(id document.ID, logged winner) error {
	now := winner{}
	value, err := c.v.Get(c.d.headKey(id))
	if err == nil {
		h, _, err := decodeWinner(value)
		if err != nil {
			return err
		}
		now = winner{h.winner, h.dead}
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	if collected := now == (winner{}) && logged.deleted; now != logged && !collected {
		c.bad("document %q has winner %s, its last entry in the change log says %s", id, now.rev, logged.rev)
	}
	return nil
}

// images looks for the bodies that entries name, newest first, for what was purged
// or dropped is missing from all entries before.
func (c *checker) images(floor LogPosition) error {
	it, err := c.v.Iterate(c.d.logAfter(floor), kv.IterOptions{Reverse: true})
	if err != nil {
		return err
	}
	defer it.Close()
	dropped, purged := map[document.Partition]bool{}, map[document.ID]map[document.Rev]bool{}
	for it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		e, err := decodeLogEntry(value)
		if err != nil {
			return err
		}
		switch e.cause {
		case ByRemoval:
			dropped[e.partition()] = true
		case ByPurge:
			if purged[e.id] == nil {
				purged[e.id] = map[document.Rev]bool{{}: e.purged == nil}
			}
			for _, rev := range e.purged {
				purged[e.id][rev] = true
			}
			purged[e.id][document.Rev{}] = purged[e.id][document.Rev{}] || e.purged == nil
		}
		for _, w := range []winner{e.old, e.now} {
			if p := purged[e.id]; w.rev.IsZero() || dropped[e.partition()] || p[w.rev] || p[document.Rev{}] {
				continue
			}
			if _, err := c.v.Get(c.d.bodyKey(e.id, w.rev)); errors.Is(err, kv.ErrNotFound) {
				c.bad("the change log names %s of %q, whose body is not there", w.rev, e.id)
			} else if err != nil {
				return err
			}
		}
	}
	return it.Err()
}

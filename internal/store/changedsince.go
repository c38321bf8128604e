package store

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/packed"
)

// maxNamed is how many sequences a commit asks for by name at most. What is further behind
// had better look again in a snapshot.
const maxNamed = 10_000

// Changed returns the documents of a scope that changed or went since sequences that a
// reader gave, as many as most; then, or if it is not known any more which went, or too
// much was written, more is true. Others wait for the transaction, so it walks over nothing:
// the numbers that were given since are known, and rows have keys by them.
func (m LaneTxn) Changed(sc Scope, since Sequences, most int) (ids map[document.ID]bool, more bool, err error) {
	ids = map[document.ID]bool{}
	for _, s := range m.g.order {
		if sc.contains(s.id) {
			ids[sc.shown(s.id)] = true
		}
	}
	more, err = m.changed(sc, since.Seq, ids)
	if err == nil && !more {
		more, err = m.removed(sc, since.Removals, ids)
	}
	return ids, more || len(ids) >= most, err
}

// changed adds the documents of a scope that have changed since a sequence.
func (m LaneTxn) changed(sc Scope, since Seq, ids map[document.ID]bool) (more bool, err error) {
	last := m.g.lane.seq
	if sc.partition != "" {
		s, err := m.g.partition(sc.partition)
		if err != nil {
			return false, err
		}
		last = min(last, s.seq)
	}
	if last <= since {
		return false, nil
	}
	if last-since > maxNamed {
		return true, nil
	}
	keys := make([][]byte, 0, last-since)
	for q := since + 1; q <= last; q++ {
		if sc.partition == "" {
			keys = append(keys, m.g.db.feedKey(q))
		} else {
			keys = append(keys, m.g.db.partitionFeedKey(sc.partition, q))
		}
	}
	rows, err := m.g.tx.GetMany(keys)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if row == nil {
			continue // the document has moved on, or went
		}
		var c Change
		if _, err := decodeFeed(row, &c); err != nil {
			return false, err
		}
		if sc.contains(c.ID) {
			ids[sc.shown(c.ID)] = true
		}
	}
	return false, nil
}

// removed adds those that went without a trace since a commit.
func (m LaneTxn) removed(sc Scope, since uint64, ids map[document.ID]bool) (more bool, err error) {
	last := m.g.lane.serial
	if last <= since {
		return false, nil
	}
	if last-since > maxNamed {
		return true, nil
	}
	keys := make([][]byte, 0, last-since)
	for n := since + 1; n <= last; n++ {
		keys = append(keys, sc.removalKey(keyspace.U(n)))
	}
	rows, err := m.g.tx.GetMany(keys)
	for i := 0; i < len(rows) && err == nil; i++ {
		if rows[i] == nil {
			continue
		}
		u := packed.ReadVersion(rows[i], rowVersion)
		id := document.ID(u.Text())
		if err = u.Done(); id == "" {
			return true, err
		}
		ids[sc.shown(id)] = true
	}
	return false, err
}

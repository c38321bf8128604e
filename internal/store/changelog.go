package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// The feed names each document once, at its last change. A database that streams
// are to be made of keeps a change log beside it: an entry for every change, with
// the winner before and after, written in the commit that carries the change out.
//
// Entries name revisions and hold no bodies. Those lie where they always do, and
// superseded ones stay for as long as an entry names them (see logHolds), whatever
// keep_superseded says and also through Compact; tombstones are not collected by
// age before. So a change costs one row of a hundred bytes, and what is purged or
// dropped is gone from the entries, too: these say that there was something, and no more.
//
// An entry lies at the sequence of its change. Purges that leave nothing of a
// document and drops of partitions have none: they lie after the last sequence, by
// the number of their commit.
//
// Entries go by age, in order. What went is known by the log's floor: readers from
// before it are told that something is lost.

const (
	settingLog      = "change_log"
	settingLogFloor = "change_log_floor"
)

// LogPosition is a position in a database's change log: everything up to a sequence, and
// of what came after that without one of its own what has numbers up to N. The zero
// value is before everything.
type LogPosition struct {
	Seq Seq
	N   uint64
}

// Compare returns -1, 0 or +1: whether p is before q, is q, or is after it.
func (p LogPosition) Compare(q LogPosition) int {
	return cmp.Or(cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.N, q.N))
}

// before reports whether p is before q.
func (p LogPosition) before(q LogPosition) bool { return p.Compare(q) < 0 }

// Cause says what made a change.
type Cause byte

const (
	ByWriter  Cause = iota // somebody's edit, be it replicated
	ByExpiry               // the document's time had come
	ByDrop                 // a drop of its partition that writes tombstones
	ByPurge                // leaves were purged, of which nothing is left here either
	ByRemoval              // its partition was dropped, with all that earlier entries say of it
)

// winner is a document's winning revision; the zero value is none.
type winner struct {
	rev     document.Rev
	deleted bool
}

// logEntry is the value of a row of the change log.
type logEntry struct {
	time     time.Time
	commit   uint64 // the lane's serial
	cause    Cause
	id       document.ID    // of ByRemoval the name of the partition
	rev      document.Rev   // that was written; none for purges and removals
	old, now winner         // before and after
	purged   []document.Rev // nil: all
}

func (e *logEntry) encode() []byte {
	w := make(packed.Writer, 0, 128)
	w.Byte(rowVersion)
	w.Byte(byte(e.cause))
	w.Uint(uint64(e.time.UnixMilli()))
	w.Uint(e.commit)
	w.Text(string(e.id))
	writeRev(&w, e.rev)
	for _, v := range []winner{e.old, e.now} {
		writeRev(&w, v.rev)
		w.Flag(v.deleted)
	}
	w.Uint(uint64(len(e.purged)))
	for _, r := range e.purged {
		writeRev(&w, r)
	}
	return w
}

func decodeLogEntry(b []byte) (e logEntry, err error) {
	r := packed.ReadVersion(b, rowVersion)
	e.cause = Cause(r.Byte())
	e.time = time.UnixMilli(int64(r.Uint()))
	e.commit = r.Uint()
	e.id = document.ID(r.Text())
	e.rev = decodeRev(&r)
	for _, v := range []*winner{&e.old, &e.now} {
		v.rev, v.deleted = decodeRev(&r), r.Flag()
	}
	for n := r.Uint(); n > 0 && !r.Failed(); n-- {
		e.purged = append(e.purged, decodeRev(&r))
	}
	return e, r.Done()
}

// partition is the one that the entry is of; "" for none.
func (e *logEntry) partition() document.Partition {
	if e.cause == ByRemoval {
		return document.Partition(e.id)
	}
	return e.id.Partition()
}

func (d *Database) logKey(p LogPosition) []byte {
	return keyspace.ChangeLog.Key(d.number, keyspace.U(uint64(p.Seq)), keyspace.U(p.N))
}

func logPosition(key []byte) (LogPosition, error) {
	_, parts, err := keyspace.ChangeLog.Decode(key)
	if err != nil {
		return LogPosition{}, err
	}
	return LogPosition{Seq(parts[0].Num()), parts[1].Num()}, nil
}

// logged writes an entry of a change of a document, whose tree is as the change left it.
func (g *group) logged(s *docState, e logEntry) error {
	if !g.logs {
		return nil
	}
	now := winnerOf(&s.tree) // not a part of e, which would lie on the heap for all who keep no log
	e.old, e.now, e.id = s.logged(), now, s.id
	s.was = &now
	return g.putLog(e, s.tree.Empty())
}

func (g *group) putLog(e logEntry, unsequenced bool) error {
	e.time, e.commit = g.now, g.lane.serial
	at := LogPosition{Seq: g.lane.seq}
	if unsequenced {
		at.N = g.lane.serial
		g.lane.serial++ // each row has a number of its own
	}
	g.needs(jobSweep, g.now.Add(g.db.settings.Load().log.Length))
	return g.tx.Put(g.db.logKey(at), e.encode())
}

// logged is the winner as the change log knows it: as of the last entry of this
// group, or as stored.
func (s *docState) logged() winner {
	if s.was != nil {
		return *s.was
	}
	return winner{s.stored.winner, s.stored.dead}
}

func winnerOf(t *document.Tree) winner {
	if t.Empty() {
		return winner{}
	}
	w := t.Winner()
	return winner{w.Rev, w.Deleted}
}

// SetChangeLog switches the change log on, with entries that are kept for p at
// least, or off with the zero Period: then all entries go. A new log begins with the
// next change. Errors: Invalid bad_request for a period without end.
func (d *Database) SetChangeLog(ctx context.Context, p Period) error {
	return d.setChangeLog(ctx, p, func(uint64) bool { return true })
}

// SetChangeLogAt is SetChangeLog for those who were led to it by what the database defines: it
// does nothing if that has another version (Reader.DefinitionsVersion) by the time of the
// commit. done reports whether it had the version.
func (d *Database) SetChangeLogAt(ctx context.Context, p Period, version uint64) (done bool, err error) {
	err = d.setChangeLog(ctx, p, func(now uint64) bool {
		done = now == version
		return done
	})
	return done && err == nil, err
}

// setChangeLog is SetChangeLog where the version of the definitions is one that counts.
func (d *Database) setChangeLog(ctx context.Context, p Period, counts func(version uint64) bool) error {
	if p.Text != "" && p.Length == 0 {
		return dberr.New(dberr.Invalid, "bad_request", "The entries of a change log are kept for a time that has an end.")
	}
	return d.do(ctx, "store.SetChangeLog", func(g *group) error {
		if !counts(g.lane.version) {
			return nil
		}
		if on := p.Text != ""; on != g.logs {
			g.logs = on
			for _, s := range g.docs {
				now := winnerOf(&s.tree)
				s.was = &now
			}
			if err := g.putLogFloor(LogPosition{g.lane.seq, g.lane.serial}); err != nil {
				return err
			}
			g.lane.serial++
		}
		g.lane.version++
		g.stale = true
		g.needs(jobSweep, g.now)
		if !g.logs {
			return g.tx.Delete(settingKey(d.number, settingLog))
		}
		return g.tx.Put(settingKey(d.number, settingLog), []byte(p.Text))
	})
}

// ChangeLog is how long the entries of the change log are kept; the zero Period
// where there is none.
func (d *Database) ChangeLog() Period { return d.settings.Load().log }

func (d *Database) loadLog(v kv.Snapshot, set *settings) error {
	var err error
	if set.log, err = d.logPeriod(v); err != nil {
		return err
	}
	_, set.logged, err = d.logFloor(v)
	return err
}

func (d *Database) logPeriod(v kv.Snapshot) (Period, error) {
	value, err := v.Get(settingKey(d.number, settingLog))
	if errors.Is(err, kv.ErrNotFound) {
		return Period{}, nil
	}
	if err != nil {
		return Period{}, err
	}
	return ParsePeriod(string(value))
}

func (g *group) putLogFloor(p LogPosition) error {
	w := packed.Writer{}
	w.Byte(rowVersion)
	w.Uint(uint64(p.Seq))
	w.Uint(p.N)
	return g.tx.Put(settingKey(g.db.number, settingLogFloor), w)
}

// logFloor is the position up to which the change log has no entries any more; false
// if there was never one.
func (d *Database) logFloor(v kv.Snapshot) (p LogPosition, there bool, err error) {
	value, err := v.Get(settingKey(d.number, settingLogFloor))
	if errors.Is(err, kv.ErrNotFound) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	r := packed.ReadVersion(value, rowVersion)
	p = LogPosition{Seq(r.Uint()), r.Uint()}
	return p, true, r.Done()
}

// firstEntry is the oldest entry that is above the floor; nil for none.
func (d *Database) firstEntry(v kv.Snapshot) (first *logEntry, err error) {
	floor, there, err := d.logFloor(v)
	if err != nil || !there {
		return nil, err
	}
	err = kv.Each(v, d.logAfter(floor), func(_, value []byte) error {
		e, err := decodeLogEntry(value)
		first = &e
		return errors.Join(err, errEnough)
	})
	if errors.Is(err, errEnough) && !errors.Is(err, packed.ErrFormat) {
		err = nil
	}
	return first, err
}

// logAfter is the range of the entries after a position.
func (d *Database) logAfter(p LogPosition) kv.Range {
	r := kv.Prefix(keyspace.ChangeLog.Key(d.number))
	r.Start = append(d.logKey(p), 0)
	return r
}

// logHolds is the first sequence whose document may be named by an entry, so that
// its bodies stay: all have larger ones if there is no log.
func (d *Database) logHolds(v kv.Snapshot) (Seq, error) {
	if p, err := d.logPeriod(v); err != nil || p.Text == "" {
		return math.MaxUint64, err
	}
	floor, _, err := d.logFloor(v)
	return floor.Seq + 1, err
}

// logPage is how many entries one commit removes, those that are older than the log
// keeps them, or below its floor.
const logPage = 1000

// trimLog removes entries up to a position, and notes that they went. What they kept may
// go then, too.
func (g *group) trimLog(keys [][]byte, last LogPosition) error {
	for _, key := range keys {
		if err := g.tx.Delete(key); err != nil {
			return err
		}
	}
	if g.db.tombstoneAge() > 0 {
		g.needs(jobCollect, g.now)
	}
	floor, _, err := g.db.logFloor(g.tx)
	if err != nil || !floor.before(last) {
		return err
	}
	return g.putLogFloor(last)
}

// dueLog returns the keys of a page of entries that are to go, and the position of the
// last one.
func (d *Database) dueLog(v kv.Snapshot, now time.Time) (keys [][]byte, last LogPosition, err error) {
	floor, _, err := d.logFloor(v)
	if err != nil {
		return nil, last, err
	}
	keep, err := d.logPeriod(v)
	if err != nil {
		return nil, last, err
	}
	err = kv.Each(v, kv.Prefix(keyspace.ChangeLog.Key(d.number)), func(key, value []byte) error {
		at, err := logPosition(key)
		if err != nil {
			return err
		}
		e, err := decodeLogEntry(value)
		if err != nil {
			return err
		}
		if len(keys) == logPage || floor.before(at) && !e.time.Before(now.Add(-keep.Length)) {
			return errEnough
		}
		keys, last = append(keys, append([]byte(nil), key...)), at
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return keys, last, err
}

// loggedDrop writes the entry of a partition that is dropped.
func (g *group) loggedDrop(p document.Partition) error {
	if !g.logs {
		return nil
	}
	return g.putLog(logEntry{cause: ByRemoval, id: document.ID(p)}, true)
}

// names reports whether the entry or a later one may name the revisions of a row of
// superseded ones: those that were superseded in its commit or after it.
func (e *logEntry) names(superseded []byte) (bool, error) {
	if e == nil {
		return false, nil
	}
	_, parts, err := keyspace.Superseded.Decode(superseded)
	return err == nil && parts[1].Num() >= e.commit, err
}

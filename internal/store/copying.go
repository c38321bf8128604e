package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// What of the store's rows a copy into another engine begins and ends with (package kvcopy
// copies what is between). A database that is being copied lies at the target under a
// number of its own, which no catalogue names before all of it is there; a whole store has
// a format that nobody opens. What has moved away leaves a row that says where to.
//
// The source is marked before the target becomes of use, so that at no moment both take
// writes. A copy that ends in between is finished by the next.

// Meta rows of copies, with the database's name behind the slash.
const (
	metaCopy  = "copy/"  // at the target: a database that is being copied there
	metaMoved = "moved/" // at the source: one that has moved away
)

// DatabaseCopy is a database that is to be copied to another store.
type DatabaseCopy struct {
	Name     string
	From, To []byte // what its keys begin with, there and here
	// Moved says that the source is marked already: only Finish is left.
	Moved bool

	from  entry
	to    uint64
	where string // the target's UUID
	row   []byte // at the target, as it was read
}

// Target is the number that the database has at the target.
func (c *DatabaseCopy) Target() uint64 { return c.to }

// Incarnation is the source's.
func (c *DatabaseCopy) Incarnation() uint64 { return c.from.incarnation }

// PrepareCopy finds out how a database comes from one engine into another, which may be
// empty. It writes nothing. Errors: NotFound; Exists if the target has one of
// the name; Unavailable moved if it has moved elsewhere, or if either store has another
// format than this build.
func PrepareCopy(ctx context.Context, from, to kv.Engine, name string) (c *DatabaseCopy, err error) {
	c = &DatabaseCopy{Name: name}
	var gone *moved
	err = from.View(ctx, func(v kv.Snapshot) error {
		if _, err := readStore(v); err != nil {
			return err
		}
		gone, err = c.readSource(v)
		return err
	})
	if err == nil {
		err = to.View(ctx, func(v kv.Snapshot) error { return c.readTarget(v, gone) })
	}
	if err != nil {
		return nil, dberr.Wrap("store.PrepareCopy", err)
	}
	c.From, c.To = keyspace.Database(c.from.number), keyspace.Database(c.to)
	return c, nil
}

// readStore reads the UUID of a store that has the format of this build.
func readStore(v kv.Snapshot) (uuid string, err error) {
	value, err := v.Get(metaKey("store"))
	if err != nil {
		return "", err
	}
	u := packed.Read(value)
	newest := currentFormat(formatSteps)
	switch found := u.Byte(); {
	case found == unfinished:
		return "", dberr.New(dberr.Unavailable, "", reasonUnfinished)
	case found == movedStore:
		return "", errMovedStore(value)
	case found > newest:
		return "", dberr.New(dberr.Unavailable, "", reasonNewer, found, newest)
	case found < newest:
		return "", dberr.New(dberr.Unavailable, "", reasonOlder, found, newest)
	}
	uuid = u.Text()
	return uuid, u.Done()
}

func (c *DatabaseCopy) readSource(v kv.Snapshot) (gone *moved, err error) {
	value, err := v.Get(catalogueKey(c.Name))
	if err == nil {
		c.from, err = decodeEntry(value)
		return nil, err
	}
	if !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	m, err := readMoved(v.Get(metaKey(metaMoved + c.Name)))
	if err != nil {
		return nil, err
	}
	c.Moved = true
	c.from, err = decodeEntry(m.entry)
	return &m, err
}

func (c *DatabaseCopy) readTarget(v kv.Snapshot, gone *moved) (err error) {
	c.where, err = readStore(v)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	if gone != nil && gone.uuid != c.where {
		return gone.error()
	}
	if err != nil { // Begin makes a store
		c.to = 1
		return nil
	}
	value, err := v.Get(catalogueKey(c.Name))
	switch {
	case err == nil && gone != nil:
		e, err := decodeEntry(value)
		if c.to = e.number; err == nil && e.number != gone.to {
			err = errDatabase
		}
		return err
	case err == nil:
		return dberr.New(dberr.Exists, "", "The target has a database %s already.", c.Name)
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	if c.row, err = v.Get(metaKey(metaCopy + c.Name)); err == nil {
		incarnation := uint64(0)
		if incarnation, c.to, err = decodeCopy(c.row); err != nil || incarnation == c.from.incarnation {
			return err
		}
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	last, err := counter(v.Get(metaKey("database")))
	c.to = last + 1
	return err
}

func decodeCopy(value []byte) (incarnation, number uint64, err error) {
	u := packed.ReadVersion(value, rowVersion)
	incarnation, number = u.Uint(), u.Uint()
	return incarnation, number, u.Done()
}

// Begin takes the number at the target. What an earlier copy of another database of the
// name has left there goes. Errors: Conflict if something came in between since
// PrepareCopy.
func (c *DatabaseCopy) Begin(ctx context.Context, to kv.Engine, settled Settled) error {
	if err := c.makeStore(ctx, to); err != nil {
		return err
	}
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Uint(c.from.incarnation)
	p.Uint(c.to)
	if bytes.Equal(p, c.row) {
		return nil
	}
	if c.row != nil {
		_, old, err := decodeCopy(c.row)
		if err == nil {
			err = to.Discard(ctx, kv.Prefix(keyspace.Database(old)))
		}
		if err != nil {
			return dberr.Wrap("store.BeginCopy", err)
		}
	}
	err := settled(ctx, to, func(tx kv.Txn) error {
		now, err := tx.GetForUpdate(metaKey(metaCopy + c.Name))
		if err == nil && bytes.Equal(now, p) {
			return nil
		}
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		number, err := next(tx, "database")
		if err != nil {
			return err
		}
		if number != c.to {
			return dberr.New(dberr.Conflict, "", "A database was made at the target meanwhile; start the copy again.")
		}
		return tx.Put(metaKey(metaCopy+c.Name), p)
	})
	return dberr.Wrap("store.BeginCopy", err)
}

// makeStore makes the target's store, if there is none.
func (c *DatabaseCopy) makeStore(ctx context.Context, to kv.Engine) error {
	if c.where != "" {
		return nil
	}
	s, err := Open(ctx, to, Options{Idle: true})
	if err != nil {
		return err
	}
	c.where = s.UUID()
	return s.Close()
}

// Settled is an Update of an engine that is made again until it is known what became of it.
type Settled func(ctx context.Context, e kv.Engine, fn func(kv.Txn) error) error

// Through is an Update at the source.
type Through func(ctx context.Context, fn func(kv.Txn) error) error

// Refusing is the Update of a tracking from which on writers get a refusal; nil for none.
func Refusing(t kv.Tracking, refusal error) Through {
	return func(ctx context.Context, fn func(kv.Txn) error) error { return t.Through(ctx, fn, refusal) }
}

// Leave marks the database as moved at the source, where it is no more from then on. where
// is the target's name for people.
func (c *DatabaseCopy) Leave(ctx context.Context, through Through, where string) error {
	err := through(ctx, func(tx kv.Txn) error {
		value, err := tx.GetForUpdate(catalogueKey(c.Name))
		if err != nil {
			return err
		}
		m := moved{where: where, uuid: c.where, to: c.to, entry: value}
		if m.lane, err = tx.GetForUpdate(laneKey(c.from.number)); err != nil {
			return err
		}
		all, err := jobs.Of(tx, c.from.number)
		for i := range all {
			row := movedJob{key: all[i].Key()}
			if row.value, err = tx.GetForUpdate(row.key); err == nil {
				err = jobs.End(tx, &all[i])
			}
			if err != nil {
				return err
			}
			m.jobs = append(m.jobs, row)
		}
		row := m.encode()
		if err == nil && len(row) > longestSystemRow {
			err = dberr.New(dberr.Unavailable, "", "The database %s has %d jobs, which are too many to be taken along. Let those end that build its indexes, and copy again.", c.Name, len(all))
		}
		return errors.Join(err, tx.Delete(catalogueKey(c.Name)), tx.Delete(laneKey(c.from.number)),
			tx.Put(metaKey(metaMoved+c.Name), row), note(tx, c.Name, updateDeleted))
	})
	return dberr.Wrap("store.LeaveCopy", err)
}

// Finish makes the copied database one of the target. A source that has moved says what its
// jobs and its lane head were; with keep it goes on, and the target's sequences are another
// incarnation's from here on.
func (c *DatabaseCopy) Finish(ctx context.Context, from, to kv.Engine, settled Settled, keep bool) error {
	e, work, lane, err := c.leaving(ctx, from, keep)
	if err == nil && keep {
		e.incarnation, err = newIncarnation(rand.Reader)
	}
	e.number = c.to
	if err == nil {
		err = settled(ctx, to, func(tx kv.Txn) error { return c.publish(tx, &e, work, lane) })
	}
	return dberr.Wrap("store.FinishCopy", err)
}

// Arrived notes at the source that the target has published the database, after Finish: until
// then the source's rows may be all that there is of it, and are not dropped.
func (c *DatabaseCopy) Arrived(ctx context.Context, from kv.Engine, settled Settled) error {
	err := settled(ctx, from, func(tx kv.Txn) error {
		value, err := tx.GetForUpdate(metaKey(metaMoved + c.Name))
		if errors.Is(err, kv.ErrNotFound) {
			return nil // it was dropped meanwhile
		}
		if err != nil {
			return err
		}
		m, err := decodeMoved(value)
		if err != nil || m.uuid != c.where {
			return err
		}
		m.arrived = true
		return tx.Put(metaKey(metaMoved+c.Name), m.encode())
	})
	return dberr.Wrap("store.CopyArrived", err)
}

// leaving reads what comes along that does not lie with the database.
func (c *DatabaseCopy) leaving(ctx context.Context, from kv.Engine, keep bool) (e entry, work []jobs.Job, lane []byte, err error) {
	e = c.from
	err = from.View(ctx, func(v kv.Snapshot) error {
		if keep {
			work, err = jobs.Of(v, c.from.number)
			return err
		}
		m, err := readMoved(v.Get(metaKey(metaMoved + c.Name)))
		if err != nil {
			return err
		}
		lane = m.lane
		for _, row := range m.jobs {
			j, err := jobs.Decode(row.key, row.value)
			if err != nil {
				return err
			}
			work = append(work, j)
		}
		return nil
	})
	return e, work, lane, err
}

func (c *DatabaseCopy) publish(tx kv.Txn, e *entry, work []jobs.Job, lane []byte) error {
	key, copying := catalogueKey(c.Name), metaKey(metaCopy+c.Name)
	value, err := tx.GetForUpdate(key)
	if err == nil {
		if other, err := decodeEntry(value); err != nil || other.number == c.to {
			return err // it was done
		}
		return errDatabase
	}
	if !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	now, err := tx.GetForUpdate(laneKey(c.to))
	if err != nil || lane != nil && !bytes.Equal(now, lane) {
		return errors.Join(err, dberr.New(dberr.Internal, "", "The head of the database %s differs from the one that the source had when it was left.", c.Name))
	}
	if _, err := tx.GetForUpdate(copying); err != nil {
		return err
	}
	if e.incarnation != c.from.incarnation {
		if err := fork(tx, c.to, c.from.incarnation, true); err != nil {
			return err
		}
	}
	for _, j := range work {
		if !c.carried(&j) {
			continue
		}
		if err := jobs.Carry(tx, j); err != nil {
			return err
		}
	}
	return errors.Join(c.cameBack(tx), tx.Put(key, e.encode()), tx.Delete(copying), note(tx, c.Name, updateCreated))
}

// carried makes a job of the source one of the target, and reports whether it is to come along. What a job removes is said by
// keys, which have the number of the database.
func (c *DatabaseCopy) carried(j *jobs.Job) bool {
	switch j.Number = c.to; j.Kind {
	case jobDatabase:
		return false
	case jobDiscard:
		rest, own := strings.CutPrefix(j.Subject, string(keyspace.Database(c.from.number)))
		j.Subject = string(keyspace.Database(c.to)) + rest
		return own
	}
	return true
}

// cameBack removes what is left of the database where it was here before it moved away.
func (c *DatabaseCopy) cameBack(tx kv.Txn) error {
	key := metaKey(metaMoved + c.Name)
	m, err := readMoved(tx.GetForUpdate(key))
	if err == errNoDatabase {
		return nil
	}
	if err != nil {
		return err
	}
	e, err := decodeEntry(m.entry)
	if err != nil {
		return err
	}
	discard := jobs.Job{ID: jobs.ID{Kind: jobDatabase, Number: e.number}, Due: time.Now().Add(leftFor)}
	return errors.Join(jobs.Carry(tx, discard), tx.Delete(key))
}

// leftFor is how long rows stay of what came back, for snapshots that read them.
const leftFor = time.Minute

// Counts of a database, for who compares two.
type Counts struct {
	Documents  uint64 `json:"documents"`
	Tombstones uint64 `json:"tombstones"`
	Seq        Seq    `json:"sequence"`
}

// Counted reads what the lane head of the copy says: From is the source's, which has to
// be the same.
func (c *DatabaseCopy) Counted(ctx context.Context, from, to kv.Engine) (n Counts, err error) {
	var both [2][]byte
	for i, at := range []struct {
		e      kv.Engine
		number uint64
	}{{from, c.from.number}, {to, c.to}} {
		err := at.e.View(ctx, func(v kv.Snapshot) (err error) {
			both[i], err = v.Get(laneKey(at.number))
			return err
		})
		if err != nil {
			return n, err
		}
	}
	if !bytes.Equal(both[0], both[1]) {
		return n, dberr.New(dberr.Internal, "", "What was copied of the database %s has another head than the source.", c.Name)
	}
	l, err := decodeLane(both[0])
	return Counts{Documents: l.docs, Tombstones: l.deleted, Seq: l.seq}, err
}

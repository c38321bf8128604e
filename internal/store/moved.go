package store

import (
	"bytes"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// moved is the row of a database that has moved away.
type moved struct {
	where string // for people
	uuid  string // the store's
	to    uint64 // its number there
	entry []byte
	lane  []byte // its lane head as it was; empty where an older build has noted that it arrived
	jobs  []movedJob
	// arrived says that the target has published it (Arrived).
	arrived bool
}

// movedVersion is the version of the row. In the first there was no arrived.
const movedVersion = 2

type movedJob struct{ key, value []byte }

func (m *moved) encode() []byte {
	p := packed.Writer{}
	p.Byte(movedVersion)
	p.Text(m.where)
	p.Text(m.uuid)
	p.Uint(m.to)
	p.Bytes(m.entry)
	p.Bytes(m.lane)
	p.Uint(uint64(len(m.jobs)))
	for _, j := range m.jobs {
		p.Bytes(j.key)
		p.Bytes(j.value)
	}
	arrived := uint64(0)
	if m.arrived {
		arrived = 1
	}
	p.Uint(arrived)
	return p
}

func decodeMoved(value []byte) (m moved, err error) {
	u, version := packed.ReadUpTo(value, movedVersion)
	m = moved{where: u.Text(), uuid: u.Text(), to: u.Uint(), entry: bytes.Clone(u.Bytes()), lane: bytes.Clone(u.Bytes())}
	for n := u.Uint(); n > 0 && !u.Failed(); n-- {
		m.jobs = append(m.jobs, movedJob{bytes.Clone(u.Bytes()), bytes.Clone(u.Bytes())})
	}
	if m.arrived = len(m.lane) == 0; version > 1 {
		m.arrived = u.Uint() > 0
	}
	return m, u.Done()
}

// readMoved decodes what a read of the row gave. Errors: errNoDatabase where there is none.
func readMoved(value []byte, err error) (moved, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return moved{}, errNoDatabase
	}
	if err != nil {
		return moved{}, err
	}
	return decodeMoved(value)
}

func (m *moved) error() error { return movedTo(m.where) }

// movedTo is the error of who wants a database that has moved away.
func movedTo(where string) error {
	e := dberr.New(dberr.Unavailable, "moved", "%s", "The database has moved to "+where+".")
	e.Cause = errNoDatabase
	return e
}

var errNotArrived = dberr.New(dberr.Unavailable, "moved", "The database is being moved, and has not arrived. If its copy was interrupted, start that again.")

// dropMoved removes what is left of a database that has moved away. Errors: Unavailable as
// long as the target may not have it.
func (s *Store) dropMoved(tx kv.Txn, name string) error {
	key := metaKey(metaMoved + name)
	m, err := readMoved(tx.GetForUpdate(key))
	if err != nil {
		return err
	}
	if !m.arrived {
		return errNotArrived
	}
	e, err := decodeEntry(m.entry)
	return errors.Join(err, s.discardLater(tx, e.number), tx.Delete(key))
}

// gone is the error of who uses a database that is no more.
func (d *Database) gone() error {
	if where := d.movedTo.Load(); where != nil {
		return movedTo(*where)
	}
	return errNoDatabase
}

// goneIn is gone for a snapshot that has no lane head of the database: it has been moved away by another process, perhaps.
func (d *Database) goneIn(v kv.Snapshot) error {
	if d.movedTo.Load() == nil {
		m, err := readMoved(v.Get(metaKey(metaMoved + d.name)))
		if err != nil {
			return err
		}
		if e, err := decodeEntry(m.entry); err != nil || e.number != d.number {
			return errors.Join(err, errNoDatabase)
		}
		d.movedTo.Store(&m.where)
	}
	return d.gone()
}

// movedAway returns what is known of a database that is not in the catalogue: where it has
// moved to, or that there is none.
func movedAway(v kv.Snapshot, name string) error {
	m, err := readMoved(v.Get(metaKey(metaMoved + name)))
	if err != nil {
		return err
	}
	return m.error()
}

// Depart has the store tell who uses the database that it has moved, when it is gone: that
// is called before Leave. Nothing changes as long as it is there.
func (s *Store) Depart(c *DatabaseCopy, where string) {
	if d := s.open.peek(c.Name); d != nil && d.number == c.from.number {
		d.movedTo.Store(&where)
	}
}

// Departed has the store notice that a database was taken out of it by Leave.
func (s *Store) Departed(c *DatabaseCopy) {
	s.forget(c.Name, c.from.number)
	s.updates.wake()
	s.tell(news{name: c.Name, number: c.from.number, all: true})
	s.tell(news{})
}

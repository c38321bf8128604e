package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"regexp"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Creation says how to make a database.
type Creation struct {
	Partitioned bool
	Security    []byte // first _security object, compact JSON; nil for "{}"
}

// entry is the value of a catalogue row.
type entry struct {
	number      uint64
	partitioned bool
	incarnation uint64 // tells this database from an earlier one, in sequences
	created     time.Time
}

func (e *entry) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Flag(e.partitioned)
	p.Uint(e.number)
	p.Uint(e.incarnation)
	p.Uint(uint64(e.created.UnixMilli()))
	return p
}

func decodeEntry(b []byte) (e entry, err error) {
	u := packed.ReadVersion(b, rowVersion)
	e.partitioned = u.Byte() == 1
	e.number, e.incarnation = u.Uint(), u.Uint()
	e.created = time.UnixMilli(int64(u.Uint()))
	return e, u.Done()
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_$()+/-]*$`)

// maxName is how long a database name may be, in bytes.
const maxName = 238

// ParseName checks a database name: lower-case letters, digits and _$()+/-
// after a letter; _users, _replicator and _global_changes are names too, also
// after a path. Errors: Invalid illegal_database_name, database_name_too_long.
func ParseName(s string) error {
	if len(s) > maxName {
		return dberr.New(dberr.Invalid, "database_name_too_long", "At least one path segment of `%s` is too long.", s)
	}
	if validName.MatchString(s) || systemName.MatchString(s) {
		return nil
	}
	return dberr.New(dberr.Invalid, "illegal_database_name", "Name: '"+s+
		"'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.")
}

var systemName = regexp.MustCompile(`^([a-z][a-z0-9_$()+/-]*/)?_(users|replicator|global_changes)$`)

var (
	errNoDatabase = dberr.New(dberr.NotFound, "not_found", "Database does not exist.")
	errDatabase   = dberr.New(dberr.Exists, "file_exists", "The database could not be created, the file already exists.")
)

// Create makes a database; name has passed ParseName. Errors: Exists
// file_exists; Invalid when a system database is to be partitioned.
func (s *Store) Create(ctx context.Context, name string, c Creation) (*Database, error) {
	if c.Partitioned && systemName.MatchString(name) {
		return nil, dberr.New(dberr.Invalid, "bad_request", "Cannot partition a system database")
	}
	if c.Security == nil {
		c.Security = []byte("{}")
	}
	incarnation, err := newIncarnation(s.o.Rand)
	if err != nil {
		return nil, err
	}
	e := entry{partitioned: c.Partitioned, incarnation: incarnation, created: s.o.Clock()}
	err = s.commit(ctx, func(tx kv.Txn) error { return s.create(tx, name, &e, c) })
	if err != nil {
		return nil, dberr.Wrap("store.Create", err)
	}
	s.dropHandle(name, e.number-1) // one whose drop has been committed, but is still open here
	s.updates.wake()
	s.publish(news{})
	return s.Database(ctx, name)
}

// create writes the rows of a database and numbers e.
func (s *Store) create(tx kv.Txn, name string, e *entry, c Creation) error {
	key := catalogueKey(name)
	if _, err := tx.GetForUpdate(key); !errors.Is(err, kv.ErrNotFound) {
		if err == nil {
			err = errDatabase
		}
		return err
	}
	var err error
	if e.number, err = next(tx, "database"); err != nil {
		return err
	}
	l := lane{version: 1}
	for _, row := range []struct{ key, value []byte }{
		{key, e.encode()},
		{keyspace.LaneHead.Key(e.number, keyspace.U(0)), l.encode()},
		{settingKey(e.number, settingSecurity), c.Security},
	} {
		if err := tx.Put(row.key, row.value); err != nil {
			return err
		}
	}
	return note(tx, name, updateCreated)
}

// newIncarnation returns an incarnation: 47 bits, so that it stays short in sequences.
func newIncarnation(r io.Reader) (uint64, error) {
	b := make([]byte, 6)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, err
	}
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n>>1 | 1, nil
}

func catalogueKey(name string) []byte { return keyspace.Catalogue.Key(0, keyspace.T(name)) }

// Drop removes a database at once: no request finds it any more. Its rows are
// cleaned up in the background. NotFound if it is not there.
func (s *Store) Drop(ctx context.Context, name string) error {
	return s.drop(ctx, name, func(kv.Txn) error { return nil })
}

// DropWhile is Drop for those who were led to it by a document: Conflict if that is not as
// marked by the time of the commit.
func (s *Store) DropWhile(ctx context.Context, name string, m Mark) error {
	return s.drop(ctx, name, func(tx kv.Txn) error {
		now, err := tx.GetForUpdate(m.key)
		if errors.Is(err, kv.ErrNotFound) {
			now, err = nil, nil
		}
		if err == nil && !m.holds(now) {
			err = errMarkMoved
		}
		return err
	})
}

var errMarkMoved = dberr.New(dberr.Conflict, "conflict", "The document has changed meanwhile.")

// drop is Drop where a look into the transaction does not fail.
func (s *Store) drop(ctx context.Context, name string, look func(kv.Txn) error) error {
	var number uint64
	err := s.commit(kv.Freeing(ctx), func(tx kv.Txn) error {
		if err := look(tx); err != nil {
			return err
		}
		key := catalogueKey(name)
		value, err := tx.GetForUpdate(key)
		if errors.Is(err, kv.ErrNotFound) {
			return errNoDatabase
		}
		if err != nil {
			return err
		}
		e, err := decodeEntry(value)
		if err != nil {
			return err
		}
		number = e.number
		if err := tx.Delete(key); err != nil {
			return err
		}
		// A write that is under way meets the missing lane head.
		if err := tx.Delete(keyspace.LaneHead.Key(e.number, keyspace.U(0))); err != nil {
			return err
		}
		if err := s.discardLater(tx, e.number); err != nil {
			return err
		}
		return note(tx, name, updateDeleted)
	})
	if err != nil {
		return dberr.Wrap("store.Drop", err)
	}
	s.dropHandle(name, number)
	s.updates.wake()
	s.publish(news{name: name, number: number, all: true})
	s.publish(news{})
	s.jobs.Wake()
	return nil
}

// discardLater has the rows of a database removed when no snapshot can read them.
func (s *Store) discardLater(tx kv.Txn, number uint64) error {
	return s.jobs.Put(tx, jobs.Job{ID: jobs.ID{Kind: jobDatabase, Number: number}, Due: s.unreachable(s.o.Clock())})
}

// dropHandle closes the open database of a name if its number is at most the one
// given: that is dropped, and those before it were.
func (s *Store) dropHandle(name string, number uint64) {
	if d := s.open.remove(name, number); d != nil {
		d.dropped.Store(true)
		d.watch.wakeAll()
	}
}

// Database opens a database, as it is after the call began; or as this process remembers
// it, if ctx has open claims, to which that is added then. NotFound not_found "Database does
// not exist."
func (s *Store) Database(ctx context.Context, name string) (*Database, error) {
	d := s.open.get(name)
	if d != nil && s.shared && !d.claim(ctx) {
		there, err := d.refresh(ctx)
		if err != nil {
			return nil, dberr.Wrap("store.Database", err)
		}
		if !there {
			d = nil // and its name may be another's by now
		}
	}
	if d != nil {
		return d, nil
	}
	err := s.engine.View(ctx, func(v kv.Snapshot) error {
		value, err := v.Get(catalogueKey(name))
		if errors.Is(err, kv.ErrNotFound) {
			return errNoDatabase
		}
		if err != nil {
			return err
		}
		e, err := decodeEntry(value)
		if err != nil {
			return err
		}
		d, err = s.load(v, name, e)
		return err
	})
	if err != nil {
		return nil, dberr.Wrap("store.Database", err)
	}
	return s.remember(ctx, d)
}

// remember keeps an opened database, unless another goroutine was first or the
// database was dropped since it was read.
func (s *Store) remember(ctx context.Context, d *Database) (*Database, error) {
	if first := s.open.put(d); first != d {
		return first, nil
	}
	there, err := s.exists(ctx, keyspace.LaneHead.Key(d.number, keyspace.U(0)))
	if err == nil && !there {
		s.dropHandle(d.name, d.number)
		err = errNoDatabase
	}
	if err != nil {
		return nil, dberr.Wrap("store.Database", err)
	}
	return d, nil
}

// namesPage is how many names one snapshot gives.
const namesPage = 500

// Names lists database names from start up to end (either may be "" for no
// bound; both are included) in byte order, or from end down to start.
func (s *Store) Names(ctx context.Context, start, end string, descending bool) iter.Seq2[string, error] {
	r := kv.Prefix(keyspace.Catalogue.Key(0))
	if start != "" {
		r.Start = catalogueKey(start)
	}
	if end != "" {
		r.End = append(catalogueKey(end), 0)
	}
	return func(yield func(string, error) bool) {
		for {
			page, err := s.namesPage(ctx, r, descending)
			if err != nil {
				yield("", dberr.Wrap("store.Names", err))
				return
			}
			for _, name := range page {
				if !yield(name, nil) {
					return
				}
			}
			if len(page) < namesPage {
				return
			}
			last := catalogueKey(page[len(page)-1])
			if descending {
				r.End = last
			} else {
				r.Start = append(last, 0)
			}
		}
	}
}

func (s *Store) namesPage(ctx context.Context, r kv.Range, descending bool) (page []string, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		page = page[:0]
		it, err := v.Iterate(r, kv.IterOptions{Reverse: descending})
		if err != nil {
			return err
		}
		defer it.Close()
		for len(page) < namesPage && it.Next() {
			_, parts, err := keyspace.Catalogue.Decode(it.Key())
			if err != nil {
				return err
			}
			page = append(page, parts[0].String())
		}
		return it.Err()
	})
	return page, err
}

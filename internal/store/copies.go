package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Copies are what copies have left in a store, which nobody need have opened.
type Copies struct {
	Half  bool     // everything was being copied here, and a part is
	Moved string   // where everything has moved to; "": it has not
	Here  []string // databases that were being copied here, of which a part is
	Away  []Away   // databases that have moved away
}

// Away is a database that has moved away.
type Away struct {
	Name    string
	Where   string
	Arrived bool // the target is known to have it
}

// CopiesIn returns what copies have left in an engine.
func CopiesIn(ctx context.Context, e kv.Engine) (c Copies, err error) {
	err = e.View(ctx, func(v kv.Snapshot) error {
		c = Copies{}
		seal, err := v.Get(metaKey("store"))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		switch {
		case len(seal) == 1 && seal[0] == unfinished:
			c.Half = true
			return nil
		case len(seal) > 0 && seal[0] == movedStore:
			c.Moved, _, err = decodeMovedStore(seal)
			return err
		}
		return c.databases(v)
	})
	return c, dberr.Wrap("store.CopiesIn", err)
}

func (c *Copies) databases(v kv.Snapshot) error {
	return errors.Join(
		namedRows(v, metaCopy, func(name string, _ []byte) error {
			c.Here = append(c.Here, name)
			return nil
		}),
		namedRows(v, metaMoved, func(name string, value []byte) error {
			m, err := decodeMoved(value)
			c.Away = append(c.Away, Away{name, m.where, m.arrived})
			return err
		}))
}

// namedRows calls fn with the meta rows that begin with a prefix, by what follows that.
func namedRows(v kv.Snapshot, prefix string, fn func(name string, value []byte) error) error {
	return kv.Each(v, namedRange(prefix), func(key, value []byte) error {
		_, parts, err := keyspace.Meta.Decode(key)
		if err != nil {
			return err
		}
		return fn(strings.TrimPrefix(parts[0].String(), prefix), value)
	})
}

// namedRange is the range of the meta rows that begin with a prefix, which ends with a slash.
func namedRange(prefix string) kv.Range {
	return kv.Range{Start: metaKey(prefix), End: metaKey(prefix[:len(prefix)-1] + "0")} // '0' comes after '/'
}

// Abandon removes the part of a database that an interrupted copy has left. Errors: NotFound if there is none.
func Abandon(ctx context.Context, e kv.Engine, settled Settled, name string) error {
	key, number := metaKey(metaCopy+name), uint64(0)
	err := e.View(ctx, func(v kv.Snapshot) error {
		value, err := v.Get(key)
		if errors.Is(err, kv.ErrNotFound) {
			return dberr.New(dberr.NotFound, "", "No copy has left a part of a database %s here.", name)
		}
		if err == nil {
			_, number, err = decodeCopy(value)
		}
		return err
	})
	if err != nil {
		return dberr.Wrap("store.Abandon", err)
	}
	// First the row: a copy that is being made can't publish what is taken away from under it.
	err = settled(ctx, e, func(tx kv.Txn) error { return tx.Delete(key) })
	if err == nil {
		err = e.Discard(ctx, kv.Prefix(keyspace.Database(number)))
	}
	return dberr.Wrap("store.Abandon", err)
}

// AbandonAll removes the part of a store that an interrupted copy has left: the engine is empty then, but for acts that
// wait for the audit log. Errors: NotFound if there is none.
func AbandonAll(ctx context.Context, e kv.Engine, settled Settled) error {
	c, err := CopiesIn(ctx, e)
	if err == nil && !c.Half {
		err = dberr.New(dberr.NotFound, "", "No copy of everything has left a part here.")
	}
	if err != nil {
		return dberr.Wrap("store.Abandon", err)
	}
	seal := metaKey("store") // stays until all else is gone
	for _, r := range []kv.Range{{End: acts().Start}, {Start: acts().End, End: seal}, {Start: append(metaKey("store"), 0)}} {
		if err == nil {
			err = e.Discard(ctx, r)
		}
	}
	if err == nil {
		err = settled(ctx, e, func(tx kv.Txn) error { return tx.Delete(seal) })
	}
	return dberr.Wrap("store.Abandon", err)
}

// TakeBack makes a database that has moved away one of the store again, as it was when it moved. Whatever was
// written at the target since is not here: its sequences are those of another incarnation. Errors: NotFound if it has not
// moved; Exists if there is another of the name; Unavailable if an older build has noted that it arrived.
func TakeBack(ctx context.Context, e kv.Engine, settled Settled, name string) error {
	incarnation, err := newIncarnation(rand.Reader)
	if err == nil {
		err = forgetAway(ctx, e, settled, name)
	}
	if err == nil {
		err = settled(ctx, e, func(tx kv.Txn) error { return takeBack(tx, name, incarnation) })
	}
	return dberr.Wrap("store.TakeBack", err)
}

// forgetAway removes the checkpoints of who pushed to a database that has moved away: some have gone on pushing where it is, and
// their own checkpoints say so.
func forgetAway(ctx context.Context, e kv.Engine, settled Settled, name string) error {
	var was entry
	err := e.View(ctx, func(v kv.Snapshot) error {
		m, err := readMoved(v.Get(metaKey(metaMoved + name)))
		if err == nil {
			was, err = decodeEntry(m.entry)
		}
		return err
	})
	if errors.Is(err, errNoDatabase) {
		return nil // takeBack says so
	}
	if err != nil {
		return err
	}
	return ForgetPushes(ctx, e, settled, was.number, was.incarnation)
}

func takeBack(tx kv.Txn, name string, incarnation uint64) error {
	key := metaKey(metaMoved + name)
	m, err := readMoved(tx.GetForUpdate(key))
	if errors.Is(err, errNoDatabase) {
		return dberr.New(dberr.NotFound, "", "No database %s has moved away from here.", name)
	}
	if err != nil {
		return err
	}
	if len(m.lane) == 0 {
		return dberr.New(dberr.Unavailable, "", "The database %s was moved by an older version, which kept too little of it here.", name)
	}
	if _, err := tx.GetForUpdate(catalogueKey(name)); !errors.Is(err, kv.ErrNotFound) {
		return errors.Join(err, dberr.New(dberr.Exists, "", "There is a database %s already.", name))
	}
	entry, err := decodeEntry(m.entry)
	if err != nil {
		return err
	}
	was := entry.incarnation
	entry.incarnation = incarnation
	for _, row := range m.jobs {
		j, err := jobs.Decode(row.key, row.value)
		if err == nil {
			err = jobs.Carry(tx, j)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(tx.Put(laneKey(entry.number), m.lane), fork(tx, entry.number, was, false), tx.Put(catalogueKey(name), entry.encode()),
		tx.Delete(key), note(tx, name, updateCreated))
}

// TakeBackAll makes a store that has moved away one again, as TakeBack does for a database. Errors: NotFound if it has not
// moved.
func TakeBackAll(ctx context.Context, e kv.Engine, settled Settled) error {
	var was []byte
	err := e.View(ctx, func(v kv.Snapshot) error {
		seal, err := v.Get(metaKey("store"))
		if err != nil {
			return err
		}
		if len(seal) == 0 || seal[0] != movedStore {
			return dberr.New(dberr.NotFound, "", "What is here has not moved away.")
		}
		_, was, err = decodeMovedStore(seal)
		return err
	})
	if err == nil {
		err = ForkAll(ctx, e, settled, false, func(number uint64) error { return ForgetPushes(ctx, e, settled, number, 0) })
	}
	if err == nil {
		err = settled(ctx, e, func(tx kv.Txn) error { return tx.Put(metaKey("store"), was) })
	}
	return dberr.Wrap("store.TakeBack", err)
}

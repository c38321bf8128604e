package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// A copy of a database whose source goes on is another incarnation of it: what the two
// write from then on has sequences of its own. Those of the source are right in the copy up
// to where the two forked. Who comes with a later one has seen what the copy does not have,
// and begins where they forked.

// settingForks is the setting that says where a database has forked from former
// incarnations; it is written once, before the database is of use.
const settingForks = "forks"

// settingHeld is the setting that says up to where a copy has what its source, which goes on,
// does something about; it is written with settingForks.
const settingHeld = "held"

// forks are the last common sequences with former incarnations.
type forks map[uint64]Seq

// fork notes where a database, of which nobody knows yet, has forked from the incarnation
// that it was, and if it is a copy, whose source goes on, what is held.
func fork(tx kv.Txn, number, was uint64, copied bool) error {
	value, err := tx.GetForUpdate(laneKey(number))
	if err != nil {
		return err
	}
	l, err := decodeLane(value)
	if err != nil {
		return err
	}
	f, err := readForks(tx.GetForUpdate(settingKey(number, settingForks)))
	if err != nil {
		return err
	}
	if f == nil {
		f = forks{}
	}
	f[was] = l.seq
	if copied {
		p := packed.Writer{}
		p.Byte(rowVersion)
		p.Uint(uint64(l.seq))
		err = tx.Put(settingKey(number, settingHeld), p)
	}
	return errors.Join(err, tx.Put(settingKey(number, settingForks), f.encode()))
}

func (f forks) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Uint(uint64(len(f)))
	for incarnation, seq := range f {
		p.Uint(incarnation)
		p.Uint(uint64(seq))
	}
	return p
}

// readForks decodes what a read of the setting gave.
func readForks(value []byte, err error) (f forks, _ error) {
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f = forks{}
	u := packed.ReadVersion(value, rowVersion)
	for n := u.Uint(); n > 0 && !u.Failed(); n-- {
		incarnation := u.Uint()
		f[incarnation] = Seq(u.Uint())
	}
	return f, u.Done()
}

// readHeld decodes what a read of the setting gave.
func readHeld(value []byte, err error) (Seq, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	u := packed.ReadVersion(value, rowVersion)
	q := Seq(u.Uint())
	return q, u.Done()
}

// Held returns the sequence up to which the database is a copy of one that has gone on: what asks there for something to be
// done outside of the store, as replication documents do, the source does. 0 if it is no copy.
func (d *Database) Held() Seq { return d.held }

// own returns what a sequence of an incarnation is in the database; ok reports whether it
// is anything.
func (d *Database) own(incarnation uint64, q Seq) (_ Seq, ok bool) {
	if incarnation == d.incarnation {
		return q, true
	}
	at, ok := d.forks[incarnation]
	return min(q, at), ok
}

// ForkAll gives all databases of a store that nobody can open yet another incarnation:
// it was taken back, or is a copy of one that goes on, as copied says. each is called with the number of each database.
func ForkAll(ctx context.Context, e kv.Engine, settled Settled, copied bool, each func(number uint64) error) error {
	var names []string
	for after := []byte(nil); ; {
		names = names[:0]
		err := e.View(ctx, func(v kv.Snapshot) error {
			rg := kv.Prefix(keyspace.Catalogue.Key(0))
			if after != nil {
				rg.Start = append(bytes.Clone(after), 0)
			}
			err := kv.Each(v, rg, func(key, _ []byte) error {
				_, parts, err := keyspace.Catalogue.Decode(key)
				if names = append(names, parts[0].String()); err == nil && len(names) == namesPage {
					err = errEnough
				}
				return err
			})
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		})
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			var number uint64
			err := settled(ctx, e, func(tx kv.Txn) (err error) {
				number, err = forkOne(tx, name, copied)
				return err
			})
			if err == nil {
				err = each(number)
			}
			if err != nil {
				return err
			}
		}
		after = catalogueKey(names[len(names)-1])
	}
}

func forkOne(tx kv.Txn, name string, copied bool) (number uint64, err error) {
	value, err := tx.GetForUpdate(catalogueKey(name))
	if err != nil {
		return 0, err
	}
	e, err := decodeEntry(value)
	if err != nil {
		return 0, err
	}
	was := e.incarnation
	if e.incarnation, err = newIncarnation(rand.Reader); err != nil {
		return 0, err
	}
	return e.number, errors.Join(fork(tx, e.number, was, copied), tx.Put(catalogueKey(name), e.encode()))
}

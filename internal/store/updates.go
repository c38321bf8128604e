package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Update is one entry of the feed of databases.
type Update struct {
	Name string
	Type string // created, updated, deleted
	Seq  uint64
}

const (
	updateCreated = 0
	updateChanged = 1
	updateDeleted = 2
)

// updates is what this process knows of the feed of databases: who waits for
// it, and which databases changed since their entry was last moved. Creation
// and deletion are entries of their own transactions; changes are gathered and
// noted by the background work, so that writers do not all meet in one row.
type updates struct {
	changed struct {
		sync.Mutex
		names map[string]bool
	}
	watch watch
}

func (u *updates) init() {
	u.watch.init()
	u.changed.names = map[string]bool{}
}

func (u *updates) wake() { u.watch.wakeAll() }

// touched notes that documents of databases changed.
func (u *updates) touched(names ...string) {
	u.changed.Lock()
	defer u.changed.Unlock()
	for _, name := range names {
		u.changed.names[name] = true
	}
}

// take returns the databases that changed since the last call; nil for none.
func (u *updates) take() map[string]bool {
	u.changed.Lock()
	defer u.changed.Unlock()
	names := u.changed.names
	if len(names) == 0 {
		return nil
	}
	u.changed.names = map[string]bool{}
	return names
}

// note moves a database's entry in the feed of databases to its end.
func note(tx kv.Txn, name string, kind byte) error {
	headKey := keyspace.UpdateHead.Key(0, keyspace.T(name))
	last, err := counter(tx.GetForUpdate(headKey))
	if err != nil {
		return err
	}
	if last != 0 {
		if err := tx.DeleteOnce(keyspace.UpdateFeed.Key(0, keyspace.U(last))); err != nil {
			return err
		}
	}
	seq, err := next(tx, "updates")
	if err != nil {
		return err
	}
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Byte(kind)
	p.Text(name)
	if err := tx.Put(keyspace.UpdateFeed.Key(0, keyspace.U(seq)), p); err != nil {
		return err
	}
	return tx.Put(headKey, packed.Number(seq))
}

// noteChanges moves the entries of the databases that changed.
func (s *Store) noteChanges(ctx context.Context, names map[string]bool) error {
	if len(names) == 0 {
		return nil
	}
	err := s.commit(ctx, func(tx kv.Txn) error {
		for name := range names {
			_, err := tx.GetForUpdate(catalogueKey(name))
			if errors.Is(err, kv.ErrNotFound) {
				continue // dropped meanwhile: its last word stands
			}
			if err != nil {
				return err
			}
			if err := note(tx, name, updateChanged); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.updates.touched(slices.Collect(maps.Keys(names))...)
	}
	s.updates.wake()
	s.publish(news{})
	return err
}

// Updates returns the databases created, changed or dropped after since, in the
// order of their last such event, the sequence to go on from, and a channel
// that is closed when there may be more. Changes of documents show within a
// second or two.
func (s *Store) Updates(ctx context.Context, since uint64) (us []Update, last uint64, wait <-chan struct{}, err error) {
	wait, _ = s.updates.watch.join(watched{})
	r := kv.Prefix(keyspace.UpdateFeed.Key(0))
	r.Start = keyspace.UpdateFeed.Key(0, keyspace.U(since+1))
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		us = us[:0]
		if last, err = counter(v.Get(metaKey("updates"))); err != nil {
			return err
		}
		return kv.Each(v, r, func(key, value []byte) error {
			u, err := decodeUpdate(key, value)
			us = append(us, u)
			return err
		})
	})
	return us, last, wait, dberr.Wrap("store.Updates", err)
}

func decodeUpdate(key, value []byte) (Update, error) {
	_, parts, err := keyspace.UpdateFeed.Decode(key)
	if err != nil {
		return Update{}, err
	}
	u := packed.ReadVersion(value, rowVersion)
	kind := u.Byte()
	up := Update{Name: u.Text(), Seq: parts[0].Num()}
	if err := u.Done(); err != nil || kind > updateDeleted {
		return Update{}, packed.ErrFormat
	}
	up.Type = [...]string{"created", "updated", "deleted"}[kind]
	return up, nil
}

package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Database is an open database. It stays valid when the database is dropped:
// its methods then answer NotFound.
type Database struct {
	store       *Store
	name        string
	number      uint64
	partitioned bool
	incarnation uint64
	created     time.Time

	dropped     atomic.Bool
	staleCache  atomic.Bool // what is remembered was found to be out of date (preconditions.go)
	used        atomic.Bool // since the hand of openDatabases came by
	cached      atomic.Bool // it is among those that stay open
	settings    atomic.Pointer[settings]
	lanes       kv.Memo[lane]
	blindWrites blindWrites
	tenants     tenants
	queue       queue
	watch       watch
	commits     commitTracker
	ranking     sync.Mutex // the rankings are brought up to date by one at a time
	// attached is what the Indexer keeps as long as the database is open.
	attached struct {
		sync.Once
		value any
	}
}

// settings are what a process remembers of a database: rows that change seldom, as of a
// version of the lane head.
type settings struct {
	definitions              // the database's
	hidden           *hiding // the partitions that are being dropped; nil for none
	security         []byte
	revsLimit        int
	purgedInfosLimit int
	following        []Following // by others than indexes
	expiry           Expiry
	deletedTTL       Period
	log              Period // how long the change log keeps its entries; zero for no log
	logged           bool   // there is a change log, or there was one
	markers          bool   // tombstones have been dropped by age, or may soon be
}

const (
	settingSecurity    = "security"
	settingRevsLimit   = "revs_limit"
	settingPurgedInfos = "purged_infos_limit"

	defaultRevsLimit   = 1000
	defaultPurgedInfos = 1000
)

func settingKey(db uint64, name string) []byte { return keyspace.Setting.Key(db, keyspace.T(name)) }
func laneKey(db uint64) []byte                 { return keyspace.LaneHead.Key(db, keyspace.U(0)) }

// Created returns the time when the database was made, to the millisecond.
func (d *Database) Created() time.Time { return d.created }

// load makes the Database of a catalogue entry.
func (s *Store) load(v kv.Snapshot, name string, e entry) (*Database, error) {
	d := &Database{store: s, name: name, number: e.number, partitioned: e.partitioned, incarnation: e.incarnation, created: e.created}
	d.watch.init()
	l, err := d.decodeLaneRow(v)
	if err != nil {
		return nil, err
	}
	f, err := d.load(v, l.version)
	if err != nil {
		return nil, err
	}
	d.define(f)
	return d, nil
}

// load reads what is remembered of the database, at the version in its lane head.
func (d *Database) load(v kv.Snapshot, version uint64) (*settings, error) {
	f, err := d.loadSettings(v, version)
	if err != nil {
		return nil, err
	}
	if f.definitions, err = d.Whole().loadDefinitions(v, version); err != nil {
		return nil, err
	}
	f.hidden, err = d.loadHidden(v)
	return f, err
}

// define remembers what was loaded, unless something newer is remembered already.
func (d *Database) define(f *settings) {
	for {
		old := d.settings.Load()
		if old != nil && old.version > f.version || d.settings.CompareAndSwap(old, f) {
			return
		}
	}
}

// decodeLaneRow reads and decodes the lane head.
func (d *Database) decodeLaneRow(v kv.Snapshot) (lane, error) {
	value, err := v.Get(laneKey(d.number))
	return d.decodeLane(v, value, err)
}

// decodeLane decodes what a read of the lane head gave. Errors: those of who uses a database that is no more.
func (d *Database) decodeLane(v kv.Snapshot, value []byte, err error) (lane, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return lane{}, errNoDatabase
	}
	if err != nil {
		return lane{}, err
	}
	return decodeLane(value)
}

func (d *Database) loadSettings(v kv.Snapshot, version uint64) (*settings, error) {
	set := &settings{definitions: definitions{version: version}, revsLimit: defaultRevsLimit, purgedInfosLimit: defaultPurgedInfos}
	var err error
	if set.security, err = v.Get(settingKey(d.number, settingSecurity)); err != nil {
		return nil, err
	}
	for name, to := range map[string]*int{settingRevsLimit: &set.revsLimit, settingPurgedInfos: &set.purgedInfosLimit} {
		value, err := v.Get(settingKey(d.number, name))
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		n, err := counter(value, err)
		if err != nil {
			return nil, err
		}
		*to = int(n)
	}
	return set, errors.Join(d.loadFollowing(v, set), d.loadExpiry(v, set), d.loadDeletedTTL(v, set), d.loadLog(v, set))
}

// Name is the database's name.
func (d *Database) Name() string { return d.name }

// Partitioned reports whether the database is a partitioned one.
func (d *Database) Partitioned() bool { return d.partitioned }

// Security is the _security object, compact JSON; the caller must not change it.
func (d *Database) Security() []byte { return d.settings.Load().security }

// RevsLimit is how many revisions of each branch are remembered.
func (d *Database) RevsLimit() int { return d.settings.Load().revsLimit }

// RevsLimit is the database's limit as of the snapshot.
func (r *Reader) RevsLimit() (int, error) {
	l, err := r.lane()
	if err != nil {
		return 0, err
	}
	set := r.db.settings.Load()
	if set.version != l.version {
		if set, err = r.db.loadSettings(r.v, l.version); err != nil {
			return 0, err
		}
	}
	return set.revsLimit, nil
}

// PurgedInfosLimit is how many purges are remembered.
func (d *Database) PurgedInfosLimit() int { return d.settings.Load().purgedInfosLimit }

// SetSecurity replaces the _security object by raw, compact JSON.
func (d *Database) SetSecurity(ctx context.Context, raw []byte) error {
	if err := d.set(ctx, settingSecurity, raw); err != nil {
		return err
	}
	d.watch.wakeAll() // feeds ask whether they may go on
	return nil
}

// SetRevsLimit sets RevsLimit; n is at least 1.
func (d *Database) SetRevsLimit(ctx context.Context, n int) error {
	return d.set(ctx, settingRevsLimit, packed.Number(uint64(n)))
}

// SetPurgedInfosLimit sets PurgedInfosLimit; n is at least 1.
func (d *Database) SetPurgedInfosLimit(ctx context.Context, n int) error {
	return d.set(ctx, settingPurgedInfos, packed.Number(uint64(n)))
}

// set writes a setting and moves the version of definitions, so that writers
// that prepared under the old settings notice.
func (d *Database) set(ctx context.Context, name string, value []byte) error {
	return d.do(ctx, "store.set", func(g *group) error {
		if err := g.tx.Put(settingKey(d.number, name), value); err != nil {
			return err
		}
		g.lane.version++
		g.stale = true
		return nil
	})
}

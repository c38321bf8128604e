package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Server is one of the servers of a store, as its row says.
type Server struct {
	Name    string    // as nodes of CouchDB are named: sectional@host
	Address string    // where other servers reach it, such as http://host:5984; "" for nowhere
	Began   time.Time // when it came up
	Until   time.Time // it is taken for dead when this has passed without a further sign of life
	Holder  uint64    // as in Options
	Format  byte      // the newest format that it reads
}

const (
	serverBeat = 3 * time.Second  // how often a server shows that it lives
	serverLife = 10 * time.Second // how long one is taken to live after that
	serverKept = 24 * time.Hour   // how long the row of a dead one is kept
)

// ErrOutdated is the error of writes when another server has brought the store to a format
// that this one does not know: it was taken for dead while it was only slow.
var ErrOutdated error = dberr.New(dberr.Unavailable, "", "The store was brought to a newer format by another server; start the newer version here too.")

const reasonOlderServer = "The store can't be brought to format %d as long as a server runs that reads formats up to %d only: %s. Stop it first."

// metaServers is the meta row that counts how often a server came up.
const metaServers = "servers"

func serverKey(name string) []byte { return keyspace.Server.Key(0, keyspace.T(name)) }

// Servers returns the servers of the store that live, and those that died or were stopped
// less than a day ago, by name. It is empty for a store that has no servers' names.
func (s *Store) Servers(ctx context.Context) (all []Server, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		all, err = readServers(v)
		return err
	})
	return all, dberr.Wrap("store.Servers", err)
}

// Lives reports whether a server has shown a sign of life lately.
func (o Server) Lives(now time.Time) bool { return o.Until.After(now) }

func readServers(v kv.Snapshot) (all []Server, err error) {
	it, err := v.Iterate(kv.Prefix(keyspace.Server.Key(0)), kv.IterOptions{})
	if err != nil {
		return nil, err
	}
	for err == nil && it.Next() {
		var o Server
		if o, err = decodeServerAt(it); err == nil {
			all = append(all, o)
		}
	}
	return all, errors.Join(err, it.Err(), it.Close())
}

func decodeServerAt(it kv.Iterator) (o Server, err error) {
	_, parts, err := keyspace.Server.Decode(it.Key())
	if err != nil {
		return o, err
	}
	value, err := it.Borrow()
	if err != nil {
		return o, err
	}
	return decodeServer(parts[0].String(), value)
}

func decodeServer(name string, value []byte) (o Server, err error) {
	u := packed.ReadVersion(value, rowVersion)
	o = Server{Name: name, Address: u.Text(), Began: millisecond(u.Uint()), Until: millisecond(u.Uint()), Holder: u.Uint(), Format: u.Byte()}
	return o, u.Done()
}

func (o Server) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Text(o.Address)
	p.Uint(uint64(o.Began.UnixMilli()))
	p.Uint(uint64(o.Until.UnixMilli()))
	p.Uint(o.Holder)
	p.Byte(o.Format)
	return p
}

func millisecond(n uint64) time.Time { return time.UnixMilli(int64(n)) }

// errWaits says that a format can't be raised yet.
var errWaits = errors.New("a server lives that does not read the format")

// enroll writes the server's row before it touches anything else, and refuses to come up
// where the format is one that it does not read, or would have to be raised under another
// that lives. It removes the rows of those that are long gone.
func (s *Store) enroll(ctx context.Context) error {
	if s.o.Server.Name == "" {
		return nil
	}
	now := s.o.Clock()
	s.o.Server.Began, s.o.Server.Holder, s.o.Server.Format = millisecond(uint64(now.UnixMilli())), s.o.Holder, currentFormat(s.steps)
	s.shown.Store(now.UnixMilli())
	return s.engine.Update(ctx, func(tx kv.Txn) error {
		// All that come up count in one row, so that of two neither overlooks the other.
		if _, err := next(tx, metaServers); err != nil {
			return err
		}
		found, err := s.foundFormat(tx)
		if err != nil {
			return err
		}
		all, err := readServers(tx)
		if err != nil {
			return err
		}
		for _, o := range all {
			switch {
			case now.Sub(o.Until) > serverKept:
				err = errors.Join(err, tx.Delete(serverKey(o.Name)))
			case !o.Lives(now) || o.Name == s.o.Server.Name:
			case o.Format < s.needed() && found < s.needed():
				return dberr.New(dberr.Unavailable, "", reasonOlderServer, s.needed(), o.Format, o.Name)
			}
		}
		return errors.Join(err, s.beat(tx, now))
	})
}

// Self is the row of this server, without its signs of life; it has no name where the server
// has the store for itself.
func (s *Store) Self() Server {
	o := s.o.Server
	if at := s.address.Load(); at != nil {
		o.Address = *at
	}
	return o
}

// ReachedAt tells the other servers of the store where this one is reached from now on.
func (s *Store) ReachedAt(ctx context.Context, address string) error {
	s.address.Store(&address)
	return s.sign(ctx)
}

// foundFormat returns the format of the store, 0 where there is none yet. Errors: Unavailable
// for one that this build does not read.
func (s *Store) foundFormat(tx kv.Txn) (byte, error) {
	value, err := tx.Get(metaKey("store"))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil || len(value) == 0 {
		return 0, errors.Join(err, packed.ErrFormat)
	}
	return value[0], s.checkFormat(value[0])
}

// everybodyReads makes sure, in the transaction that raises the format, that all servers
// read it that live or are coming up. Errors: errWaits where one does not, and the format
// need not be raised; else Unavailable.
func (s *Store) everybodyReads(tx kv.Txn, format byte) error {
	if s.o.Server.Name == "" {
		return nil
	}
	if _, err := next(tx, metaServers); err != nil {
		return err
	}
	all, err := readServers(tx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Name == s.o.Server.Name || !o.Lives(s.o.Clock()) || o.Format >= format {
			continue
		}
		if format > s.needed() {
			return errWaits
		}
		return dberr.New(dberr.Unavailable, "", reasonOlderServer, format, o.Format, o.Name)
	}
	return nil
}

// beat writes the row of a server that lives.
func (s *Store) beat(tx kv.Txn, now time.Time) error {
	o := s.Self()
	o.Until = now.Add(serverLife)
	return tx.Put(serverKey(o.Name), o.encode())
}

// showLife shows that the server lives, and looks at the engine's clock, until the store is
// closed.
func (s *Store) showLife() {
	if s.o.Server.Name == "" && s.time.engine == nil {
		return
	}
	tick := time.NewTicker(serverBeat)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.sign(kv.Freeing(s.ctx)); err != nil && s.ctx.Err() == nil {
			s.o.Logger.Error("the server could not show that it lives", "error", err)
		}
	}
}

// sign is one sign of life. A server that finds a format that it does not know writes
// nothing any more; one that knows a newer one than the store has raises it if all can read it.
func (s *Store) sign(ctx context.Context) error {
	err := s.time.ask(ctx)
	if s.o.Server.Name == "" || err != nil {
		return err
	}
	var format []byte
	var twin bool
	now := s.o.Clock()
	err = s.engine.Update(ctx, func(tx kv.Txn) (err error) {
		if format, err = tx.Get(metaKey("store")); err != nil {
			return err
		}
		if twin, err = s.yields(tx, now); twin || err != nil {
			return err
		}
		return s.beat(tx, now)
	})
	if err != nil || len(format) == 0 {
		return err
	}
	s.noteTwin(twin, now)
	s.noteFormat(format[0])
	switch newest := currentFormat(s.steps); {
	case format[0] > newest && !s.outdated.Swap(true):
		s.o.Logger.Error("this server writes nothing any more", "error", ErrOutdated)
	case format[0] < newest:
		return s.upgrade(ctx)
	}
	return nil
}

// noteTwin notes whether the server has shown that it lives, or its name is another's.
func (s *Store) noteTwin(twin bool, now time.Time) {
	if twin != s.twin.Swap(twin) && twin {
		s.o.Logger.Error("this server writes nothing", "error", s.errTwin())
	}
	if !twin {
		s.shown.Store(now.UnixMilli())
	}
}

// yields reports whether another process lives under the server's name, and this one is to
// give way: the one that came later, or one that was taken for dead meanwhile.
func (s *Store) yields(tx kv.Txn, now time.Time) (bool, error) {
	o, err := s.mine(tx)
	if err != nil || o.Holder == s.o.Server.Holder || !o.Lives(now) {
		return false, err
	}
	late := now.Sub(time.UnixMilli(s.shown.Load())) > serverLife
	return late || o.Began.Before(s.o.Server.Began) || o.Began.Equal(s.o.Server.Began) && o.Holder < s.o.Server.Holder, nil
}

// mine returns the row under the server's name, this process's if there is none.
func (s *Store) mine(tx kv.Txn) (Server, error) {
	value, err := tx.Get(serverKey(s.o.Server.Name))
	if errors.Is(err, kv.ErrNotFound) {
		return s.o.Server, nil
	}
	if err != nil {
		return Server{}, err
	}
	return decodeServer(s.o.Server.Name, value)
}

func (s *Store) errTwin() error {
	return dberr.New(dberr.Unavailable, "", "Another server runs under the name %s of this one: one of them has a copy of the other's data directory. Give this one a name of its own ([sectional] node) and start it again.", s.o.Server.Name)
}

// leave says that the server was stopped, so that nobody waits for it to be taken for dead.
func (s *Store) leave() {
	if s.o.Server.Name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), serverBeat)
	defer cancel()
	mine := s.Self()
	mine.Until = s.o.Clock()
	err := s.engine.Update(ctx, func(tx kv.Txn) error {
		if o, err := s.mine(tx); err != nil || o.Holder != mine.Holder {
			return err
		}
		return tx.Put(serverKey(mine.Name), mine.encode())
	})
	if err != nil {
		s.o.Logger.Warn("the server could not say that it was stopped", "error", err)
	}
}

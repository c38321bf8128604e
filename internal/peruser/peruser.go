// Package peruser owns databases of users: while [couch_peruser] enable is on,
// each user has one, named by the hexadecimal digits of the name, and
// is its administrator and member.
//
// It follows the feed of the users' database beside the requests, from its beginning after
// each start, as CouchDB does: what it does for a user a second time changes
// nothing. It must not know how users log in.
//
// Begin reading at Service.follow.
package peruser

import (
	"context"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

const (
	section = "couch_peruser"
	// The pauses after failures of the store.
	leastPause = time.Second
	maxPause   = time.Minute
)

// pageSize is how many users are read at one state of their database.
const pageSize = 200

// Options say what to work with; all must be given.
type Options struct {
	Store  *store.Store
	Config *config.Config
	Log    *slog.Logger
}

// settings are what [couch_peruser] says. Numbers of shards and copies, which
// CouchDB takes there too, mean nothing here.
type settings struct {
	enable bool
	drop   bool   // databases of users who are deleted
	prefix string // of the databases' names
	users  string // the database of users
}

func parseSettings(s *config.Snapshot) settings {
	return settings{
		enable: s.Bool(section, "enable", false),
		drop:   s.Bool(section, "delete_dbs", false),
		prefix: s.String(section, "database_prefix", "userdb-"),
		users:  auth.ReadUsersDB(s),
	}
}

// Service makes and removes the databases.
type Service struct {
	o        Options
	settings *config.Derived[settings]
	changed  chan struct{} // has a value when the configuration may have changed
	running  sync.WaitGroup
	stop     func()
}

// Start begins to follow the users, now or when the configuration asks for it.
func Start(o Options) *Service {
	k := newService(o)
	ctx, cancel := context.WithCancel(context.Background())
	unsubscribe := o.Config.Subscribe(func(*config.Snapshot) {
		select {
		case k.changed <- struct{}{}:
		default: // it is told already
		}
	})
	k.stop = func() { unsubscribe(); cancel() }
	k.running.Go(func() { k.run(ctx) })
	return k
}

func newService(o Options) *Service {
	return &Service{o: o, settings: config.Derive(o.Config, parseSettings), changed: make(chan struct{}, 1)}
}

// Close ends the following; what is under way for a user is finished or not
// begun.
func (k *Service) Close() {
	k.stop()
	k.running.Wait()
}

// run follows until ctx ends, and begins anew after a failure.
func (k *Service) run(ctx context.Context) {
	for pause := leastPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := dberr.Guard(k.o.Log, "peruser.follow", func() error { return k.follow(ctx) })
		if err == nil || ctx.Err() != nil {
			pause = leastPause / 2
			continue
		}
		k.o.Log.Warn("the databases of users could not be kept up with the users", slog.Any("cause", err), slog.Duration("again_in", pause))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// follow keeps up with the users until the settings change or the database is
// dropped. It fails if the store does.
func (k *Service) follow(ctx context.Context) error {
	s := k.settings.Value()
	if s.enable && store.ParseName(s.databaseOf("x")) != nil {
		k.o.Log.Warn("[couch_peruser] database_prefix can't begin the name of a database; no databases of users are made", slog.String("prefix", s.prefix))
		s.enable = false
	}
	if !s.enable {
		select {
		case <-k.changed:
		case <-ctx.Done():
		}
		return nil
	}
	db, err := k.users(ctx)
	if db == nil || err != nil {
		return err
	}
	for at := store.Seq(0); ctx.Err() == nil && k.settings.Value() == s; {
		if at, err = k.catchUp(ctx, s, db, at); db.Dropped() {
			return nil
		}
		if err != nil {
			return err
		}
		more, leave := db.Whole().Watch(at)
		select {
		case <-more:
		case <-k.changed:
		case <-ctx.Done():
		}
		leave()
	}
	return nil
}

// users waits for the database of users; nil if ctx ended or the configuration
// changed before there was one.
func (k *Service) users(ctx context.Context) (*store.Database, error) {
	for last := uint64(0); ; {
		_, to, made, err := k.o.Store.Updates(ctx, last)
		if err != nil {
			return nil, err
		}
		db, err := k.o.Store.Database(ctx, k.settings.Value().users)
		if !dberr.Is(err, dberr.NotFound) {
			return db, err
		}
		last = to
		select {
		case <-made:
		case <-k.changed:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// user is one in the feed.
type user struct {
	name    string
	deleted bool
}

// catchUp does what the feed after a place asks for, and returns the feed's end.
// It stops early where the settings change.
func (k *Service) catchUp(ctx context.Context, s settings, db *store.Database, at store.Seq) (store.Seq, error) {
	for k.settings.Value() == s {
		users, next, over, err := page(ctx, db, at)
		if err != nil {
			return at, err
		}
		for _, u := range users {
			if err := k.ensure(ctx, s, db, u); err != nil {
				return at, err
			}
		}
		if at = next; over {
			break
		}
	}
	return at, nil
}

// page reads users who changed after a place, the place to go on from and
// whether that is the feed's end.
func page(ctx context.Context, db *store.Database, at store.Seq) (users []user, next store.Seq, over bool, err error) {
	err = db.Whole().View(ctx, func(r *store.Reader) error {
		users, next = users[:0], at
		for c, err := range r.Changes(at, false) {
			if err != nil {
				return err
			}
			if len(users) == pageSize {
				return nil
			}
			next = c.Seq
			if name, ok := strings.CutPrefix(string(c.ID), auth.UserPrefix); ok && name != "" {
				users = append(users, user{name, c.Deleted})
			}
		}
		over = true
		next, err = r.LastSeq()
		return err
	})
	return users, next, over, err
}

// databaseOf names the database of a user.
func (s settings) databaseOf(name string) string { return s.prefix + hex.EncodeToString([]byte(name)) }

// ensure makes sure that a user has a database and is in its _security; of one
// who was deleted, that there is none, or that it names him no more.
func (k *Service) ensure(ctx context.Context, s settings, users *store.Database, u user) error {
	name := s.databaseOf(u.name)
	if err := store.ParseName(name); err != nil {
		k.o.Log.Warn("a user can't have a database", slog.String("user", u.name), slog.Any("cause", err))
		return nil
	}
	if u.deleted && s.drop {
		return k.drop(ctx, users, u, name)
	}
	db, err := k.o.Store.Database(ctx, name)
	if dberr.Is(err, dberr.NotFound) && !u.deleted {
		// Its first _security names the owner: at no time is it anybody else's.
		_, failed := k.o.Store.Create(ctx, name, store.Creation{Security: auth.DefaultSecurity("admin_only").WithOwner(u.name).JSON()})
		if !dberr.Is(failed, dberr.Exists) { // somebody else made it meanwhile
			return failed
		}
		db, err = k.o.Store.Database(ctx, name)
	}
	if db == nil || err != nil {
		return unlessGone(err)
	}
	was, err := auth.ParseSecurity(db.Security())
	if err != nil {
		return err
	}
	now := was.WithOwner(u.name)
	if u.deleted {
		now = was.WithoutOwner(u.name)
	}
	if now == was {
		return nil
	}
	return unlessGone(db.SetSecurity(ctx, now.JSON()))
}

// drop drops the database of a user who was deleted, unless there is such a user again by
// the time of the commit: another server, which is further in the feed, may have made him a
// new one, with documents in it.
func (k *Service) drop(ctx context.Context, users *store.Database, u user, name string) error {
	id, back := document.ID(auth.UserPrefix+u.name), false
	var mark store.Mark
	err := users.Whole().View(ctx, func(r *store.Reader) (err error) {
		if mark, err = r.Mark(id); err != nil {
			return err
		}
		d, err := r.Doc(id)
		if dberr.Is(err, dberr.NotFound) {
			err = nil // purged
		} else if err == nil {
			back = !d.Tree.Winner().Deleted
		}
		return err
	})
	if err == nil && !back {
		err = k.o.Store.DropWhile(ctx, name, mark)
	}
	if dberr.Is(err, dberr.Conflict) {
		return nil // the feed comes to him again
	}
	return unlessGone(err)
}

// unlessGone passes an error on, but that there is no such database.
func unlessGone(err error) error {
	if dberr.Is(err, dberr.NotFound) {
		return nil
	}
	return err
}

package admission

import (
	"context"
	"sync"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// Users reads user documents for authentication. It implements auth.Users.
//
// Authentication asks at each request, so what was read is remembered. It
// counts while nothing has changed in _users: the store closes a watch's
// channel before it acknowledges the write, so an answer is never older than
// the last acknowledged write. The zero Users knows nobody until Use.
type Users struct {
	store *store.Store
	state struct {
		sync.RWMutex
		known   map[string]*auth.User // nil values: there is no such user
		changed <-chan struct{}       // closed: known is out of date
		release func()
	}
}

var _ auth.Users = (*Users)(nil)

// mostKnown bounds the memory; beyond it everything is read anew.
const mostKnown = 10000

// Use sets the store. It is called once, before the first request: the store
// needs the rules when it is opened, and they need the users.
func (u *Users) Use(s *store.Store) { u.store = s }

// Close gives up waiting for changes.
func (u *Users) Close() {
	u.state.Lock()
	defer u.state.Unlock()
	u.forget()
}

// User gives a user by name, nil if there is none.
func (u *Users) User(ctx context.Context, name string) (*auth.User, error) {
	if user, ok := u.remembered(name); ok {
		return user, nil
	}
	if u.store == nil {
		return nil, nil
	}
	db, err := u.store.Database(ctx, auth.UsersDB)
	if dberr.Is(err, dberr.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	changed, err := u.follow(ctx, db)
	if err != nil {
		return nil, err
	}
	user, err := read(ctx, db, name)
	if err != nil {
		return nil, err
	}
	u.remember(name, user, changed)
	return user, nil
}

func (u *Users) remembered(name string) (*auth.User, bool) {
	u.state.RLock()
	defer u.state.RUnlock()
	select {
	case <-u.state.changed:
		return nil, false
	default:
	}
	user, ok := u.state.known[name]
	return user, ok
}

// follow gives the channel that the next change closes. It is got before the
// document is read, so that a change in between is not missed.
func (u *Users) follow(ctx context.Context, db *store.Database) (<-chan struct{}, error) {
	u.state.RLock()
	changed := u.state.changed
	u.state.RUnlock()
	select {
	case <-changed:
	default:
		if changed != nil {
			return changed, nil
		}
	}
	t, err := db.Whole().Totals(ctx)
	if err != nil {
		return nil, err
	}
	changed, release := db.Whole().Watch(t.Seq)
	u.state.Lock()
	defer u.state.Unlock()
	u.forget()
	u.state.changed, u.state.release = changed, release
	return changed, nil
}

// forget drops everything; the state is locked.
func (u *Users) forget() {
	if u.state.release != nil {
		u.state.release()
	}
	u.state.known, u.state.changed, u.state.release = nil, nil, nil
}

func (u *Users) remember(name string, user *auth.User, changed <-chan struct{}) {
	u.state.Lock()
	defer u.state.Unlock()
	if u.state.changed != changed {
		return // read before what is now followed began
	}
	if u.state.known == nil || len(u.state.known) >= mostKnown {
		u.state.known = map[string]*auth.User{}
	}
	u.state.known[name] = user
}

func read(ctx context.Context, db *store.Database, name string) (*auth.User, error) {
	id, err := document.ParseID(auth.UserPrefix+name, 0)
	if err != nil {
		return nil, nil // a name that no document can have
	}
	var user *auth.User
	err = db.Whole().View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner(id)
		if dberr.Is(err, dberr.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		user, err = auth.ParseUser(rev.Body)
		return err
	})
	return user, err
}

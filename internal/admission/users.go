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
// counts while nothing has changed in their database: the store closes a watch's
// channel before it acknowledges the write, so an answer is never older than
// the last acknowledged write. Where other processes write too it counts as long as the
// head of the user's document is the same, which whoever asks has to look at: it is one
// of the claims in the context (store.Claims), and without them everything is read anew.
// The zero Users knows nobody until Use.
type Users struct {
	store *store.Store
	state struct {
		sync.RWMutex
		db      *store.Database // where they were read
		known   map[string]knownUser
		changed <-chan struct{} // closed: known is out of date
		release func()
	}
}

var (
	_ auth.Users    = (*Users)(nil)
	_ auth.Upgrader = (*Users)(nil)
	_ auth.Secrets  = (*Users)(nil)
)

// knownUser is what was made of a user's document: nil, there is no such user.
type knownUser struct {
	user *auth.User
	mark store.Mark
}

// maxKnown bounds the memory; beyond it everything is read anew.
const maxKnown = 10000

// Use sets the store. It is called once, before the first request: the store
// needs the rules when it is opened, and they need the users.
func (u *Users) Use(s *store.Store) { u.store = s }

// Close gives up waiting for changes.
func (u *Users) Close() {
	u.state.Lock()
	defer u.state.Unlock()
	u.drop()
}

// Secret implements auth.Secrets.
func (u *Users) Secret(purpose string) []byte { return u.store.Secret(purpose) }

// User returns a user of a database by name, nil if there is none. In a partitioned
// database there are none: its rules would let others into a part of them.
func (u *Users) User(ctx context.Context, in, name string) (*auth.User, error) {
	if u.store == nil {
		return nil, nil
	}
	if user, ok := u.remembered(ctx, in, name); ok {
		return user, nil
	}
	db, err := u.store.Database(ctx, in)
	if dberr.Is(err, dberr.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if db.Partitioned() {
		return nil, nil
	}
	changed, err := u.follow(ctx, db)
	if err != nil {
		return nil, err
	}
	known, err := u.read(ctx, db, name)
	if err != nil {
		return nil, err
	}
	u.remember(name, known, changed)
	return known.user, nil
}

func (u *Users) remembered(ctx context.Context, in, name string) (*auth.User, bool) {
	u.state.RLock()
	defer u.state.RUnlock()
	if u.state.db == nil || u.state.db.Name() != in {
		return nil, false
	}
	select {
	case <-u.state.changed:
		return nil, false
	default:
	}
	known, ok := u.state.known[name]
	if ok && u.store.Shared() {
		ok = u.state.db.Claim(ctx) && known.mark.Claim(ctx, func() { u.forgetUser(name) })
	}
	return known.user, ok
}

// forgetUser drops what is known of a user.
func (u *Users) forgetUser(name string) {
	u.state.Lock()
	defer u.state.Unlock()
	delete(u.state.known, name)
}

// follow returns the channel that the next change closes. It is got before the
// document is read, so that a change in between is not missed.
func (u *Users) follow(ctx context.Context, db *store.Database) (<-chan struct{}, error) {
	u.state.RLock()
	changed, followed := u.state.changed, u.state.db == db
	u.state.RUnlock()
	select {
	case <-changed:
	default:
		if changed != nil && followed {
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
	u.drop()
	u.state.db, u.state.changed, u.state.release = db, changed, release
	return changed, nil
}

// drop drops everything; the state is locked.
func (u *Users) drop() {
	if u.state.release != nil {
		u.state.release()
	}
	u.state.db, u.state.known, u.state.changed, u.state.release = nil, nil, nil, nil
}

func (u *Users) remember(name string, known knownUser, changed <-chan struct{}) {
	u.state.Lock()
	defer u.state.Unlock()
	if u.state.changed != changed {
		return // read before what is now followed began
	}
	if u.state.known == nil || len(u.state.known) >= maxKnown {
		u.state.known = map[string]knownUser{}
	}
	u.state.known[name] = known
}

func (u *Users) read(ctx context.Context, db *store.Database, name string) (known knownUser, err error) {
	id, err := document.ParseID(auth.UserPrefix+name, 0)
	if err != nil {
		return known, nil // a name that no document can have
	}
	err = db.Whole().View(ctx, func(r *store.Reader) (err error) {
		known = knownUser{}
		if u.store.Shared() {
			if known.mark, err = r.Mark(id); err != nil {
				return err
			}
		}
		d, err := r.Doc(id)
		if dberr.Is(err, dberr.NotFound) {
			return nil
		}
		if err != nil || d.Tree.Winner().Deleted {
			return err
		}
		rev, err := r.Revision(d, d.Tree.Winner().Rev)
		if err != nil {
			return err
		}
		if known.user, err = auth.ParseUser(rev.Body); err == nil {
			known.user.Conflicts = conflicted(&d.Tree)
		}
		return err
	})
	return known, err
}

// Upgrade stores a verifier of the same password in place of another. It implements
// auth.Upgrader.
func (u *Users) Upgrade(ctx context.Context, in, name string, was, now auth.Verifier) error {
	ctx = auth.WithCaller(ctx, nil) // the server itself
	db, err := u.store.Database(ctx, in)
	if err != nil {
		return err
	}
	got, err := db.Whole().Write(ctx, []document.Edit{{ID: document.ID(auth.UserPrefix + name), Decide: func(is document.Current) (document.Decision, error) {
		if !is.Exists() {
			return document.Decision{Keep: true}, nil
		}
		user, err := auth.ParseUser(is.Body)
		if err != nil || user.Verifier != was {
			return document.Decision{Keep: true}, err
		}
		body, err := auth.WithVerifier(is.Body, now)
		return document.Decision{Body: body}, err
	}}}, store.WriteOptions{})
	if err == nil {
		err = got[0].Err
	}
	return err
}

// conflicted reports whether more than one revision of a document is current.
func conflicted(t *document.Tree) bool {
	current := 0
	for _, l := range t.Leaves() {
		if !l.Deleted {
			current++
		}
	}
	return current > 1
}

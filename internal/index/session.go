package index

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Session is what one request has to do with one index: what its name means, waiting
// until it can answer, and reading it in pages.
type Session struct {
	Named
	// Answers is the index that answers, as it was at the last page: Index, or the one
	// before, as long as Index is being built.
	Answers *Index
	UpTo    store.Sequences // what there was at the beginning: CatchUp brings the answer up to here

	indexes *Indexes
	scope   store.Scope
	began   time.Time
	unread  bool            // it comes from memory: UpTo is found by the first View
	current bool            // the first View has the index brought up to UpTo
	long    *store.LongView // what the views read through; nil: each has a snapshot of its own
}

// Session finds an index by its design document, kind and name: of the namespace of
// the scope or, for a tenant, a partitioned one of the database's whose design document
// the tenant has none of its own beside. nil if there is none.
func (x *Indexes) Session(ctx context.Context, scope store.Scope, design document.ID, kind, name string) (s *Session, err error) {
	err = scope.Namespace().View(ctx, func(r *store.Reader) error {
		s = nil
		set, err := Of(r)
		if err != nil {
			return err
		}
		n := set.Lookup(design, kind, name)
		if n == nil {
			n, err = lookupShared(r, design, kind, name)
		}
		if n == nil || err != nil {
			return err
		}
		s = &Session{Named: *n, Answers: n.Index, indexes: x, scope: scope, began: x.clock()}
		s.UpTo, err = r.Sequences()
		return err
	})
	return s, err
}

// Remembered is Session for who is going to read the index by View: where the request's
// claims are open (store.Claims) an index of the database's own that this process remembers, and that can answer, is
// taken from memory. The first View then looks whether it is still that, where the session
// begins, and whether the index has come so far, all in its own first read. UpTo is not known before.
func (x *Indexes) Remembered(ctx context.Context, scope store.Scope, design document.ID, kind, name string) (*Session, error) {
	d := scope.Database()
	set, _ := d.Indexes().(*Set)
	n := set.Lookup(design, kind, name)
	if n == nil || n.Index.State != Readable || scope.Tenant() != "" || !d.Claim(ctx) {
		return x.Session(ctx, scope, design, kind, name)
	}
	return &Session{Named: *n, Answers: n.Index, indexes: x, scope: scope, began: x.clock(), unread: true}, nil
}

// Shared reports whether the index is the database's, of which a tenant sees the rows
// of its partition.
func (s *Session) Shared() bool { return s.scope.Tenant() != "" && s.Index.Tenant == "" }

// Built waits for the first build of the index, but not long: false if it is still
// under way then.
func (s *Session) Built(ctx context.Context, wait time.Duration) (bool, error) {
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.indexes.Await(short, s.scope.Database(), s.Index)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// Ready waits until an index can answer: the one that the name means or, if that is not
// built in time, the one before.
func (s *Session) Ready(ctx context.Context, wait time.Duration) error {
	if s.Index.State != Building {
		return nil
	}
	if s.Previous == nil {
		return s.indexes.Await(ctx, s.scope.Database(), s.Index)
	}
	built, err := s.Built(ctx, wait)
	if !built && err == nil {
		s.Answers = s.Previous
	}
	return err
}

// Soon is Ready without waiting: what can answer now does, if anything can.
func (s *Session) Soon() {
	if s.Index.State == Building && s.Previous != nil {
		s.Answers = s.Previous
	}
}

// CatchUp brings the index that answers, of an asynchronous kind, up to where the session
// began. Where that is not known yet the first View does it.
func (s *Session) CatchUp(ctx context.Context) error {
	if s.unread {
		s.current = true
		return nil
	}
	return s.indexes.CatchUp(ctx, s.scope.Database(), s.Answers, s.UpTo)
}

// Follow is CatchUp for the index that the name means, for those who ask later. That it
// was dropped meanwhile is no error.
func (s *Session) Follow(ctx context.Context) error {
	err := s.indexes.CatchUp(ctx, s.scope.Database(), s.Index, s.UpTo)
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// sessionKeep is how long the rows of a dropped index are sure to be there.
const sessionKeep = time.Minute

// View calls fn with a reader of the namespace that has the index, at a snapshot of its
// own unless Hold was called, and brings Answers there. gone says that the index was dropped: who reads it
// already may go on for a while, then it is ErrGone.
func (s *Session) View(ctx context.Context, fn func(r *store.Reader, gone bool) error) error {
	return s.Expecting(ctx, nil, fn)
}

// Expecting is View; expect is called before anything is read, to say what will be besides the
// index's progress (store.Reader.Expect).
func (s *Session) Expecting(ctx context.Context, expect func(r *store.Reader), fn func(r *store.Reader, gone bool) error) error {
	view := s.namespace().View
	if s.long != nil {
		view = s.long.View
	}
	for {
		behind, before := false, s.reached()
		err := view(ctx, func(r *store.Reader) error {
			if expect != nil {
				r.Expect(kv.Reads{Keys: [][]byte{progressKey(s.scope.Database().Number(), s.Answers.Number)}})
				expect(r)
			}
			now, err := At(r, s.Answers)
			switch {
			case err != nil:
				return err
			case now != nil:
				s.Answers = now
			case s.indexes.clock().Sub(s.began) > sessionKeep:
				return ErrGone
			}
			if s.unread {
				if behind, err = s.begin(r, before); behind || err != nil {
					return err
				}
			}
			return fn(r, now == nil)
		})
		err = s.indexes.Repair(ctx, s.scope.Database(), s.Answers, err)
		if err != nil {
			return err
		}
		s.unread = false
		if !behind {
			return nil
		}
		s.long.Release()
		if err := s.CatchUp(ctx); err != nil {
			return err
		}
	}
}

// Hold has the views from now on read one snapshot, as those of the returned LongView, which the caller releases.
func (s *Session) Hold() *store.LongView {
	s.long = s.namespace().LongView()
	return s.long
}

// namespace is the one that has the index.
func (s *Session) namespace() store.Scope {
	if s.Shared() {
		return s.scope.DatabaseNamespace()
	}
	return s.scope.Namespace()
}

// reached is up to where this process knows that the index has come, for sessions that are unread.
func (s *Session) reached() (at store.Sequences) {
	if !s.unread {
		return at
	}
	t := s.indexes.task(s.scope.Database(), s.Answers)
	defer s.indexes.release(t)
	t.state.Lock()
	defer t.state.Unlock()
	if t.state.known && t.state.progress.Phase == phaseFeed {
		at = t.state.reached
	}
	return at
}

// begin finds out where the session begins, and whether the index is behind that: it has come
// to where its progress is at the snapshot, or where this process knew before that it was.
func (s *Session) begin(r *store.Reader, before store.Sequences) (behind bool, err error) {
	if s.UpTo, err = r.Sequences(); err != nil || !s.current || before.Hold(s.UpTo) {
		return false, err
	}
	p, err := s.Answers.Progress(r.Snapshot(), s.scope.Database().Number())
	return !p.UpTo.Hold(s.UpTo) || p.Phase != phaseFeed, err
}

// At returns an index as it is at a reader's snapshot, one of the reader's namespace or
// one that a tenant shares with the database; nil if it was dropped.
func At(r *store.Reader, x *Index) (*Index, error) {
	if x.Tenant != r.Tenant() {
		r = r.As(r.DatabaseNamespace())
	}
	s, err := Of(r)
	if err != nil {
		return nil, err
	}
	for _, now := range s.Indexes {
		if now.Number == x.Number {
			return now, nil
		}
	}
	return nil, nil
}

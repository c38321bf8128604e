package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Once names a request, so that it is carried out once though it may come several times:
// a client that had no answer asks again.
type Once struct {
	By      string            // who asks: tokens of others are other tokens
	Token   string            // the request's name among theirs
	Request [sha256.Size]byte // a digest of what is asked for
}

// OnceFor is how long a token is remembered after its transaction was stored.
const OnceFor = 10 * time.Minute

// ErrOtherRequest is the error for a token that was another request's.
var ErrOtherRequest = dberr.New(dberr.Precondition, "token_used", "The token was used for another request.")

// TransactOnce is Transact for a request that has a name. If a transaction of this name was
// stored in the last ten minutes, nothing is, and again is true. A transaction that is
// refused leaves its name free. Errors: as of Transact, and ErrOtherRequest.
func (s *Store) TransactOnce(ctx context.Context, parts []ScopedEdits, once Once) (results []Result, again bool, err error) {
	ws, err := newWrites(parts)
	if err != nil {
		return nil, false, err
	}
	o := &onceOnly{Once: once}
	results, err = s.transact(ctx, ws, o)
	if err == nil && o.other {
		err = ErrOtherRequest
	}
	return results, o.found, err
}

// onceOnly is a request's name on its way into a commit. A row says that it was carried
// out, and is written in the transaction that does. The row's key begins with the period
// in which that was, so that old ones are one range to be removed, and a name is looked
// for in the periods about now: the clock may go back a little.
type onceOnly struct {
	Once
	found bool // it was carried out before
	other bool // and asked for something else
}

func (o *onceOnly) key(period int64) []byte {
	name := sha256.Sum256([]byte(o.By + "\x00" + o.Token))
	return keyspace.Request.Key(0, keyspace.U(uint64(period)), keyspace.B(string(name[:])))
}

// keys are the keys under which the request may be noted.
func (o *onceOnly) keys(now time.Time) (keys [][]byte) {
	for period := oncePeriod(now) - 1; period <= oncePeriod(now)+1; period++ {
		keys = append(keys, o.key(period))
	}
	return keys
}

func oncePeriod(t time.Time) int64 { return t.UnixMilli() / OnceFor.Milliseconds() }

// look finds out whether the request was carried out before.
func (o *onceOnly) look(tx kv.Txn, now time.Time) error {
	o.found, o.other = false, false
	for _, key := range o.keys(now) {
		value, err := tx.GetForUpdate(key)
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		r := packed.ReadVersion(value, rowVersion)
		at, request := r.Uint(), r.Take(sha256.Size)
		if err := r.Done(); err != nil {
			return err
		}
		if now.Sub(time.UnixMilli(int64(at))) < OnceFor {
			o.found, o.other = true, string(request) != string(o.Request[:])
			return nil
		}
	}
	return nil
}

// note notes that it is being carried out.
func (o *onceOnly) note(tx kv.Txn, now time.Time) error {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Uint(uint64(now.UnixMilli()))
	p.Raw(o.Request[:])
	return tx.Put(o.key(oncePeriod(now)), p)
}

// sweepOnce forgets the requests that nobody looks for any more.
func (s *Store) sweepOnce(ctx context.Context) error {
	r := kv.Prefix(keyspace.Request.Key(0))
	now := s.o.Clock()
	last := now.Add(now.Sub(s.unreachable(now))) // whoever may still be writing began after it
	r.End = keyspace.Request.Key(0, keyspace.U(uint64(max(0, oncePeriod(last)-1))))
	any, err := s.any(ctx, r)
	if err != nil || !any {
		return err
	}
	return s.engine.Discard(ctx, r)
}

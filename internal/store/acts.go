package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// What commands do to an engine that no server has open is written to the audit log by the server that opens it next:
// until then it lies in rows. What is in the text is for the audit log to say.

// metaAct is the meta row of an act, with the time and something random behind the slash: they are in the order of time.
const metaAct = "act/"

// claimedFor is how long a server that has taken an act has until another one takes it.
const claimedFor = time.Minute

// actRow is the row of an act.
type actRow struct {
	until  time.Time // the server that has taken it may tell it until then; zero: none has
	holder uint64
	text   []byte
}

func (a *actRow) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	until := uint64(0)
	if !a.until.IsZero() {
		until = uint64(a.until.UnixMilli())
	}
	p.Uint(until)
	p.Uint(a.holder)
	p.Bytes(a.text)
	return p
}

func decodeAct(value []byte) (a actRow, err error) {
	u := packed.ReadVersion(value, rowVersion)
	if until := u.Uint(); until > 0 {
		a.until = millisecond(until)
	}
	a.holder, a.text = u.Uint(), bytes.Clone(u.Bytes())
	return a, u.Done()
}

// LeaveAct writes an act into an engine that no store need have opened, for TakeActs.
func LeaveAct(ctx context.Context, e kv.Engine, at time.Time, text []byte) error {
	key := metaKey(metaAct + fmt.Sprintf("%020d-", at.UnixNano()) + rand.Text())
	row := actRow{text: text}
	return dberr.Wrap("store.LeaveAct", e.Update(ctx, func(tx kv.Txn) error { return tx.Put(key, row.encode()) }))
}

type actEntry struct{ key, value []byte }

func actsIn(ctx context.Context, e kv.Engine) (all []actEntry, err error) {
	err = e.View(ctx, func(v kv.Snapshot) error {
		all = nil
		return kv.Each(v, acts(), func(key, value []byte) error {
			all = append(all, actEntry{bytes.Clone(key), bytes.Clone(value)})
			return nil
		})
	})
	return all, err
}

// TakeActs has tell write each act that commands have left, in the order of time, and removes it then. Of several servers
// one tells an act; should it die over that, another tells it, perhaps once more.
func (s *Store) TakeActs(ctx context.Context, tell func(text []byte)) error {
	rows, err := actsIn(ctx, s.engine)
	for _, row := range rows {
		if err != nil {
			break
		}
		var a *actRow
		if a, err = s.claimAct(ctx, row.key); err != nil || a == nil {
			continue
		}
		tell(a.text)
		err = s.commit(ctx, func(tx kv.Txn) error { return tx.Delete(row.key) })
	}
	return dberr.Wrap("store.TakeActs", err)
}

// claimAct notes that this server tells the act; nil where another does, or has.
func (s *Store) claimAct(ctx context.Context, key []byte) (a *actRow, err error) {
	now := s.Now()
	err = s.commit(ctx, func(tx kv.Txn) error {
		a = nil
		value, err := tx.GetForUpdate(key)
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		found, err := decodeAct(value)
		// Where a server has the store for itself it has no number, and a claim is that of its process before.
		if err != nil || found.until.After(now) && found.holder != s.o.Holder {
			return err
		}
		a = &actRow{until: now.Add(claimedFor), holder: s.o.Holder, text: found.text}
		return tx.Put(key, a.encode())
	})
	return a, err
}

// acts is the range of the rows of acts.
func acts() kv.Range {
	return kv.Range{Start: metaKey(metaAct), End: metaKey(metaAct[:len(metaAct)-1] + "0")} // '0' comes after '/'
}

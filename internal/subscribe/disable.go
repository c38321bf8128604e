package subscribe

import (
	"context"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// disablePage is how many subscriptions one transaction disables.
const disablePage = 100

// Disable has all subscriptions of a database, by its number, deliver nothing until somebody changes them, and shows the reason. It is
// for a database that nobody has open.
func Disable(ctx context.Context, e kv.Engine, settled store.Settled, number uint64, reason string) error {
	var states [][]byte
	err := e.View(ctx, func(v kv.Snapshot) error {
		states = states[:0]
		return kv.Each(v, kv.Prefix(keyspace.Subscription.Key(number)), func(key, _ []byte) error {
			_, sub, err := whereOfKey(key)
			if sub == subState {
				states = append(states, append([]byte(nil), key...))
			}
			return err
		})
	})
	for err == nil && len(states) > 0 {
		page := states[:min(len(states), disablePage)]
		states = states[len(page):]
		err = settled(ctx, e, func(tx kv.Txn) error {
			values, err := tx.GetManyForUpdate(page)
			for i, key := range page {
				if err == nil {
					err = disable(tx, key, values[i], reason)
				}
			}
			return err
		})
	}
	return err
}

// disable writes the reason into the row of a state.
func disable(tx kv.Txn, key, state []byte, reason string) error {
	var sub subscription
	if err := sub.decodeState(state); err != nil {
		return err
	}
	n, err := decodeNote(sub.note)
	if err != nil {
		return err
	}
	n.Disabled = reason
	if sub.note, err = n.encode(); err != nil {
		return err
	}
	return tx.Put(key, sub.encodeState())
}

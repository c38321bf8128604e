package script

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/slots"
)

// The kinds of slots: those of Map, which builds indexes, and those of all other calls.
const (
	mapSlot = iota
	callSlot
	slotKinds
)

// slot takes a slot for a job, waiting for one, and returns the function that gives it back. Slots are counted by the
// database and by the caller. The functions of tenants, each of whom counts as a database, have slots of their
// own: whatever they do, and however many they are, those of databases find theirs.
func (p *Pool) slot(ctx context.Context, j *job) (leave func(), err error) {
	kind := callSlot
	if j.op == opMap {
		kind = mapSlot
	}
	var parties []slots.Party
	name := callerOf(ctx)
	if name != "" {
		parties = append(parties, slots.Party{Kind: "caller", Name: name})
	}
	if j.op != opCheck || name == "" { // what is checked is of no database
		parties = append(parties, slots.Party{Kind: "database", Name: j.realm.Database})
	}
	all := p.slots
	if j.realm.Tenant {
		all = p.tenants
	}
	leave, err = all.Take(ctx, kind, parties...)
	if errors.Is(err, slots.ErrClosed) {
		err = errClosed
	}
	return leave, err
}

type callerKey struct{}

// WithCaller returns a context whose calls are made on behalf of somebody: a name
// that tells callers apart. Slots are counted by it.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// callerOf returns the name that WithCaller put into ctx; "" for none.
func callerOf(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

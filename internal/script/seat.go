package script

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/seats"
)

// The kinds of seats: those of Map, which builds indexes, and those of all other calls.
const (
	mapSeat = iota
	callSeat
	seatKinds
)

// seat takes a seat for a job, waiting for one, and returns the function that gives it back. Seats are counted by the
// database and by the caller. The functions of tenants, each of whom counts as a database, have seats of their
// own: whatever they do, and however many they are, those of databases find theirs.
func (p *Pool) seat(ctx context.Context, j *job) (leave func(), err error) {
	kind := callSeat
	if j.op == opMap {
		kind = mapSeat
	}
	var parties []seats.Party
	name := callerOf(ctx)
	if name != "" {
		parties = append(parties, seats.Party{Kind: "caller", Name: name})
	}
	if j.op != opCheck || name == "" { // what is checked is of no database
		parties = append(parties, seats.Party{Kind: "database", Name: j.realm.Database})
	}
	all := p.seats
	if j.realm.Tenant {
		all = p.tenants
	}
	leave, err = all.Take(ctx, kind, parties...)
	if errors.Is(err, seats.ErrClosed) {
		err = errClosed
	}
	return leave, err
}

type callerKey struct{}

// WithCaller returns a context whose calls are made on behalf of somebody: a name
// that tells callers apart. Seats are counted by it.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// callerOf returns the name that WithCaller put into ctx; "" for none.
func callerOf(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

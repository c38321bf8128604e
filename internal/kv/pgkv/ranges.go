package pgkv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// discardPart is how many rows Discard deletes in one transaction.
const discardPart = 5000

// Discard implements kv.Engine: in parts, each a transaction of its own. Snapshots keep
// seeing what is deleted after them.
func (e *Engine) Discard(ctx context.Context, r kv.Range) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	return longKeys.Discard(ctx, e, r, func(r kv.Range) error { return e.discard(ctx, r) })
}

func (e *Engine) discard(ctx context.Context, r kv.Range) error {
	start, end := bounds(r)
	for bytes.Compare(start, end) < 0 {
		var last []byte
		err := e.single(ctx, call{name: stDiscard, args: [][]byte{start, end, int8Of(discardPart)},
			row: func(values [][]byte) { last = bytes.Clone(values[0]) }})
		if err != nil || last == nil {
			return err
		}
		start = after(last)
	}
	return nil
}

// single makes a trip for calls that may be made again, outside any other transaction.
func (e *Engine) single(ctx context.Context, calls ...call) error {
	for p := (retry{e: e}); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := e.connect(ctx, e.views)
		if err != nil {
			return err
		}
		e.stats.trips.Add(1)
		all := calls
		if s.open { // what another has left so
			all = append([]call{{name: stRollback}}, calls...)
		}
		if err = s.trip(context.Background(), e.o.Timeout, all...); err == nil {
			s.open = false
			e.away.back()
			s.release()
			return nil
		}
		s.destroy()
		var lost *connLostError
		if !errors.As(err, &lost) || !p.wait(ctx, err) {
			return e.unavailable(err)
		}
	}
}

// bounds returns r with both ends.
func bounds(r kv.Range) (start, end []byte) {
	start, end = present(r.Start), r.End
	if end == nil {
		end = beyond
	}
	return start, end
}

// measured is how many rows DiskSize counts; a range of more it estimates.
const measured = 2000

// DiskSize implements kv.Measurer: exactly for few rows, and for more by how many
// PostgreSQL's statistics expect.
func (e *Engine) DiskSize(r kv.Range) (uint64, error) {
	ctx := context.Background()
	if err := e.enter(ctx); err != nil {
		return 0, err
	}
	defer e.open.RUnlock()
	start, end := bounds(longKeys.Range(r))
	var rows, size int64
	err := e.single(ctx, call{name: stSize, args: [][]byte{start, end, int8Of(measured)},
		row: func(values [][]byte) { rows, size = int8From(values[0]), int8From(values[1]) }})
	if err != nil || rows < measured {
		return uint64(size), err
	}
	expected, err := e.expect(ctx, start, end)
	return uint64(float64(size) / measured * max(expected, measured)), err
}

// expect returns how many rows the statistics expect in a range.
func (e *Engine) expect(ctx context.Context, start, end []byte) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	s, err := e.connect(ctx, e.views)
	if err != nil {
		return 0, err
	}
	var text []byte
	err = s.conn.QueryRow(ctx, fmt.Sprintf(`EXPLAIN (FORMAT JSON) SELECT FROM %s.kv WHERE key >= '\x%x' AND key < '\x%x'`,
		e.o.Schema, start, end)).Scan(&text)
	if err != nil {
		s.destroy()
		return 0, e.unavailable(err)
	}
	s.end(e.o.Timeout)
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) == 0 {
		return 0, dberr.Wrap("pgkv.DiskSize", fmt.Errorf("EXPLAIN answered %q: %w", text, err))
	}
	return plans[0].Plan.Rows, nil
}

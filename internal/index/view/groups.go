package view

import (
	"bytes"
	"context"
	"math"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Exact is the level of grouping by whole keys. Others say how many elements of
// array keys count; 0 makes one group of all rows.
const Exact = -1

// Group is a reduction of the rows of a group.
type Group struct {
	Key   []byte // JSON; null for one group of all rows
	Value []byte // JSON; nil when Failed
	// Failed is why there is no value: it is in the row.
	Failed error
	group  *group
}

// adding reduces what it is shown.
type adding struct {
	v *Reader
	g *group
}

func (a adding) node(n node, _ []byte) (whole, more bool, err error) {
	a.g.node(n)
	return true, true, nil
}

func (a adding) row(position []byte, value func() ([]byte, error)) (bool, error) {
	return true, a.v.add(a.g, a.v.Def, 0, position, value)
}

// longGroup is how many rows of a group are read before its nodes are used: below
// that, looking for the nodes costs more than the rows. Behind a long group a
// few are enough, since groups are often alike.
const (
	longGroup  = 100
	afterGroup = 4
	// scannedRows is how many rows are read before nodes are, where these have runs: most queries are short.
	scannedRows = 64
)

// Groups returns the reductions of the groups of a span in its direction, at most
// so many, and what is left of the span after them. Their values are made by
// Kind.Values, which needs no snapshot.
func (v *Reader) Groups(s Span, level, most int) (groups []Group, rest Span, err error) {
	if level == 0 {
		g := Group{Key: []byte("null"), group: newGroup(v.reducer)}
		if err := v.cover(s.from, s.to, adding{v, g.group}); err != nil || g.group.count == 0 {
			return nil, s.nothing(), err
		}
		return []Group{g}, s.nothing(), nil
	}
	byRuns := v.keepsRuns() && !s.descending && v.top > 0
	long, rows := longGroup, math.MaxInt
	if byRuns {
		rows = scannedRows
	}
	scan := !byRuns || !v.r.Database().Limits().Distant // else nodes come in the same trip
	for rest = s; len(groups) < most && !rest.Empty(); {
		var found []Group
		if scan {
			found, rest, err = v.scanGroups(rest, level, most-len(groups), long, rows)
			scan, long = !byRuns, afterGroup
		} else {
			found, rest, err = v.runGroups(rest, level, most-len(groups))
			scan, byRuns, long, rows = true, false, longGroup, math.MaxInt
		}
		if err != nil {
			return nil, s, err
		}
		groups = append(groups, found...)
	}
	return groups, rest, nil
}

// scanGroups reads groups row by row, up to the first with so many rows as are
// long, which it reduces by its nodes, or the one that ends after so many rows.
func (v *Reader) scanGroups(s Span, level, most, long, rows int) (groups []Group, rest Span, err error) {
	it, done, err := v.walk(s)
	if err != nil {
		return nil, s, err
	}
	defer done()
	g := gathering{v: v, level: level, descending: s.descending}
	before := v.Read.Rows
	for ok := it.Seek(v.key(0, s.first())); ok; ok = it.Next() {
		position := it.Key()[len(v.rows):]
		if !s.contains(position) {
			break
		}
		if seen, err := v.sees(position); err != nil {
			return nil, s, err
		} else if !seen {
			continue
		}
		if g.n > 0 && !g.within.contains(position) {
			if groups = append(groups, g.end()); len(groups) == most || v.Read.Rows-before >= rows {
				return groups, s.beyond(g.within), nil
			}
			long = longGroup
		}
		if err := g.add(s, position, it.Value); err != nil {
			return nil, s, err
		}
		if g.n == long {
			whole := Group{Key: g.key, group: newGroup(v.reducer)}
			if err := v.cover(g.within.from, g.within.to, adding{v, whole.group}); err != nil {
				return nil, s, err
			}
			return append(groups, whole), s.beyond(g.within), nil
		}
	}
	if g.n > 0 {
		groups = append(groups, g.end())
	}
	return groups, s.nothing(), it.Err()
}

// walk returns an iterator over the rows of a span, and what ends its use. Forward it is the one that cover walks with,
// since one group ends where the next begins: an engine across a network has brought those rows.
func (v *Reader) walk(s Span) (it kv.Iterator, done func(), err error) {
	if !s.descending {
		it, err = v.iterator(0, s.from)
		return it, func() {}, err
	}
	w := v.rowsWalk(s)
	it, err = v.v.Iterate(w.Range, w.IterOptions)
	return it, func() { it.Close() }, err
}

// gathering is a group whose rows are being read.
type gathering struct {
	v          *Reader
	level      int
	descending bool
	n          int
	key        []byte // of the group: that of the row that was read first
	within     Span   // where its rows lie
	made       *group
	rows       []Row // when descending: they are reduced in their own order
}

// add adds a row, the first of a group after end.
func (g *gathering) add(s Span, position []byte, value func() ([]byte, error)) error {
	g.v.Read.Rows++
	b, err := value()
	if err != nil {
		return err
	}
	g.v.size += len(b)
	r, err := g.v.open(g.v.Def, position, b)
	if err != nil {
		return err
	}
	if g.n == 0 {
		g.key, g.made = groupKey(r.Key, g.level), newGroup(g.v.reducer)
		if g.within, err = g.v.groupSpan(s, position, r.Key, g.level); err != nil {
			return err
		}
	}
	if g.n++; g.descending {
		g.rows = append(g.rows, r)
	} else {
		g.made.row(&r)
	}
	return nil
}

// end returns the group and begins another.
func (g *gathering) end() Group {
	for i := len(g.rows) - 1; i >= 0; i-- {
		g.made.row(&g.rows[i])
	}
	done := Group{Key: g.key, group: g.made}
	g.n, g.rows = 0, g.rows[:0]
	return done
}

// groupSpan returns the rows of s that are in one group with the row at a position.
func (v *Reader) groupSpan(s Span, position, key []byte, level int) (Span, error) {
	begin, err := v.groupBegin(key, level, keyOf(position))
	if err != nil {
		return s, err
	}
	within := Span{from: begin, to: after(begin)}
	if bytes.Compare(within.from, s.from) < 0 {
		within.from = s.from
	}
	if bytes.Compare(within.to, s.to) > 0 {
		within.to = s.to
	}
	return within, nil
}

// groupKey returns the key of the group that a key belongs to.
func groupKey(key []byte, level int) []byte {
	if level == Exact || jsonscan.KindOf(key) != jsonscan.Array || jsonscan.Len(key) <= level {
		return key
	}
	b := []byte{'['}
	it := jsonscan.ElementsOf(key)
	for i := range level {
		e, _ := it.Next()
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

func (s *Span) contains(position []byte) bool {
	return bytes.Compare(position, s.from) >= 0 && bytes.Compare(position, s.to) < 0
}

// beyond is what is left of the span after a part of it.
func (s *Span) beyond(part Span) Span {
	rest := *s
	if s.descending {
		rest.to = part.from
	} else {
		rest.from = part.to
	}
	return rest
}

// first is where a walk over the span begins.
func (s *Span) first() []byte {
	if s.descending {
		return s.to
	}
	return s.from
}

// nothing is what is left at the end.
func (s *Span) nothing() Span { return Span{from: s.to, to: s.to} }

// Values makes the values of groups of an index.
func (k *Kind) Values(ctx context.Context, d *store.Database, x *index.Index, groups []Group) error {
	made := make([]*group, len(groups))
	for i := range groups {
		made[i] = groups[i].group
	}
	if err := k.reduceGroups(ctx, scriptOf(d, x), made, true); err != nil {
		return err
	}
	for i, g := range made {
		n := g.end()
		switch {
		case !failed(n.state):
			groups[i].Value = Of(x).reducer.value(n.count, n.state)
		case n.state[0] == tagRefusal:
			return failureOf(n.state)
		default:
			groups[i].Failed = failureOf(n.state)
		}
	}
	return nil
}

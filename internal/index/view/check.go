package view

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

var _ index.Checked = (*Kind)(nil)

// Check is index.Checked's: it holds back-rows, rows and nodes against each other.
// Neither the map function nor a custom reduction is run.
func (k *Kind) Check(r *store.Reader, x *index.Index) ([]error, error) {
	c := &check{work: k.work(r.Database(), x), name: r.Database().Name(), v: r.Snapshot()}
	if err := c.checkRows(); err != nil || len(c.found) > 0 {
		return c.found, err
	}
	for level := 1; ; level++ {
		any, err := c.checkLevel(level)
		if err != nil || !any || len(c.found) > 0 { // what is wrong beneath is wrong above
			return c.found, err
		}
	}
}

// check is a Check under way.
type check struct {
	*work
	name  string // of the database
	v     kv.Snapshot
	found []error
}

func (c *check) bad(key []byte, what string) {
	c.found = append(c.found, fmt.Errorf("database %s: index %d: %s %s", c.name, c.index, keyspace.Print(key), what))
}

// checkRows looks up every row that a back-row names, and counts the others.
func (c *check) checkRows() error {
	named, there := 0, 0
	err := kv.Each(c.v, kv.Prefix(keyspace.ViewBack.Key(c.db, keyspace.U(c.index))), func(key, value []byte) error {
		_, parts, err := keyspace.ViewBack.Decode(key)
		if err != nil {
			return err
		}
		olds, err := c.unpackBack(document.ID(parts[1].String()), value)
		if err != nil {
			c.bad(key, "can't be read")
			return nil
		}
		for _, o := range olds {
			named++
			row, err := c.v.Get(c.key(0, o.position))
			switch {
			case errors.Is(err, kv.ErrNotFound):
				c.bad(key, "names a row that is not there")
			case err != nil:
				return err
			case digestOf(row) != o.digest:
				c.bad(c.key(0, o.position), "is not what its back-row says")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = kv.Each(c.v, kv.Prefix(c.prefix(0)), func(_, _ []byte) error { there++; return nil })
	if err == nil && there > named {
		c.bad(c.prefix(0), fmt.Sprintf("has %d rows, %d of which are of no document", there, there-named))
	}
	return err
}

// checkLevel makes the nodes of a level from what lies beneath and compares them
// with those that are stored; any is false if there are none and need be none.
func (c *check) checkLevel(level int) (any bool, err error) {
	stored := map[string][]byte{}
	err = kv.Each(c.v, kv.Prefix(c.prefix(level)), func(key, value []byte) error {
		stored[string(key)] = bytes.Clone(value)
		return nil
	})
	any = len(stored) > 0
	f := &levelBuild{work: c.work, level: level}
	for err == nil && !f.over {
		if err = f.read(c.v); err != nil {
			return false, err
		}
		for _, m := range f.closed {
			key := c.key(level, m.position)
			if got, ok := stored[string(key)]; !ok {
				c.bad(key, "is missing")
			} else if !c.sameNode(got, m.group) {
				c.bad(key, "does not hold what lies beneath it")
			}
			delete(stored, string(key))
		}
		any = any || len(f.closed) > 0
		f.closed = f.closed[:0]
	}
	for key := range stored {
		c.bad([]byte(key), "should not be there")
	}
	return any, err
}

// sameNode compares a node with what its children make; of custom reductions the
// counts. One that was made before nodes had runs has none.
func (c *check) sameNode(got []byte, g *group) bool {
	n, err := unpackNode(got)
	if _, custom := g.fold.(*groupedRows); custom || err != nil {
		return err == nil && n.count == g.count
	}
	want := g.end()
	if n.runs == nil {
		want.runs = nil
	}
	return bytes.Equal(got, want.pack())
}

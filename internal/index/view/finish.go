package view

import (
	"bytes"
	"context"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Finish is index.Asynchronous's: it makes the nodes over the rows of a first
// build, each level from the one beneath.
func (k *Kind) Finish(ctx context.Context, d *store.Database, x *index.Index) error {
	return k.work(d, x).finish(ctx)
}

// finish makes all nodes over the rows.
func (w *work) finish(ctx context.Context) error {
	for level := 1; ; level++ {
		f := &levelBuild{work: w, level: level}
		made, err := f.run(ctx)
		if err != nil || !made {
			return err
		}
	}
}

// levelBuild makes all nodes of one level.
type levelBuild struct {
	*work
	level  int
	from   []byte    // the last child that was looked at
	open   *newNode  // the span that children go into
	closed []newNode // spans that are whole
	size   int
	over   bool
}

const (
	// buildChildren is how many children are read at one snapshot.
	buildChildren = 50_000
	// buildNodes is how many nodes are written at once.
	buildNodes = 5_000
)

// run makes the level. made is false if no span begins on it.
func (f *levelBuild) run(ctx context.Context) (made bool, err error) {
	for !f.over {
		if err := f.view(ctx, f.read); err != nil {
			return false, err
		}
		if len(f.closed) == 0 {
			continue
		}
		made = true
		if err := f.writeClosed(ctx); err != nil {
			return false, err
		}
	}
	return made, nil
}

// read reads children into spans.
func (f *levelBuild) read(v kv.Snapshot) error {
	c, err := f.cursor(v, f.level-1, nil)
	if err != nil {
		return err
	}
	defer c.close()
	if f.from != nil {
		c.seek(append(f.from, 0))
	}
	f.size = 0
	for range buildChildren {
		position, err := c.next()
		if err != nil {
			return err
		}
		if position == nil {
			f.over = true
			f.leave()
			return nil
		}
		f.enter(position)
		before := 0
		custom, _ := f.open.group.fold.(*groupedRows)
		if custom != nil {
			before = custom.size
		}
		if err := f.add(f.open.group, f.Def, f.level-1, position, c.value); err != nil {
			return err
		}
		if custom != nil {
			f.size += custom.size - before
		}
		f.from = append(f.from[:0], position...)
		if f.size > gatherBytes || len(f.closed) >= buildNodes {
			return nil
		}
		c.pass()
	}
	return nil
}

// enter opens the span that a child belongs to.
func (f *levelBuild) enter(position []byte) {
	h := headOf(position)
	if f.open == nil || !bytes.Equal(headOf(f.open.position), h) {
		f.leave()
		f.open = f.begin(h)
	}
	if len(position) > len(h) && f.height(position) >= f.level {
		f.closed = append(f.closed, *f.open)
		f.open = f.begin(position)
	}
}

func (f *levelBuild) begin(position []byte) *newNode {
	return &newNode{position: bytes.Clone(position), group: f.newNode(f.level)}
}

// leave ends a partition. Its first span is none if no other began.
func (f *levelBuild) leave() {
	if f.open != nil && !isHead(f.open.position) {
		f.closed = append(f.closed, *f.open)
	}
	f.open = nil
}

// writeClosed writes the spans that are whole.
func (f *levelBuild) writeClosed(ctx context.Context) error {
	groups := make([]*group, len(f.closed))
	for i, m := range f.closed {
		groups[i] = m.group
	}
	if err := f.reduceGroups(ctx, f.Script, groups, false); err != nil {
		return err
	}
	b := &batch{}
	for _, m := range f.closed {
		b.put(f.key(f.level, m.position), m.group.end().pack())
	}
	f.closed = f.closed[:0]
	return f.write(ctx, b)
}

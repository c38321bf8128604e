// Package kvcopy owns the copying of rows of one storage engine into another, all of them
// or those of one database, such as from the files of one machine into a database server,
// while others write to the source; and the watching of an engine that this takes.
//
// It promises that a target that holds only a part is told from a whole one, that a copy
// that was interrupted goes on where it was, and that what ends without an error was read
// back and is the same, up to the last write at the source. Nobody else may write to those
// rows of the target meanwhile. It must not know what rows mean. Begin reading at Copy.
package kvcopy

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Options say how to copy. Finish must be given.
type Options struct {
	// From is what the keys begin with that are copied, and To is what the target has in
	// its place. Both empty: all rows.
	From, To []byte
	// Apart reports whether a row is neither copied nor compared nor, at the target, in the
	// way. Keys are the source's. nil: none is.
	Apart func(key []byte) bool
	// Begin is called when the target is known to take all, before rows are copied, perhaps
	// by each of several attempts: from then on the target has a part. nil: there is nothing.
	Begin func(context.Context, Sum) error
	// Finish is called when the target has what the source has, of which nobody writes
	// anything, and makes the target usable. What it writes to the source goes through the
	// tracking, which can have writers be refused from then on.
	Finish func(context.Context, kv.Tracking, Sum) error
	// Describe says what a key is, for errors; nil: in hexadecimal digits.
	Describe func(key []byte) string
	// Progress is told what was done so far of which step, and what there was to do in all
	// as far as that is known; nil: nobody is.
	Progress func(step Step, done, all Sum)
}

// Step is a part of the work.
type Step string

// The steps, in their order.
const (
	Reading   Step = "reading"   // all of the source, to see whether the target takes it
	Copying   Step = "copying"   // what the target does not have yet
	Comparing Step = "comparing" // both
	Finishing Step = "finishing" // writers wait
)

const (
	pageRows  = 4096
	pageBytes = 1 << 20
	told      = 10 // how many rows that the target does not take are named

	// few is how many keys may be left to be copied when the fence goes up.
	few = 1000
	// rounds is how often that is waited for.
	rounds = 100
	// bearable is how long writers may wait for what is left.
	bearable = 5 * time.Second
	// fences is how often it is tried.
	fences = 5
)

// Copy makes rows of to what those of from are, and returns what there is then. An engine
// that is a kv.Tracker may be written to meanwhile, others may not. What the target has
// that the source has not, goes. Errors: TooLarge, before anything is written, if the
// target does not take some of the rows, which are named; Internal if what was read back
// is not the same; Unavailable if so much is written that the copy does not catch up.
func Copy(ctx context.Context, from, to kv.Engine, o Options) (Sum, error) {
	c := newCopier(from, to, o)
	sum, err := c.copy(ctx)
	return sum, dberr.Wrap("kvcopy.Copy", err)
}

// Survey finds out what Copy would copy, and writes nothing. Errors: TooLarge as of Copy.
func Survey(ctx context.Context, from, to kv.Engine, o Options) (Sum, error) {
	c := newCopier(from, to, o)
	err := c.survey(ctx)
	return c.all, dberr.Wrap("kvcopy.Survey", err)
}

func newCopier(from, to kv.Engine, o Options) *copier {
	if o.Describe == nil {
		o.Describe = hex.EncodeToString
	}
	if o.Apart == nil {
		o.Apart = func([]byte) bool { return false }
	}
	if o.Begin == nil {
		o.Begin = func(context.Context, Sum) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(Step, Sum, Sum) {}
	}
	return &copier{Options: o, from: from, to: to, doubts: map[string]bool{}}
}

type copier struct {
	Options
	from, to kv.Engine
	written  kv.Tracking

	all  Sum // at the source, when it was surveyed
	done Sum // in the first pass
	sum  Sum // of the rows of the target behind which the second is

	comparing bool   // it is in the second pass, or through
	reached   []byte // the key to which the pass has come
	whole     bool   // it is through
	// keys and discarded are what was written and has to be brought.
	keys      [][]byte
	discarded []kv.Range
	// doubts are rows that were not the same. Each must have been written at the source.
	doubts map[string]bool
}

func (c *copier) copy(ctx context.Context) (Sum, error) {
	if err := c.survey(ctx); err != nil {
		return c.all, err
	}
	if err := c.Begin(ctx, c.all); err != nil {
		return c.all, err
	}
	if err := c.track(ctx); err != nil {
		return c.all, err
	}
	err := c.tracked(ctx)
	if err != nil {
		err = errors.Join(err, c.written.End())
	}
	return c.sum, err
}

// tracked is the copy from when it is noted what is written.
func (c *copier) tracked(ctx context.Context) error {
	if err := c.pages(ctx, c.copyPage); err != nil {
		return err
	}
	c.comparing, c.reached, c.whole = true, nil, false
	if err := c.pages(ctx, c.compare); err != nil {
		return err
	}
	c.reach(nil)
	for n := 1; ; n++ {
		err := c.fenced(ctx)
		if err == nil {
			break
		}
		if n == fences || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	if err := c.Finish(ctx, c.written, c.sum); err != nil {
		return err
	}
	return c.written.End()
}

// fenced catches up with the source until little is left, and then has writers wait until
// nothing is. Without an error they go on waiting.
func (c *copier) fenced(ctx context.Context) error {
	for n := 1; ; n++ {
		left, err := c.follow(ctx)
		if err != nil {
			return err
		}
		if left <= few {
			break
		}
		if n == rounds {
			return dberr.New(dberr.Unavailable, "", "So much is written at the source that the copy does not catch up; start it again at a quieter time.")
		}
	}
	c.Progress(Finishing, c.sum, c.sum)
	within, cancel := context.WithTimeout(ctx, bearable)
	defer cancel()
	err := c.written.Fence(within)
	if err == nil {
		_, err = c.follow(within)
	}
	if err == nil { // one that fell meanwhile has let somebody write
		err = c.written.Fence(within)
	}
	if err == nil && len(c.doubts) > 0 {
		err = c.different()
	}
	if err != nil {
		err = errors.Join(err, within.Err(), c.written.Lower(ctx))
	}
	return err
}

func (c *copier) different() error {
	for key := range c.doubts {
		return dberr.New(dberr.Internal, "", "What was copied is not the same: %d rows differ, such as %s. Start the copy again.", len(c.doubts), c.Describe([]byte(key)))
	}
	return nil
}

// span is what is copied, at the source.
func (c *copier) span() kv.Range {
	if len(c.From) == 0 {
		return kv.Range{}
	}
	return kv.Prefix(c.From)
}

// there is the target's key for one of the source; nil for nil.
func (c *copier) there(key []byte) []byte {
	if key == nil {
		return nil
	}
	return append(bytes.Clone(c.To), key[len(c.From):]...)
}

// place is the target's range for one of the source.
func (c *copier) place(r kv.Range) kv.Range {
	p := kv.Range{Start: c.there(r.Start)}
	switch {
	case r.End != nil && bytes.HasPrefix(r.End, c.From):
		p.End = c.there(r.End)
	case len(c.To) > 0:
		p.End = kv.PrefixEnd(c.To)
	}
	return p
}

// here is the source's key for one of the target.
func (c *copier) here(key []byte) []byte {
	return append(bytes.Clone(c.From), key[len(c.To):]...)
}

// track begins to note what is written at the source, where it can be written to.
func (c *copier) track(ctx context.Context) (err error) {
	t, ok := c.from.(kv.Tracker)
	if !ok {
		c.written = still{c.from}
		return nil
	}
	c.written, err = t.Track(ctx, c.span())
	return err
}

// still is the tracking of an engine to which nobody writes.
type still struct{ kv.Engine }

func (still) Written(context.Context) ([][]byte, []kv.Range, error) { return nil, nil, nil }
func (still) Fence(context.Context) error                           { return nil }
func (still) Lower(context.Context) error                           { return nil }
func (still) End() error                                            { return nil }
func (s still) Through(ctx context.Context, fn func(kv.Txn) error, _ error) error {
	return s.Update(ctx, fn)
}

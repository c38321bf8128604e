package pebblekv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"
)

// A transaction of bulkBytes or bulkRows and more goes to the disk as sorted
// tables that become part of the store at once. That spares its rows the log, the
// memtable and its flush and, where no stored rows lie between them, compactions
// (decision 0029).
//
// It is for loads whose rows lie together. A table that lies across others is as
// much work for compactions as a flushed memtable, which holds many commits. So the
// bound is well over what gathered commits of ordinary writers reach, and when a
// transaction's tables had to go into level 0, which is where tables lie across
// others, as those of a build whose keys come in no order, the next ones go to the
// log, until a memtable is full.
const (
	bulkBytes = 4 << 20
	bulkRows  = 32 << 10
	bulkRuns  = 12 // of neighbouring rows, at most: each is a table and costs a sync
)

// bulks makes the tables of large transactions.
type bulks struct {
	fs     vfs.FS
	dir    string // where they lie until they are part of the store
	table  sstable.WriterOptions
	from   int // bytes of a transaction from which on it becomes tables
	number atomic.Uint64
	taken  atomic.Int64 // transactions that became tables
	spared atomic.Int64 // bytes of large transactions that go to the log before tables are tried again
}

// bulkDir is the directory below the data directory.
const bulkDir = "bulk"

// init removes what a crash has left behind and begins anew.
func (b *bulks) init(fs vfs.FS, dir string, o *pebble.Options, format sstable.TableFormat, from int) error {
	b.fs, b.dir, b.from = fs, fs.PathJoin(dir, bulkDir), cmp.Or(from, bulkBytes)
	if err := fs.RemoveAll(b.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	o.EnsureDefaults()
	b.table = o.MakeWriterOptions(len(o.Levels)-1, format)
	return fs.MkdirAll(b.dir, 0o750)
}

// spareFor is for how many transactions of the least size tables are not tried
// again after some lay across others.
const spareFor = 8

// large reports whether a transaction is so large that it had better become tables.
func (b *bulks) large(o *overlay) bool {
	if o.bytes < b.from && len(o.entries) < bulkRows {
		return false
	}
	if b.spared.Load() <= 0 {
		return true
	}
	b.spared.Add(-int64(o.bytes))
	return false
}

// learn takes notice of where tables went.
func (b *bulks) learn(went pebble.IngestOperationStats) {
	b.taken.Add(1)
	if 2*went.ApproxIngestedIntoL0Bytes > went.Bytes {
		b.spared.Store(int64(spareFor * b.from))
	}
}

// plain reports whether each entry is one operation on a key, which is all that
// a table to be taken in can hold.
func (o *overlay) plain() bool {
	for i := range o.entries {
		if o.entries[i].put && o.entries[i].base != baseKept {
			return false
		}
	}
	return true
}

// write writes a transaction's tables, as many at once as there are processors;
// they are on disk then, but not yet part of the store. After an error there are
// none.
func (b *bulks) write(o *overlay) (paths []string, err error) {
	order := o.order()
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for from, to := range o.runs(order) {
		path := b.fs.PathJoin(b.dir, fmt.Sprintf("%d.sst", b.number.Add(1)))
		paths = append(paths, path)
		g.Go(func() error { return b.writeTable(path, o, order[from:to]) })
	}
	if err := g.Wait(); err != nil {
		b.remove(paths)
		return nil, err
	}
	return paths, nil
}

// writeTable writes the entries of the indexes into a table.
func (b *bulks) writeTable(path string, o *overlay, order []int) error {
	file, err := b.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), b.table) // Close syncs and closes the file
	for _, i := range order {
		switch e := &o.entries[i]; {
		case e.put:
			err = w.Set(e.key, e.value)
		case e.base != baseKept:
			err = w.Delete(e.key)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, w.Close())
}

// remove removes tables that will not become part of the store.
func (b *bulks) remove(paths []string) {
	for _, path := range paths {
		// What stays is removed when the engine is opened.
		_ = b.fs.Remove(path)
	}
}

// runs cuts the entries, in the order of their keys, where neighbours have least
// in common, into at most bulkRuns pieces: rows of one kind then lie in a table of
// their own, and most tables lie where the store has nothing yet. Long pieces are
// cut into as many as there are processors to write them.
func (o *overlay) runs(order []int) iter.Seq2[int, int] {
	common := make([]int, len(order))
	cuts := map[int]int{} // how often neighbours have so many bytes in common
	for i := 1; i < len(order); i++ {
		common[i] = commonPrefix(o.entries[order[i-1]].key, o.entries[order[i]].key)
		cuts[common[i]]++
	}
	most, pieces := -1, 1
	for n := 0; pieces+cuts[n] <= bulkRuns && n <= maxKey; n++ {
		most, pieces = n, pieces+cuts[n]
	}
	long := max(o.bytes/runtime.GOMAXPROCS(0), bulkBytes/4)
	return func(yield func(from, to int) bool) {
		from, bytes := 0, 0
		for i, at := range order {
			if i > 0 && (common[i] <= most || bytes >= long) {
				if !yield(from, i) {
					return
				}
				from, bytes = i, 0
			}
			bytes += len(o.entries[at].key) + len(o.entries[at].value)
		}
		yield(from, len(order))
	}
}

// commonPrefix returns how many bytes two keys have in common.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// ingest makes tables part of the store. They are durable with that, so what they
// rest on is waited for first. Tables that the store can't take in go to the log
// after all: nothing of them is there then. The caller holds the commit mutex.
func (e *Engine) ingest(w *writes) error {
	if err := e.states.waitDurable(e.states.last(), e.stopped); err != nil {
		return err
	}
	went, err := e.db.IngestWithStats(context.Background(), w.tables)
	if err != nil {
		e.log.Warn("the tables of a large commit can't be taken in", "err", err)
		return w.toLog()
	}
	w.tables = nil
	e.bulks.learn(went)
	return nil
}

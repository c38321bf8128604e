package store

import (
	"context"
	"io"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Large is a value of any length, in chunk rows beside one another: an attachment, a
// part of an index. It is written once, in transactions of a few chunks, and never
// changed.
//
// The chunks alone mean nothing. A row of their owner's, committed after them, says
// that the value is there and how long it is, and while they are written another row
// of his says so too: whoever clears up takes that row first, and each transaction
// of the writer has read it for update (fence). So nothing is written after the
// clearing, and no chunks are left that nobody knows of.
//
// Chunks that lie under the keys of an index count among its size
// (Database.Measure), and are removed as its other rows are (Database.DiscardLater).
type Large struct {
	db    *Database
	space *keyspace.Space
	parts []keyspace.Part
}

// largePage is how much of a large value one transaction writes.
const largePage = 1 << 20

// Large is the value whose chunks have keys of a space that begin with parts and end
// with the number of the chunk.
func (d *Database) Large(space *keyspace.Space, parts ...keyspace.Part) Large {
	return Large{d, space, parts}
}

func (l Large) key(chunk uint64) []byte {
	return l.space.Key(l.db.number, append(slices.Clip(l.parts), keyspace.U(chunk))...)
}

func (l Large) rows() kv.Range { return kv.Prefix(l.space.Key(l.db.number, l.parts...)) }

// Writer writes the value. What fence reads for update, in each transaction, must be
// what whoever would remove the chunks changes before; its error fails the write.
// Chunks of a write that failed are the owner's to remove.
func (l Large) Writer(ctx context.Context, fence func(kv.Txn) error) *LargeWriter {
	return &LargeWriter{l: l, ctx: ctx, fence: fence}
}

// LargeWriter cuts a stream into chunks. It is for one goroutine.
type LargeWriter struct {
	l      Large
	ctx    context.Context
	fence  func(kv.Txn) error
	buf    []byte
	next   uint64 // chunk
	length int64
}

// Write implements io.Writer.
func (w *LargeWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), largePage-len(w.buf))
		w.buf = append(w.buf, rest[:n]...)
		rest = rest[n:]
		if len(w.buf) == largePage {
			if err := w.Flush(); err != nil {
				return 0, err
			}
		}
	}
	w.length += int64(len(p))
	return len(p), nil
}

// Len is how many bytes were written.
func (w *LargeWriter) Len() int64 { return w.length }

// Flush writes what is left, at the end; then all of the value is on disk.
func (w *LargeWriter) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if err := preconditionsOf(w.ctx).Confirm(w.ctx); err != nil {
		return err
	}
	err := w.l.db.store.engine.Update(w.ctx, w.put)
	for dberr.Is(err, dberr.UnknownOutcome) { // the same rows once more do no harm
		err = w.l.db.store.engine.Update(w.ctx, w.put)
	}
	w.next += chunksOf(len(w.buf))
	w.buf = w.buf[:0]
	return err
}

func (w *LargeWriter) put(tx kv.Txn) error {
	// The rows of a dropped database go when no transaction that saw it alive can be
	// running any more.
	if _, err := w.l.db.decodeLaneRow(tx); err != nil {
		return err
	}
	if err := w.fence(tx); err != nil {
		return err
	}
	at := w.next
	for chunk := range slices.Chunk(w.buf, chunkSize) {
		if err := tx.Put(w.l.key(at), chunk); err != nil {
			return err
		}
		at++
	}
	return nil
}

// chunksOf is how many chunks so many bytes take.
func chunksOf[N int | int64 | uint64](length N) uint64 {
	return (uint64(length) + chunkSize - 1) / chunkSize
}

// Reader reads the value, whose owner says that it is so long, by pages at snapshots
// of their own. Errors while reading: NotFound when it was removed meanwhile.
func (l Large) Reader(ctx context.Context, length int64) *LargeReader {
	return &LargeReader{l, ctx, length}
}

// LargeReader reads a large value. It is for any number of goroutines.
type LargeReader struct {
	l      Large
	ctx    context.Context
	length int64
}

var errLargeGone = dberr.New(dberr.NotFound, "not_found", "Document is missing attachment")

// readChunks is how many chunks are read at one snapshot.
const readChunks = 8

// ReadAt implements io.ReaderAt.
func (r *LargeReader) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off+int64(n) < r.length {
		read, err := r.page(p[n:], off+int64(n))
		if err != nil {
			return n, err
		}
		n += read
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// page reads up to a few chunks from off on, which lies within the value.
func (r *LargeReader) page(p []byte, off int64) (n int, err error) {
	p = p[:min(int64(len(p)), r.length-off)]
	first, skip := uint64(off)/chunkSize, int(off%chunkSize)
	end := min(first+chunksOf(skip+len(p)), first+readChunks)
	want := min(len(p), int(end-first)*chunkSize-skip)
	err = r.l.db.store.engine.View(r.ctx, func(v kv.Snapshot) error {
		return kv.Each(v, kv.Range{Start: r.l.key(first), End: r.l.key(end)}, func(_, chunk []byte) error {
			n += copy(p[n:], chunk[min(skip, len(chunk)):])
			skip = 0
			return nil
		})
	})
	if err == nil && n < want {
		err = errLargeGone
	}
	return n, err
}

// Stored returns how many bytes of the value are stored, for Check to hold against
// what the owner says.
func (l Large) Stored(v kv.Snapshot) (n uint64, err error) {
	err = kv.Each(v, l.rows(), func(_, chunk []byte) error {
		n += uint64(len(chunk))
		return nil
	})
	return n, err
}

// EachLarge calls fn with the parts of each value of which there are chunks in a
// space, whether or not it has an owner: Check and clearing up compare them.
func (d *Database) EachLarge(v kv.Snapshot, space *keyspace.Space, fn func(parts []keyspace.Part) error) error {
	it, err := v.Iterate(kv.Prefix(space.Key(d.number)), kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.Next(); ok; {
		_, parts, err := space.Decode(it.Key())
		if err != nil {
			return err
		}
		parts = parts[:len(parts)-1]
		if err := fn(parts); err != nil {
			return err
		}
		ok = it.Seek(kv.PrefixEnd(space.Key(d.number, parts...)))
	}
	return it.Err()
}

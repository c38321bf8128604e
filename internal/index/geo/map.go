package geo

import (
	"bytes"
	"context"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// largestBatch is how many bytes of rows one transaction writes.
const largestBatch = 12 << 20

// batch is index.Batch: what is to be written, worked out beforehand. That is possible
// because nobody else changes the rows of an index: the transaction fails if the index
// has moved on.
type batch struct {
	puts             []index.Row
	deletes          [][]byte
	bytes            int
	skipped, stopped uint64
}

// Apply is index.Batch's.
func (b *batch) Apply(tx kv.Txn) error {
	for _, key := range b.deletes {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	for _, r := range b.puts {
		if err := tx.Put(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}

// Skipped is index.Batch's.
func (b *batch) Skipped() uint64 { return b.skipped }

// Stopped is index.Batch's.
func (b *batch) Stopped() uint64 { return b.stopped }

// Size is index.Batch's.
func (b *batch) Size() (rows, bytes int) { return len(b.puts), b.bytes }

func (b *batch) put(r index.Row) {
	b.puts = append(b.puts, r)
	b.bytes += len(r.Key) + len(r.Value)
}

// mapped is a document with its rows.
type mapped struct {
	id   document.ID
	rows []index.Row
}

// Map is index.Asynchronous's.
func (k *Kind) Map(ctx context.Context, d *store.Database, x *index.Index, docs []index.Change, fresh bool) (index.Batch, error) {
	l := layoutOf(d.Number(), x)
	b := &batch{}
	all, err := k.rows(ctx, d, x, docs, b)
	if err != nil {
		return nil, err
	}
	for len(all) > 0 {
		n := 0
		for size := 0; n < len(all) && (n == 0 || size < largestBatch); n++ {
			for _, r := range all[n].rows {
				size += len(r.Key) + len(r.Value)
			}
		}
		if err := l.replace(ctx, d, all[:n], fresh, b); err != nil {
			return nil, err
		}
		if all = all[n:]; len(all) == 0 {
			break
		}
		// Too much for one transaction. What is written before the others is
		// written again if the work stops here, and then gives the same.
		if err := d.Commit(ctx, b.Apply); err != nil {
			return nil, err
		}
		b = &batch{skipped: b.skipped, stopped: b.stopped}
	}
	return b, nil
}

// Finish is index.Asynchronous's: nothing is left for the end.
func (*Kind) Finish(context.Context, *store.Database, *index.Index) error { return nil }

// rows makes the rows of documents, each once. A document for which the function throws
// has none; a geometry that is none is left out, and its document counts as skipped.
func (k *Kind) rows(ctx context.Context, d *store.Database, x *index.Index, docs []index.Change, b *batch) (all []mapped, err error) {
	var texts [][]byte
	var revs []string
	var at []int
	seen := make(map[document.ID]bool, len(docs))
	for _, c := range docs {
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		if c.Rev != nil {
			texts, revs, at = append(texts, c.Document(false)), append(revs, c.Rev.Rev.String()), append(at, len(all))
		}
		all = append(all, mapped{id: c.ID})
	}
	if len(texts) == 0 {
		return all, nil
	}
	results, err := k.functions.Geometries(ctx, scriptOf(d, x), texts)
	if err != nil {
		return nil, err
	}
	l := layoutOf(d.Number(), x)
	for i, r := range results {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m := &all[at[i]]
		ok := r.Err == nil
		if ok {
			m.rows, ok = l.indexed(m.id, revs[i], r.Geometries)
		}
		if x.Tenant != "" && sizeOf(m.rows) > index.TenantBytes(len(texts[i])) {
			m.rows, ok = nil, false
		}
		if !ok {
			b.skipped++
		}
		if r.Stopped {
			b.stopped++
		}
	}
	return all, nil
}

// indexed makes the rows of one document. ok is false if something had to be left out.
func (l *layout) indexed(id document.ID, rev string, geometries [][]byte) (rows []index.Row, ok bool) {
	of, size, ok := back{rev: rev}, 0, true
	for _, json := range geometries {
		g, err := place(json)
		if err != nil {
			ok = false
			continue
		}
		if size += len(json) + 10*len(g.cells); size > maxBack {
			return nil, false
		}
		of.geometries = append(of.geometries, g)
	}
	return l.rows(nil, id, &of), ok
}

func sizeOf(rows []index.Row) (n int) {
	for _, r := range rows {
		n += len(r.Key) + len(r.Value)
	}
	return n
}

// replace works out what is to be written so that documents have these rows.
func (l *layout) replace(ctx context.Context, d *store.Database, docs []mapped, fresh bool, b *batch) error {
	if fresh {
		for _, m := range docs {
			for _, r := range m.rows {
				b.put(r)
			}
		}
		return nil
	}
	return d.Whole().View(ctx, func(r *store.Reader) error {
		keys := make([][]byte, len(docs))
		for i := range docs {
			keys[i] = l.back(docs[i].id)
		}
		values, err := r.Snapshot().GetMany(keys)
		if err != nil {
			return err
		}
		for i, m := range docs {
			if err := l.change(b, m, keys[i], values[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// change replaces the rows of a document, of which was is the back-row, nil for none.
func (l *layout) change(b *batch, m mapped, backKey, was []byte) error {
	now := make(map[string]bool, len(m.rows))
	for _, r := range m.rows {
		now[string(r.Key)] = true
	}
	if was != nil {
		old, err := unpackBack(was)
		if err != nil {
			return err
		}
		for n, g := range old.geometries {
			for _, c := range g.cells {
				if key := l.row(m.id, g.class, c, n); !now[string(key)] {
					b.deletes = append(b.deletes, key)
				}
			}
		}
		if len(m.rows) == 0 {
			b.deletes = append(b.deletes, backKey)
		}
	}
	if n := len(m.rows); n > 0 && bytes.Equal(m.rows[n-1].Value, was) { // the back-row is as it was, and so is all that it names
		return nil
	}
	for _, r := range m.rows {
		b.put(r)
	}
	return nil
}

package view

import (
	"bytes"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// largestBatch is how many bytes of rows one transaction writes.
const largestBatch = 12 << 20

// batch is index.Batch: what is to be written, worked out beforehand. That is
// possible because nobody else changes the rows of an index: the transaction
// fails if the index has moved on.
type batch struct {
	puts    []index.Row
	deletes [][]byte
	failed  failures
}

// failures counts documents that have no rows although they are there.
type failures struct{ skipped, stopped uint64 }

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
func (b *batch) Skipped() uint64 { return b.failed.skipped }

// Stopped is index.Batch's.
func (b *batch) Stopped() uint64 { return b.failed.stopped }

// Size is index.Batch's.
func (b *batch) Size() (rows, bytes int) {
	for _, r := range b.puts {
		bytes += len(r.Key) + len(r.Value)
	}
	return len(b.puts), bytes
}

func (b *batch) put(key, value []byte) { b.puts = append(b.puts, index.Row{Key: key, Value: value}) }

// work is what is being done for one index.
type work struct {
	*Kind
	layout
	Script
	table
	runs bool // nodes keep them
}

func (k *Kind) work(d *store.Database, x *index.Index) *work {
	return &work{Kind: k, layout: layoutOf(d, x), Script: scriptOf(d, x), table: onDisk{d}, runs: Of(x).keepsRuns()}
}

// table is where the rows and nodes of an index lie.
type table interface {
	// view runs fn over a snapshot of it.
	view(ctx context.Context, fn func(kv.Snapshot) error) error
	// write applies a batch.
	write(ctx context.Context, b *batch) error
}

// onDisk is the table of indexes of a database.
type onDisk struct{ d *store.Database }

func (t onDisk) view(ctx context.Context, fn func(kv.Snapshot) error) error {
	return t.d.Whole().View(ctx, func(r *store.Reader) error { return fn(r.Snapshot()) })
}

func (t onDisk) write(ctx context.Context, b *batch) error { return t.d.Commit(ctx, b.Apply) }

// mapped is a document with its new rows.
type mapped struct {
	id   document.ID
	rows []stored
}

// Map is index.Asynchronous's.
func (k *Kind) Map(ctx context.Context, d *store.Database, x *index.Index, docs []index.Change, fresh bool) (index.Batch, error) {
	w := k.work(d, x)
	all, lost, err := w.rows(ctx, docs)
	if err != nil {
		return nil, err
	}
	for {
		var part []mapped
		part, all = split(all)
		b, err := w.batch(ctx, part, fresh)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			b.failed = lost
			return b, nil
		}
		// Too much for one transaction. What is written before the others is
		// written again if the work stops here, and then gives the same.
		if err := w.write(ctx, b); err != nil {
			return nil, err
		}
	}
}

// split takes off as many documents as go into one transaction.
func split(all []mapped) (part, rest []mapped) {
	size := 0
	for i, m := range all {
		for _, r := range m.rows {
			size += len(r.key) + len(r.position) + len(r.value) + 64
		}
		if size > largestBatch && i > 0 {
			return all[:i], all[i:]
		}
	}
	return all, nil
}

// rows maps documents, each once.
func (w *work) rows(ctx context.Context, docs []index.Change) (all []mapped, lost failures, err error) {
	var texts [][]byte
	var at []int
	seen := make(map[document.ID]int, len(docs))
	for _, c := range docs {
		if _, twice := seen[c.ID]; twice {
			continue
		}
		seen[c.ID] = len(all)
		if c.Rev != nil {
			texts, at = append(texts, c.Document(w.localSeq && w.Tenant == "")), append(at, len(all))
		}
		all = append(all, mapped{id: c.ID})
	}
	if len(texts) == 0 {
		return all, lost, nil
	}
	results, err := w.functions.Map(ctx, w.Script, texts)
	if err != nil {
		return nil, lost, err
	}
	for i, r := range results {
		m := &all[at[i]]
		ok := r.Err == nil
		if ok {
			m.rows, ok = w.rowsOf(m.id, r.Rows)
		}
		if ok && (len(packBack(m.rows)) > w.max.row || w.Tenant != "" && sizeOf(m.rows) > index.TenantBytes(len(texts[i]))) {
			m.rows, ok = nil, false
		}
		if !ok {
			lost.skipped++
		}
		if r.Stopped {
			lost.stopped++
		}
	}
	return all, lost, nil
}

// sizeOf is about how many bytes rows take.
func sizeOf(rows []stored) (n int) {
	for _, r := range rows {
		n += len(r.position) + len(r.value) + len(r.key) + len(digest{})
	}
	return n
}

// batch works out what is to be written for documents.
func (w *work) batch(ctx context.Context, docs []mapped, fresh bool) (*batch, error) {
	b := &batch{}
	if fresh {
		for _, m := range docs {
			for _, r := range m.rows {
				b.put(w.key(0, r.position), r.value)
			}
			if len(m.rows) > 0 {
				b.put(w.back(m.id), packBack(m.rows))
			}
		}
		return b, nil
	}
	edits, err := w.edits(ctx, docs, b)
	if err != nil {
		return nil, err
	}
	for _, e := range edits {
		if e.gone {
			b.deletes = append(b.deletes, w.key(0, e.position))
		} else {
			b.put(w.key(0, e.position), e.value)
		}
	}
	return b, w.update(ctx, edits, b)
}

// edits compares the documents' new rows with those that are there, by their
// back-rows, and returns the changes of rows in their order.
func (w *work) edits(ctx context.Context, docs []mapped, b *batch) (edits []edit, err error) {
	err = w.view(ctx, func(v kv.Snapshot) error {
		keys := make([][]byte, len(docs))
		for i := range docs {
			keys[i] = w.back(docs[i].id)
		}
		values, err := v.GetMany(keys)
		if err != nil {
			return err
		}
		for i, m := range docs {
			value := values[i]
			if value == nil {
				if len(m.rows) == 0 {
					continue
				}
				value = []byte{rowVersion}
			}
			olds, err := w.unpackBack(m.id, value)
			if err != nil {
				return err
			}
			edits = appendEdits(edits, olds, m.rows)
			switch now := packBack(m.rows); {
			case len(m.rows) == 0:
				b.deletes = append(b.deletes, w.back(m.id))
			case !bytes.Equal(now, value):
				b.put(w.back(m.id), now)
			}
		}
		return nil
	})
	slices.SortFunc(edits, byPosition)
	return edits, err
}

// appendEdits appends what makes new rows of a document's old ones. Both are in
// the order of their positions.
func appendEdits(edits []edit, olds []old, rows []stored) []edit {
	for len(olds) > 0 || len(rows) > 0 {
		order := 0
		switch {
		case len(olds) == 0:
			order = 1
		case len(rows) == 0:
			order = -1
		default:
			order = bytes.Compare(olds[0].position, rows[0].position)
		}
		switch {
		case order < 0:
			edits = append(edits, edit{position: olds[0].position, gone: true})
		case order > 0:
			edits = append(edits, edit{position: rows[0].position, value: rows[0].value, fresh: true})
		case olds[0].digest != digestOf(rows[0].value):
			edits = append(edits, edit{position: rows[0].position, value: rows[0].value})
		}
		if order <= 0 {
			olds = olds[1:]
		}
		if order >= 0 {
			rows = rows[1:]
		}
	}
	return edits
}

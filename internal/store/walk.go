package store

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// walkPage is how many documents a step of a walk looks at, and walkBytes how
// many bytes of bodies at most; it changes as many heads in one commit.
const (
	walkPage  = 500
	walkBytes = 4 << 20
)

// redue moves a document's row in the queue, unless the document has changed:
// then its writer did.
func (g *group) redue(f dated) error {
	s, err := g.doc(f.id)
	if err != nil || s.edits > 0 || s.head.seq != f.seq {
		return err
	}
	if err := g.setDue(s, f.due, f.written); err != nil {
		return err
	}
	return g.putHead(s)
}

// walker is a page of a walk over the documents that a change of a setting of expiry
// concerns: it brings their rows in the queue to what the setting says. The bodies are
// read before the commit: writers wait for the changes only.
type walker struct {
	d       *Database
	version uint64      // of the definitions
	last    document.ID // where the page ends, "" at the end of the walk
	looked  uint64
	found   []dated // the documents whose row in the queue is not what it should be
}

func (w *walker) size() int { return 256 * (1 + len(w.found)) }

func (w *walker) read(r *Reader, j *jobs.Job) error {
	*w = walker{d: w.d}
	l, err := r.lane()
	if err != nil {
		return err
	}
	w.version = l.version
	fields, err := r.fields()
	if err != nil {
		return err
	}
	rg := w.d.span(&keyspace.Doc, Span{}, j.Subject)
	if j.Checkpoint != "" {
		rg.Start = kv.PrefixEnd(keyspace.Doc.Key(w.d.number, keyspace.T(j.Checkpoint)))
	}
	return w.walk(r, rg, fields)
}

func (w *walker) write(g *group, j *jobs.Job) (over bool, err error) {
	if g.lane.version != w.version {
		return false, errPage
	}
	for _, f := range w.found {
		if err := g.redue(f); err != nil {
			return false, err
		}
	}
	j.Checkpoint = string(w.last)
	j.Done += w.looked
	return w.last == "", nil
}

// walk looks at the heads in a range.
func (w *walker) walk(r *Reader, rg kv.Range, fields *fields) error {
	it, err := r.v.Iterate(rg, kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	now := w.d.store.o.Clock().Unix()
	bytes := uint64(0)
	for ok := it.Next(); ok; {
		_, parts, err := keyspace.Doc.Decode(it.Key())
		if err != nil {
			return err
		}
		id := document.ID(parts[0].String())
		if parts[1].Num() == keyspace.SubHead {
			if w.looked == walkPage || bytes > walkBytes {
				return nil
			}
			value, err := it.Value()
			if err != nil {
				return err
			}
			size, err := w.look(r, id, value, fields, now)
			if err != nil {
				return err
			}
			bytes += size
			w.looked++
			w.last = id
		}
		ok = it.Seek(kv.PrefixEnd(keyspace.Doc.Key(w.d.number, keyspace.T(string(id)))))
	}
	w.last = ""
	return it.Err()
}

// look holds a document's place in the queue against the setting; it reports how
// many bytes its live leaves have, if it had to read them.
func (w *walker) look(r *Reader, id document.ID, value []byte, fields *fields, now int64) (size uint64, err error) {
	h, err := w.d.decodeHeadRow(r.v, id, value)
	if err != nil {
		return 0, err
	}
	before, err := w.d.written(r.v, id, h.due)
	if err != nil {
		return 0, err
	}
	a := asked{written: before, since: dueSince(now)}
	if before == 0 {
		a.written = uint64(max(now, 1)) // one from before the setting counts from now on
	}
	found, err := fields.dueOf(id, &h, &a)
	if err != nil {
		return 0, err
	}
	if t, written := found.row(a.written); t != h.due || written != before {
		w.found = append(w.found, dated{id: id, seq: h.seq, due: t, written: written})
	}
	if a.setting.off() {
		return 0, nil
	}
	return h.counts().active, nil
}

// written reads from a document's row in the queue when it was last written, 0
// if that is not known.
func (d *Database) written(v kv.Snapshot, id document.ID, due uint64) (uint64, error) {
	if due == 0 {
		return 0, nil
	}
	value, err := v.Get(d.dueKey(due, id))
	if err != nil {
		return 0, err
	}
	return decodeDue(value)
}

// fields are the settings of expiry at one snapshot.
type fields struct {
	d          *Database
	v          kv.Snapshot
	set        settings
	partitions map[document.Partition]*partition
}

func (r *Reader) fields() (*fields, error) {
	f := &fields{d: r.db, v: r.v, partitions: map[document.Partition]*partition{}}
	return f, r.db.loadExpiry(r.v, &f.set)
}

// of returns the setting by which a document expires.
func (f *fields) of(id document.ID) (Expiry, error) {
	p := id.Partition()
	if !f.d.partitioned || p == "" {
		return f.set.expiryOf(nil), nil
	}
	t := f.partitions[p]
	if t == nil {
		read, err := f.d.decodePartitionRow(f.v.Get(f.d.partitionKey(p)))
		if err != nil {
			return Expiry{}, err
		}
		t = &read
		f.partitions[p] = t
	}
	return f.set.expiryOf(t), nil
}

// dueOf is Database.dueOf by the document's setting, which it sets in a.
func (f *fields) dueOf(id document.ID, h *head, a *asked) (found due, err error) {
	if a.setting, err = f.of(id); err != nil {
		return found, err
	}
	return f.d.dueOf(f.v, id, &h.tree, *a)
}

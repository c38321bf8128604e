package store

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Local is a local document: it belongs to one endpoint (the database, a partition, or
// what its tenant takes for a database), and there to all who may write or to one
// reader (Scope.ReadBy); it has no tree and is not replicated.
type Local struct {
	ID   document.ID // "_local/…"
	Rev  uint64      // N of "0-N"
	Body []byte      // compact JSON object without reserved members
}

func (l *Local) encode() []byte {
	p := make(packed.Writer, 0, 12+len(l.Body))
	p.Byte(rowVersion)
	p.Uint(l.Rev)
	p.Raw(l.Body)
	return p
}

func decodeLocal(id document.ID, value []byte) (*Local, error) {
	u := packed.ReadVersion(value, rowVersion)
	l := &Local{ID: id, Rev: u.Uint(), Body: u.Rest()}
	return l, u.Err()
}

func (s Scope) localKey(id document.ID) []byte {
	return keyspace.Local.Key(s.db.number, s.endpoint(), keyspace.T(string(id)))
}

// endpoint names the scope in the keys of its local documents: p, p: for the tenant's
// endpoint, and either with :reader:NAME after it for what is one reader's own. No
// partition has a colon in its name, so none of these is another; and NAME is all
// the rest, so whatever is in it reaches nobody else's.
func (s Scope) endpoint() keyspace.Part {
	endpoint := string(s.partition)
	if s.tenant {
		endpoint += ":"
	}
	if s.reader != "" {
		endpoint += ":reader:" + s.reader
	}
	return keyspace.T(endpoint)
}

// Local reads a local document of the scope; NotFound "missing".
func (r *Reader) Local(id document.ID) (*Local, error) {
	value, err := r.v.Get(r.localKey(id))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	return decodeLocal(id, value)
}

// Locals walks the scope's local documents in the order of their ids.
func (r *Reader) Locals(sp Span) iter.Seq2[*Local, error] {
	return func(yield func(*Local, error) bool) {
		rg := r.db.span(&keyspace.Local, sp, "", r.endpoint())
		if bytes.Compare(rg.Start, rg.End) >= 0 {
			return
		}
		it, err := r.v.Iterate(rg, kv.IterOptions{Reverse: sp.Descending})
		if err != nil {
			yield(nil, err)
			return
		}
		defer it.Close()
		for it.Next() {
			l, err := localAt(it)
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func localAt(it kv.Iterator) (*Local, error) {
	_, parts, err := keyspace.Local.Decode(it.Key())
	if err != nil {
		return nil, err
	}
	value, err := it.Value()
	if err != nil {
		return nil, err
	}
	return decodeLocal(document.ID(parts[1].String()), value)
}

// PutLocal writes a local document, whatever is stored: as in CouchDB the last
// writer wins. rev is what the writer has read, 0 for nothing; the document
// gets rev+1, which is returned.
func (s Scope) PutLocal(ctx context.Context, id document.ID, rev uint64, body []byte) (uint64, error) {
	if err := s.admitLocal(ctx); err != nil {
		return 0, err
	}
	if len(s.localKey(id)) > s.db.store.longestID() {
		return 0, errLongID
	}
	var refused error
	l := Local{Rev: rev + 1, Body: body}
	value := l.encode()
	release, err := s.db.store.hold(len(body) + 128)
	if err != nil {
		return 0, err
	}
	defer release()
	err = s.db.submit(ctx, "store.PutLocal", len(body)+128, func(g *group) error {
		if refused = g.requireLive(s.partition); refused != nil {
			if refusal(refused) {
				return nil
			}
			return refused
		}
		return g.tx.Put(s.localKey(id), value)
	})
	if err == nil {
		err = refused
	}
	return l.Rev, err
}

// DeleteLocal removes a local document; NotFound "missing".
func (s Scope) DeleteLocal(ctx context.Context, id document.ID) error {
	if err := s.admitLocal(ctx); err != nil {
		return err
	}
	var refused error
	err := s.db.do(ctx, "store.DeleteLocal", func(g *group) error {
		refused = nil
		_, err := g.tx.GetForUpdate(s.localKey(id))
		if errors.Is(err, kv.ErrNotFound) {
			refused = errMissing
			return nil
		}
		if err != nil {
			return err
		}
		return g.tx.Delete(s.localKey(id))
	})
	if err == nil {
		err = refused
	}
	return err
}

// admitLocal asks admission whether the caller may write local documents of
// this endpoint.
func (s Scope) admitLocal(ctx context.Context) error {
	if a, ok := s.db.store.o.Admission.(LocalAdmission); ok {
		return a.AdmitLocal(ctx, s)
	}
	return nil
}

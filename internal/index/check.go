package index

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// checkDefined holds what design documents define against the indexes that there are.
func (x *Indexes) checkDefined(r *store.Reader) (found []error, err error) {
	for after, more := document.Partition(""), true; more; more = after != "" {
		var ids []document.ID
		if ids, after, err = r.DesignIDs(after); err != nil {
			return nil, err
		}
		for _, id := range ids {
			missing, err := x.missing(r, id)
			if err != nil {
				return nil, err
			}
			for _, def := range missing {
				found = append(found, fmt.Errorf("database %s: %q defines %q of the kind %s, and there is no such index", r.Database().Name(), id, def.Name, def.kind.Name()))
			}
		}
	}
	return found, nil
}

// checkTransactional compares the rows of an index with those that its documents give.
func checkTransactional(r *store.Reader, k Transactional, ix *Index) (found []error, err error) {
	bad := func(key []byte, what string) {
		found = append(found, fmt.Errorf("database %s: index %d: %s %s", r.Database().Name(), ix.Number, keyspace.Print(key), what))
	}
	want := map[string][32]byte{}
	rowsOf := k.Rows(r.Database().Number(), ix)
	var rows []Row
	for e, err := range r.Docs(store.Span{}, true) {
		if err != nil {
			return nil, err
		}
		if e.Winner == nil || r.Designs(e.Doc.ID) {
			continue
		}
		if rows, err = rowsOf(rows[:0], e.Winner); err != nil {
			return nil, err
		}
		for _, row := range rows {
			want[string(row.Key)] = sha256.Sum256(row.Value)
		}
	}
	for _, prefix := range k.Prefixes(r.Database().Number(), ix.Number) {
		err := kv.Each(r.Snapshot(), kv.Prefix(prefix), func(key, value []byte) error {
			id, err := k.Document(key)
			if err != nil {
				return err
			}
			if !r.Sees(id) {
				return nil // of a partition that is being dropped
			}
			sum, ok := want[string(key)]
			got := sha256.Sum256(value)
			switch {
			case !ok:
				bad(key, "is of no document")
			case !bytes.Equal(sum[:], got[:]):
				bad(key, "does not hold what the document gives")
			}
			delete(want, string(key))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for key := range want {
		bad([]byte(key), "is missing")
	}
	return found, nil
}

// missing returns what a design document, by its stored id, defines and what is not there. The reader is
// of the whole database.
func (x *Indexes) missing(r *store.Reader, id document.ID) (missing []named, err error) {
	rev, err := r.Winner(id)
	if dberr.Is(err, dberr.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ns, own := namespaceOf(r.Database(), id)
	defined := x.defined(ns, own, rev.Body)
	if len(defined) == 0 {
		return nil, nil
	}
	var there []use
	value, err := r.Snapshot().Get(useKey(ns, own))
	if err == nil {
		err = decode(value, &there)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return slices.DeleteFunc(defined, func(def named) bool {
		return slices.ContainsFunc(there, func(u use) bool { return u.Kind == def.kind.Name() && u.Name == def.Name })
	}), nil
}

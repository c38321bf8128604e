package index

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// checkDefined holds what design documents define against the indexes that there are, once all
// design documents were looked at for the kinds that there are.
func (x *Indexes) checkDefined(r *store.Reader) (found []error, err error) {
	ran, err := store.RanByJob(r.Snapshot(), knownKinds, x.kindsVersion(), jobDefine)
	if !ran || err != nil {
		return nil, err
	}
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

package indextest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// dump returns the rows of all indexes by design document and name.
func (w *world) dump() map[string]string {
	all := map[string]string{}
	err := w.db.Whole().View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r)
		if err != nil {
			return err
		}
		tenants, err := index.Tenants(r)
		if err = errors.Join(err, w.dumpSet(r, s, "", all)); err != nil {
			return err
		}
		for _, p := range tenants {
			s, err := index.OfTenant(r, p)
			if err = errors.Join(err, w.dumpSet(r, s, string(p)+":", all)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// dumpSet adds the rows of some indexes, under names with a prefix.
func (w *world) dumpSet(r *store.Reader, s *index.Set, tenant string, all map[string]string) error {
	for _, n := range s.Named {
		rows := ""
		for _, prefix := range n.Index.Kind.Prefixes(w.db.Number(), n.Index.Number) {
			var err error
			if rows, err = dumpRange(r, rows, prefix); err != nil {
				return err
			}
		}
		if n.Index.State != index.Readable {
			rows += string(n.Index.State) + "\n"
		}
		all[tenant+string(n.Design)+" "+n.Name] = rows
	}
	return nil
}

// dumpRange appends the rows behind a prefix, without the index's number.
func dumpRange(r *store.Reader, rows string, prefix []byte) (string, error) {
	it, err := r.Snapshot().Iterate(kv.Prefix(prefix), kv.IterOptions{})
	if err != nil {
		return "", err
	}
	defer it.Close()
	for it.Next() {
		value, err := it.Value()
		if err != nil {
			return "", err
		}
		printed := keyspace.Print(it.Key())
		_, printed, _ = strings.Cut(printed, " ") // the space's name
		_, printed, _ = strings.Cut(printed, " ") // the number
		rows += fmt.Sprintf("%s %q\n", printed, value)
	}
	return rows, it.Err()
}

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

// dump returns the rows of all indexes by design document and name, or what they
// answer.
func (w *world) dump() map[string]string {
	all := map[string]string{}
	err := w.db.Whole().View(ctx, func(r *store.Reader) error {
		return w.eachSet(r, func(tenant string, s *index.Set) (err error) {
			for _, n := range s.Named {
				rows := ""
				if w.Answers != nil {
					rows, err = w.Answers(r, n.Index)
				}
				for _, prefix := range n.Index.Kind.Prefixes(w.db.Number(), n.Index.Number) {
					if w.Answers == nil && err == nil {
						rows, err = dumpRange(r, rows, prefix)
					}
				}
				if err != nil {
					return err
				}
				if n.Index.State != index.Readable {
					rows += string(n.Index.State) + "\n"
				}
				all[tenant+string(n.Design)+" "+n.Name] = rows
			}
			return nil
		})
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// eachSet calls fn with the indexes of the database, and with those of each tenant
// and what its ids begin with.
func (w *world) eachSet(r *store.Reader, fn func(tenant string, s *index.Set) error) error {
	s, err := index.Of(r)
	if err == nil {
		err = fn("", s)
	}
	tenants, tenantsErr := index.Tenants(r)
	err = errors.Join(err, tenantsErr)
	for _, p := range tenants {
		s, tenantErr := index.OfTenant(r, p)
		if err = errors.Join(err, tenantErr); err == nil {
			err = fn(string(p)+":", s)
		}
	}
	return err
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

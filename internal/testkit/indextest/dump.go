package indextest

import (
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
		return index.EachSet(r, func(ns store.Scope, s *index.Set) (err error) {
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
				all[string(ns.Stored(n.Design))+" "+n.Name] = rows
			}
			return nil
		})
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// dumpRange appends the rows under a prefix, without the index's number.
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

package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// TestCheckFindsDamage damages a view's rows in each way and has Check say so.
func TestCheckFindsDamage(t *testing.T) {
	for _, reduce := range []string{"", "_sum", "length"} {
		for _, c := range []struct {
			name, says string
			damage     func(tx kv.Txn, rows, nodes [][]byte) error
		}{
			{"none", "", func(kv.Txn, [][]byte, [][]byte) error { return nil }},
			{"a row is gone", "names a row that is not there", func(tx kv.Txn, rows, _ [][]byte) error { return tx.Delete(rows[0]) }},
			{"a row changed", "is not what its back-row says", func(tx kv.Txn, rows, _ [][]byte) error {
				return tx.Put(rows[1], packRow([]byte("1"), []byte("77")))
			}},
			{"a row too many", "1 of which are of no document", func(tx kv.Txn, rows, _ [][]byte) error {
				return tx.Put(append(rows[2], 0), packRow([]byte("1"), []byte("2")))
			}},
			{"a node is gone", "is missing", func(tx kv.Txn, _, nodes [][]byte) error { return tx.Delete(nodes[0]) }},
			{"a node changed", "does not hold what lies beneath it", func(tx kv.Txn, _, nodes [][]byte) error {
				return tx.Put(nodes[0], node{count: 99, state: []byte("\x0099")}.pack())
			}},
			{"a node too many", "should not be there", func(tx kv.Txn, _, nodes [][]byte) error {
				return tx.Put(append(nodes[0], 0), node{count: 1}.pack())
			}},
		} {
			t.Run(reduce+"/"+c.name, func(t *testing.T) {
				w := newWorld(t, &Kind{functions: goFunctions{}, spread: 2}, false)
				var docs []string
				for i := range 40 {
					docs = append(docs, fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"n":%d}`, i))
				}
				w.put(docs...)
				w.define("d", "function (doc) { emit(doc.n, doc.n); }", reduce, "")
				w.follow()
				x := keyspace.U(w.index("d").Number)
				keys := func(s *keyspace.Space) (all [][]byte) {
					must(t, w.db.Whole().View(ctx, func(r *store.Reader) error {
						return kv.Each(r.Snapshot(), kv.Prefix(s.Key(w.db.Number(), x)), func(key, _ []byte) error {
							all = append(all, append([]byte(nil), key...))
							return nil
						})
					}))
					return all
				}
				rows, nodes := keys(&keyspace.ViewRow), keys(&keyspace.ViewNode)
				must(t, w.db.Commit(ctx, func(tx kv.Txn) error { return c.damage(tx, rows, nodes) }))
				err := w.store.Check(ctx)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("Check says %v, not %q", err, c.says)
				}
			})
		}
	}
}

package store

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// ShortKeys returns the longest key that was stored in an engine before FormatLongKeys.
func ShortKeys(l kv.Limits) int {
	if l.Distant { // PostgreSQL
		return min(l.Key, 2600)
	}
	return min(l.Key, 8<<10+512)
}

// compatible is a transaction that writes nothing that servers can't read which are still
// of the format that the store has.
func (s *Store) compatible(tx kv.Txn) kv.Txn {
	if s.Format() >= FormatLongKeys {
		return tx
	}
	return &shortKeys{tx, ShortKeys(s.limits)}
}

// shortKeys is a transaction that refuses keys that are longer than they were.
type shortKeys struct {
	kv.Txn
	most int
}

// Put implements kv.Txn.
func (t *shortKeys) Put(key, value []byte) error {
	if len(key) > t.most {
		return dberr.New(dberr.TooLarge, "", "The key has %d bytes; %d are allowed until all servers are of the new version.", len(key), t.most)
	}
	return t.Txn.Put(key, value)
}

// mostID is the longest key of a row of a document: CouchDB's ids have no length of their
// own but that of a request line. What engines take beyond is for rows of indexes, which
// hold ids and partitions besides values.
const mostID = 8<<10 + 512

// idRoom is how long the key of a document's row may be.
func (s *Store) idRoom() int {
	if s.Format() < FormatLongKeys {
		return min(ShortKeys(s.limits), mostID)
	}
	return min(s.limits.Key, mostID)
}

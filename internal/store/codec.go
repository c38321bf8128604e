package store

import (
	"math"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
)

// The formats of rows are drawn in docs/formats/rows.md.

func writeRev(w *packed.Writer, r document.Rev) {
	w.Uint(uint64(r.Gen))
	w.Text(r.Hash)
}

func decodeRev(r *packed.Reader) document.Rev {
	return document.Rev{Gen: uint32(r.UpTo(math.MaxUint32)), Hash: r.Text()}
}

// maxID is the longest key of a row of a document: CouchDB's ids have no length of their
// own but that of a request line. What engines take beyond is for rows of indexes, which
// hold ids and partitions besides values.
const maxID = 8<<10 + 512

// longestID is how long the key of a document's row may be.
func (s *Store) longestID() int { return min(s.limits.Key, maxID) }

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

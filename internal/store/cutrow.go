package store

import (
	"bytes"
	"crypto/sha256"
	"math"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/packed"
)

// A value that is too long for one row of an engine lies in pieces, rows of their own
// (keyspace.RowPiece), and the row says so: it is cut. That is done for all kinds of row in
// one place, between the store and its engine, and nobody above knows of it: local
// documents, the attachments of a revision, definitions of indexes, what views emit.
//
// The keys of pieces have those of their rows in them, and a stamp, which follows from the
// value. The row names the stamp, so that what it says is decided by itself alone: pieces
// of another value that it has had mean nothing. Those of a value that is replaced or
// removed by a transaction that has read the row go with it. A transaction that has not
// leaves them, since every write would have to read first, and a job removes them later
// (cutsweep.go), which finds them by the rows of keyspace.RowCut, one for each value. Where
// a range of rows is discarded their pieces are too.

// longestRow is how long a value is that lies in one row, and a piece of one that does not.
const longestRow = 512 << 10

// longestSystemRow is how long a row of the whole store may be: these are not cut, since some are
// read before it is known which format the store has.
const longestSystemRow = 1_000_000

// cutMark is what the value of a cut row begins with. No kind of row that may be cut
// (keyspace.MayBeCut) has other values that begin so: their first byte is a version, which
// is never 0, a letter, or that of a number, which has ten bytes at most.
const cutMark = "\x00pieces\x01"

// cutRow is what a cut row says.
type cutRow struct {
	length int // of the value
	piece  int // of a piece; the last may be shorter
	stamp  string
}

// cutInto returns what the row of a value says, in pieces of a length.
func cutInto(value []byte, piece int) cutRow {
	h := sha256.New()
	h.Write(packed.Number(uint64(piece)))
	h.Write(value)
	return cutRow{len(value), piece, string(h.Sum(nil)[:keyspace.StampSize])}
}

func (c cutRow) encode() []byte {
	p := make(packed.Writer, 0, len(cutMark)+2*5+keyspace.StampSize)
	p.Raw([]byte(cutMark))
	p.Uint(uint64(c.length))
	p.Uint(uint64(c.piece))
	p.Raw([]byte(c.stamp))
	return p
}

// isCut reports whether the row of a key, with a value as it is stored, is cut.
func isCut(key, value []byte) bool {
	return len(value) > len(cutMark) && value[0] == cutMark[0] && string(value[:len(cutMark)]) == cutMark && keyspace.MayBeCut(key)
}

func decodeCut(value []byte) (c cutRow, err error) {
	u := packed.Read(value[len(cutMark):])
	c.length, c.piece = int(u.UpTo(math.MaxInt32)), int(u.UpTo(math.MaxInt32))
	c.stamp = string(u.Take(keyspace.StampSize))
	if err = u.Done(); err == nil && (c.piece == 0 || c.length == 0) {
		err = packed.ErrFormat
	}
	return c, err
}

// count is how many pieces there are.
func (c cutRow) count() int { return (c.length + c.piece - 1) / c.piece }

// keys returns the keys of the pieces of the row of a key.
func (c cutRow) keys(key []byte) [][]byte { return pieceKeys(key, c.stamp, c.count()) }

func pieceKeys(key []byte, stamp string, count int) [][]byte {
	keys := make([][]byte, count)
	for n := range keys {
		keys[n] = keyspace.PieceKey(key, stamp, n)
	}
	return keys
}

// join puts the value together.
func (c cutRow) join(pieces [][]byte) ([]byte, error) {
	value := bytes.Join(pieces, nil)
	if len(value) != c.length {
		return nil, packed.ErrFormat
	}
	return value, nil
}

package keyspace

import "encoding/binary"

// StampSize is the length of the stamp that tells a value in pieces from others that the
// same row has had.
const StampSize = 16

// PieceRoom is how much longer the key of a piece is than that of its row.
const PieceRoom = 1 + StampSize + 4

// MayBeCut reports whether the value of a row may lie in pieces: rows of databases, but for
// heads, which are small, and those that are pieces of something themselves, whose values
// may begin with anything.
func MayBeCut(key []byte) bool {
	_, code, rest, err := head(key)
	if err != nil || key[0] != databasePrefix {
		return false
	}
	switch code {
	case LaneHead.Code, BodyChunk.Code, RowCut.Code, RowPiece.Code, BlobChunk.Code, TextChunk.Code:
		return false
	case Doc.Code:
		if _, rest, err = BorrowText(rest); err != nil {
			return false
		}
		sub, _, err := takeUint(rest)
		return err == nil && sub == SubBody
	}
	return true
}

// Under returns the key of what a space of pieces has of a row of a database, or a prefix of
// such keys for one of keys; false for what is not within a database.
func (s *Space) Under(key []byte) ([]byte, bool) {
	if len(key) < 3 || key[0] != databasePrefix || len(key) <= 2+int(key[1]) {
		return nil, false
	}
	at := 2 + int(key[1])
	under := append(make([]byte, 0, len(key)+PieceRoom), key[:at]...)
	return append(append(under, s.Code), key[at:]...), true
}

// CutKey returns the key of the row of RowCut for a row of a database and a stamp.
func CutKey(key []byte, stamp string) []byte {
	under, _ := RowCut.Under(key)
	return append(under, stamp...)
}

// PieceKey returns the key of a piece.
func PieceKey(key []byte, stamp string, n int) []byte {
	under, _ := RowPiece.Under(key)
	return binary.BigEndian.AppendUint32(append(under, stamp...), uint32(n))
}

// DecodeCut splits a key of RowCut into that of the row and the stamp.
func DecodeCut(key []byte) (row []byte, stamp string, err error) { return RowCut.over(key) }

// DecodePiece splits a key of RowPiece into that of the row, the stamp and the number.
func DecodePiece(key []byte) (row []byte, stamp string, n int, err error) {
	if len(key) < 4 {
		return nil, "", 0, errKey
	}
	end := len(key) - 4
	row, stamp, err = RowPiece.over(key[:end])
	return row, stamp, int(binary.BigEndian.Uint32(key[end:])), err
}

// over is the reverse of Under, of a key with a stamp.
func (s *Space) over(key []byte) (row []byte, stamp string, err error) {
	_, code, rest, err := head(key)
	if err != nil || key[0] != databasePrefix || code != s.Code || len(rest) <= StampSize {
		return nil, "", errKey
	}
	at, end := len(key)-len(rest), len(key)-StampSize
	row = append(make([]byte, 0, end-1), key[:at-1]...)
	return append(row, key[at:end]...), string(key[end:]), nil
}

// DatabaseOf returns what the keys of the database begin with that a key is of; nil for one of
// no database. The number is that of Database.
func DatabaseOf(key []byte) (prefix []byte, number uint64) {
	number, _, _, err := head(key)
	if err != nil || key[0] != databasePrefix {
		return nil, 0
	}
	return key[:2+int(key[1])], number
}

package keyspace

import (
	"bytes"
	"strings"
	"testing"
)

// TestPieces: the keys of pieces lead to their row, lie in the range of its database and,
// under a prefix of its key, in the range under that.
func TestPieces(t *testing.T) {
	stamp := strings.Repeat("\x00\xff", StampSize/2)
	for _, db := range []uint64{0, 1, 300, 1 << 40} {
		for _, key := range [][]byte{
			Local.Key(db, T(""), T("_local/x")), Doc.Key(db, T("p:\x00"), U(SubBody), B(BodyTail(1, "h"))),
			ViewNode.Key(db, U(1), U(0), U(0), T(""), B("")), IndexUse.Key(db, T("p"), T("_design/d")),
		} {
			if !MayBeCut(key) {
				t.Errorf("%s may not be cut", Print(key))
			}
			row, of, err := DecodeCut(CutKey(key, stamp))
			if err != nil || !bytes.Equal(row, key) || of != stamp {
				t.Errorf("%s: a cut leads to %x %q %v", Print(key), row, of, err)
			}
			row, of, n, err := DecodePiece(PieceKey(key, stamp, 70000))
			if err != nil || !bytes.Equal(row, key) || of != stamp || n != 70000 {
				t.Errorf("%s: a piece leads to %x %q %d %v", Print(key), row, of, n, err)
			}
			for _, made := range [][]byte{CutKey(key, stamp), PieceKey(key, stamp, 0)} {
				if MayBeCut(made) || !bytes.HasPrefix(made, Database(db)) || len(made) > len(key)+PieceRoom {
					t.Errorf("%s: pieces lie at %x", Print(key), made)
				}
			}
			if under, ok := RowPiece.Under(key[:len(key)-1]); !ok || !bytes.HasPrefix(PieceKey(key, stamp, 0), under) {
				t.Errorf("%s: pieces are not under %x", Print(key), under)
			}
		}
		if _, ok := RowPiece.Under(Database(db)); ok {
			t.Errorf("the pieces of database %d are said to be under something of it", db)
		}
		for _, key := range [][]byte{
			LaneHead.Key(db, U(0)), Doc.Key(db, T("a"), U(SubHead), B("")), Doc.Key(db, T("a"), U(SubTree), B(ChunkTail(0))), BodyChunk.Key(db, T("a"), U(1), T("h"), U(0)),
			BlobChunk.Key(db, U(1), U(0)), TextChunk.Key(db, U(1), U(1), U(0)), Meta.Key(0, T("store")), nil, {2}, {2, 9},
		} {
			if MayBeCut(key) {
				t.Errorf("%s may be cut", Print(key))
			}
		}
	}
	for _, key := range [][]byte{nil, {2, 0}, RowCut.Key(1), RowCut.Key(1, B("short")), Local.Key(1, T(""), T("_local/a long one of twenty"))} {
		if _, _, err := DecodeCut(key); err == nil {
			t.Errorf("%x is a cut", key)
		}
		if _, _, _, err := DecodePiece(key); err == nil {
			t.Errorf("%x is a piece", key)
		}
	}
}

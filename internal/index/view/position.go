package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// A position says where a row is: the part of its key after the index's number,
// that is partition, key, id and number, encoded. Nodes lie in spaces of their
// own under the position where their span begins; the first span of a partition
// begins at the partition's head, the encoded partition alone. So the same bytes
// name a position on every level.

// longest is what an engine lets rows be.
type longest struct {
	// key is how many bytes of an encoded key a position holds. What is
	// longer is cut and marked by its hash: equal keys stay together, and
	// only keys that are equal in so many bytes (6,000, where the engine has
	// room for that) lie in no order.
	key int
	// position is the longest position that a row may have.
	position int
	// row is the longest row that may be stored.
	row int
}

// beforePosition is more than a row's key has before its position, a node's too.
const beforePosition = 64

// longestOf divides what an engine takes: the rest of a position is for the document's
// id, and for bytes of the key that take two. It decides where rows lie, so that it is
// the same for an engine for ever.
func longestOf(l kv.Limits) longest {
	return longest{
		key:      min(6000, max(l.Key-2704, l.Key*2/5)),
		position: l.Key - beforePosition,
		row:      min(7<<20, l.Value/8*7),
	}
}

// layout names the key spaces of one index.
type layout struct {
	db, index   uint64
	rows        []byte // what the keys of all rows begin with
	signature   [sha256.Size]byte
	first       uint
	further     uint
	partitioned bool
	raw         bool // keys are in raw order
	max         longest
}

func layoutOf(d *store.Database, x *index.Index) layout {
	return layout{
		db: d.Number(), index: x.Number, rows: keyspace.ViewRow.Key(d.Number(), keyspace.U(x.Number)),
		raw: Of(x).Raw, max: longestOf(d.Limits()),
		signature: sha256.Sum256([]byte(x.Signature)), first: Of(x).first, further: Of(x).further, partitioned: x.Partitioned,
	}
}

// position returns the position of a row.
func (l *layout) position(p document.Partition, key []byte, id document.ID, number uint64) []byte {
	return keyspace.ViewRow.Key(l.db, keyspace.U(l.index), keyspace.T(string(p)), keyspace.T(string(key)),
		keyspace.T(string(id)), keyspace.U(number))[len(l.rows):]
}

// head is the position at which a partition begins.
func (l *layout) head(p document.Partition) []byte {
	return keyspace.ViewRow.Key(l.db, keyspace.U(l.index), keyspace.T(string(p)))[len(l.rows):]
}

// keyPosition is what the positions of all rows with a key begin with.
func (l *layout) keyPosition(p document.Partition, key []byte) []byte {
	return keyspace.ViewRow.Key(l.db, keyspace.U(l.index), keyspace.T(string(p)), keyspace.T(string(key)))[len(l.rows):]
}

// groupPosition is what the positions of all rows begin with whose key begins with
// the encoded values of prefix.
func (l *layout) groupPosition(p document.Partition, prefix []byte) []byte {
	return keyspace.ViewRow.TextPrefix(l.db, string(prefix), keyspace.U(l.index), keyspace.T(string(p)))[len(l.rows):]
}

// idPosition is what the positions of all rows of a document with a key begin with.
func (l *layout) idPosition(p document.Partition, key []byte, id document.ID) []byte {
	return keyspace.ViewRow.Key(l.db, keyspace.U(l.index), keyspace.T(string(p)), keyspace.T(string(key)),
		keyspace.T(string(id)))[len(l.rows):]
}

// back is the key of a document's back-row.
func (l *layout) back(id document.ID) []byte {
	return keyspace.ViewBack.Key(l.db, keyspace.U(l.index), keyspace.T(string(id)))
}

// prefix is what all keys of a level begin with: 0 for rows.
func (l *layout) prefix(level int) []byte {
	if level == 0 {
		return l.rows[:len(l.rows):len(l.rows)]
	}
	return keyspace.ViewNode.Key(l.db, keyspace.U(l.index), keyspace.U(0), keyspace.U(uint64(level)))
}

// key returns the key of a position on a level.
func (l *layout) key(level int, position []byte) []byte {
	prefix := l.prefix(level)
	return append(append(make([]byte, 0, len(prefix)+len(position)), prefix...), position...)
}

// height is the highest level on which a row begins a span.
func (l *layout) height(position []byte) int {
	var buf [512]byte
	sum := sha256.Sum256(append(append(buf[:0], l.signature[:16]...), position...))
	zeros := uint(bits.TrailingZeros64(binary.BigEndian.Uint64(sum[:]) | 1<<63))
	if zeros < l.first {
		return 0
	}
	return 1 + int((zeros-l.first)/l.further)
}

// partition returns the partition whose head a document's positions begin with.
func (l *layout) partition(id document.ID) document.Partition {
	if l.partitioned {
		return id.Partition()
	}
	return ""
}

// headOf returns the head of the partition that a position lies in: a text part of a
// key ends with these bytes, and holds them nowhere else.
func headOf(position []byte) []byte {
	end := bytes.Index(position, []byte{0, 1}) + 2
	return position[:end:end]
}

// collate encodes a key so that bytes compare as keys do.
func (l *layout) collate(dst, key []byte) (_ []byte, err error) {
	if l.raw {
		dst, err = keyspace.AppendRaw(dst, key)
	} else {
		dst, err = keyspace.AppendCollated(dst, key)
	}
	if len(dst) > l.max.key {
		sum := sha256.Sum256(dst)
		dst = append(dst[:l.max.key], sum[:16]...)
	}
	return dst, err
}

// after is the first position after all that begin with position; nil for none.
func after(position []byte) []byte { return kv.PrefixEnd(position) }

package dynamoapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/sectional/sectional/internal/jsonscan"
)

// digest returns a digest of a JSON value that is the same in whatever order its objects
// have their members: clients that ask again write them in another order.
func digest(value []byte) [sha256.Size]byte {
	return sha256.Sum256(appendOrdered(make([]byte, 0, len(value)+len(value)/4), value))
}

// appendOrdered appends a value with the members of objects in order of their names. Texts
// have their lengths before them, so that no two values are the same bytes.
func appendOrdered(dst, value []byte) []byte {
	switch jsonscan.KindOf(value) {
	case jsonscan.Object:
		return appendOrderedObject(dst, value)
	case jsonscan.Array:
		dst = append(dst, '[')
		for e := jsonscan.ElementsOf(value); ; {
			v, ok := e.Next()
			if !ok {
				return append(dst, ']')
			}
			dst = appendOrdered(dst, v)
		}
	case jsonscan.String:
		return appendSized(append(dst, '"'), jsonscan.Text(nil, value))
	}
	return appendSized(append(dst, '#'), value)
}

func appendOrderedObject(dst, value []byte) []byte {
	type member struct{ name, value []byte }
	var room [8]member
	members := room[:0]
	for m := jsonscan.MembersOf(value); ; {
		quoted, v, ok := m.Next()
		if !ok {
			break
		}
		members = append(members, member{jsonscan.Text(nil, quoted), v})
	}
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for _, m := range members {
		dst = appendOrdered(appendSized(append(dst, ','), m.name), m.value)
	}
	return append(dst, '}')
}

func appendSized(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

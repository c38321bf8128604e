package dynamoapi

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/sectional/sectional/internal/jsonscan"
)

// digest returns a digest of a JSON value that is the same in whatever order its objects
// have their members: clients that ask again write them in another order.
func digest(value []byte) [sha256.Size]byte {
	switch kind := jsonscan.KindOf(value); kind {
	case jsonscan.Object:
		return digestObject(value)
	case jsonscan.Array:
		h := sha256.New()
		h.Write([]byte{'['})
		for e := jsonscan.ElementsOf(value); ; {
			v, ok := e.Next()
			if !ok {
				return [sha256.Size]byte(h.Sum(nil))
			}
			sum := digest(v)
			h.Write(sum[:])
		}
	case jsonscan.String:
		return sha256.Sum256(append([]byte{'"'}, jsonscan.Text(nil, value)...))
	}
	return sha256.Sum256(value)
}

func digestObject(value []byte) [sha256.Size]byte {
	var sums [][sha256.Size]byte
	for m := jsonscan.MembersOf(value); ; {
		quoted, v, ok := m.Next()
		if !ok {
			break
		}
		of := digest(v)
		sums = append(sums, sha256.Sum256(append(of[:], jsonscan.Text(nil, quoted)...)))
	}
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	h.Write([]byte{'{'})
	for _, sum := range sums {
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

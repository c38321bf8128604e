package document

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// manyNames is the number of members from which on names are compared by
// sorting when the object ends.
const manyNames = 32

// nameSet finds duplicate names in one object. For the few names of an ordinary
// object it compares fingerprints, and looks at those only when a filter of 64
// bits has no answer.
type nameSet struct {
	filter uint64
	names  []nameRef
}

// nameRef is a name and its fingerprint, which differs for most names that do.
type nameRef struct {
	print uint64
	text  []byte
}

// add reports whether text is new among the names so far, when they are few.
func (n *nameSet) add(text []byte) bool {
	r := nameRef{print: fingerprint(text), text: text}
	bit := uint64(1) << (r.print >> 58)
	if n.filter&bit != 0 && len(n.names) < manyNames {
		for i := range n.names {
			if n.names[i].print == r.print && bytes.Equal(n.names[i].text, text) {
				return false
			}
		}
	}
	n.filter |= bit
	n.names = append(n.names, r)
	return true
}

// duplicate finds a name that add has let through twice.
func (n *nameSet) duplicate() ([]byte, bool) {
	if len(n.names) <= manyNames {
		return nil, false
	}
	slices.SortFunc(n.names, func(a, b nameRef) int {
		if c := cmp.Compare(a.print, b.print); c != 0 {
			return c
		}
		return bytes.Compare(a.text, b.text)
	})
	for i := 1; i < len(n.names); i++ {
		if n.names[i].print == n.names[i-1].print && bytes.Equal(n.names[i].text, n.names[i-1].text) {
			return n.names[i].text, true
		}
	}
	return nil, false
}

// fingerprint mixes the length, the first and the last eight bytes of a name.
func fingerprint(text []byte) uint64 {
	const k = 0x9e3779b97f4a7c15
	n := len(text)
	if n >= 8 {
		h := binary.LittleEndian.Uint64(text) * k
		return (h>>29 ^ h ^ binary.LittleEndian.Uint64(text[n-8:]) + uint64(n)) * k
	}
	var w uint64
	for _, c := range text {
		w = w<<8 | uint64(c)
	}
	return (w + uint64(n)<<56) * k
}

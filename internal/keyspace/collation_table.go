package keyspace

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"io"
	"sync"
	"unicode/utf8"
)

// The data of ICU's root collation: see collation/README.md for its origin, its
// licence and how it is made anew. collation_read.go reads it.
//
//go:embed collation/root.bin
var rootData []byte

// root returns the table, which is read when it is first needed.
var root = sync.OnceValue(loadRoot)

// loadRoot takes ten milliseconds. The table has about a megabyte.
func loadRoot() *rootTable {
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(rootData)))
	if err != nil {
		panic("keyspace: the collation data are damaged: " + err.Error())
	}
	return decodeRootTable(plain)
}

// rootTable returns the weights of any text. A character without an entry of its
// own (unassigned, for private use) has a primary made of its number.
//
// Weights are numbered anew here: secondary ones from 1 in their order, tertiary
// ones in the order of those that occur with the same primary and secondary, as
// only they ever meet; primaries are codes of one to four bytes whose first byte
// says their length, so that codes in a row compare as the weights do.
type rootTable struct {
	version  string // of ICU
	ascii    [utf8.RuneSelf]byte
	implicit byte // the first byte of made primaries

	pages    [(utf8.MaxRune + 1) / pageSize]uint16
	entries  []entry // pages of pageSize in a row; the first one is empty
	elements []element

	nodes     []node
	steps     map[step]int32
	prefixed  map[[2]rune]entry
	combining []classes // from firstMark on
}

const pageSize = 256

// entry is what one character or one contraction comes to: nothing known (0),
// one element with the common secondary weight, several elements, or a node
// where contractions begin.
type entry uint32

const (
	entryImplicit = iota // no entry: a syllable of Hangul or a made primary
	entrySingle          // 24 bits of code, 6 of tertiary weight
	entryElements        // 22 bits of where, 8 of how many
	entryNode            // 30 bits of which
)

func singleEntry(code uint32, tertiary uint16) entry {
	return entry(entrySingle<<30 | code>>8<<6 | uint32(tertiary))
}

func elementsEntry(first, n int) entry { return entry(entryElements<<30 | first<<8 | n) }

func nodeEntry(n int32) entry { return entry(entryNode<<30 | uint32(n)) }

func (e entry) kind() int        { return int(e >> 30) }
func (e entry) code() uint32     { return uint32(e) >> 6 << 8 }
func (e entry) tertiary() uint16 { return uint16(e & 0x3f) }

// element is one collation element. A weight of 0 is none.
type element struct {
	primary             uint32 // left-aligned
	secondary, tertiary uint16
}

// node stands for the beginning of contractions. Its first character, or that
// with what followed, has the entry if it is whole.
type node struct {
	entry    entry
	whole    bool
	prefixed bool // the character before it may change the entry
}

// step leads from a node to the one for a character more.
type step struct {
	node int32
	r    rune
}

// classes are the canonical combining classes of the first and the last
// character of a decomposition.
type classes struct{ lead, trail uint8 }

func (t *rootTable) entryOf(r rune) entry {
	return t.entries[int(t.pages[r/pageSize])*pageSize+int(r%pageSize)]
}

func (t *rootTable) elementsOf(e entry) []element {
	first := int(e >> 8 & (1<<22 - 1))
	return t.elements[first : first+int(e&0xff)]
}

// implicitCode makes a primary in the order of characters' numbers.
func (t *rootTable) implicitCode(r rune) uint32 {
	n := uint32(r)
	return uint32(t.implicit)<<24 | trail(n/trails/trails)<<16 | trail(n/trails)<<8 | trail(n)
}

// trails is how many values a byte after the first has.
const trails = 0x100 - firstTrail

func trail(n uint32) uint32 { return firstTrail + n%trails }

// match returns the entry of the longest contraction that text[i] begins, or of
// text[i] alone, and where the text goes on.
func (t *rootTable) match(text []rune, i int) (e entry, next int) {
	e = t.entryOf(text[i])
	if e.kind() != entryNode {
		return e, i + 1
	}
	n := int32(e & (1<<30 - 1))
	if t.nodes[n].prefixed && i > 0 {
		if e, ok := t.prefixed[[2]rune{text[i-1], text[i]}]; ok {
			return e, i + 1
		}
	}
	whole, end := n, i+1
	for j := i + 1; j < len(text); j++ {
		var ok bool
		if n, ok = t.steps[step{n, text[j]}]; !ok {
			break
		}
		if t.nodes[n].whole {
			whole, end = n, j+1
		}
	}
	return t.matchApart(text, whole, end)
}

// maxMarks bounds how many marks match looks past. Text as people write it has
// a handful of marks in a row; text made to be slow has millions.
const maxMarks = 64

// matchApart lengthens a match that ends before text[end] by marks that do not
// follow at once, as the Unicode collation algorithm says (S2.1.1 to S2.1.3): a
// mark counts if the one passed over just before it has a lower class. The marks
// passed over move up, to be read afterwards.
func (t *rootTable) matchApart(text []rune, whole int32, end int) (entry, int) {
	if end == len(text) {
		return t.nodes[whole].entry, end
	}
	passed := t.classesOf(text[end])
	if passed.lead == 0 {
		return t.nodes[whole].entry, end
	}
	for j := end + 1; j < min(len(text), end+maxMarks); j++ {
		c := t.classesOf(text[j])
		if c.lead == 0 {
			break
		}
		if passed.trail < c.lead {
			if n, ok := t.steps[step{whole, text[j]}]; ok && t.nodes[n].whole {
				copy(text[end+1:j+1], text[end:j])
				whole = n
				end++
				continue
			}
		}
		passed = c
	}
	return t.nodes[whole].entry, end
}

// firstMark is the first character with a combining class.
const firstMark = 0x300

func (t *rootTable) classesOf(r rune) classes {
	if i := int(r) - firstMark; i >= 0 && i < len(t.combining) {
		return t.combining[i]
	}
	return classes{}
}

package keyspace

import "github.com/sectional/sectional/internal/packed"

// The data are columns, each its length in bytes and then numbers as uvarints:
// the version (bytes), primaries, characters, contractions, combining classes.
// Four more hold all elements, first those of the characters with an entry, in
// order, then those of the contractions: how many each has, and the three
// weights of each.

// tableReader reads data that the generator wrote and a test has read: what is
// wrong in them would be wrong in the program.
type tableReader struct{ packed.Reader }

func (r *tableReader) number() int {
	n := r.Uint()
	if r.Failed() {
		panic("keyspace: the collation data end too early")
	}
	return int(n)
}

func (r *tableReader) signed() int {
	n := r.number()
	return n>>1 ^ -(n & 1)
}

// column cuts off the next column.
func (r *tableReader) column() *tableReader { return &tableReader{packed.Read(r.Bytes())} }

func decodeRootTable(data []byte) *rootTable {
	r := &tableReader{packed.Read(data)}
	t := &rootTable{version: string(r.column().Rest())}
	primaries := r.column()
	e := &elementReader{table: t, afterPrimary: primaries.number(), codes: t.decodeCodes(primaries)}
	characters, contractions, combining := r.column(), r.column(), r.column()
	e.counts, e.primaries, e.secondaries, e.tertiaries = r.column(), r.column(), r.column(), r.column()

	t.nodes = make([]node, 0, 2048)
	t.steps = make(map[step]int32, 2048)
	t.decodeCharacters(characters, e)
	t.decodeContractions(contractions, e)
	t.decodeClasses(combining)
	for c := range t.ascii {
		if x := t.entryOf(rune(c)); x.kind() == entrySingle {
			t.ascii[c] = byte(x.code() >> 24)
		}
	}
	return t
}

// decodeCodes gives each primary its code: code 0 is none, the others follow in
// order, so many of so many bytes. First bytes ascend and are never shared by
// two lengths. A length of 4 stands for the made primaries.
func (t *rootTable) decodeCodes(r *tableReader) []uint32 {
	codes := []uint32{0}
	for lead := uint32(firstLead); len(r.Rest()) > 0; lead++ {
		length, count := r.number(), r.number()
		perLead := 1
		for range length - 1 {
			perLead *= trails
		}
		if length == 4 {
			t.implicit = byte(lead)
		}
		for i := range count {
			if i > 0 && i%perLead == 0 {
				lead++
			}
			code, n := lead<<24, uint32(i)
			switch length {
			case 2:
				code |= trail(n) << 16
			case 3:
				code |= trail(n/trails)<<16 | trail(n)<<8
			}
			codes = append(codes, code)
		}
		if lead > lastLead {
			panic("keyspace: the collation data have too many primaries")
		}
	}
	return codes
}

// elementReader reads the elements of one character or contraction after the
// other. Primaries are given as differences, and only where there is one: the
// secondary weights up to afterPrimary occur with a primary, those above never.
type elementReader struct {
	table                                      *rootTable
	afterPrimary                               int
	codes                                      []uint32
	counts, primaries, secondaries, tertiaries *tableReader
	last                                       int
}

func (e *elementReader) entry() entry {
	n := e.counts.number()
	if n == 1 {
		x := e.element()
		if x.secondary == secondaryCommon && x.primary&0xff == 0 {
			return singleEntry(x.primary, x.tertiary)
		}
		e.table.elements = append(e.table.elements, x)
	} else {
		for range n {
			e.table.elements = append(e.table.elements, e.element())
		}
	}
	return elementsEntry(len(e.table.elements)-n, n)
}

func (e *elementReader) element() element {
	x := element{secondary: uint16(e.secondaries.number()), tertiary: uint16(e.tertiaries.number())}
	if int(x.secondary) <= e.afterPrimary {
		e.last += e.primaries.signed()
		x.primary = e.codes[e.last]
	}
	return x
}

// decodeCharacters decodes how many characters have no entry, how many then have
// one, and so on.
func (t *rootTable) decodeCharacters(r *tableReader, e *elementReader) {
	t.entries = make([]entry, pageSize)
	for c := 0; len(r.Rest()) > 0; {
		c += r.number()
		for range r.number() {
			*t.slot(rune(c)) = e.entry()
			c++
		}
	}
}

// slot returns where a character's entry is, on a page of its own if need be.
func (t *rootTable) slot(c rune) *entry {
	page := &t.pages[c/pageSize]
	if *page == 0 {
		*page = uint16(len(t.entries) / pageSize)
		t.entries = append(t.entries, make([]entry, pageSize)...)
	}
	return &t.entries[int(*page)*pageSize+int(c%pageSize)]
}

// decodeContractions decodes texts of several characters. Those of length 0 are
// two characters, of which the first changes the second's entry.
func (t *rootTable) decodeContractions(r *tableReader, e *elementReader) {
	t.prefixed = map[[2]rune]entry{}
	for len(r.Rest()) > 0 {
		length := r.number()
		if length == 0 {
			before, c := rune(r.number()), rune(r.number())
			t.prefixed[[2]rune{before, c}] = e.entry()
			t.nodes[t.firstNode(c)].prefixed = true
			continue
		}
		n := t.firstNode(rune(r.number()))
		for range length - 1 {
			n = t.nextNode(n, rune(r.number()))
		}
		t.nodes[n].entry, t.nodes[n].whole = e.entry(), true
	}
}

func (t *rootTable) firstNode(c rune) int32 {
	slot := t.slot(c)
	if slot.kind() != entryNode {
		t.nodes = append(t.nodes, node{entry: *slot, whole: true})
		*slot = nodeEntry(int32(len(t.nodes) - 1))
	}
	return int32(*slot & (1<<30 - 1))
}

func (t *rootTable) nextNode(n int32, c rune) int32 {
	next, ok := t.steps[step{n, c}]
	if !ok {
		t.nodes = append(t.nodes, node{})
		next = int32(len(t.nodes) - 1)
		t.steps[step{n, c}] = next
	}
	return next
}

// decodeClasses decodes ranges of characters: how many have no combining class, how
// many then have one, and which. The count begins at firstMark.
func (t *rootTable) decodeClasses(r *tableReader) {
	for len(r.Rest()) > 0 {
		t.combining = append(t.combining, make([]classes, r.number())...)
		n, x := r.number(), classes{uint8(r.number()), uint8(r.number())}
		for range n {
			t.combining = append(t.combining, x)
		}
	}
}

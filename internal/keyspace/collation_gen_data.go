//go:build ignore

package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"log"
	"slices"
	"strings"
	"unicode/utf8"
)

// column is one of the columns of the data.
type column struct{ bytes.Buffer }

func (c *column) number(n int) { c.Write(binary.AppendUvarint(nil, uint64(n))) }

// data lays the table out as collation_read.go says.
func (t *tables) data() []byte {
	var version, counts, primaries, secondaries, tertiaries column
	version.WriteString(t.icu.version())
	last := 0
	entry := func(s string) {
		counts.number(len(t.elements[s]))
		for _, e := range t.elements[s] {
			if e.primary != 0 {
				n := t.primaries[e.primary] - last
				last += n
				primaries.number(n<<1 ^ n>>63)
			}
			secondaries.number(t.secondaries[e.secondary])
			tertiaries.number(t.tertiary(e))
		}
	}
	for _, c := range t.own {
		entry(string(c))
	}
	contractions := t.contractionColumn(entry)
	var all column
	for _, c := range []*column{&version, t.codeColumn(), t.characterColumn(), contractions, t.classColumn(), &counts, &primaries, &secondaries, &tertiaries} {
		all.number(c.Len())
		all.Write(c.Bytes())
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err == nil {
		_, err = w.Write(all.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d characters, %d contractions, %d primaries, %d secondaries, %d bytes, packed %d",
		version.String(), len(t.own), len(t.contractions), len(t.primaries), len(t.secondaries), all.Len(), out.Len())
	return out.Bytes()
}

// codeColumn reports how many primaries in a row have codes of what length: one
// byte for ASCII, two for most, three for the rare ones.
func (t *tables) codeColumn() *column {
	single := map[uint32]bool{}
	for c := range rune(utf8.RuneSelf) {
		for _, e := range t.elements[string(c)] {
			single[e.primary] = true
		}
	}
	var c column
	c.number(t.afterPrimary)
	length, count := 0, 0
	flush := func(next int) {
		if count > 0 {
			c.number(length)
			c.number(count)
		}
		length, count = next, 0
	}
	implicit := false
	for _, p := range sorted(t.primaries) {
		if p > t.implicit && !implicit {
			implicit = true
			flush(0)
			c.number(4)
			c.number(0)
		}
		want := 2
		if single[p] {
			want = 1
		} else if p >= firstRare {
			want = 3
		}
		if want != length {
			flush(want)
		}
		count++
	}
	flush(0)
	return &c
}

func (t *tables) characterColumn() *column {
	var c column
	next := rune(0)
	for i := 0; i < len(t.own); {
		j := i + 1
		for j < len(t.own) && t.own[j] == t.own[j-1]+1 {
			j++
		}
		c.number(int(t.own[i] - next))
		c.number(j - i)
		next = t.own[j-1] + 1
		i = j
	}
	return &c
}

func (t *tables) contractionColumn(entry func(string)) *column {
	var c column
	slices.SortFunc(t.contractions, strings.Compare)
	for _, s := range t.contractions {
		c.number(utf8.RuneCountInString(s))
		for _, r := range s {
			c.number(int(r))
		}
		entry(s)
	}
	for _, s := range t.prefixed {
		c.number(0)
		for _, r := range s {
			c.number(int(r))
		}
		entry(s)
	}
	return &c
}

// classColumn reports how many characters from firstMark on have no class, how many then have one
// and which. One that only ends with a mark counts as none.
func (t *tables) classColumn() *column {
	var c column
	const firstMark = 0x300
	next := rune(firstMark)
	for r := rune(0); r <= utf8.MaxRune; {
		x := t.icu.classes(r)
		n := rune(1)
		for t.icu.classes(r+n) == x && r+n <= utf8.MaxRune {
			n++
		}
		if x[0] != 0 {
			if r < firstMark {
				log.Fatalf("%x has a combining class", r)
			}
			c.number(int(r - next))
			c.number(int(n))
			c.number(x[0])
			c.number(x[1])
			next = r + n
		}
		r += n
	}
	return &c
}

//go:build ignore

// Command collation_gen makes the collation's data, and the strings in ICU's
// order that the tests hold it against, from the ICU that it is linked with:
//
//	go run collation_gen*.go
//
// It writes collation/root.bin and testdata/collation_icu.gz in the working
// directory. Data of another ICU version raise CollationVersion.
package main

import (
	"flag"
	"log"
	"os"
	"slices"
	"unicode/utf8"
)

func main() {
	table := flag.String("table", "collation/root.bin", "where the table goes")
	order := flag.String("order", "testdata/collation_icu.gz", "where the strings go")
	mixtures := flag.Int("mixtures", 6000, "how many of the strings are random mixtures")
	seed := flag.Uint64("seed", 1, "where the random numbers begin")
	flag.Parse()
	u := openICU()
	t := readTable(u)
	if *table != "" {
		write(*table, t.data())
	}
	writeOrder(u, t, *order, *mixtures, *seed)
}

func write(name string, data []byte) {
	if err := os.WriteFile(name, data, 0o666); err != nil {
		log.Fatal(err)
	}
}

// The weights that the runtime names.
const (
	commonWeight = 0x0500
	numberLow    = 1
	numberCommon = 2
	numberUpper  = 7
)

// Primaries from here on are rare and get three bytes, so that the others
// have room in two.
const firstRare = 0x7f000000

// tables is what ICU says, before it is numbered.
type tables struct {
	icu          *icu
	own          []rune // the characters with an entry
	implicit     uint32 // the first of the made primaries
	elements     map[string][]weights
	contractions []string
	prefixed     []string // pairs

	primaries    map[uint32]int // numbers in their order
	secondaries  map[uint16]int
	afterPrimary int // the number of the last secondary weight that occurs with a primary
	tertiaries   map[group]map[uint16]int
}

// group is what elements have in common that meet at the tertiary level: where
// all primaries are equal and all secondaries, tertiaries are compared only
// between elements with the same ones.
type group struct {
	primary   uint32
	secondary uint16
}

func readTable(u *icu) *tables {
	t := &tables{icu: u, elements: map[string][]weights{}}
	last := uint32(0)
	for c := rune(0); c <= utf8.MaxRune; c++ {
		e := []weights(nil)
		switch {
		case 0xd800 <= c && c <= 0xdfff:
			continue
		case 0xac00 <= c && c <= 0xd7a3:
			t.checkSyllable(c)
			continue
		}
		e = u.elements(c)
		if len(e) == 1 && e[0].primary>>24 == 0xfe {
			if e[0].primary <= last || e[0].secondary != commonWeight || e[0].tertiary != commonWeight {
				log.Fatalf("the primary of %x is not made of its number", c)
			}
			last = e[0].primary
			if t.implicit == 0 {
				t.implicit = last
			}
			continue
		}
		t.own = append(t.own, c)
		t.elements[string(c)] = e
	}
	t.readContractions()
	t.number()
	return t
}

func (t *tables) checkSyllable(c rune) {
	n := c - 0xac00
	letters := []rune{0x1100 + n/588, 0x1161 + n/28%21}
	if n%28 > 0 {
		letters = append(letters, 0x11a7+n%28)
	}
	var e []weights
	for _, l := range letters {
		e = append(e, t.icu.elements(l)...)
	}
	if !slices.Equal(e, t.icu.elements(c)) {
		log.Fatalf("the elements of %x are not those of its letters", c)
	}
}

func (t *tables) readContractions() {
	t.contractions = t.icu.contractions(false)
	for _, s := range t.contractions {
		t.elements[s] = t.icu.elements([]rune(s)...)
		if s[0] < utf8.RuneSelf {
			log.Fatalf("a contraction begins with %q", s[0])
		}
	}
	for _, s := range t.icu.contractions(true) {
		if slices.Contains(t.contractions, s) {
			continue
		}
		pair := []rune(s)
		before := t.elements[string(pair[0])]
		e := t.icu.elements(pair...)
		if len(pair) != 2 || !slices.Equal(e[:len(before)], before) {
			log.Fatalf("%x is not a pair", pair)
		}
		t.prefixed = append(t.prefixed, s)
		t.elements[s] = e[len(before):]
	}
}

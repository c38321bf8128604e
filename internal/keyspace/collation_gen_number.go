//go:build ignore

package main

import (
	"log"
	"slices"
	"unicode"
	"unicode/utf8"
)

// number returns all weights their places, and stops where they are not as the
// runtime takes for granted.
func (t *tables) number() {
	t.primaries, t.secondaries = map[uint32]int{}, map[uint16]int{}
	highest, lowest := uint16(0), uint16(0xffff) // with a primary, without
	for s, all := range t.elements {
		for _, e := range all {
			if e.secondary < commonWeight || e.tertiary == 0 || e.primary == 0 && e.secondary == commonWeight {
				log.Fatalf("an element of %x lacks a level: %x", s, e)
			}
			if e.primary == 0 {
				lowest = min(lowest, e.secondary)
			} else {
				t.primaries[e.primary] = 0
				highest = max(highest, e.secondary)
			}
			t.secondaries[e.secondary] = 0
		}
	}
	if highest >= lowest {
		log.Fatal("one secondary weight stands with primaries and without")
	}
	enumerate(t.primaries)
	enumerate(t.secondaries)
	t.afterPrimary = t.secondaries[highest]
	t.numberTertiaries()
	if t.secondaries[commonWeight] != 1 || t.primaries[0] != 0 {
		log.Fatal("the weights that the runtime names have other numbers")
	}
	t.checkASCII()
}

// numberTertiaries numbers them group by group. The weight of the upper-case
// form, or of the katakana beside a hiragana, or whatever comes first in a group
// without, has the number that costs least.
func (t *tables) numberTertiaries() {
	t.tertiaries = map[group]map[uint16]int{}
	base, upper := map[group]rune{}, map[group]rune{}
	for _, all := range t.elements {
		for _, e := range all {
			g := group{e.primary, e.secondary}
			if t.tertiaries[g] == nil {
				t.tertiaries[g] = map[uint16]int{}
			}
			t.tertiaries[g][e.tertiary] = 0
		}
	}
	single := func(c rune) (weights, group, bool) {
		e := t.elements[string(c)]
		if len(e) != 1 {
			return weights{}, group{}, false
		}
		return e[0], group{e[0].primary, e[0].secondary}, true
	}
	for _, c := range t.own {
		if e, g, ok := single(c); ok && e.tertiary == commonWeight && base[g] == 0 {
			base[g] = c
		}
	}
	for _, c := range t.own {
		e, g, ok := single(c)
		if ok && e.tertiary > commonWeight && (unicode.ToLower(c) == base[g] || c-0x60 == base[g]) && upper[g] == 0 {
			upper[g] = c
		}
	}
	most := 0
	for g, numbers := range t.tertiaries {
		first := commonWeight + 1
		if c, ok := upper[g]; ok {
			first = int(t.elements[string(c)][0].tertiary)
		}
		most = max(most, numberGroup(numbers, first))
	}
	log.Printf("at most %d tertiary weights between the common one and upper case", most)
}

// numberGroup numbers the tertiary weights of a group, such that upper is the
// first one from numberUpper on, and reports how many are between the common one
// and that.
func numberGroup(numbers map[uint16]int, upper int) int {
	var below, above []uint16
	for w := range numbers {
		switch {
		case w == commonWeight:
			numbers[w] = numberCommon
		case w < commonWeight && numbers[w] == 0:
			numbers[w] = numberLow
		case int(w) < upper:
			below = append(below, w)
		default:
			above = append(above, w)
		}
	}
	slices.Sort(below)
	slices.Sort(above)
	for i, w := range below {
		numbers[w] = numberUpper - len(below) + i
	}
	for i, w := range above {
		numbers[w] = numberUpper + i
	}
	return len(below)
}

func (t *tables) tertiary(e weights) int {
	return t.tertiaries[group{e.primary, e.secondary}][e.tertiary]
}

func (t *tables) checkASCII() {
	for c := range rune(utf8.RuneSelf) {
		want := numberCommon
		if 'A' <= c && c <= 'Z' {
			want = numberUpper
		}
		if e := t.elements[string(c)]; len(e) > 1 || len(e) == 1 && (e[0].secondary != commonWeight || t.tertiary(e[0]) != want) {
			log.Fatalf("%q has more than a primary: %x", c, e)
		}
	}
}

func enumerate[W uint16 | uint32](numbers map[W]int) {
	for i, w := range sorted(numbers) {
		numbers[w] = i + 1
	}
}

func sorted[W uint16 | uint32](numbers map[W]int) (all []W) {
	for w := range numbers {
		all = append(all, w)
	}
	slices.Sort(all)
	return all
}

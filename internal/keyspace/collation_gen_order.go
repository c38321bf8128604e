//go:build ignore

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// writeOrder writes strings of all kinds in ICU's order, a line each: "=" if it
// is equal to the one before and "<" if not, the length of ICU's own sort key,
// and the string as JSON.
func writeOrder(u *icu, t *tables, name string, mixtures int, seed uint64) {
	m := &mixer{Rand: rand.New(rand.NewPCG(seed, seed)), icu: u, tables: t}
	m.prepare()
	all := m.fixed()
	for range mixtures {
		all = append(all, m.mixture())
	}
	slices.Sort(all)
	all = slices.Compact(all)
	all = slices.DeleteFunc(all, func(s string) bool { return s == "\uffff" }) // CouchDB's exception
	slices.SortStableFunc(all, u.compare)

	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	w := bufio.NewWriter(z)
	for i, s := range all {
		relation := "<"
		if i > 0 && u.compare(all[i-1], s) == 0 {
			relation = "="
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintf(w, "%s %d %s\n", relation, u.keyLength(s), quoted)
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	write(name, packed.Bytes())
	log.Printf("%d strings, packed %d bytes", len(all), packed.Len())
}

// mixer makes strings.
type mixer struct {
	*rand.Rand
	icu     *icu
	tables  *tables
	pools   [][]rune
	words   []string
	classed []rune
}

// prepare sorts characters into pools, from which mixtures draw.
func (m *mixer) prepare() {
	var part []rune // of contractions
	for _, s := range append(slices.Clone(m.tables.contractions), m.tables.prefixed...) {
		if r, _ := utf8.DecodeRuneInString(s); r != 0xfdd1 {
			part = append(part, []rune(s)...)
		}
	}
	var several, ignored []rune
	for _, c := range m.tables.own {
		switch n := len(m.tables.elements[string(c)]); {
		case n == 0:
			ignored = append(ignored, c)
		case n > 1:
			several = append(several, c)
		}
		if m.icu.classes(c) != [2]int{} {
			m.classed = append(m.classed, c)
		}
	}
	ascii := []rune("aAbBcCeEiIlLnNoOsSuUzZ0129 -_.,#'\"/\t\n\x00\x7f")
	m.pools = [][]rune{
		ascii, ascii, part, part, m.classed, several, ignored, m.tables.own,
		{0x300, 0x301, 0x307, 0x308, 0x323, 0x327, 0x328, 0x31b, 0x344, 0x345, 0x1d165, 0x1e94a},
		[]rune("éèêëåäöüñçßæøœÅÉÖłŁıİſǅŉΐάώΩЙйЁё"),
		[]rune("ąćęłńóśźżАБВгдежİğّءآأؤإئابتΑαβγσς"),
		{0xf71, 0xf72, 0xf74, 0xf80, 0xfb2, 0xfb3, 0xf73, 0xf75, 0xf76, 0xf81, 0xf39, 0x334},
		[]rune("かがきぎっつづゃやカガキギッツヅャヤーｶﾞﾊﾟゝゞ々〆"), {0x3099, 0x309a, 0x30fc, 0xff9e, 0xff9f, 0x1b150, 0x1b167},
		{0x1100, 0x1102, 0x1112, 0x1161, 0x1175, 0x11a8, 0x11c2, 0xac00, 0xac01, 0xd7a3, 0xb098, 0x115f, 0x1160, 0xa960, 0xd7b0, 0xd7cb, 0x3131, 0x314f},
		{0x4e00, 0x4e01, 0x4e8c, 0x9fff, 0x3400, 0x4dbf, 0x20000, 0x2a6df, 0x2a700, 0x2b740, 0x2b820, 0x2ceb0, 0x2ebf0, 0x30000, 0x31350, 0xf900, 0xfa0e, 0x2f800, 0x2e80, 0x2f00, 0x2ffc, 0x3007},
		{0x1f600, 0x1f44d, 0x1f3fb, 0x1f3ff, 0x200d, 0xfe0f, 0xfe0e, 0x2764, 0x1f1e6, 0x1f1ff, 0x1f468, 0x1f469, 0x20e3, 0xe0067, 0xe007f},
		{0xe000, 0xf8ff, 0xf0000, 0x10ffff, 0x378, 0x3fffe, 0xfdd0, 0xfdd1, 0xfffe, 0xffff, 0xfffd, 0x2fe0, 0x7ffff, 0xe0fff},
		[]rune("กขคงเแโใไาะำ์ກຂເແໂໃໄຳ"), {0xaab5, 0xaab6, 0xaa80, 0xaa81, 0x19b5, 0x1980, 0x9c7, 0x9be, 0x9d7, 0xdd9, 0xdcf, 0xdca, 0x1025, 0x102e, 0x1b05, 0x1b35},
	}
	m.words = strings.Fields(`a A aa Aa AA ab resume résumé Resume RÉSUMÉ cote côte coté côté zebra Zürich ZÜRICH zurich l·l L·L l‧l ŀl co-op coop CO-OP co_op
		straße strasse STRASSE ﬁn fin Ångström angstrom 10 2 1.5 ½ ² ① order-123 user@example.com 2018-12-11T10:00:00Z Привет привет ёлка елка Ωμέγα ωμεγα
		שלום שָׁלוֹם مرحبا مُحَمَّد हिन्दी ক্ষ தமிழ் ไทย เกม ລາວ བོད་ མြန်မာ ភាសា 日本語 にほんご ニホンゴ ﾆﾎﾝｺﾞ 한국어 한국어 中文 漢字 汉字 👍🏽 👨‍👩‍👧 🇩🇪 € $ £ ₿ © ™ … — – “q” «q» ' " # % & ~`)
}

// fixed lists what is never left out: contractions, all characters of ASCII and
// Latin, some of every other block, words in several forms.
func (m *mixer) fixed() (all []string) {
	all = append(all, "")
	all = append(all, m.tables.contractions...)
	all = append(all, m.tables.prefixed...)
	for c := rune(0); c <= utf8.MaxRune; c++ {
		step := rune(1 << 14)
		switch {
		case c < 0x600:
			step = 1
		case 0xd800 <= c && c <= 0xdfff:
			continue
		case 0x4e00 <= c && c < 0xa000, 0xac00 <= c && c < 0xd7a4, c > 0x20000:
			step = 61
		case m.icu.assigned(c):
			step = 5
		}
		if c > 0x33480 && c < 0xe0000 {
			step = 1 << 14
		}
		if c%step == 0 && (m.icu.assigned(c) || step != 61 || c%(61*8) == 0) {
			all = append(all, string(c))
		}
	}
	for _, a := range m.words {
		all = append(all, a, strings.ToUpper(a), strings.ToLower(a), strings.ToTitle(a), a+" "+a, a+"\u0301", "\u0308"+a, a+"\u0323\u0301", a+"\u0301\u0323", a+"\x01", a+"\u200b"+a)
	}
	return all
}

// mixture makes a string of characters of one to three pools, of words, or a
// variant with a character more, less or other.
func (m *mixer) mixture() string {
	if m.IntN(8) == 0 {
		return m.varied(m.words[m.IntN(len(m.words))] + m.words[m.IntN(len(m.words))])
	}
	pools := [][]rune{m.pools[m.IntN(len(m.pools))], m.pools[m.IntN(len(m.pools))], m.pools[m.IntN(len(m.pools))]}
	var s []rune
	for range 1 + m.IntN(7) {
		pool := pools[m.IntN(len(pools))]
		s = append(s, pool[m.IntN(len(pool))])
	}
	return m.varied(string(s))
}

func (m *mixer) varied(s string) string {
	r := []rune(s)
	i := m.IntN(len(r))
	switch m.IntN(6) {
	case 0:
		return strings.Repeat(s, 1+m.IntN(3))
	case 1:
		r = slices.Insert(r, i, m.classed[m.IntN(len(m.classed))])
	case 2:
		r = slices.Delete(r, i, i+1)
	case 3:
		return strings.ToUpper(s)
	case 4:
		return s + strings.Repeat("x", m.IntN(300)) + string(r[:i])
	}
	return string(r)
}

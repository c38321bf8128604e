package deflate

import "encoding/binary"

const (
	literals   = 256
	endOfBlock = 256
	// blockSymbols is after how many symbols a block ends.
	blockSymbols = 1<<14 - 1
)

// Forms of a block.
const (
	formStored = 0
	formFixed  = 1
	formOwn    = 2
)

// Repetitions in the list of code lengths.
const (
	repeatLast  = 16 // 3 to 6 times
	repeatZero  = 17 // 3 to 10 times
	repeatZeros = 18 // 11 to 138 times
)

// lengthOrder is the order in which the lengths of the lengths' codes are written.
var lengthOrder = [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// tables are what follows from the format alone.
type tables struct {
	symbols, distances, lengths kind
	fixedCodes, fixedDistances  []uint16
	lengthCode                  [256]uint8 // of length-3
	lengthBase                  [29]int
	distanceCode                [512]uint8 // of distance-1, or of 256 + (distance-1)/128
	distanceBase                [30]int
}

func newTables() *tables {
	t := &tables{
		symbols: kind{base: literals + 1, size: 286, max: maxBits,
			extra: []uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}},
		distances: kind{size: 30, max: maxBits,
			extra: []uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}},
		lengths: kind{size: 19, max: 7, extra: []uint8{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 7}},
	}
	t.fix()
	t.numberLengths()
	t.numberDistances()
	return t
}

// fix makes the fixed codes.
func (t *tables) fix() {
	fixed := make([]uint8, 288)
	for i := range fixed {
		switch {
		case i < 144:
			fixed[i] = 8
		case i < 256:
			fixed[i] = 9
		case i < 280:
			fixed[i] = 7
		default:
			fixed[i] = 8
		}
	}
	five := make([]uint8, 30)
	for i := range five {
		five[i] = 5
	}
	t.symbols.fixed, t.distances.fixed = fixed, five
	t.fixedCodes, t.fixedDistances = make([]uint16, len(fixed)), make([]uint16, len(five))
	canonical(fixed, t.fixedCodes)
	canonical(five, t.fixedDistances)
}

func (t *tables) numberLengths() {
	n := 0
	for code := range 28 {
		t.lengthBase[code] = n
		for range 1 << t.symbols.extra[code] {
			t.lengthCode[n&0xff] = uint8(code)
			n++
		}
	}
	t.lengthCode[255] = 28 // the longest match has a code of its own
}

func (t *tables) numberDistances() {
	n := 0
	for code := range 30 {
		t.distanceBase[code] = n
		for end := n + 1<<t.distances.extra[code]; n < end; n++ {
			if n < 256 {
				t.distanceCode[n] = uint8(code)
			} else {
				t.distanceCode[256+n>>7] = uint8(code)
			}
		}
	}
}

func (t *tables) codeOf(distance int) int {
	if distance < 256 {
		return int(t.distanceCode[distance])
	}
	return int(t.distanceCode[256+distance>>7])
}

// blocks gathers the symbols of a block and writes blocks.
type blocks struct {
	*tables
	out   []byte
	bits  uint64 // that have not gone out
	count uint

	symbol    [blockSymbols]symbol
	n         int
	codes     tree
	distance  tree
	codeSizes tree
}

// symbol is a literal, or the length of a match less three, and its distance less
// one; a literal has the distance -1.
type symbol struct {
	distance int16
	value    uint8
}

func (b *blocks) init() {
	b.tables = newTables()
	b.codes, b.distance, b.codeSizes = newTree(&b.symbols), newTree(&b.distances), newTree(&b.tables.lengths)
	b.reset()
}

func (b *blocks) reset() {
	clear(b.codes.freq)
	clear(b.distance.freq)
	clear(b.codeSizes.freq)
	b.codes.freq[endOfBlock] = 1
	b.n = 0
}

// literal takes a byte; full: the block ends after it.
func (b *blocks) literal(c byte) (full bool) {
	b.symbol[b.n] = symbol{-1, c}
	b.n++
	b.codes.freq[c]++
	return b.n == blockSymbols
}

// match takes a repetition; full: the block ends after it.
func (b *blocks) match(distance, length int) (full bool) {
	b.symbol[b.n] = symbol{int16(distance - 1), uint8(length - minMatch)}
	b.n++
	b.codes.freq[literals+1+int(b.lengthCode[length-minMatch])]++
	b.distance.freq[b.codeOf(distance-1)]++
	return b.n == blockSymbols
}

// flush writes the block in the form that takes the least; raw is what it stands
// for, if that is still there to be stored.
func (b *blocks) flush(raw []byte, stored, last bool) {
	var s sizes
	b.codes.build(&s)
	b.distance.build(&s)
	used := b.buildSizes(&s)
	own, fixed := (s.own+3+7)>>3, (s.fixed+3+7)>>3
	least := min(own, fixed)
	final := uint64(0)
	if last {
		final = 1
	}
	switch {
	case stored && len(raw)+4 <= least:
		b.put(formStored<<1|final, 3)
		b.store(raw)
	case fixed == least:
		b.put(formFixed<<1|final, 3)
		b.write(b.fixedCodes, b.symbols.fixed, b.fixedDistances, b.distances.fixed)
	default:
		b.put(formOwn<<1|final, 3)
		b.putSizes(used)
		b.write(b.codes.code, b.codes.length, b.distance.code, b.distance.length)
	}
	b.reset()
	if last {
		b.align()
	}
}

// buildSizes makes the code in which the lengths of the codes are written, and
// returns how many of its own lengths have to be written.
func (b *blocks) buildSizes(s *sizes) (used int) {
	count := func(symbol, _, _ int) { b.codeSizes.freq[symbol]++ }
	b.codes.runs(count)
	b.distance.runs(count)
	b.codeSizes.build(s)
	for used = 18; used >= 3 && b.codeSizes.length[lengthOrder[used]] == 0; used-- {
	}
	s.own += 3*(used+1) + 5 + 5 + 4
	return used + 1
}

// runs calls to for each symbol of the list of the tree's code lengths, in which
// repetitions are shortened; extra and bits are what comes after it.
func (t *tree) runs(to func(symbol, extra, bits int)) {
	last := -1
	for i := 0; i <= t.max; {
		size, n := int(t.length[i]), 1
		most := 6
		switch {
		case size == 0:
			most = 138
		case size != last:
			most = 7
		}
		for i+n <= t.max && n < most && int(t.length[i+n]) == size {
			n++
		}
		i += n
		switch {
		case size == 0 && n >= 11:
			to(repeatZeros, n-11, 7)
		case size == 0 && n >= 3:
			to(repeatZero, n-3, 3)
		case size != 0 && size != last && n >= 4:
			to(size, 0, 0)
			to(repeatLast, n-4, 2)
		case size != 0 && size == last && n >= 3:
			to(repeatLast, n-3, 2)
		default:
			for range n {
				to(size, 0, 0)
			}
		}
		last = size
	}
}

// putSizes writes the lengths of the codes.
func (b *blocks) putSizes(used int) {
	b.put(uint64(b.codes.max+1-257), 5)
	b.put(uint64(b.distance.max+1-1), 5)
	b.put(uint64(used-4), 4)
	for _, i := range lengthOrder[:used] {
		b.put(uint64(b.codeSizes.length[i]), 3)
	}
	put := func(symbol, extra, bits int) {
		b.put(uint64(b.codeSizes.code[symbol]), uint(b.codeSizes.length[symbol]))
		b.put(uint64(extra), uint(bits))
	}
	b.codes.runs(put)
	b.distance.runs(put)
}

// write writes the symbols in a code.
func (b *blocks) write(codes []uint16, sizes []uint8, distances []uint16, distanceSizes []uint8) {
	for _, s := range b.symbol[:b.n] {
		if s.distance < 0 {
			b.put(uint64(codes[s.value]), uint(sizes[s.value]))
			continue
		}
		code := int(b.lengthCode[s.value])
		b.put(uint64(codes[literals+1+code]), uint(sizes[literals+1+code]))
		if extra := b.symbols.extra[code]; extra > 0 {
			b.put(uint64(int(s.value)-b.lengthBase[code]), uint(extra))
		}
		distance := int(s.distance)
		code = b.codeOf(distance)
		b.put(uint64(distances[code]), uint(distanceSizes[code]))
		b.put(uint64(distance-b.distanceBase[code]), uint(b.distances.extra[code]))
	}
	b.put(uint64(codes[endOfBlock]), uint(sizes[endOfBlock]))
}

// store writes bytes as they are.
func (b *blocks) store(raw []byte) {
	b.align()
	b.out = binary.LittleEndian.AppendUint16(b.out, uint16(len(raw)))
	b.out = binary.LittleEndian.AppendUint16(b.out, ^uint16(len(raw)))
	b.out = append(b.out, raw...)
}

// put writes bits, the lowest first.
func (b *blocks) put(value uint64, n uint) {
	b.bits |= value << b.count
	b.count += n
	if b.count >= 48 {
		b.out = binary.LittleEndian.AppendUint64(b.out, b.bits)[:len(b.out)+6]
		b.bits >>= 48
		b.count -= 48
	}
}

// align fills the last byte up.
func (b *blocks) align() {
	for ; b.count > 0; b.count -= min(b.count, 8) {
		b.out = append(b.out, byte(b.bits))
		b.bits >>= 8
	}
}

package deflate

import "math/bits"

// maxBits is the longest code.
const maxBits = 15

// kind is one of the three alphabets.
type kind struct {
	extra []uint8 // bits after a code, from base on
	base  int
	size  int     // of the alphabet
	max   int     // bits of a code
	fixed []uint8 // the lengths of the fixed codes; nil for none
}

// tree is an alphabet's code in a block.
type tree struct {
	*kind
	freq   []uint32
	length []uint8
	code   []uint16
	parent []uint16
	depth  []uint8
	heap   []uint16
	max    int // the last symbol with a code
}

func newTree(k *kind) tree {
	nodes := 2*k.size + 1
	return tree{kind: k, freq: make([]uint32, nodes), length: make([]uint8, nodes), code: make([]uint16, nodes),
		parent: make([]uint16, nodes), depth: make([]uint8, nodes), heap: make([]uint16, nodes+1)}
}

// sizes are the bits that a block takes with codes of its own and with the fixed ones.
type sizes struct{ own, fixed int }

// build makes a code out of the frequencies, and adds what it takes to s. The
// order in which symbols of equal frequency are joined is zlib's.
func (t *tree) build(s *sizes) {
	n := 0
	t.max = -1
	for i := range t.size {
		t.length[i] = 0
		if t.freq[i] != 0 {
			n++
			t.heap[n], t.depth[i], t.max = uint16(i), 0, i
		}
	}
	for n < 2 { // a code has two symbols at least
		node := 0
		if t.max < 2 {
			t.max++
			node = t.max
		}
		n++
		t.heap[n], t.freq[node], t.depth[node] = uint16(node), 1, 0
		s.own--
		if t.fixed != nil {
			s.fixed -= int(t.fixed[node])
		}
	}
	for i := n / 2; i >= 1; i-- {
		t.sink(i, n)
	}
	t.lengths(t.join(n), s)
	t.codes()
}

// join makes a tree out of the heap of n nodes, and returns its nodes, the root
// first, in order of falling frequency.
func (t *tree) join(n int) (sorted []uint16) {
	top := len(t.heap)
	for node := t.size; n >= 2; node++ {
		a := t.heap[1]
		t.heap[1] = t.heap[n]
		n--
		t.sink(1, n)
		b := t.heap[1]
		t.heap[top-1], t.heap[top-2] = a, b
		top -= 2
		t.freq[node] = t.freq[a] + t.freq[b]
		t.depth[node] = max(t.depth[a], t.depth[b]) + 1
		t.parent[a], t.parent[b] = uint16(node), uint16(node)
		t.heap[1] = uint16(node)
		t.sink(1, n)
	}
	t.heap[top-1] = t.heap[1]
	return t.heap[top-1:]
}

// sink puts node k of a heap of n where it belongs.
func (t *tree) sink(k, n int) {
	v := t.heap[k]
	for j := 2 * k; j <= n; j *= 2 {
		if j < n && t.less(t.heap[j+1], t.heap[j]) {
			j++
		}
		if t.less(v, t.heap[j]) {
			break
		}
		t.heap[k] = t.heap[j]
		k = j
	}
	t.heap[k] = v
}

func (t *tree) less(a, b uint16) bool {
	return t.freq[a] < t.freq[b] || t.freq[a] == t.freq[b] && t.depth[a] <= t.depth[b]
}

// lengths gives each symbol the length of its code, no longer than most.
func (t *tree) lengths(sorted []uint16, s *sizes) {
	var count [maxBits + 2]int
	tooLong := 0
	t.length[sorted[0]] = 0
	for _, n := range sorted[1:] {
		size := int(t.length[t.parent[n]]) + 1
		if size > t.max {
			size = t.max
			tooLong++
		}
		t.length[n] = uint8(size)
		if int(n) > t.max || int(n) >= t.size {
			continue
		}
		count[size]++
		extra := t.extraOf(int(n))
		s.own += int(t.freq[n]) * (size + extra)
		if t.fixed != nil {
			s.fixed += int(t.freq[n]) * (int(t.fixed[n]) + extra)
		}
	}
	if tooLong > 0 {
		t.shorten(sorted, &count, tooLong, s)
	}
}

// shorten makes room for codes that would be too long: others get longer.
func (t *tree) shorten(sorted []uint16, count *[maxBits + 2]int, tooLong int, s *sizes) {
	for ; tooLong > 0; tooLong -= 2 {
		size := t.max - 1
		for count[size] == 0 {
			size--
		}
		count[size]--
		count[size+1] += 2
		count[t.max]--
	}
	h := len(sorted)
	for size := t.max; size > 0; size-- {
		for n := count[size]; n > 0; {
			h--
			m := sorted[h]
			if int(m) > t.max {
				continue
			}
			s.own += (size - int(t.length[m])) * int(t.freq[m])
			t.length[m] = uint8(size)
			n--
		}
	}
}

func (t *tree) extraOf(n int) int {
	if n < t.base {
		return 0
	}
	return int(t.extra[n-t.base])
}

// codes numbers the codes of each length in the order of the symbols.
func (t *tree) codes() { canonical(t.length[:t.max+1], t.code) }

// canonical gives each symbol its code, with the first bit last.
func canonical(lengths []uint8, codes []uint16) {
	var count, next [maxBits + 2]uint16
	for _, n := range lengths {
		count[n]++
	}
	count[0] = 0
	for n := 1; n <= maxBits; n++ {
		next[n] = (next[n-1] + count[n-1]) << 1
	}
	for i, n := range lengths {
		if n > 0 {
			codes[i] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
}

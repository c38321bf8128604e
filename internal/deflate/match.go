package deflate

// Sizes of the window and of matches.
const (
	minMatch = 3
	maxMatch = 258
	// windowSize is how far back a match may lie, less lookaheadMin.
	windowSize   = 1 << 15
	windowMask   = windowSize - 1
	lookaheadMin = maxMatch + minMatch + 1
	maxDistance  = windowSize - lookaheadMin
	// tooFar is the distance beyond which a match of three bytes costs more than
	// the bytes.
	tooFar   = 4096
	hashBits = 15
)

// What zlib's level 8 says: how long a match has to be for the search of a longer
// one to be shortened, left out, or ended, and how many candidates are looked at.
const (
	goodLength = 32
	lazyLength = 128
	niceLength = 258
	chain      = 1024
)

// A text can be made so that nearly every candidate is looked at: a thousand for
// each byte. Ordinary texts take a few dozen. A stream that has taken more than
// stepsFree and stepsPerByte goes on with a short chain: it is compressed a little
// less, and its digest is not zlib's.
const (
	stepsFree    = 64 << 20
	stepsPerByte = 128
	shortChain   = 32
)

// matcher finds the repetitions: a window over the input, and chains of the
// positions in it that share the hash of three bytes.
type matcher struct {
	window [2*windowSize + maxMatch]byte
	head   [1 << hashBits]uint16 // the newest position of a hash; 0 for none
	prev   [windowSize]uint16    // the one before, by position
	end    int                   // of the input in the window
	at     int                   // where the next match may begin
	start  int                   // of the block; below 0: no longer in the window

	length    int  // of the match that ends the search at at
	matched   int  // where it begins
	available bool // the byte before at has not gone out
	steps     int  // that are left
	chain     int
}

func (m *matcher) init() {
	m.length, m.steps, m.chain = minMatch-1, stepsFree, chain
}

// fill takes as much of p into the window as there is room.
func (m *matcher) fill(p []byte) int {
	n := copy(m.window[m.end:2*windowSize], p)
	m.end += n
	m.steps += n * stepsPerByte
	return n
}

func (m *matcher) full() bool { return m.end == 2*windowSize }

// run compresses what is in the window: as far as a match can't reach beyond it,
// or, at the end of the input, all of it.
func (m *matcher) run(b *blocks, last bool) {
	for {
		if m.end-m.at < lookaheadMin {
			if m.at >= windowSize+maxDistance {
				m.slide()
			}
			if !last {
				return
			}
			if m.at == m.end {
				break
			}
		}
		if m.step(b) {
			m.flush(b, false)
		}
	}
	if m.available {
		b.literal(m.window[m.at-1])
		m.available = false
	}
	m.flush(b, true)
}

// step decides about one position: a match that begins before it goes out if none
// that begins here is longer. It reports whether the block is full.
func (m *matcher) step(b *blocks) (full bool) {
	candidate := m.insert()
	length, matched := m.length, m.matched
	m.length = minMatch - 1
	if candidate != 0 && length < lazyLength && m.at-candidate <= maxDistance {
		m.length = m.longest(candidate, length)
		if m.length == minMatch && m.at-m.matched > tooFar {
			m.length = minMatch - 1
		}
	}
	switch {
	case length >= minMatch && m.length <= length:
		full = b.match(m.at-1-matched, length)
		m.skip(length)
	case m.available:
		full = b.literal(m.window[m.at-1])
		if full {
			m.flush(b, false)
			full = false
		}
		m.at++
	default:
		m.available = true
		m.at++
	}
	return full
}

// skip goes past a match that begins before at, whose positions become
// candidates.
func (m *matcher) skip(length int) {
	for range length - 2 {
		m.at++
		m.insert()
	}
	m.available = false
	m.length = minMatch - 1
	m.at++
}

// insert makes the position a candidate, and returns the newest one before it with
// the same hash, 0 for none. The last two bytes of the input are none.
func (m *matcher) insert() (candidate int) {
	if m.end-m.at < minMatch {
		return 0
	}
	w := m.window[m.at : m.at+3 : m.at+3]
	h := (uint(w[0])<<10 ^ uint(w[1])<<5 ^ uint(w[2])) & (1<<hashBits - 1)
	newest := m.head[h]
	m.prev[m.at&windowMask] = newest
	m.head[h] = uint16(m.at)
	return int(newest)
}

// longest returns the length of the longest match at the position that is longer
// than best, and sets matched to where it begins; best if there is none.
func (m *matcher) longest(candidate, best int) int {
	ahead := m.end - m.at
	left := m.chain
	if best >= goodLength {
		left >>= 2
	}
	nice := min(niceLength, ahead)
	limit := max(0, m.at-maxDistance)
	scan := m.window[m.at : m.at+min(maxMatch, ahead)]
	last, beforeLast := m.window[m.at+best], m.window[m.at+best-1]
	steps := 0
	for {
		steps++
		at := m.window[candidate : candidate+maxMatch+1]
		if at[best] == last && at[best-1] == beforeLast && at[0] == scan[0] {
			if n := common(at, scan); n > best {
				m.matched, best = candidate, n
				if n >= nice {
					break
				}
				last, beforeLast = scan[n], scan[n-1]
			}
		}
		if candidate = int(m.prev[candidate&windowMask]); candidate <= limit {
			break
		}
		if left--; left == 0 {
			break
		}
	}
	m.pay(steps)
	return min(best, ahead)
}

// pay counts candidates that were looked at.
func (m *matcher) pay(steps int) {
	if m.steps -= steps; m.steps < 0 {
		m.chain = shortChain
	}
}

// common returns how many bytes a and b share at their beginnings.
func common(a, b []byte) int {
	a = a[:len(b)]
	for i := range b {
		if a[i] != b[i] {
			return i
		}
	}
	return len(b)
}

// slide drops the older half of the window.
func (m *matcher) slide() {
	copy(m.window[:windowSize], m.window[windowSize:2*windowSize])
	m.at -= windowSize
	m.end -= windowSize
	m.matched -= windowSize
	m.start -= windowSize
	older(m.head[:])
	older(m.prev[:])
}

// older moves positions with the window; those that fell out are none.
func older(positions []uint16) {
	for i, p := range positions {
		positions[i] = p - min(p, windowSize)
	}
}

// flush ends the block.
func (m *matcher) flush(b *blocks, last bool) {
	var raw []byte
	stored := m.start >= 0
	if stored {
		raw = m.window[m.start:m.at]
	}
	b.flush(raw, stored, last)
	m.start = m.at
}

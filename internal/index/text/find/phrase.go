package find

import (
	"math"
	"slices"
)

// phrase is a sequence of terms, each at its distance from the first, that may be
// moved by so many places altogether.
type phrase struct {
	work  *work
	both  *boolean // the documents that have all terms
	slots []*slot
	slop  int
	idf   float64
	boost float64
	value float64
	bm25  *bm25 // nil where scores are Clouseau's

	freq float64 // in the document where it is
	norm float64
}

// slot is a place of a phrase, where one of several terms may be.
type slot struct {
	node
	terms  []*postings
	key    string // of the terms
	offset int
	places []int // in the document, less offset, ascending
	at     int   // index of places
}

func (p *phrase) squares() float64 { return p.idf * p.boost * p.idf * p.boost }

func (p *phrase) normalize(norm, boost float64) {
	if p.value = p.idf * p.idf * p.boost * norm * boost; p.bm25 != nil {
		p.bm25.weight = float32(p.idf * p.boost * boost)
	}
}

func (p *phrase) doc() uint64  { return p.both.doc() }
func (p *phrase) cost() uint64 { return p.both.cost() }

func (p *phrase) score() float64 {
	if p.bm25 != nil {
		return p.bm25.score(p.freq, p.norm)
	}
	return math.Sqrt(p.freq) * p.value * lengthNorm(p.norm)
}

func (p *phrase) start() error {
	if err := p.both.start(); err != nil {
		return err
	}
	return p.settle()
}

func (p *phrase) next() error {
	if err := p.both.next(); err != nil {
		return err
	}
	return p.settle()
}

func (p *phrase) advance(to uint64) error {
	if p.doc() >= to {
		return nil
	}
	if err := p.both.advance(to); err != nil {
		return err
	}
	return p.settle()
}

// settle moves on to a document in which the terms are as the phrase wants them.
func (p *phrase) settle() error {
	for p.both.doc() != none {
		if err := p.work.spend(p.read()); err != nil {
			return err
		}
		if p.freq = p.count(); p.freq > 0 {
			return nil
		}
		if err := p.both.next(); err != nil {
			return err
		}
	}
	return nil
}

// read reads the places of the terms in the document, and returns how many there are.
func (p *phrase) read() (all int) {
	doc := p.both.doc()
	for _, s := range p.slots {
		s.places, s.at = s.places[:0], 0
		for _, t := range s.terms {
			if t.doc() != doc {
				continue
			}
			p.norm = t.hit.Norm
			for _, v := range t.hit.Vectors {
				s.places = append(s.places, int(v.Pos)-s.offset)
			}
		}
		slices.Sort(s.places)
		s.places = slices.Compact(s.places)
		all += len(s.places)
	}
	return all
}

// count returns how often the phrase is there: moved, as a part of one.
func (p *phrase) count() float64 {
	if p.slop == 0 {
		return p.exact()
	}
	return p.sloppy()
}

// exact counts the places that all slots have.
func (p *phrase) exact() (freq float64) {
	first := p.slots[0]
	for _, at := range first.places {
		if !slices.ContainsFunc(p.slots[1:], func(s *slot) bool { return !s.reach(at) }) {
			freq++
		}
	}
	return freq
}

// reach moves on to a place, and reports whether it is there.
func (s *slot) reach(to int) bool {
	for s.at < len(s.places) && s.places[s.at] < to {
		s.at++
	}
	return s.at < len(s.places) && s.places[s.at] == to
}

// sloppy sums up the matches: the shortest between any two moves of the slot that is
// furthest behind, each worth less the longer it is. No two slots with the same terms
// are at the same word.
func (p *phrase) sloppy() (freq float64) {
	for i, s := range p.slots {
		for _, before := range p.slots[:i] {
			for len(s.places) > s.at && s.collides(before) {
				s.at++
			}
		}
		if s.at == len(s.places) {
			return 0
		}
	}
	for {
		behind, next := p.hindmost()
		length := p.end() - behind.place()
		alive := true
		for alive {
			behind.at++
			alive = behind.at < len(behind.places) && p.separate(behind)
			if !alive || behind.place() > next {
				break
			}
			length = min(length, p.end()-behind.place())
		}
		if length <= p.slop {
			freq += 1 / float64(length+1)
		}
		if !alive {
			return freq
		}
	}
}

func (s *slot) place() int { return s.places[s.at] }

// collides reports whether two slots with the same terms are at the same word.
func (s *slot) collides(o *slot) bool {
	return o != s && o.key == s.key && o.place()+o.offset == s.place()+s.offset
}

// separate moves on slots that collide with one, of two the one that is behind. It
// reports whether places were left.
func (p *phrase) separate(s *slot) bool {
	for _, o := range p.slots {
		for s.collides(o) {
			behind := s
			if o.place() < s.place() || o.place() == s.place() && o.offset < s.offset {
				behind = o
			}
			if behind.at++; behind.at == len(behind.places) {
				return false
			}
		}
	}
	return true
}

// hindmost returns the slot that is furthest behind, and the place of the one before it.
func (p *phrase) hindmost() (behind *slot, next int) {
	next = math.MaxInt
	for _, s := range p.slots {
		switch {
		case behind == nil:
			behind = s
		case s.place() < behind.place():
			next, behind = behind.place(), s
		default:
			next = min(next, s.place())
		}
	}
	return behind, next
}

// end returns the place furthest ahead.
func (p *phrase) end() int {
	end := math.MinInt
	for _, s := range p.slots {
		end = max(end, s.place())
	}
	return end
}

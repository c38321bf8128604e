package regex

// threads runs a linear program: all positions in it at once, character by character, so that no
// character is looked at twice in the same position.
type threads struct {
	now, then positions
	open      []int // positions that are still to be followed
	steps     int   // that the meter has not been told
}

// positions is a set of positions in a program that is emptied at no cost.
type positions struct {
	list  []int
	index []int
}

func newThreads(n int) *threads {
	return &threads{now: positions{make([]int, 0, n), make([]int, n)}, then: positions{make([]int, 0, n), make([]int, n)}}
}

// add reports whether the position is new.
func (p *positions) add(at int) bool {
	if i := p.index[at]; i < len(p.list) && p.list[i] == at {
		return false
	}
	p.index[at] = len(p.list)
	p.list = append(p.list, at)
	return true
}

// chargeEvery is after how many steps the meter is told.
const chargeEvery = 1 << 12

func (t *threads) match(p *program, subject []byte, m Meter) (bool, error) {
	t.now.list, t.steps = t.now.list[:0], 0
	for at := 0; ; {
		if len(t.now.list) == 0 {
			if at = p.skip(subject, at); at < 0 {
				return false, m.Spend(t.steps + len(subject)/16 + 1)
			}
		}
		if (at == 0 || !p.begins) && t.follow(p, &t.now, 0, subject, at) {
			return true, m.Spend(t.steps)
		}
		if at == len(subject) {
			return false, m.Spend(t.steps)
		}
		r, next := p.next(subject, at)
		if t.step(p, r, subject, next) {
			return true, m.Spend(t.steps)
		}
		at = next
		if t.steps >= chargeEvery {
			if err := m.Spend(t.steps); err != nil {
				return false, err
			}
			t.steps = 0
		}
	}
}

// skip returns the next position at which a match can begin, -1 if there is none.
func (p *program) skip(subject []byte, at int) int {
	if p.begins && at > 0 {
		return -1
	}
	if !p.hasFirst || p.begins {
		return at
	}
	for ; at < len(subject); at++ {
		if p.first[subject[at]] {
			return at
		}
	}
	return -1
}

// step moves all threads over the character r, to the position at. It reports whether one has come to
// the program's end.
func (t *threads) step(p *program, r rune, subject []byte, at int) bool {
	t.then.list = t.then.list[:0]
	t.steps += len(t.now.list)
	for _, pc := range t.now.list {
		i := &p.code[pc]
		if i.op != opSet || !p.sets[i.set].has(r) {
			continue
		}
		if p.code[pc+1].op == opSet { // most are, and lead nowhere else yet
			t.then.add(pc + 1)
		} else if t.follow(p, &t.then, pc+1, subject, at) {
			return true
		}
	}
	t.now, t.then = t.then, t.now
	return false
}

// follow adds a position and those that are reached from it without a character. It reports whether the
// program's end is one of them.
func (t *threads) follow(p *program, to *positions, pc int, subject []byte, at int) bool {
	for open := t.open[:0]; ; {
		t.steps++
		next := -1
		if to.add(pc) {
			switch i := &p.code[pc]; i.op {
			case opMatch:
				return true
			case opJump:
				next = i.x
			case opSplit:
				next = i.x
				open = append(open, i.y)
			case opAssert:
				if p.holds(i.x, subject, at) {
					next = pc + 1
				}
			}
		}
		if next < 0 {
			if len(open) == 0 {
				t.open = open
				return false
			}
			next = open[len(open)-1]
			open = open[:len(open)-1]
		}
		pc = next
	}
}

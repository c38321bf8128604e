package regex

import (
	"bytes"

	"github.com/dlclark/regexp2/v2/syntax"
)

// maxEntries bounds the memory of one match, which is a number of ways that are still to be tried: 8 MB.
const maxEntries = 1 << 18

// maxPooledEntries bounds what a backtracker carries from one match to the next.
const maxPooledEntries = 1 << 12

// backtracker runs any program by trying one way after the other.
type backtracker struct {
	p       *program
	subject []byte
	meter   Meter

	stack   []entry
	slots   []int // positions; -1 for none
	steps   int   // in this match
	charged int   // of them, to the meter
	err     error
}

// entry is what to do when a way has failed.
type entry struct {
	kind entryKind
	pc   int // where to go on; of an undo, the slot
	at   int // the position; of an undo, what the slot held
	end  int // of a span: up to where it may give back
}

type entryKind uint8

const (
	entryBranch entryKind = iota
	entrySpan
	entryUndo
)

func (b *backtracker) match(p *program, subject []byte, m Meter) (bool, error) {
	b.p, b.subject, b.meter = p, subject, m
	b.steps, b.charged, b.err = 0, 0, nil
	defer func() {
		if b.subject, b.meter = nil, nil; cap(b.stack) > maxPooledEntries {
			b.stack = nil
		}
	}()
	b.stack = b.stack[:0]
	for i := range b.slots {
		b.slots[i] = -1
	}
	for at := 0; ; { // what failed has left all slots as they were
		_, found := b.run(0, at)
		if b.err == nil && (found || at == len(subject) || p.begins) {
			b.err = m.Spend(b.steps - b.charged + 1)
			return found && b.err == nil, b.err
		}
		if b.err != nil {
			return false, b.err
		}
		_, at = p.next(subject, at)
	}
}

// spend counts steps; false says that the match is over.
func (b *backtracker) spend(n int) bool {
	b.steps += n
	if b.steps-b.charged < chargeEvery {
		return true
	}
	if b.err = b.meter.Spend(b.steps - b.charged); b.err == nil && b.steps > MaxSteps {
		b.err = ErrSteps
	}
	b.charged = b.steps
	return b.err == nil
}

// push notes what to do when the present way fails; false says that the match is over.
func (b *backtracker) push(e entry) bool {
	if len(b.stack) >= maxEntries {
		b.err = ErrSteps
		return false
	}
	b.stack = append(b.stack, e)
	return true
}

// run runs the program from pc on, up to the end of the part that it is in, and returns where it came
// to. The ways that are left are on the stack.
func (b *backtracker) run(pc, at int) (end int, found bool) {
	base := len(b.stack)
	for b.spend(1) {
		i := &b.p.code[pc]
		if i.op == opMatch {
			return at, true
		}
		var ok bool
		if pc, at, ok = b.do(i, pc, at); ok {
			continue
		}
		if b.err != nil {
			return 0, false
		}
		if pc, at, ok = b.resume(base); !ok {
			return 0, false
		}
	}
	return 0, false
}

// do carries out an instruction; ok is false if it fails.
func (b *backtracker) do(i *instruction, pc, at int) (_, _ int, ok bool) {
	switch i.op {
	case opSet:
		at, ok = b.take(i, at)
		return pc + 1, at, ok
	case opSpan:
		return b.takeSpan(i, pc, at)
	case opSplit:
		return i.x, at, b.push(entry{entryBranch, i.y, at, 0})
	case opJump:
		return i.x, at, true
	case opAssert:
		return pc + 1, at, b.p.holds(i.x, b.subject, at)
	case opOpen, opSave:
		return pc + 1, at, b.set(i.x, at)
	case opProgress:
		if b.slots[i.x] == at {
			return i.y, at, true
		}
		return pc + 1, at, true
	case opClose:
		from, to := min(b.slots[i.x], at), max(b.slots[i.x], at)
		return pc + 1, at, b.set(i.y, from) && b.set(i.y+1, to)
	case opRef:
		at, ok = b.refer(i, at)
		return pc + 1, at, ok
	case opGrapheme:
		at, ok = b.grapheme(at)
		return pc + 1, at, ok
	}
	return b.part(i, pc, at)
}

// part carries out the instructions that run a part by itself or decide.
func (b *backtracker) part(i *instruction, pc, at int) (_, _ int, ok bool) {
	base := len(b.stack)
	switch i.op {
	case opAtomic:
		end, found := b.run(pc+1, at)
		b.cut(base)
		return i.y, end, found
	case opLook:
		_, found := b.run(pc+1, at)
		b.cut(base)
		return i.y, at, found
	case opLookNot:
		_, found := b.run(pc+1, at)
		b.undo(base)
		return i.y, at, !found && b.err == nil
	case opIf:
		_, found := b.run(pc+1, at)
		if b.cut(base); found {
			return i.x, at, true
		}
		return i.y, at, b.err == nil
	case opIfGroup:
		if b.slots[i.x] >= 0 {
			return pc + 1, at, true
		}
		return i.y, at, true
	}
	return 0, 0, false
}

// set changes a slot, so that it is as before when the way fails.
func (b *backtracker) set(slot, at int) bool {
	old := b.slots[slot]
	b.slots[slot] = at
	return b.push(entry{entryUndo, slot, old, 0})
}

// resume takes the next way from the stack; false if there is none above base.
func (b *backtracker) resume(base int) (pc, at int, ok bool) {
	for len(b.stack) > base {
		e := &b.stack[len(b.stack)-1]
		switch e.kind {
		case entryUndo:
			b.slots[e.pc] = e.at
		case entryBranch:
			b.stack = b.stack[:len(b.stack)-1]
			return e.pc, e.at, true
		case entrySpan:
			i := &b.p.code[e.pc-1]
			if pc = e.pc; i.back {
				_, e.at = b.p.next(b.subject, e.at)
			} else {
				_, e.at = b.p.previous(b.subject, e.at)
			}
			if at = e.at; at == e.end {
				b.stack = b.stack[:len(b.stack)-1]
			}
			return pc, at, true
		}
		b.stack = b.stack[:len(b.stack)-1]
	}
	return 0, 0, false
}

// cut forgets the ways above base, but not how slots were before.
func (b *backtracker) cut(base int) {
	kept := b.stack[:base]
	for _, e := range b.stack[base:] {
		if e.kind == entryUndo {
			kept = append(kept, e)
		}
	}
	b.spend((len(b.stack) - base) / 16)
	b.stack = kept
}

// undo forgets the ways above base and brings the slots back.
func (b *backtracker) undo(base int) {
	for len(b.stack) > base {
		if e := b.stack[len(b.stack)-1]; e.kind == entryUndo {
			b.slots[e.pc] = e.at
		}
		b.stack = b.stack[:len(b.stack)-1]
	}
}

// take takes one character.
func (b *backtracker) take(i *instruction, at int) (int, bool) {
	var r rune
	switch {
	case i.back && at > 0:
		r, at = b.p.previous(b.subject, at)
	case !i.back && at < len(b.subject):
		r, at = b.p.next(b.subject, at)
	default:
		return at, false
	}
	return at, b.p.sets[i.set].has(r)
}

// takeSpan takes as many characters as it can, and leaves an entry that gives them back one by one.
func (b *backtracker) takeSpan(i *instruction, pc, at int) (_, _ int, ok bool) {
	least := at
	n := 0
	for n < i.y {
		next, ok := b.take(i, at)
		if !ok {
			break
		}
		at = next
		if n++; n == i.x {
			least = at
		}
		if n%chargeEvery == 0 && !b.spend(chargeEvery/4) {
			return 0, 0, false
		}
	}
	if n < i.x || !b.spend(n%chargeEvery/4) {
		return 0, 0, false
	}
	if at != least && !b.push(entry{entrySpan, pc + 1, at, least}) {
		return 0, 0, false
	}
	return pc + 1, at, true
}

// refer takes the text of a group again.
func (b *backtracker) refer(i *instruction, at int) (int, bool) {
	if b.slots[i.x] < 0 || b.slots[i.x+1] < 0 {
		return at, false
	}
	text := b.subject[b.slots[i.x]:b.slots[i.x+1]]
	if !b.spend(len(text) / 8) {
		return at, false
	}
	if i.fold {
		return b.referFolded(text, i.back, at)
	}
	if i.back {
		return at - len(text), bytes.HasSuffix(b.subject[:at], text)
	}
	return at + len(text), bytes.HasPrefix(b.subject[at:], text)
}

func (b *backtracker) referFolded(text []byte, back bool, at int) (int, bool) {
	for n := 0; n < len(text); {
		var want, got rune
		switch {
		case back && at > 0:
			var from int
			want, from = b.p.previous(text, len(text)-n)
			n = len(text) - from
			got, at = b.p.previous(b.subject, at)
		case !back && at < len(b.subject):
			want, n = b.p.next(text, n)
			got, at = b.p.next(b.subject, at)
		default:
			return at, false
		}
		if want != got && !syntax.IsCaseEquivalent(want, got, 0) {
			return at, false
		}
	}
	return at, true
}

// grapheme takes a character with the marks that belong to it.
func (b *backtracker) grapheme(at int) (int, bool) {
	if at == len(b.subject) {
		return at, false
	}
	var runes []rune
	ends := []int{at}
	for n := at; n < len(b.subject) && len(runes) < maxGrapheme; {
		var r rune
		r, n = b.p.next(b.subject, n)
		runes, ends = append(runes, r), append(ends, n)
	}
	b.spend(len(runes))
	n := syntax.NextGraphemeClusterBoundary(runes, 0)
	return ends[min(max(n, 1), len(runes))], b.err == nil
}

// maxGrapheme is how many characters are looked at for one with its marks.
const maxGrapheme = 64

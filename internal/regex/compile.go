package regex

import (
	"math"
	"slices"

	"github.com/dlclark/regexp2/v2/syntax"
)

// compiler writes the program of a parsed pattern. If exact is set the program is for the
// backtracker, and keeps all that decides what a group has matched; otherwise only the language
// counts: which loops are lazy, or were made atomic by the parser because it is the same, does not.
type compiler struct {
	program
	exact  bool
	groups map[int]int // slots of the groups, by their number
	// Places of sets that are there already.
	ofNode map[*syntax.RegexNode]int
	ofRune map[rune]int
	broken error
}

// needsBacktracking reports whether a tree holds what a linear program can't express. Atomic groups
// are none of it here: the parser makes some of its own, so that the writer's are found in the text.
func needsBacktracking(n *syntax.RegexNode) bool {
	switch n.T {
	case syntax.NtRef, syntax.NtPosLook, syntax.NtNegLook, syntax.NtBackRefCond, syntax.NtExprCond, syntax.NtGrapheme:
		return true
	}
	return backward(n) || slices.ContainsFunc(n.Children, needsBacktracking)
}

// compile writes the program of a tree, for the backtracker if exact is set.
func compile(root *syntax.RegexNode, utf, exact bool) (program, error) {
	c := compiler{program: program{utf: utf}, exact: exact,
		groups: map[int]int{}, ofNode: map[*syntax.RegexNode]int{}, ofRune: map[rune]int{}}
	c.emit(root)
	c.add(instruction{op: opMatch})
	if c.broken != nil {
		return program{}, c.broken
	}
	c.begins = c.code[0].op == opAssert && c.code[0].x == atBeginning
	if !c.exact {
		c.findFirst()
	}
	return c.program, nil
}

// add appends an instruction and returns its position.
func (c *compiler) add(i instruction) int {
	if len(c.code) >= maxInstructions {
		c.broken = ErrTooLarge
		return len(c.code) - 1
	}
	c.code = append(c.code, i)
	return len(c.code) - 1
}

func (c *compiler) here() int { return len(c.code) }

func (c *compiler) slot(n int) int {
	c.slots += n
	return c.slots - n
}

// group returns the first of the three slots of a group: its span, and where it began when it is open.
func (c *compiler) group(number int) int {
	at, ok := c.groups[number]
	if !ok {
		at = c.slot(3)
		c.groups[number] = at
	}
	return at
}

// asserts are the kinds of positions by the parser's nodes.
var asserts = map[syntax.NodeType]int{
	syntax.NtBol: atLineBegin, syntax.NtEol: atLineEnd, syntax.NtBoundary: atBoundary, syntax.NtNonboundary: atNoBoundary,
	syntax.NtBeginning: atBeginning, syntax.NtStart: atBeginning, syntax.NtEndZ: atLastEnd, syntax.NtEnd: atEnd,
}

// emit writes the instructions of a node.
func (c *compiler) emit(n *syntax.RegexNode) {
	if c.broken != nil {
		return
	}
	if kind, ok := asserts[n.T]; ok {
		c.add(instruction{op: opAssert, x: kind})
		return
	}
	switch n.T {
	case syntax.NtEmpty, syntax.NtUpdateBumpalong:
	case syntax.NtNothing:
		c.add(instruction{op: opFail})
	case syntax.NtOne, syntax.NtNotone, syntax.NtSet:
		c.add(instruction{op: opSet, set: c.setOf(n), back: backward(n)})
	case syntax.NtMulti:
		c.emitText(n)
	case syntax.NtOneloop, syntax.NtNotoneloop, syntax.NtSetloop, syntax.NtOnelazy, syntax.NtNotonelazy, syntax.NtSetlazy,
		syntax.NtOneloopatomic, syntax.NtNotoneloopatomic, syntax.NtSetloopatomic:
		c.emitSpan(n)
	case syntax.NtConcatenate, syntax.NtGroup:
		c.emitAll(n.Children)
	case syntax.NtAlternate:
		c.emitAlternatives(n.Children)
	case syntax.NtLoop, syntax.NtLazyloop:
		c.emitLoop(n)
	case syntax.NtCapture:
		c.emitCapture(n)
	case syntax.NtAtomic:
		if !c.exact {
			c.emitAll(n.Children)
			return
		}
		c.emitPart(opAtomic, n)
	default:
		c.emitSpecial(n)
	}
}

// emitSpecial writes what only the backtracker knows.
func (c *compiler) emitSpecial(n *syntax.RegexNode) {
	switch n.T {
	case syntax.NtPosLook:
		c.emitPart(opLook, n)
	case syntax.NtNegLook:
		c.emitPart(opLookNot, n)
	case syntax.NtRef:
		c.add(instruction{op: opRef, x: c.group(n.M), back: backward(n), fold: n.Options&syntax.IgnoreCase != 0})
	case syntax.NtBackRefCond:
		at := c.add(instruction{op: opIfGroup, x: c.group(n.M)})
		c.emitBranches(at, n.Children)
	case syntax.NtExprCond:
		at := c.add(instruction{op: opIf})
		c.emit(n.Children[0])
		c.add(instruction{op: opMatch})
		c.code[at].x = c.here()
		c.emitBranches(at, n.Children[1:])
	case syntax.NtGrapheme:
		if backward(n) {
			c.broken = ErrSyntax
			return
		}
		c.add(instruction{op: opGrapheme})
	default:
		c.broken = ErrSyntax
	}
}

func backward(n *syntax.RegexNode) bool { return n.Options&syntax.RightToLeft != 0 }

// setOf returns the position of a node's set.
func (c *compiler) setOf(n *syntax.RegexNode) int {
	if at, ok := c.ofNode[n]; ok {
		return at
	}
	s := setOfOne(n.Ch, n.IsNotoneFamily())
	if n.Set != nil {
		s = setOf(n.Set)
	}
	c.sets = append(c.sets, s)
	c.ofNode[n] = len(c.sets) - 1
	return len(c.sets) - 1
}

// only returns the position of the set of one character.
func (c *compiler) only(r rune) int {
	at, ok := c.ofRune[r]
	if !ok {
		c.sets = append(c.sets, setOfOne(r, false))
		at = len(c.sets) - 1
		c.ofRune[r] = at
	}
	return at
}

// emitText writes a text, from its end when that comes first.
func (c *compiler) emitText(n *syntax.RegexNode) {
	text := n.Str
	if backward(n) {
		text = slices.Clone(text)
		slices.Reverse(text)
	}
	for _, r := range text {
		c.add(instruction{op: opSet, set: c.only(r), back: backward(n)})
	}
}

func (c *compiler) emitAll(nodes []*syntax.RegexNode) {
	for _, n := range nodes {
		c.emit(n)
	}
}

func (c *compiler) emitAlternatives(nodes []*syntax.RegexNode) {
	var ends []int
	for i, n := range nodes {
		if i == len(nodes)-1 {
			c.emit(n)
			break
		}
		split := c.add(instruction{op: opSplit})
		c.code[split].x = c.here()
		c.emit(n)
		ends = append(ends, c.add(instruction{op: opJump}))
		c.code[split].y = c.here()
	}
	for _, at := range ends {
		c.code[at].x = c.here()
	}
}

// emitSpan writes a loop over one set.
func (c *compiler) emitSpan(n *syntax.RegexNode) {
	one := instruction{op: opSet, set: c.setOf(n), back: backward(n)}
	lazy := n.T == syntax.NtOnelazy || n.T == syntax.NtNotonelazy || n.T == syntax.NtSetlazy
	if c.exact && !lazy {
		span := one
		span.op, span.x, span.y = opSpan, n.M, n.N
		if !n.IsAtomicloopFamily() {
			c.add(span)
			return
		}
		at := c.add(instruction{op: opAtomic})
		c.add(span)
		c.add(instruction{op: opMatch})
		c.code[at].y = c.here()
		return
	}
	c.emitRepeat(repeat{from: n.M, to: n.N, lazy: lazy, body: func() { c.add(one) }})
}

func (c *compiler) emitLoop(n *syntax.RegexNode) {
	c.emitRepeat(repeat{from: n.M, to: n.N, lazy: n.T == syntax.NtLazyloop, mayBeEmpty: c.exact && n.Children[0].ComputeMinLength() == 0,
		body: func() { c.emit(n.Children[0]) }})
}

// repeat is a body repeated from as many times to as many as to; math.MaxInt32 is for ever.
type repeat struct {
	from, to   int
	lazy       bool
	mayBeEmpty bool // and the backtracker must not go round for nothing
	body       func()
}

func (c *compiler) emitRepeat(r repeat) {
	for i := 0; i < r.from && c.broken == nil; i++ {
		r.body()
	}
	if r.to == math.MaxInt32 {
		o := c.emitOption(r)
		c.add(instruction{op: opJump, x: o.split})
		c.leave(o, r.lazy)
		return
	}
	var options []option
	for i := r.from; i < r.to && c.broken == nil; i++ {
		options = append(options, c.emitOption(r))
	}
	for _, o := range options {
		c.leave(o, r.lazy)
	}
}

// option is where a body that may be left out is in the program.
type option struct {
	split    int
	progress int // 0 for none
}

// emitOption writes a body that may be left out. Where to go on without it is set by leave.
func (c *compiler) emitOption(r repeat) option {
	o := option{split: c.add(instruction{op: opSplit})}
	if !r.mayBeEmpty {
		r.body()
		return o
	}
	slot := c.slot(1)
	c.add(instruction{op: opSave, x: slot})
	r.body()
	o.progress = c.add(instruction{op: opProgress, x: slot})
	return o
}

// leave makes an option go on here when its body is left out, or has matched nothing.
func (c *compiler) leave(o option, lazy bool) {
	in, out := o.split+1, c.here()
	if o.progress > 0 {
		c.code[o.progress].y = out
	}
	if lazy {
		in, out = out, in
	}
	c.code[o.split].x, c.code[o.split].y = in, out
}

func (c *compiler) emitCapture(n *syntax.RegexNode) {
	switch {
	case n.N != -1:
		c.broken = ErrSyntax // a balancing group, which PCRE has not
	case !c.exact || n.M == 0:
		c.emitAll(n.Children)
	default:
		at := c.group(n.M)
		c.add(instruction{op: opOpen, x: at + 2})
		c.emitAll(n.Children)
		c.add(instruction{op: opClose, x: at + 2, y: at})
	}
}

// emitPart writes a part that is run by itself.
func (c *compiler) emitPart(o op, n *syntax.RegexNode) {
	at := c.add(instruction{op: o})
	c.emitAll(n.Children)
	c.add(instruction{op: opMatch})
	c.code[at].y = c.here()
}

// emitBranches writes the two branches of a condition.
func (c *compiler) emitBranches(at int, branches []*syntax.RegexNode) {
	c.emit(branches[0])
	end := c.add(instruction{op: opJump})
	c.code[at].y = c.here()
	if len(branches) > 1 {
		c.emit(branches[1])
	}
	c.code[end].x = c.here()
}

// findFirst finds the bytes that a match can begin with. There are none to look for if the pattern
// may match the empty text or looks at the position.
func (c *compiler) findFirst() {
	seen := make([]bool, len(c.code))
	open := []int{0}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		switch i := &c.code[at]; i.op {
		case opMatch, opAssert:
			return
		case opSet:
			c.addFirst(&c.sets[i.set])
		case opSplit:
			open = append(open, i.x, i.y)
		case opJump:
			open = append(open, i.x)
		}
	}
	c.hasFirst = true
}

func (c *compiler) addFirst(s *set) {
	for b := range c.first {
		c.first[b] = c.first[b] || (c.utf && b >= 0x80) || s.low[b]
	}
}

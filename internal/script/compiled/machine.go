package compiled

import (
	"errors"

	"github.com/sectional/sectional/internal/jsonscan"
)

// ErrInterpret says that this document needs the interpreter: nothing about the
// outcome for it is known.
var ErrInterpret = errors.New("compiled: the document needs the interpreter")

// Exception is what a function threw.
type Exception struct {
	Name    string // of the constructor, such as "TypeError"
	Message string
}

// Error returns name and message as JavaScript does.
func (e *Exception) Error() string { return e.Name + ": " + e.Message }

// Row is what one call of emit gave: compact JSON.
type Row struct {
	Key, Value []byte
	More, Rest []byte // the third and fourth argument, of a function that emits by another name; nil for others
}

// The bounds of one run. What goes beyond belongs into a process that can be
// killed.
const (
	workLimit   = 8 << 20  // units of about a nanosecond
	textLimit   = 4 << 20  // bytes of strings made
	outputLimit = 16 << 20 // bytes of rows
	objectLimit = 1 << 16  // arrays and objects made
	depthLimit  = 400      // of values written and of strings made from arrays
)

// What a machine keeps at most for the next document.
const (
	keptText    = 1 << 20
	keptObjects = 1 << 10
)

// Machine runs a Map over documents, one after the other. It is for one
// goroutine, and keeps its memory between documents.
type Machine struct {
	program *Map
	doc     []byte
	fields  [][]byte // the document's members that the function names; nil: missing
	scanned bool
	vars    []value
	stack   []value // arguments of calls
	text    []byte  // strings made in this run
	pool    []*composite
	used    int // of pool
	lists   lists
	work    int
	err     error
	returns value // of the function within that returned last
	rows    []Row
	out     []byte // what rows consist of
	outset  int    // where this run's output begins
	spans   []span // of objects being written
	writing bool   // within the arguments of emit
}

// NewMachine makes a machine for m.
func (m *Map) NewMachine() *Machine {
	return &Machine{program: m, fields: make([][]byte, len(m.names.list)), vars: make([]value, m.slots)}
}

// Reset takes back the memory of all rows that Run has given so far.
func (m *Machine) Reset() { m.out = m.out[:0] }

// Run calls the function with doc, a whole document as valid JSON, and appends
// what it emits to rows, to stay until Reset. The error is an *Exception when
// the function threw, or ErrInterpret; rows are then as they were.
func (m *Machine) Run(doc []byte, rows []Row) ([]Row, error) {
	before, written := len(rows), len(m.out)
	doc = jsonscan.Trim(doc)
	if jsonscan.KindOf(doc) != jsonscan.Object {
		return rows, ErrInterpret
	}
	m.begin(doc)
	m.rows, m.outset = rows, written
	end := m.program.body(m)
	rows, m.rows = m.rows, nil
	if end == fails {
		m.out = m.out[:written]
		return rows[:before], m.err
	}
	return rows, nil
}

func (m *Machine) begin(doc []byte) {
	if m.used > keptObjects || cap(m.text) > keptText {
		m.pool, m.text, m.lists = nil, nil, lists{}
	}
	m.doc, m.scanned, m.err = doc, false, nil
	m.text = m.text[:0]
	m.used = 0
	m.writing = false
	m.lists.clear()
	m.work = workLimit
	m.stack, m.spans = m.stack[:0], m.spans[:0]
	for i := range m.vars {
		m.vars[i] = value{k: undefined}
	}
	if m.program.docSlot >= 0 {
		m.vars[m.program.docSlot] = m.whole()
	}
}

// whole is the document as a value.
func (m *Machine) whole() value { return value{k: rawObject, s: m.doc} }

// interpret returns the document up to the interpreter.
func (m *Machine) interpret() value {
	m.err = ErrInterpret
	return value{}
}

func (m *Machine) throw(name, message string) value {
	m.err = &Exception{name, message}
	return value{}
}

// spend takes n off the budget and reports whether any is left.
func (m *Machine) spend(n int) bool {
	m.work -= n
	if m.work < 0 {
		m.err = ErrInterpret
		return false
	}
	return true
}

// composite returns an empty array or object.
func (m *Machine) composite() *composite {
	if m.used == len(m.pool) {
		m.pool = append(m.pool, &composite{})
	}
	c := m.pool[m.used]
	m.used++
	c.names, c.items, c.fixed = c.names[:0], c.items[:0], false
	return c
}

// newList makes an array of items.
func (m *Machine) newList(items []value) value {
	if m.used >= objectLimit || !m.spend(16+len(items)) {
		return m.interpret()
	}
	c := m.composite()
	c.items = append(c.items, items...)
	return value{k: array, o: c}
}

// room reports whether n more bytes of strings may be made.
func (m *Machine) room(n int) bool {
	if len(m.text)+n > textLimit || !m.spend(n/4) {
		m.err = ErrInterpret
		return false
	}
	return true
}

// join appends b to a. Where a is the string made last it grows in place.
func (m *Machine) join(a, b []byte) value {
	if len(a) == 0 {
		return textOf(b)
	}
	if len(b) == 0 {
		return textOf(a)
	}
	if !m.room(len(a) + len(b)) {
		return value{}
	}
	start := len(m.text) - len(a)
	if start < 0 || &m.text[len(m.text)-1] != &a[len(a)-1] {
		start = len(m.text)
		m.text = append(m.text, a...)
	}
	m.text = append(m.text, b...)
	return textOf(m.text[start:len(m.text):len(m.text)])
}

// made returns the string that was appended to m.text from start on.
func (m *Machine) made(start int) value {
	if !m.room(0) {
		return value{}
	}
	return textOf(m.text[start:len(m.text):len(m.text)])
}

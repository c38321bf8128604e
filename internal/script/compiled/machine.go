package compiled

import (
	"context"
	"errors"
	"reflect"
	"time"

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
// killed. To a large document more is allowed, so that what reads all of it a few
// times is not handed over.
const (
	workLimit     = 8 << 20 // units of about a nanosecond
	workPerByte   = 16      // more of them for each byte of the document
	memoryLimit   = 32 << 20
	memoryPerByte = 4
	outputLimit   = 16 << 20 // bytes of rows
	depthLimit    = 400      // of values written and of strings made from arrays
	timeLimit     = time.Second
)

// lookAfter is how much work is done between two looks at the clock and the context.
const lookAfter = 64 << 10

// What a machine keeps at most for the next document, and how many bytes of rows it
// allocates at a time.
const (
	keptMemory  = 1 << 20
	outputChunk = 1 << 20
)

// Machine runs a Map over documents, one after the other. It is for one
// goroutine, and keeps its memory between documents.
//
// Whatever works on a string, an array, an object or a document is charged for it
// before it does so, by spend, and for the memory of what it makes, by hold. So the
// budget is all that a run can take, whatever the function does. What a charge is
// worth is measured by BenchmarkCharges. The time is watched besides, in case that a
// charge is too low somewhere, or that the processor is busy elsewhere.
type Machine struct {
	program *Map
	ctx     context.Context // of the present run
	now     func() time.Time
	began   time.Time // when the run first looked at the clock; zero before
	doc     []byte
	fields  []field // the document's members that the function names
	scanned bool
	vars    []value
	stack   []value // arguments of calls
	text    []byte  // strings made in this run, the last chunk of them
	pool    []*composite
	used    int // of pool
	lists   lists
	counted counted
	work    int // units left before the next look
	later   int // units left after that
	memory  int // bytes left
	kept    int // bytes that runs have allocated since all was given back
	err     error
	returns value // of the function within that returned last
	rows    []Row
	out     []byte // what rows consist of, the last chunk of it
	outset  int    // where this run's output begins there
	before  int    // how many bytes of it are in chunks before
	row     int    // where the row begins that is being written
	spans   []span // of objects being written
	writing bool   // within the arguments of emit
}

// field is a member of the document that the function names.
type field struct {
	raw   []byte // nil: missing
	value value  // once it is decoded
}

// NewMachine makes a machine for m.
func (m *Map) NewMachine() *Machine {
	return &Machine{program: m, now: time.Now, fields: make([]field, len(m.names.list)), vars: make([]value, m.slots)}
}

// Reset takes back the memory of all rows that Run has given so far.
func (m *Machine) Reset() { m.out = m.out[:0] }

// Run calls the function with doc, a whole document as valid JSON, and appends
// what it emits to rows, to stay until Reset. The error is an *Exception when
// the function threw, ErrInterpret, or the context's when that ended meanwhile;
// rows are then as they were.
func (m *Machine) Run(ctx context.Context, doc []byte, rows []Row) ([]Row, error) {
	before := len(rows)
	doc = jsonscan.Trim(doc)
	if jsonscan.KindOf(doc) != jsonscan.Object {
		return rows, ErrInterpret
	}
	m.begin(doc)
	m.ctx, m.rows = ctx, rows
	end := m.program.body(m)
	rows, m.rows, m.ctx = m.rows, nil, nil
	if end == fails {
		m.out = m.out[:m.outset]
		return rows[:before], m.err
	}
	return rows, nil
}

func (m *Machine) begin(doc []byte) {
	if m.kept > keptMemory {
		m.pool, m.text, m.lists, m.spans, m.kept = nil, nil, lists{}, nil, 0
	}
	m.doc, m.scanned, m.err = doc, false, nil
	m.text = m.text[:0]
	m.used = 0
	m.writing = false
	m.lists.clear()
	m.counted = counted{}
	m.work, m.later = lookAfter, workLimit+workPerByte*len(doc)-lookAfter
	m.memory = memoryLimit + memoryPerByte*len(doc)
	m.began = time.Time{}
	m.stack, m.spans = m.stack[:0], m.spans[:0]
	m.outset, m.before = len(m.out), 0
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
	if m.err == nil {
		m.err = ErrInterpret
	}
	return value{}
}

func (m *Machine) throw(name, message string) value {
	m.err = &Exception{name, message}
	return value{}
}

// spend takes n units off the budget before the work is done that they are for. It
// reports whether that may be done; m.err says why not.
func (m *Machine) spend(n int) bool {
	m.work -= n
	return m.work >= 0 || m.look()
}

// look is what spend does now and then: it gives out more of the budget, unless that is
// spent, the run takes long or nobody waits for it any more.
func (m *Machine) look() bool {
	left := m.work + m.later
	if m.err != nil || left < 0 {
		m.interpret()
		return false
	}
	if err := m.ctx.Err(); err != nil {
		m.err = err
		return false
	}
	if now := m.now(); m.began.IsZero() {
		m.began = now
	} else if now.Sub(m.began) > timeLimit {
		m.interpret()
		return false
	}
	m.work = min(left, lookAfter)
	m.later = left - m.work
	return true
}

// spent returns the units that the run was charged.
func (m *Machine) spent() int { return workLimit + workPerByte*len(m.doc) - m.work - m.later }

// hold takes n bytes off the budget of memory before they are allocated, and reports
// whether they may be.
func (m *Machine) hold(n int) bool {
	if m.memory -= n; m.memory < 0 {
		m.memory += n
		m.interpret()
		return false
	}
	m.kept += n
	return true
}

// held returns the bytes that the run has allocated.
func (m *Machine) held() int { return memoryLimit + memoryPerByte*len(m.doc) - m.memory }

// grown returns list with room for n more, for which m is charged.
func grown[T any](m *Machine, list []T, n int) (more []T, ok bool) {
	if cap(list)-len(list) >= n {
		return list, true
	}
	size := max(len(list)+n, 2*cap(list), 4)
	if !m.hold(size*int(reflect.TypeFor[T]().Size())) || !m.spend(size) {
		return list, false
	}
	return append(make([]T, 0, size), list...), true
}

// composite returns an empty array or object, nil when there is no memory left.
func (m *Machine) composite() *composite {
	if m.used == len(m.pool) {
		if !m.hold(128) {
			return nil
		}
		m.pool = append(m.pool, &composite{})
	}
	c := m.pool[m.used]
	m.used++
	c.names, c.items, c.fixed = c.names[:0], c.items[:0], false
	return c
}

// newList makes an array of items.
func (m *Machine) newList(items []value) value {
	if !m.spend(16 + len(items)) {
		return value{}
	}
	c := m.composite()
	if c == nil || !m.reserve(c, len(items)) {
		return value{}
	}
	c.items = append(c.items, items...)
	return value{k: array, o: c}
}

// reserve makes room for n more items in an array or object.
func (m *Machine) reserve(c *composite, n int) (ok bool) {
	c.items, ok = grown(m, c.items, n)
	return ok
}

// put appends v to an array that is being made.
func (m *Machine) put(c *composite, v value) bool {
	if len(c.items) == cap(c.items) && !m.reserve(c, 1) {
		return false
	}
	c.items = append(c.items, v)
	return true
}

// room makes room for n more bytes of strings, and reports whether they may be made.
func (m *Machine) room(n int) bool {
	return m.spend(n/4) && (cap(m.text)-len(m.text) >= n || m.chunk(n))
}

// chunk begins a new chunk for n bytes of strings at least. Strings made before stay
// where they are.
func (m *Machine) chunk(n int) bool {
	size := max(n, min(2*cap(m.text), 64<<10), 256)
	if !m.hold(size) {
		return false
	}
	m.text = make([]byte, 0, size)
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
	start := len(m.text) - len(a)
	last := start >= 0 && &m.text[len(m.text)-1] == &a[len(a)-1]
	if last && cap(m.text)-len(m.text) >= len(b) {
		if !m.spend(8 + len(b)/4) {
			return value{}
		}
	} else {
		need := len(a) + len(b)
		if last {
			need *= 2 // what grows will grow further
		}
		if !m.room(need) {
			return value{}
		}
		start = len(m.text)
		m.text = append(m.text, a...)
	}
	m.text = append(m.text, b...)
	return textOf(m.text[start:len(m.text):len(m.text)])
}

// wrote returns how many bytes of rows the run has written.
func (m *Machine) wrote() int { return m.before + len(m.out) - m.outset }

// space begins a new chunk of rows that has room for n more bytes, and reports whether
// they may be written. The present row goes there too; those before keep the old one.
func (m *Machine) space(n int) bool {
	if m.wrote()+n > outputLimit {
		m.interpret()
		return false
	}
	part := m.out[m.row:]
	size := max(min(2*cap(m.out), outputChunk), 2*(len(part)+n))
	m.before += m.row - m.outset
	m.out, m.row, m.outset = append(make([]byte, 0, size), part...), 0, 0
	return true
}

// made returns the string that was appended to m.text from start on.
func (m *Machine) made(start int) value { return textOf(m.text[start:len(m.text):len(m.text)]) }

package script

import (
	"errors"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/sectional/sectional/internal/script/syntax"
)

// realm is one JavaScript world in a child, and the code that it was made for.
//
// It is built when it is first used, and anew after it was interrupted: code that was cut off in the middle may have left
// anything behind.
type realm struct {
	child     *child
	flavour   flavour
	document  []byte
	functions []string
	emits     string // the function by which maps give rows; "": emit

	rt       *goja.Runtime
	calls    map[string]*callee // by way in the design document, or by source
	initial  *initialGlobals    // what the globals were before any code ran
	modules  map[string]*goja.Program
	leftover bool       // code ran that may have left something behind
	design   goja.Value // the design document, `this` of its functions
	only     projection // what map functions read of documents
	doc      goja.Value // the document of the unit at hand, for map functions
	rows     []emitted  // of the unit at hand
	render   *render
	random   uint64 // state of the fixed sequence; 0: not begun for this unit
	seed     []byte // what the sequence depends on
	guarded  func() // what trampoline calls
	yes, no  goja.Value
	builtins struct { // as they were before any code ran
		trampoline, freeze, prevent, stringify, extensible, evaluate, restore goja.Callable
	}

	mu struct {
		sync.Mutex
		rt *goja.Runtime // for the watch
	}
}

// emitted is one call of emit.
type emitted struct {
	key, value, more, rest goja.Value
}

// callee is a compiled function, or why it is none.
type callee struct {
	call    goja.Callable // nil: to be made again
	failure *failure
	make    func() (goja.Value, error) // runs the source
	pure    bool                       // it leaves nothing behind, and is used for all units
}

// compiled reports whether there is a function to call, or it is known why there is none. nil has not been made.
func (c *callee) compiled() bool { return c != nil && (c.call != nil || c.failure != nil) }

// build makes the world. It is hardened unless only one unit will ever see it.
func (r *realm) build(once bool) error {
	rt := goja.New()
	rt.SetParserOptions(parser.WithDisableSourceMaps) // which would be read from files
	rt.SetMaxCallStackSize(r.child.limits.Stack)
	r.calls, r.design, r.doc, r.render, r.leftover = map[string]*callee{}, nil, nil, newRender(r), false
	if r.modules == nil {
		r.modules = map[string]*goja.Program{}
	}
	r.yes, r.no = rt.ToValue(true), rt.ToValue(false)
	r.mu.Lock()
	r.rt, r.mu.rt = rt, rt
	r.mu.Unlock()
	object, json := rt.GlobalObject().Get("Object").(*goja.Object), rt.GlobalObject().Get("JSON").(*goja.Object)
	r.builtins.freeze, _ = goja.AssertFunction(object.Get("freeze"))
	r.builtins.prevent, _ = goja.AssertFunction(object.Get("preventExtensions"))
	r.builtins.extensible, _ = goja.AssertFunction(object.Get("isExtensible"))
	r.builtins.stringify, _ = goja.AssertFunction(json.Get("stringify"))
	r.builtins.trampoline, _ = goja.AssertFunction(rt.ToValue(func(goja.FunctionCall) goja.Value {
		r.guarded()
		return goja.Undefined()
	}))
	if r.flavour == flavourMap {
		r.only = projectionOf(r.functions, library(r.document))
	}
	if r.flavour != flavourDesign {
		rt.SetTimeSource(func() time.Time { return time.Unix(0, 0) })
		rt.SetRandSource(r.fixed)
	}
	if err := r.globals(json.Get("stringify")); err != nil || once {
		return err
	}
	return r.harden()
}

// fixed is Math.random of map and reduce functions: a sequence (splitmix64) that begins with a hash of the unit's input.
func (r *realm) fixed() float64 {
	if r.random == 0 {
		h := fnv.New64a()
		h.Write(r.seed)
		r.random = h.Sum64()
	}
	r.random += 0x9e3779b97f4a7c15
	z := r.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// interrupt stops the code that runs. It may be called from another goroutine.
func (r *realm) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.rt != nil {
		r.mu.rt.Interrupt("time")
	}
}

// settle ends a job.
func (r *realm) settle(stopped limit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows, r.seed, r.doc = nil, nil, nil
	if r.rt == nil {
		return
	}
	if stopped == limitTime {
		r.rt, r.mu.rt = nil, nil
		return
	}
	r.rt.ClearInterrupt()
}

// errInterrupted says that the deadline passed while code ran.
var errInterrupted = errors.New("interrupted")

// guard runs what may throw. What was thrown is told by otherwise, if it does not tell itself.
func (r *realm) guard(do func(), otherwise func(goja.Value) *failure) (*failure, error) {
	outer := r.guarded
	defer func() { r.guarded = outer }()
	r.guarded = do
	_, err := r.builtins.trampoline(goja.Undefined())
	var thrown *goja.Exception
	var deep *goja.StackOverflowError
	var stopped *goja.InterruptedError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &stopped):
		return nil, errInterrupted
	case errors.As(err, &deep):
		return &failure{limit: limitStack}, nil
	case !errors.As(err, &thrown):
		return nil, err
	}
	var f *failure
	if also, err := r.guard(func() { f = r.raised(thrown.Value(), otherwise) }, plainly); err != nil || also != nil {
		return also, err // what was thrown throws itself when it is looked at
	}
	return f, nil
}

// plainly describes something thrown without looking at it.
func plainly(goja.Value) *failure {
	return &failure{code: "unnamed_error", reason: []byte(`"The function threw something that can't be read."`)}
}

// call calls a function of the realm from within guard, or from code that is called from there.
func (r *realm) call(f goja.Callable, args ...goja.Value) (goja.Value, error) {
	return f(goja.Undefined(), args...)
}

// must passes on what a call threw.
func (r *realm) must(v goja.Value, err error) goja.Value {
	var thrown *goja.Exception
	switch {
	case err == nil:
		return v
	case errors.As(err, &thrown) && !uncatchable(err):
		panic(thrown.Value())
	default:
		panic(err)
	}
}

// uncatchable reports whether an error ends all code.
func uncatchable(err error) bool {
	var deep *goja.StackOverflowError
	var stopped *goja.InterruptedError
	return errors.As(err, &deep) || errors.As(err, &stopped)
}

// throw raises an error of CouchDB's form.
func (r *realm) throw(code, reason string) {
	panic(r.rt.NewArray("error", code, reason))
}

// parse reads JSON; what the pool sends is known to be valid.
func (r *realm) parse(b []byte, how freezing) goja.Value {
	v, err := r.decode(b, how)
	if errors.Is(err, errJSON) {
		r.throw("bad_request", "invalid UTF-8 JSON")
	}
	return r.must(v, err)
}

// compile returns the function that a source stands for. Name is for messages.
func (r *realm) compile(source, name string) (*callee, error) {
	c := r.calls[name]
	if c == nil {
		c = r.plan(source, name)
		r.calls[name] = c
	}
	r.leftover = r.leftover || !c.pure
	if c.compiled() {
		return c, nil
	}
	var v goja.Value
	f, err := r.guard(func() { v = r.must(c.make()) }, func(v goja.Value) *failure {
		return &failure{code: "compilation_error", reason: []byte(quoted(r.source(v) + " (" + source + ")"))}
	})
	if err != nil {
		return nil, err
	}
	if c.failure = f; f != nil {
		return c, nil
	}
	var ok bool
	if c.call, ok = goja.AssertFunction(v); !ok {
		c.failure = &failure{code: "compilation_error", reason: []byte(quoted("Expression does not eval to a function. (" + source + ")"))}
	} else if c.pure {
		err = r.freezeFunction(v.(*goja.Object))
	}
	return c, err
}

// plan decides how a source is run: once, or again for each unit, whose variables are new ones then.
func (r *realm) plan(source, name string) *callee {
	if source == "" {
		return &callee{failure: &failure{code: "not_found", reason: []byte(`"missing function"`)}, pure: true}
	}
	text := expression(source)
	whole := func() (goja.Value, error) { return r.rt.RunScript(name, text) }
	tree, err := goja.Parse(name, text, parser.WithDisableSourceMaps)
	if err != nil {
		return &callee{make: whole, pure: true}
	}
	if syntax.Expression(tree) {
		program, err := goja.CompileAST(tree, false)
		if err != nil {
			return &callee{make: whole, pure: true}
		}
		return &callee{make: func() (goja.Value, error) { return r.rt.RunProgram(program) }, pure: isPure(tree)}
	}
	// Declarations of a script can't be taken back. In a function's scope they are new each time.
	return &callee{make: func() (goja.Value, error) { return r.builtins.evaluate(goja.Undefined(), r.rt.ToValue(text)) }}
}

// freezeFunction freezes a function that is used for many units, and what it would give to objects that it makes.
func (r *realm) freezeFunction(f *goja.Object) error {
	if o, ok := f.Get("prototype").(*goja.Object); ok {
		if _, err := r.builtins.freeze(goja.Undefined(), o); err != nil {
			return err
		}
	}
	_, err := r.builtins.freeze(goja.Undefined(), f)
	return err
}

// expression makes a script of a function's source, whose value is the function. As a statement a function must have a name
// (and then has no value: CouchDB refuses those, too), so one without is put after an operator.
func expression(source string) string {
	rest, ok := strings.CutPrefix(source[blank(source):], "function")
	if !ok {
		return source
	}
	rest = rest[blank(rest):]
	if star, ok := strings.CutPrefix(rest, "*"); ok {
		rest = star[blank(star):]
	}
	if !strings.HasPrefix(rest, "(") {
		return source
	}
	return "0," + source
}

// blank returns how much of the beginning is white space and comments.
func blank(s string) int {
	const space = " \t\r\n\v\f\u00a0\ufeff\u2028\u2029"
	for rest := s; ; {
		rest = strings.TrimLeft(rest, space)
		var end string
		switch {
		case strings.HasPrefix(rest, "//"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			return len(s) - len(rest)
		}
		_, after, ok := strings.Cut(rest[2:], end)
		if !ok {
			return len(s)
		}
		rest = after
	}
}

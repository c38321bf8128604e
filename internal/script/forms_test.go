package script

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// formsOfFunctions are ways to write a function: BODY stands for what it does with its parameters a and b.
var formsOfFunctions = map[string]string{
	"plain":          `function(a, b){ BODY }`,
	"this":           `function(a, b){ var own = this; BODY }`,
	"require":        `function(a, b){ if (typeof require === 'function') require('views/lib/m').next(); BODY }`,
	"class":          `function(a, b){ class C { get n(){ return 1 } } new C().n; BODY }`,
	"destructuring":  `function(a, b){ const {type} = a || {}; BODY }`,
	"pattern":        `function(a, b, {c} = {}, {d} = {}){ BODY }`,
	"rest":           `function(...all){ var [a, b] = all; BODY }`,
	"undeclared":     `function(a, b){ n = (typeof n === 'undefined' ? 0 : n) + 1; BODY }`,
	"undeclared for": `function(a, b){ for (i in {x: 1}); BODY }`,
	"arrow":          `(a, b) => { this.n = 1; BODY }`,
	"closure":        `(function(){ var n = 0; return function(a, b){ n++; BODY } })()`,
	"default":        `function(a, b = (n = 1)){ BODY }`,
	"template":       "function(a, b){ n = `${typeof a} and ${b}`; BODY }",
	"accessor":       `function(a, b){ var o = {get x(){ return this.y }, set x(v){ this.y = v }}; o.x = 1; BODY }`,
	"spread":         `function(a, b){ [n] = [...[1, 2], ...'ab']; BODY }`,
	"labels":         `function(a, b){ outer: for (n = 0; ; n++) { for (;;) { if (n > 2) break outer; continue outer } } BODY }`,
	"Function":       `function(a, b){ Function('n', 'return n')(1); BODY }`,
	"eval":           `function(a, b){ (0, eval)('var n = 1'); BODY }`,
	"generator":      `function(a, b){ function* g(){ yield this } for (n of g()); BODY }`,
	"globals":        `function(a, b){ globalThis.n = 1; Object.defineProperty(globalThis, 'm', {value: 1, configurable: true}); BODY }`,
	"statements":     `var n = 0; (function(a, b){ n++; BODY })`,
	"kept properly":  `function(a, b){ Object.preventExtensions(globalThis); BODY }`,
	"no function":    `5`,
	"no source":      `function(a, b){`,
}

// formKind is a kind of functions: what one does, what a call of it gives, and the call, of several units where there may be several.
type formKind struct {
	body, want       string
	inDesign, single bool // its code is a member of the design document, and there is one only
	call             func(ctx context.Context, p *Pool, form Realm) (any, error)
}

var formKinds = map[string]formKind{
	"validate_doc_update": {`if (a.bad) throw {forbidden: 'no'}`, `[<nil> forbidden: no <nil>]`, true, true, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		refusals, err := p.Validate(ctx, r, []Write{{New: []byte(`{}`), User: []byte(`{}`), Security: []byte(`{}`)}, {New: []byte(`{"bad":true}`), User: []byte(`{}`), Security: []byte(`{}`)},
			{New: []byte(`{}`), User: []byte(`{}`), Security: []byte(`{}`)}})
		return fmt.Sprint(refusals), err
	}},
	"filters": {`return a.n > 1`, `[false true true]`, true, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		return p.Filter(ctx, r, "f", texts(`{"n":1}`, `{"n":2}`, `{"n":3}`), []byte(`{}`))
	}},
	"updates": {`return [{_id: 'x'}, 'said']`, `{"_id":"x"} said`, true, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		written, answer, err := p.Update(ctx, r, "f", []byte(`{}`), []byte(`{"method":"POST"}`))
		return string(written) + " " + string(answer.Body), err
	}},
	"shows": {`return 'shown'`, `shown`, true, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		answer, err := p.Show(ctx, r, "f", []byte(`{}`), []byte(`{"headers":{},"query":{}}`))
		return string(answer.Body), err
	}},
	"lists": {`var row; while (row = getRow()) send(row.k); return 'end'`, `ababend`, true, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		out, pages := "", 2
		err := p.List(ctx, r, &List{Name: "f", Head: []byte(`{}`), Req: []byte(`{"headers":{},"query":{}}`), Start: func(Response) error { return nil },
			Send: func(chunk []byte) error { out += string(chunk); return nil },
			Rows: func() ([][]byte, error) {
				if pages--; pages < 0 {
					return nil, nil
				}
				return texts(`{"k":"a"}`, `{"k":"b"}`), nil
			}})
		return out, err
	}},
	"rewrites": {`return '_show/x'`, `"_show/x"`, true, true, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		to, err := p.Rewrite(ctx, r, []byte(`{"path":[]}`))
		return string(to), err
	}},
	"map": {`emit(a.n, 1)`, "[1 1\n 2 1\n]", false, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		mapped, err := p.Map(ctx, r, texts(`{"n":1}`, `{"n":2}`))
		var rows []string
		for _, m := range mapped {
			rows = append(rows, written(m[0]))
		}
		return rows, err
	}},
	"view as filter": {`if (a.n > 1) emit(null)`, `[false true]`, false, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		return p.ViewFilter(ctx, r, texts(`{"n":1}`, `{"n":2}`))
	}},
	"reduce": {`return b.length`, `[{1 <nil>} {2 <nil>}]`, false, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		reduced, err := p.Reduce(ctx, r, 0, []Group{{[]byte(`[["k","a"]]`), []byte(`[1]`)}, {[]byte(`[["k","a"],["k","b"]]`), []byte(`[1,2]`)}})
		return fmt.Sprintf("%s", reduced), err
	}},
	"rereduce": {`return b.length`, `[{1 <nil>} {2 <nil>}]`, false, false, func(ctx context.Context, p *Pool, r Realm) (any, error) {
		reduced, err := p.Rereduce(ctx, r, 0, texts(`[1]`, `[1,2]`))
		return fmt.Sprintf("%s", reduced), err
	}},
}

// formRealm is the realm of a kind of functions in a form. Those that are in the design document itself share one.
func formRealm(t *testing.T, form, kind string) Realm {
	t.Helper()
	source := func(kind string) string {
		return strings.Replace(formsOfFunctions[form], "BODY", formKinds[kind].body, 1)
	}
	members := map[string]any{"views": map[string]any{"lib": map[string]string{"m": "var n = 0; exports.next = function(){ return ++n }"}}}
	for name, k := range formKinds {
		switch {
		case k.single:
			members[name] = source(name)
		case k.inDesign:
			members[name] = map[string]string{"f": source(name)}
		}
	}
	r := document(t, members)
	if !formKinds[kind].inDesign {
		r.Functions, r.Version = []string{source(kind)}, form+source(kind)
	}
	return r
}

// TestFormsOfFunctions calls each kind of function in each form, twice: each call gives the same, and a child does it at once. A call
// whose child ends in it would be tried again by another child.
func TestFormsOfFunctions(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	tries := 0
	p.attempted = func(time.Duration) { tries++ }
	for form := range formsOfFunctions {
		for name, kind := range formKinds {
			r := formRealm(t, form, name)
			tries = 0
			var got [2]string
			for i := range got {
				v, err := kind.call(t.Context(), p, r)
				if got[i] = fmt.Sprint(v); err != nil {
					got[i] = err.Error()
				}
			}
			broken := form == "no function" || form == "no source"
			if got[0] != got[1] || broken != strings.Contains(got[0], "compilation_error") || !broken && got[0] != kind.want {
				t.Errorf("%s, %s: %s, then %s", name, form, got[0], got[1])
			}
			if tries != len(got) {
				t.Errorf("%s, %s: %d calls took %d children", name, form, len(got), tries)
			}
		}
	}
}

// panickingArgument has the test binary be a child that panics when it gets its first work.
const panickingArgument = "panicking-child"

func servePanickingChild() {
	if len(os.Args) < 2 || os.Args[1] != panickingArgument {
		return
	}
	_ = Child(&panicking{from: os.Stdin}, os.Stdout) // it does not come back
	os.Exit(0)
}

// panicking panics in its second read.
type panicking struct {
	from  io.Reader
	reads int
}

// Read reads, once.
func (r *panicking) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if r.reads++; r.reads > 1 && err == nil {
		panic("as the test wants it")
	}
	return n, err
}

// TestPanic holds that a panic of a child is counted and logged as an error, with the database and the design document.
func TestPanic(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	p, err := New(Options{Children: 1, Overhead: overhead, Command: []string{path, panickingArgument}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Filter(t.Context(), formRealm(t, "plain", "filters"), "f", texts(`{}`), []byte(`{}`))
	if !Stopped(err) {
		t.Error(err)
	}
	if err := p.Close(); err == nil {
		t.Error("the pool ends as if nothing had happened")
	}
	if got := p.Counts(); got.Panics == 0 || got.Panics != got.Started {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"level=ERROR", `msg="a child for functions panicked"`, "database=db1", "design=_design/d", "output=\"panic: "} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, logged.String())
		}
	}
}

// TestSaysPanic reads the last words of children.
func TestSaysPanic(t *testing.T) {
	for text, want := range map[string]bool{
		"": false,
		"panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:": true,
		"a line before\npanic: x":                                                                                   true,
		"fatal error: concurrent map writes\n\ngoroutine 1 [running]:":                                              true,
		"fatal error: all goroutines are asleep - deadlock!":                                                        true,
		"fatal error: unexpected signal during runtime execution\n[signal SIGSEGV: segmentation violation":          true,
		"runtime: goroutine stack exceeds 1000000-byte limit\nfatal error: stack overflow\n\nruntime stack:":        false,
		"fatal error: runtime: out of memory":                                                                       false,
		"runtime: out of memory: cannot allocate 4194304-byte block (805306368 in use)\nfatal error: out of memory": false,
		"fatal error: runtime: cannot allocate memory":                                                              false,
		"no panic: here": false,
	} {
		if got := saysPanic(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

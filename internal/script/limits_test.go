package script

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// small are limits with which tests are quick. The time is enough for what ends, also where twenty others want the processor.
func small() Limits {
	return Limits{Time: slower * time.Second, Memory: 64 << 20, Stack: 1000, Output: 1 << 20}
}

// attacks are functions that would never end or take everything, for the document {"bad":true} alone.
func attacks() []struct{ name, source, want string } {
	const inTime, inMemory = "The function did not end in time.", "The function used more memory than it may."
	bad := func(body string) string { return "function(doc){ if (doc.bad) { " + body + " } emit(doc.n, null) }" }
	return []struct{ name, source, want string }{
		{"for", bad(`for(;;);`), inTime},
		{"caught", bad(`for(;;) { try { for(;;); } catch (e) { } finally { continue } }`), inTime},
		{"regexp", bad(`/^(a+)+\1$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab')`), inTime},
		{"sort", bad(`var a = new Array(1e5).fill(0); for (;;) a.sort()`), inTime},
		{"fill", bad(`Array.prototype.indexOf.call({length: 9e15}, 1)`), inTime},
		{"doubling", bad(`var s = 'x'; for (;;) { s += s; s.charCodeAt(1) }`), inMemory},
		{"repeat", bad(`'x'.repeat(1 << 29).split('')`), inMemory},
		{"growing", bad(`var a = []; for (;;) a.push({a: a.length})`), inMemory},
		{"emitting", bad(`for (;;) emit({a: 1}, [1, 2, 3])`), inMemory},
		{"buffer", bad(`var a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))`), inMemory},
		{"recursion", bad(`(function f(){ return 1 + f() })()`), "The function called itself too often."},
		{"recursion through native code", bad(`(function f(){ return [1].map(f) })()`), "The function called itself too often."},
		{"output", bad(`emit('x'.repeat(2 << 20))`), "The function gave back more than it may."},
		{"promises", bad(`(function f(){ return Promise.resolve().then(f) })()`), inTime},
		{"toJSON", bad(`emit({toJSON: function(){ for (;;); }})`), inTime},
		{"thrown getter", bad(`throw {get error(){ for (;;); }}`), inTime},
	}
}

// TestAttacks has one bad document among good ones: it alone has no rows, and says why.
func TestAttacks(t *testing.T) {
	testrun.Sequential(t)
	quick := newPool(t, Options{Limits: small(), Children: 2})
	limits := small()
	limits.Time = 20 * time.Second // memory is what ends these
	patient := newPool(t, Options{Limits: limits, Children: 2})
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			p := quick
			if strings.Contains(a.want, "memory") {
				p = patient
			}
			results, err := p.Map(t.Context(), mapping(a.source, `function(doc){ emit('second', doc.n) }`), texts(`{"n":1}`, `{"n":2}`, `{"n":3,"bad":true}`, `{"n":4}`))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{"1 null\n", "2 null\n", "error os_process_error: " + a.want, "4 null\n"} {
				if got := written(results[i][0]); got != want {
					t.Errorf("document %d: %s, want %s", i+1, got, want)
				}
				if got, want := written(results[i][1]), fmt.Sprintf("\"second\" %d\n", i+1); got != want {
					t.Errorf("document %d, the other function: %s", i+1, got)
				}
			}
		})
	}
}

// TestCrash has a child die without a word, in the middle of a batch.
func TestCrash(t *testing.T) {
	// Nothing counts how deep the parser is, so the stack of the child overflows, which no Go program survives.
	p := newPool(t, Options{Children: 1})
	source := `function(doc){ if (doc.bad) eval('['.repeat(1e6)); emit(doc.n) }`
	docs := make([][]byte, 50)
	for i := range docs {
		docs[i] = fmt.Appendf(nil, `{"n":%d,"bad":%v}`, i, i == 20)
	}
	results, err := p.Map(t.Context(), mapping(source), docs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if want := fmt.Sprintf("%d null\n", i); i == 20 {
			if got := written(r[0]); got != "error os_process_error: The function ended its process." {
				t.Errorf("document %d: %s", i, got)
			}
		} else if written(r[0]) != want {
			t.Errorf("document %d: %s", i, written(r[0]))
		}
	}
}

// TestOthersGoOn holds that a second call is answered at once while as many children as there should be hang.
func TestOthersGoOn(t *testing.T) {
	limits := small()
	limits.Time = 30 * time.Second
	p := newPool(t, Options{Limits: limits, Children: 1, Overflow: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() {
			_, err := p.Map(ctx, mapping(fmt.Sprintf(`function(doc){ for(;;) %d; }`, i)), texts(`{}`))
			if !errors.Is(err, context.Canceled) {
				t.Error("a cancelled call:", err)
			}
		})
	}
	for working(p) < 3 { // until each of them has a child
		runtime.Gosched()
	}
	if got := rowsOf(t, p, mapping(`function(doc){ emit(1) }`), `{}`); got != "1 null\n" {
		t.Error(got)
	}
	cancel() // before their time is over: else they fail by that
	wait.Wait()
}

// TestBuildsApart holds that a build that takes every slot for builds leaves those of other calls free.
func TestBuildsApart(t *testing.T) {
	p := newPool(t, Options{Children: 1, Overflow: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := p.Map(ctx, mapping(`function(doc){ for(;;); }`), texts(`{}`)); !errors.Is(err, context.Canceled) {
			t.Error("a cancelled call:", err)
		}
	})
	for working(p) < 1 {
		runtime.Gosched()
	}
	if err := p.Check(t.Context(), false, []Source{{View: "v", Kind: "map", Code: "function(doc){}"}}); err != nil {
		t.Error(err)
	}
	cancel()
	wait.Wait()
}

// working counts the children that have a call.
func working(p *Pool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.busy)
}

// TestMemoryComesBack holds that a child that grew is not kept.
func TestMemoryComesBack(t *testing.T) {
	p := newPool(t, Options{Limits: Limits{Memory: 96 << 20, Time: time.Minute}, Children: 1}) // a busy machine needs more than the default
	hungry := `function(doc){ var s = 'x'.repeat(60 << 20); emit(s.length) }`
	if got := rowsOf(t, p, mapping(hungry), `{}`); got != "62914560 null\n" {
		t.Fatal(got)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.idle)+len(p.mu.busy) != 0 {
		t.Error("the grown child is still there")
	}
}

// TestRealms holds that no realm sees another, whatever one does to its own.
func TestRealms(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	tamper := `function(doc){ try { String.prototype.toString = function(){ return 'x' } } catch (e) {} Array.prototype.map = null; Object.prototype.evil = 1; JSON.stringify = function(){ return '"gotcha"' };
		Object.freeze = Object.preventExtensions = Object.keys = null;
		emit = function(){}; Date.now = null; globalThis.secret = doc; try { Object.defineProperty(Array.prototype, 0, {set: function(){ throw 1 }}) } catch (e) {} }`
	realms := map[string]Realm{"database": mapping(`function(doc){ emit(typeof secret, [typeof Array.prototype.map, {}.evil, JSON.stringify([1]), doc.a]) }`)}
	other := realms["database"]
	other.Database = "db2"
	realms["other database"] = other
	other.Design = "_design/e"
	realms["other design document"] = other
	if got := rowsOf(t, p, mapping(tamper), `{"private":1}`); got != "" {
		t.Error(got)
	}
	for name, realm := range realms {
		if got, want := rowsOf(t, p, realm, `{"a":[2]}`), `"undefined" ["function",null,"[1]",[2]]`+"\n"; got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := rowsOf(t, p, mapping(tamper), `{"a":[1,{"b":2}]}`); got != "" {
		t.Error("after what it did to itself:", got)
	}
	if err := p.Check(t.Context(), false, []Source{{View: "v", Kind: "map", Code: `(Object.prototype.evil = 1, function(){})`}}); err != nil {
		t.Error(err)
	}
	if err := p.Check(t.Context(), false, []Source{{View: "v", Kind: "map", Code: `({}).evil ? 1 : function(){}`}}); err != nil {
		t.Error("a check sees another:", err)
	}
}

// TestNoWayOut looks for files, network, processes, and the means to reach them.
func TestNoWayOut(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	for _, source := range []string{
		`require('fs')`, `require('/etc/passwd')`, `require('../../../etc/passwd')`, `require('net')`, `require('child_process')`,
		`require('views')`, `require('')`, `fetch('http://127.0.0.1:5984/')`, `new XMLHttpRequest()`, `import('fs')`, `process.exit(1)`, `Deno.exit()`,
		`load('/etc/passwd')`, `open('/etc/passwd')`, `new Function('return this')().process.env`, `(0, eval)('this').require('fs')`, `require.cache`,
		`setTimeout(function(){}, 1)`, `WebAssembly.compile`, `new Worker('x')`, `getRow()`,
	} {
		if got := rowsOf(t, p, mapping(`function(doc){ emit((new Function('doc', 'require', `+"`return ("+source+").x`"+`))(doc, require), 1) }`), `{}`); !strings.HasPrefix(got, "error ") {
			t.Errorf("%s: %s", source, got)
		}
	}
	for _, source := range []string{"1 //# sourceMappingURL=/proc/self/environ", "eval('2 //# sourceMappingURL=file:///etc/passwd')"} {
		if got := rowsOf(t, p, mapping("function(doc){ emit(1) }\n//# sourceMappingURL=/etc/passwd"), `{}`); got != "1 null\n" {
			t.Errorf("%s: %s", source, got)
		}
	}
	names := `function(doc){ emit(Object.getOwnPropertyNames(globalThis).filter(function(n){ return /^[a-z]/.test(n) }).sort().join(' ')) }`
	want := `"decodeURI decodeURIComponent emit encodeURI encodeURIComponent escape eval getRow globalThis isArray isFinite isNaN log parseFloat parseInt provides registerType require send start sum toJSON undefined unescape" null` + "\n"
	if got := rowsOf(t, p, mapping(names), `{}`); got != want {
		t.Error(got)
	}
}

// TestClose holds that closing ends calls and children, and that later calls are refused.
func TestClose(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	failed := make(chan error, 1)
	go func() {
		_, err := p.Map(t.Context(), mapping(`function(doc){ for(;;); }`), texts(`{}`))
		failed <- err
	}()
	for working(p) == 0 {
		runtime.Gosched()
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !dberr.Is(err, dberr.Unavailable) {
		t.Error(err)
	}
	if _, err := p.Map(t.Context(), mapping(`function(doc){}`), texts(`{}`)); !dberr.Is(err, dberr.Unavailable) {
		t.Error(err)
	}
	if working(p) != 0 {
		t.Error("a child is left")
	}
}

// TestManyRealms uses more realms than a child keeps, twice over.
func TestManyRealms(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	for round := range 2 {
		for i := range maxRealms + 3 {
			realm := mapping(fmt.Sprintf(`function(doc){ emit(%d, typeof count === 'undefined' ? (count = 1) : ++count) }`, i))
			if got, want := rowsOf(t, p, realm, `{}`), fmt.Sprintf("%d 1\n", i); got != want {
				t.Errorf("round %d: %s", round, got)
			}
		}
	}
}

// TestBatches sends more than fits in one message, and gets more than fits in one.
func TestBatches(t *testing.T) {
	limits := small()
	limits.Time = 5 * time.Second
	limits.Memory = 256 << 20
	p := newPool(t, Options{Limits: limits, Children: 1})
	docs := make([][]byte, 40)
	for i := range docs {
		docs[i] = fmt.Appendf(nil, `{"n":%d,"s":"%s"}`, i, strings.Repeat("x", 300_000))
	}
	results, err := p.Map(t.Context(), mapping(`function(doc){ emit(doc.n, doc.s) }`, `function(doc){ emit(doc.s.length) }`), docs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if written(r[1]) != "300000 null\n" || len(r[0].Rows) != 1 || string(r[0].Rows[0].Key) != fmt.Sprint(i) || len(r[0].Rows[0].Value) != 300_002 {
			t.Fatalf("document %d: %.200s", i, written(r[0]))
		}
	}
}

// TestTenantsApart has the maps of tenants, and functions of theirs that are compiled,
// hang on every slot that there is for them: a database's map, and its other
// functions, have their slots at once.
func TestTenantsApart(t *testing.T) {
	p := newPool(t, Options{Limits: Limits{Time: time.Hour}, Children: 1, Overflow: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if err := p.Check(ctx, true, []Source{{View: "v", Kind: "map", Code: `(function(){ for(;;); })()`}}); !errors.Is(err, context.Canceled) {
				t.Error("a cancelled call:", err)
			}
		})
	}
	for i := range 4 {
		r := mapping(`function(doc){ for(;;); }`)
		r.Database, r.Tenant = fmt.Sprint("db1/owner", i), true
		wait.Go(func() {
			if _, err := p.Map(ctx, r, texts(`{}`)); !errors.Is(err, context.Canceled) {
				t.Error("a cancelled call:", err)
			}
		})
	}
	for working(p) < 2 {
		runtime.Gosched()
	}
	if got := rowsOf(t, p, mapping(`function(doc){ emit(1) }`), `{}`); got != "1 null\n" {
		t.Error(got)
	}
	if err := p.Check(t.Context(), false, []Source{{View: "v", Kind: "map", Code: "function(doc){}"}}); err != nil {
		t.Error(err)
	}
	cancel()
	wait.Wait()
}

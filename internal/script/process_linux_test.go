package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// proc reads a file of /proc about a child.
func proc(t *testing.T, pid int, name string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pids returns the children that wait and those that work.
func pids(p *Pool) (idle, busy []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.mu.idle {
		idle = append(idle, c.cmd.Process.Pid)
	}
	for c := range p.mu.busy {
		busy = append(busy, c.cmd.Process.Pid)
	}
	return idle, busy
}

// TestHygiene looks at a child from outside.
func TestHygiene(t *testing.T) {
	t.Setenv("SECRET", "x")
	t.Setenv("TZ", "Asia/Tokyo")
	inherited, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0) // not closed for children, as Go's would be
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	p := newPool(t, Options{Children: 1})
	if got := rowsOf(t, p, mapping(`function(doc){ emit(new Date(doc.t).getHours(), new Date(2024, 0, 1).getTime()) }`), `{"t":"2024-01-01T05:00:00Z"}`); got != "5 1704067200000\n" {
		t.Errorf("not UTC: %s", got)
	}
	idle, _ := pids(p)
	if got := proc(t, idle[0], "environ"); got != "TZ=UTC\x00" {
		t.Errorf("environment: %q", got)
	}
	limits := proc(t, idle[0], "limits")
	for _, name := range []string{"Max open files", "Max file size", "Max core file size"} {
		_, rest, _ := strings.Cut(limits, name)
		if f := strings.Fields(rest); len(f) < 2 || f[0] != "0" || f[1] != "0" {
			t.Errorf("%s: %v", name, f)
		}
	}
	open, err := os.ReadDir("/proc/" + strconv.Itoa(idle[0]) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range open {
		target, err := os.Readlink("/proc/" + strconv.Itoa(idle[0]) + "/fd/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() > "2" && !ofRuntime(target) {
			t.Errorf("descriptor %s is %s", e.Name(), target)
		}
	}
}

// busyFor returns a map function that works for a while, and does not hang.
func busyFor() string {
	return fmt.Sprintf(`function(doc){ for (var i = 0; i < %d; i++); emit(doc.n) }`, 2_000_000/fewer)
}

// TestStuckChild stops a child in the middle: it does not answer, and can't end itself. The pool kills it and has another do the work.
func TestStuckChild(t *testing.T) {
	limits := small()
	limits.Time = max(2*limits.Time, time.Second) // the pool waits for several times as long
	p := newPool(t, Options{Limits: limits, Children: 1})
	if got := rowsOf(t, p, mapping(busyFor()), `{"n":1}`); got != "1 null\n" { // brings a child up
		t.Fatal(got)
	}
	result := make(chan string, 1)
	go func() { result <- rowsOf(t, p, mapping(busyFor()), `{"n":2}`) }()
	for {
		if _, busy := pids(p); len(busy) == 1 {
			if err := syscall.Kill(busy[0], syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			break
		}
		runtime.Gosched()
	}
	if got := <-result; got != "2 null\n" {
		t.Error(got)
	}
}

// TestOrphan holds that a child ends when its pipe does, also in the middle of a function.
func TestOrphan(t *testing.T) {
	o, err := Options{Limits: Limits{Time: time.Hour}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c, err := start(o, calling)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{realm: mapping(`function(doc){ for (;;); }`), width: 1}
	number, err := c.load(j)
	if err != nil {
		t.Fatal(err)
	}
	var f packed.Writer
	f.Uint(number)
	f.Uint(uint64(opMap))
	f.Flag(true)
	f.Uint(uint64(time.Hour))
	f.Texts(nil)
	f.Uint(0)
	f.Uint(1)
	f.Uint(0)
	f.List(nil)
	f.List(texts(`{}`))
	if err := c.pipe.write(frameJob, f); err != nil {
		t.Fatal(err)
	}
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil { // it would go on for an hour
		t.Error(err)
	}
}

// TestSlowIsNotGuilty has a batch that takes longer than a document may although no document does. Each takes about a
// thousandth of that, so that none is late on a machine that has hardly any time for it, and there are more of them until
// they have taken long enough.
func TestSlowIsNotGuilty(t *testing.T) {
	testrun.Sequential(t)
	limits := small()
	p := newPool(t, Options{Limits: limits, Children: 1})
	busy := mapping(`function(doc){ for (var i = 0; i < 20000; i++); emit(doc.n) }`)
	for n, took := 2000, time.Duration(0); took < 2*limits.Time; n *= 2 {
		docs := make([][]byte, n)
		for i := range docs {
			docs[i] = fmt.Appendf(nil, `{"n":%d}`, i)
		}
		began := time.Now()
		results, err := p.Map(t.Context(), busy, docs)
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(began)
		for i, r := range results {
			if got := written(r[0]); got != fmt.Sprintf("%d null\n", i) {
				t.Errorf("document %d of %d: %s", i, n, got)
			}
		}
		t.Logf("%d documents took %s for a limit of %s", n, took, limits.Time)
	}
}

// TestHangsComeLast holds that a child whose call takes long gives way to others,
// and is not used again then, and that a child that builds indexes always gives way.
func TestHangsComeLast(t *testing.T) {
	p := newPool(t, Options{Limits: Limits{Time: time.Hour}, Children: 1})
	var idle []int
	for len(idle) == 0 { // on a busy machine even a short call may take so long that its child is not used again
		if _, err := p.Show(t.Context(), design(`{"shows":{"s":"function(){ return 'hi' }"}}`), "s", nil, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		idle, _ = pids(p)
	}
	if got := niceness(t, idle[0]); got[0] != niceValue() || len(got) != 1 {
		t.Errorf("a child that does short calls has nice values %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := p.Show(ctx, design(`{"shows":{"s":"function(){ for (;;); }"}}`), "s", nil, []byte(`{}`))
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	for slices.Compare(niceness(t, idle[0]), []int{min(niceValue()+behindOthers, 19)}) != 0 {
		runtime.Gosched()
	}
	cancel()
	<-ended
	if _, err := p.Map(t.Context(), mapping(`function(doc){ emit(1) }`), texts(`{}`)); err != nil {
		t.Fatal(err)
	}
	idle, _ = pids(p)
	if got := niceness(t, idle[0]); len(idle) != 1 || got[0] != min(niceValue()+behindOthers, 19) || len(got) != 1 {
		t.Errorf("a child that builds has nice values %v", got)
	}
	building := mapping(`function(doc){ emit(1) }`)
	building.Tenant = true
	if _, err := p.Map(t.Context(), building, texts(`{}`)); err != nil {
		t.Fatal(err)
	}
	idle, _ = pids(p)
	if got := niceness(t, idle[len(idle)-1]); len(idle) != 2 || got[0] != 19 || len(got) != 1 {
		t.Errorf("a child that builds for tenants has nice values %v", got)
	}
}

// niceness returns the nice values of the threads of a process, each once.
func niceness(t *testing.T, pid int) (values []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread is gone
		}
		_, after, _ := strings.Cut(string(text), ") ")
		n, err := strconv.Atoi(strings.Fields(after)[16])
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, n)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// TestIdle holds that a child that nobody needs ends.
func TestIdle(t *testing.T) {
	p := newPool(t, Options{Children: 1, Idle: time.Millisecond})
	if got := rowsOf(t, p, mapping(`function(doc){ emit(1) }`), `{}`); got != "1 null\n" {
		t.Fatal(got)
	}
	for {
		if idle, busy := pids(p); len(idle)+len(busy) == 0 {
			return
		}
		runtime.Gosched()
	}
}

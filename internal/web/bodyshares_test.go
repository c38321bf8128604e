package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// shareWorld is an API whose action "Do" reads the body and keeps it until the test lets the request go.
type shareWorld struct {
	*small
	t     *testing.T
	kept  map[string]chan struct{} // by name of the request: closed to let it go
	mu    sync.Mutex               // of order, which those that go at once write
	order []string                 // names of those that have read their bodies
}

// asking is a request on its way.
type asking struct {
	answer chan *httptest.ResponseRecorder
	leave  context.CancelFunc
}

func newShareWorld(t *testing.T, memory int64) *shareWorld {
	w := &shareWorld{t: t, kept: map[string]chan struct{}{}}
	w.small = newSmall(NewShared(nil, nil, nil), func(r *Request) error {
		if _, err := r.Body(nil); err != nil {
			return err
		}
		w.mu.Lock()
		w.order = append(w.order, r.Header("X-Name"))
		w.mu.Unlock()
		<-w.kept[r.Header("X-Name")]
		return r.Bytes(200, "text/plain", nil)
	})
	w.settings.MaxMemory.Bytes = memory
	return w
}

// send begins a request with a body of so many bytes. It returns when the request waits, or has ended.
func (w *shareWorld) send(name, user, address string, length int) asking {
	ctx, leave := context.WithCancel(w.t.Context())
	a := asking{make(chan *httptest.ResponseRecorder, 1), leave}
	w.kept[name] = make(chan struct{})
	h := httptest.NewRequestWithContext(ctx, "POST", "/", bytes.NewReader(make([]byte, length)))
	h.RemoteAddr = address + ":1"
	for k, v := range map[string]string{"X-Action": "Do", "X-Name": name, "X-Key": user} {
		h.Header.Set(k, v)
	}
	go func() {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, h)
		a.answer <- rec
	}()
	synctest.Wait()
	return a
}

// status waits for the answer.
func (a asking) status() int { return (<-a.answer).Code }

// TestCallersShareBodyMemory has a caller keep all the memory that he gets, by requests that do not end: others, of whatever kind,
// have theirs at once, and the caller has no more, whoever else is there.
func TestCallersShareBodyMemory(t *testing.T) {
	const body = 64 << 10
	for name, c := range map[string]struct{ greedy, other [2]string }{ // user, address
		"users of one network":  {[2]string{"ann", "192.0.2.1"}, [2]string{"bob", "192.0.2.1"}},
		"networks of nobody":    {[2]string{"", "192.0.2.1"}, [2]string{"", "192.0.3.1"}},
		"a user, and nobody":    {[2]string{"ann", "192.0.2.1"}, [2]string{"", "192.0.2.1"}},
		"nobody, and a user":    {[2]string{"", "2001:db8::1"}, [2]string{"ann", "2001:db8::1"}},
		"networks of version 6": {[2]string{"", "2001:db8::1"}, [2]string{"", "2001:db8:0:1::1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newShareWorld(t, 1<<20)
				var all []asking
				for i := range 40 {
					address := c.greedy[1][:len(c.greedy[1])-1] + fmt.Sprint(1+i%9) // of the same network
					all = append(all, w.send(fmt.Sprint("greedy", i), c.greedy[0], address, body))
				}
				had := len(w.order)
				if held := w.ChargedBytes(); had < 4 || held > 1<<19 {
					t.Errorf("the first caller has %d requests and %d bytes", had, held)
				}
				other := w.send("other", c.other[0], c.other[1], body)
				if w.order[len(w.order)-1] != "other" {
					t.Error("the other one waits")
				}
				all = append(all, w.send("one more", c.greedy[0], c.greedy[1], body))
				if slices.Contains(w.order, "one more") {
					t.Error("the first caller has more than a share")
				}
				close(w.kept["other"])
				if s := other.status(); s != 200 {
					t.Errorf("the other one: %d", s)
				}
				for _, kept := range w.kept {
					select {
					case <-kept:
					default:
						close(kept)
					}
				}
				for i, a := range all {
					if s := a.status(); s != 200 {
						t.Errorf("request %d: %d", i, s)
					}
				}
				if held := w.ChargedBytes(); held != 0 || len(w.budget.parties)+len(w.budget.waiters)+len(w.budget.waiting) != 0 {
					t.Errorf("%d bytes are held at the end, %v, %v", held, w.budget.parties, w.budget.waiters)
				}
			})
		})
	}
}

// TestBodiesWaitInOrder has requests find no room: they wait holding nothing, get it in the order in which they came, leave with
// their clients, and are refused after a time or where too many wait.
func TestBodiesWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const body = 300 << 10
		w := newShareWorld(t, 1<<20)
		first := w.send("first", "ann", "192.0.2.1", body)
		var waiting []asking
		names := []string{"a", "b", "c", "d"}
		before := w.ChargedBytes()
		for _, name := range names {
			waiting = append(waiting, w.send(name, "ann", "192.0.2.1", body))
		}
		if len(w.order) != 1 || w.ChargedBytes() != before {
			t.Fatalf("%v have room, %d bytes are held, %d before", w.order, w.ChargedBytes(), before)
		}
		small := w.send("small", "ann", "192.0.2.1", 10<<10)
		close(w.kept["small"])
		if s := small.status(); s != 200 {
			t.Errorf("a small one: %d", s)
		}
		waiting[1].leave() // b's client goes away
		<-waiting[1].answer
		close(w.kept["first"])
		if s := first.status(); s != 200 {
			t.Errorf("the first: %d", s)
		}
		for i, name := range names {
			synctest.Wait()
			if i == 1 {
				continue
			}
			if got := w.order[len(w.order)-1]; got != name {
				t.Errorf("%s has room where %s was next: %v", got, name, w.order)
			}
			if name == "d" {
				break
			}
			close(w.kept[name])
			if s := waiting[i].status(); s != 200 {
				t.Errorf("%s: %d", name, s)
			}
		}
		began := time.Now()
		late := w.send("late", "ann", "192.0.2.1", body)
		rec := <-late.answer // the time of the bubble goes on
		if took := time.Since(began); rec.Code != 503 || rec.Header().Get("Retry-After") != "1" || took != bodyWait {
			t.Errorf("after %v: %d %v", took, rec.Code, rec.Header())
		}
		var crowd []asking
		for range maxWaiting / 2 {
			crowd = append(crowd, w.send("d2", "ann", "192.0.2.1", body))
		}
		began = time.Now()
		if s := w.send("too many", "ann", "192.0.2.1", body).status(); s != 503 || time.Since(began) != 0 {
			t.Errorf("where too many wait: %d after %v", s, time.Since(began))
		}
		bob := w.send("bob", "bob", "192.0.2.1", 900<<10)
		if s := bob.status(); s != 413 {
			t.Errorf("what never fits: %d", s)
		}
		bob = w.send("bob2", "bob", "192.0.2.1", 200<<10)
		if w.order[len(w.order)-1] != "bob2" {
			t.Error("another caller waits behind them")
		}
		close(w.kept["bob2"])
		if s := bob.status(); s != 200 {
			t.Errorf("another caller: %d", s)
		}
		for _, a := range crowd {
			a.leave()
			<-a.answer
		}
		close(w.kept["d"])
		if s := waiting[3].status(); s != 200 {
			t.Errorf("d: %d", s)
		}
		if len(w.budget.waiting)+len(w.budget.waiters) != 0 || w.ChargedBytes() != 0 {
			t.Errorf("left: %d waiting, %v, %d bytes", len(w.budget.waiting), w.budget.waiters, w.ChargedBytes())
		}
	})
}

// TestWrittenBodiesWait has bodies that are to be written wait where there is memory for them, and as much to be written as may wait.
func TestWrittenBodiesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newShareWorld(t, 1<<30)
		w.settings.MaxWrites = 1 << 20
		a := w.actions["Do"]
		a.Body.Written = true
		w.actions["Do"] = a
		first := w.send("first", "ann", "192.0.2.1", 400<<10)
		second := w.send("second", "ann", "192.0.2.1", 400<<10)
		large := w.send("large", "bob", "192.0.2.1", 1<<20-1) // counts half
		if got := strings.Join(w.order, " "); got != "first" {
			t.Errorf("%s have room", got)
		}
		for _, name := range []string{"first", "second", "large"} {
			close(w.kept[name])
		}
		for _, a := range []asking{first, second, large} {
			if s := a.status(); s != 200 {
				t.Errorf("%d", s)
			}
		}
	})
}

// TestHoldsBecomeTheCallers has a request read its body before it is known who asks: what it holds is the caller's from then on.
func TestHoldsBecomeTheCallers(t *testing.T) {
	a := newSmall(NewShared(nil, nil, nil), func(r *Request) error {
		known := r.Caller
		r.Caller = nil
		if err := r.Hold(100 << 10); err != nil {
			return err
		}
		if r.frame.budget.parties[party{user: "ann"}] != (amount{}) {
			return dberr.New(dberr.Internal, "", "it is ann's already")
		}
		r.Caller = known
		if err := r.Known(); err != nil {
			return err
		}
		if r.frame.budget.parties[party{user: "ann"}].memory != 100<<10-freeBody || len(r.frame.budget.parties) != 1 {
			return dberr.New(dberr.Internal, "", "it is not ann's")
		}
		return r.Bytes(200, "text/plain", nil)
	})
	if w := a.ask("Do", nil, "X-Key", "ann"); w.Code != 200 || a.ChargedBytes() != 0 {
		t.Errorf("%d %s, %d bytes are held", w.Code, w.Body, a.ChargedBytes())
	}
}

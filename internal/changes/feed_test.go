package changes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// run runs a feed and returns what its sink was told and how it ended, a line each.
func (m *memory) run(t *testing.T, ctx context.Context, f Feed) string {
	t.Helper()
	s := &script{m: m, began: time.Now()}
	return m.runInto(t, ctx, f, s)
}

func (m *memory) runInto(t *testing.T, ctx context.Context, f Feed, s *script) string {
	t.Helper()
	end, err := f.Run(ctx, m, s)
	switch {
	case err != nil:
		s.say("error %v", err)
	case end.Limited:
		s.say("end %d pending %d limited", end.Seq, end.Pending)
	default:
		s.say("end %d pending %d", end.Seq, end.Pending)
	}
	return strings.Join(s.lines, "\n")
}

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Errorf("what the sink was told (-want +got):\n%s", diff)
	}
}

func odd(_ Reader, c *store.Change, revs []document.Rev) ([]document.Rev, error) {
	if c.Seq%2 == 0 {
		return nil, nil
	}
	return revs, nil
}

func TestOnce(t *testing.T) {
	five := func() *memory { return newMemory("a", "b", "c", "d", "e") }
	tests := map[string]struct {
		m    *memory
		feed Feed
		want []string
	}{
		"empty":           {newMemory(), Feed{Limit: -1}, []string{"end 0 pending 0"}},
		"all":             {newMemory("a", "b!"), Feed{Limit: -1}, []string{"1 a 1-b", "2 b 1-b deleted", "end 2 pending 0"}},
		"an update moves": {newMemory("a", "b", "a"), Feed{Limit: -1}, []string{"2 b 1-b", "3 a 2-b", "end 3 pending 0"}},
		"winner":          {newMemory("a+"), Feed{Limit: -1}, []string{"1 a 1-b", "end 1 pending 0"}},
		"leaves":          {newMemory("a+"), Feed{Limit: -1, Leaves: true}, []string{"1 a 1-b 1-a", "end 1 pending 0"}},
		"since":           {five(), Feed{Limit: -1, Since: 3}, []string{"4 d 1-b", "5 e 1-b", "end 5 pending 0"}},
		"since the end":   {five(), Feed{Limit: -1, Since: 5}, []string{"end 5 pending 0"}},
		"since the future": {
			// A partition's last sequence is behind that of its database.
			five(), Feed{Limit: -1, Since: 9}, []string{"end 9 pending 0"}},
		"limit":            {five(), Feed{Limit: 2}, []string{"1 a 1-b", "2 b 1-b", "end 2 pending 3 limited"}},
		"limit at the end": {five(), Feed{Limit: 1, Since: 4}, []string{"5 e 1-b", "end 5 pending 0 limited"}},
		"limit 0":          {five(), Feed{Since: 2}, []string{"end 2 pending 3 limited"}},
		"descending": {newMemory("a", "b"), Feed{Limit: -1, Descending: true, Since: 1},
			[]string{"2 b 1-b", "1 a 1-b", "end 1 pending 0"}},
		"descending limit":  {five(), Feed{Limit: 1, Descending: true}, []string{"5 e 1-b", "end 5 pending 4 limited"}},
		"descending empty":  {newMemory(), Feed{Limit: -1, Descending: true}, []string{"end 0 pending 0"}},
		"filter":            {five(), Feed{Limit: -1, Filter: odd}, []string{"1 a 1-b", "3 c 1-b", "5 e 1-b", "end 5 pending 0"}},
		"filter and limit":  {five(), Feed{Limit: 2, Filter: odd}, []string{"1 a 1-b", "3 c 1-b", "end 3 pending 2 limited"}},
		"filter descending": {five(), Feed{Limit: 2, Descending: true, Filter: odd}, []string{"5 e 1-b", "3 c 1-b", "end 3 pending 2 limited"}},
		"ids": {five(), Feed{Limit: -1, IDs: []document.ID{"d", "none", "b"}},
			[]string{"2 b 1-b", "4 d 1-b", "end 5 pending 3"}},
		"ids twice":      {five(), Feed{Limit: -1, IDs: []document.ID{"b", "b"}}, []string{"2 b 1-b", "2 b 1-b", "end 5 pending 3"}},
		"ids since":      {five(), Feed{Limit: -1, Since: 2, IDs: []document.ID{"b", "d"}}, []string{"4 d 1-b", "end 5 pending 2"}},
		"ids limit":      {five(), Feed{Limit: 1, IDs: []document.ID{"b", "d"}}, []string{"2 b 1-b", "end 2 pending 4 limited"}},
		"ids descending": {five(), Feed{Limit: -1, Descending: true, IDs: []document.ID{"b", "d"}}, []string{"4 d 1-b", "2 b 1-b", "end 2 pending 3"}},
		"ids and filter": {five(), Feed{Limit: -1, Filter: odd, IDs: []document.ID{"b", "c"}}, []string{"3 c 1-b", "end 5 pending 3"}},
		"no ids":         {five(), Feed{Limit: -1, IDs: []document.ID{}}, []string{"end 5 pending 5"}},
		"many ids":       {five(), Feed{Limit: -1, IDs: changesOf("b", "d")}, []string{"2 b 1-b", "4 d 1-b", "end 5 pending 0"}},
		"design": {newMemory("a", "_design/x", "_designx", "_design/y!"), Feed{Limit: -1, Design: true},
			[]string{"2 _design/x 1-b", "4 _design/y 1-b deleted", "end 4 pending 2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				expect(t, tt.m.run(t, t.Context(), tt.feed), tt.want...)
			})
		})
	}
}

// changesOf returns more ids than are looked up one by one.
func changesOf(ids ...document.ID) []document.ID {
	for i := range maxLookups {
		ids = append(ids, document.ID(fmt.Sprintf("x%d", i)))
	}
	return ids
}

func TestPurgedEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a", "b")
		m.purge("a")
		expect(t, m.run(t, t.Context(), Feed{Limit: -1}), "2 b 1-b", "end 3 pending 0")
	})
}

// TestPages checks that pages follow each other without a gap or a repetition,
// whichever way the feed is read.
func TestPages(t *testing.T) {
	ids := make([]string, 2*pageRows+7)
	for i := range ids {
		ids[i] = fmt.Sprint("d", i)
	}
	var up, down []string
	for i, id := range ids {
		up = append(up, fmt.Sprintf("%d %s 1-b", i+1, id))
		down = append([]string{up[i]}, down...)
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(ids...)
		expect(t, m.run(t, t.Context(), Feed{Limit: -1}), append(up, "end 1007 pending 0")...)
		if m.views != 3 {
			t.Errorf("%d snapshots, want 3", m.views)
		}
		m.read = 0
		expect(t, m.run(t, t.Context(), Feed{Limit: -1, Descending: true}), append(down, "end 1 pending 0")...)
		if m.read != len(ids) {
			t.Errorf("%d changes were read going backwards, want %d", m.read, len(ids))
		}
		small := newMemory("a", "b", "c")
		for _, f := range []Feed{{}, {IDs: []document.ID{"a", "b", "c"}}} {
			f.Limit = -1
			got := small.runInto(t, t.Context(), f, &script{m: small, began: time.Now(), full: 1})
			expect(t, got, "1 a 1-b", "2 b 1-b", "3 c 1-b", "end 3 pending 0")
			f.Descending = true
			got = small.runInto(t, t.Context(), f, &script{m: small, began: time.Now(), full: 1})
			expect(t, got, "3 c 1-b", "2 b 1-b", "1 a 1-b", "end 1 pending 0")
		}
	})
}

// TestMovingDocument checks that a document which changes between two pages is
// not lost: it moves beyond the place where the feed ended when it was opened.
func TestMovingDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a", "b", "c")
		m.onView = func(n int) {
			if n == 1 {
				go m.put("c") // after the first snapshot was taken
			}
		}
		s := &script{m: m, began: time.Now(), full: 1}
		end, err := Feed{Limit: -1}.Run(t.Context(), m, waiting{s})
		if err != nil {
			t.Fatal(err)
		}
		s.say("end %d", end.Seq)
		expect(t, strings.Join(s.lines, "\n"), "1 a 1-b", "2 b 1-b", "4 c 2-b", "end 4")
	})
}

// waiting lets other goroutines go first whenever a page is sent.
type waiting struct{ *script }

func (w waiting) Send() error {
	synctest.Wait()
	return w.script.Send()
}

// TestBusyWriters checks that a feed which is to end does so although writers
// never stop.
func TestBusyWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		n := 0
		write := func(int) {
			for range 2 * pageRows {
				n++
				m.put(fmt.Sprint("x", n))
			}
		}
		write(0)
		m.onView = write
		s := &script{m: m, began: time.Now()}
		got := m.runInto(t, t.Context(), Feed{Limit: -1}, s)
		last := got[strings.LastIndex(got, "\n")+1:]
		if !strings.HasPrefix(last, "end ") || strings.HasSuffix(last, "pending 0") {
			t.Errorf("%d lines, the last %q", len(s.lines), last)
		}
	})
}

func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		f := Feed{Mode: First, Limit: -1, Timeout: time.Minute}
		expect(t, m.run(t, t.Context(), f), "1 a 1-b", "end 1 pending 0")
		f.Since = 1
		expect(t, m.run(t, t.Context(), f), "wait", "end 1 pending 0 @1m0s")
		go func() {
			time.Sleep(10 * time.Second)
			m.put("b")
		}()
		expect(t, m.run(t, t.Context(), f), "wait", "2 b 1-b @10s", "end 2 pending 0 @10s")
		f.Limit = 0
		expect(t, m.run(t, t.Context(), f), "end 1 pending 1 limited")
	})
}

// TestFilteredWait checks that changes which a filter leaves out do not
// lengthen the wait, and that the feed goes on after them.
func TestFilteredWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		go func() {
			for range 2 {
				time.Sleep(4 * time.Second)
				m.put("other")
			}
		}()
		f := Feed{Mode: First, Limit: -1, Since: 1, Timeout: 10 * time.Second, IDs: []document.ID{"a"}}
		expect(t, m.run(t, t.Context(), f), "wait", "wait @4s", "wait @8s", "end 3 pending 0 @10s")
	})
}

func TestEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		go func() {
			time.Sleep(50 * time.Second)
			m.put("b")
		}()
		got := m.run(t, t.Context(), Feed{Mode: Endless, Limit: -1, Timeout: time.Minute})
		expect(t, got, "1 a 1-b", "wait", "2 b 1-b @50s", "wait @50s", "end 2 pending 0 @1m50s")
		got = m.run(t, t.Context(), Feed{Mode: Endless, Limit: 1, Timeout: time.Minute})
		expect(t, got, "1 a 1-b", "end 1 pending 1 limited")
		got = m.run(t, t.Context(), Feed{Mode: Endless, Limit: -1, Descending: true, Timeout: time.Minute})
		expect(t, got, "2 b 1-b", "1 a 1-b", "wait", "end 2 pending 0 @1m0s")
	})
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		// The timeout is shorter: with heartbeats it does not count.
		got := m.run(t, ctx, Feed{Mode: Endless, Limit: -1, Heartbeat: 10 * time.Second, Timeout: time.Second})
		expect(t, got, "wait", "beat @10s", "beat @20s", "end 0 pending 0 @25s")
	})
}

// TestHeartbeatInScan checks that a client is kept awake while a filter that
// lets nothing pass reads many pages.
func TestHeartbeatInScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := make([]string, 4*pageRows)
		for i := range ids {
			ids[i] = fmt.Sprint(i)
		}
		m := newMemory(ids...)
		m.onView = func(int) { time.Sleep(time.Second) }
		none := func(Reader, *store.Change, []document.Rev) ([]document.Rev, error) { return nil, nil }
		got := m.run(t, t.Context(), Feed{Limit: -1, Heartbeat: 2 * time.Second, Filter: none})
		expect(t, got, "beat @2s", "beat @4s", "end 2000 pending 0 @5s")
	})
}

func TestDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a", "b")
		done := make(chan struct{})
		go func() {
			time.Sleep(5 * time.Second)
			close(done)
		}()
		f := Feed{Mode: Endless, Limit: -1, Heartbeat: time.Minute, Done: done}
		expect(t, m.run(t, t.Context(), f), "1 a 1-b", "2 b 1-b", "wait", "end 2 pending 0 @5s")
		// In the middle of a scan the rest is reported as pending.
		got := m.runInto(t, t.Context(), f, &script{m: m, began: time.Now(), full: 1})
		expect(t, got, "1 a 1-b", "end 1 pending 1")
		// A normal feed is finished.
		f.Mode = Once
		got = m.runInto(t, t.Context(), f, &script{m: m, began: time.Now(), full: 1})
		expect(t, got, "1 a 1-b", "2 b 1-b", "end 2 pending 0")
	})
}

func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		go func() {
			time.Sleep(5 * time.Second)
			m.drop()
		}()
		f := Feed{Mode: Endless, Limit: -1, Timeout: time.Minute}
		expect(t, m.run(t, t.Context(), f), "1 a 1-b", "wait", "end 1 pending 0 @5s")
		if _, err := f.Run(t.Context(), m, &script{m: m}); !dberr.Is(err, dberr.NotFound) {
			t.Errorf("a feed of a dropped database: %v, want NotFound", err)
		}
	})
}

var errSink = errors.New("the client is gone")

type broken struct{ *script }

func (broken) Wait() error { return errSink }

func TestSinkErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a")
		_, err := Feed{Mode: Endless, Limit: -1, Timeout: time.Minute}.Run(t.Context(), m, broken{&script{m: m}})
		if !errors.Is(err, errSink) {
			t.Errorf("%v, want the sink's error", err)
		}
		bad := func(Reader, *store.Change, []document.Rev) ([]document.Rev, error) { return nil, errSink }
		if _, err = (Feed{Limit: -1, Filter: bad}).Run(t.Context(), m, &script{m: m}); !errors.Is(err, errSink) {
			t.Errorf("%v, want the filter's error", err)
		}
	})
}

// revoked is a sink whose reader may have no more after so many pages.
type revoked struct {
	script
	pages int
}

func (r *revoked) Send() error {
	if r.pages--; r.pages < 0 {
		r.lines = r.lines[:0]
		return ErrOver
	}
	return r.script.Send()
}

// TestOver: a feed whose reader may have no more ends after what went out.
func TestOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for pages, want := range []string{"end 0 pending 0", "end 1 pending 0", "end 2 pending 0"} {
			m := newMemory("a", "b", "c")
			r := &revoked{script{m: m, began: time.Now(), full: 1}, pages}
			end, err := Feed{Mode: Endless, Limit: -1, Timeout: time.Minute}.Run(t.Context(), m, r)
			if got := fmt.Sprintf("end %d pending %d", end.Seq, end.Pending); got != want || err != nil {
				t.Errorf("after %d pages: %s, %v", pages, got, err)
			}
		}
	})
}

// TestUntil: a feed that waits ends at its time, with heartbeats and without.
func TestUntil(t *testing.T) {
	for _, f := range []Feed{{Timeout: time.Hour}, {Heartbeat: 7 * time.Second}, {Heartbeat: time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			m, began := newMemory("a"), time.Now()
			f.Mode, f.Limit, f.Until = Endless, -1, began.Add(20*time.Second)
			end, err := f.Run(t.Context(), m, &script{m: m, began: began})
			if took := time.Since(began); took != 20*time.Second || end.Seq != 1 || err != nil {
				t.Errorf("the feed ended after %v at %d, %v", took, end.Seq, err)
			}
		})
	}
}

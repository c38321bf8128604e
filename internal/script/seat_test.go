package script

import (
	"sync"
	"testing"
	"time"
)

// TestCrowdOfOneDatabase has one database call more functions that hang than there are seats: a function of another
// database does not wait until one of them has used up its time.
func TestCrowdOfOneDatabase(t *testing.T) {
	limits := small()
	limits.Time = 4 * time.Second * slower
	p := newPool(t, Options{Limits: limits, Children: 1, Overflow: 10 * time.Millisecond})
	hangs, good := design(`{"shows":{"s":"function(){ for (;;); }"}}`), design(`{"shows":{"s":"function(){ return 'hi' }"}}`)
	good.Database = "db2"
	var calls sync.WaitGroup
	for range 12 {
		calls.Go(func() {
			if _, err := p.Show(t.Context(), hangs, "s", nil, []byte(`{}`)); err == nil {
				t.Errorf("what hangs: %v", err)
			}
		})
	}
	crowded := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		c := p.mu.crowds[hangs.Database]
		return c != nil && c.calls == 11 && len(c.seats) == cap(c.seats)
	}
	for !crowded() {
		<-time.After(time.Millisecond)
	}
	began := time.Now()
	if _, err := p.Show(t.Context(), good, "s", nil, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > limits.Time/2 {
		t.Errorf("another database waited %v", took)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if len(p.mu.crowds) != 0 {
		t.Errorf("crowds are left: %v", p.mu.crowds)
	}
}

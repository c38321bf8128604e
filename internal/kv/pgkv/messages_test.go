package pgkv

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/sectional/sectional/internal/kv"
)

// TestMessages: what one process tells the others hear, itself not, and again after a lost connection.
func TestMessages(t *testing.T) {
	c := postgres.Cluster(t)
	one := open(t, Options{Schema: "messages"})
	defer one.Close()
	two := open(t, Options{Schema: "messages"})
	defer two.Close()
	if !kv.IsShared(one) {
		t.Error("the engine does not say that others may write to it")
	}
	heard := make(chan string, 10_000)
	own := make(chan string, 10_000)
	defer two.Listen(func(message []byte) { heard <- string(message) })()
	stop := one.Listen(func(message []byte) { own <- string(message) })
	tell := func(text string) { // until it is heard: that somebody listens takes a moment
		for i := 0; ; i++ {
			one.Send([]byte(text))
			select {
			case got := <-heard:
				if got == text {
					return
				}
			case <-one.messages.ctx.Done():
				t.Fatal("closed")
			default:
				runtime.Gosched()
			}
		}
	}
	tell("first\x00\xff")
	for i := range 100 {
		one.Send(fmt.Appendf(nil, "many %d", i))
	}
	want := map[string]bool{}
	for i := range 100 {
		want[fmt.Sprintf("many %d", i)] = true
	}
	for len(want) > 0 {
		delete(want, <-heard)
	}
	if err := c.Admin(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN messages'"); err != nil {
		t.Fatal(err)
	}
	tell("after the connection was lost")
	stop()
	if len(own) > 0 {
		t.Errorf("the process hears itself: %q", <-own)
	}
}

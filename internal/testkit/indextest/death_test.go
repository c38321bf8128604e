package indextest

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestBuilderDies has a server die in the middle of a build, or while an index follows, for whose end a query waits at
// another: when the lease of the job is over, that one goes on with it.
func TestBuilderDies(t *testing.T) {
	for name, built := range map[string]bool{"build": false, "follow": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, later := time.Now(), &atomic.Int64{}
			life := &kvtest.Mortal{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
			on := func(holder uint64) store.Options {
				return store.Options{Holder: holder, Lease: time.Minute, Clock: func() time.Time { return began.Add(time.Duration(later.Load())) }}
			}
			two := serveOn(t, kvtest.NewShared(life.Engine), journal{}, true, on(2))
			d, err := two.Create(ctx, "db", store.Creation{})
			must(t, err)
			two.write(d, "_design/d", `{"journal":1}`)
			if built {
				must(t, two.x.Run(ctx, d))
			}
			two.write(d, "a", `{}`)
			k := &halting{at: make(chan bool), on: make(chan bool)}
			one := serveOn(t, kvtest.NewShared(life), k, false, on(1))
			<-k.at
			three := serveOn(t, kvtest.NewShared(life.Engine), journal{}, false, on(3))
			asks, err := three.x.Session(ctx, three.database("db").Whole(), "_design/d", "journal", "journal")
			must(t, err)
			told := make(chan error, 1)
			go func() { told <- asks.Ready(ctx, time.Hour) }()
			life.Die()
			two.write(d, "b", `{}`)
			later.Add(int64(2 * time.Minute))
			three.database("db").WakeJobs("index")
			must(t, <-told)
			for !strings.HasSuffix(three.answer(three.database("db")), "a {}\nb {}\n") {
				three.check()
			}
			close(k.on)
			one.x.Close()
			if err := one.Close(); err != nil && !life.Dead() {
				t.Error(err)
			}
			three.end()
			two.check()
			two.end()
		})
	}
}

package indextest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/crashfs"
)

// TestCrashWhileFollowing takes the power away at random moments while an index is built
// and then follows writers by itself. What is there afterwards is sound, jobs among it, and the
// next server brings the index to where the documents are.
func TestCrashWhileFollowing(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 21))
		fs := crashfs.New()
		after := vfs.FS(nil)
		on := func(fs vfs.FS, idle bool, fn func(s serving)) {
			e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: fs, CacheBytes: 8 << 20})
			must(t, err)
			s := serve(t, e, journal{}, idle)
			fn(s)
			s.end()
			must(t, e.Close())
		}
		on(fs, false, func(s serving) {
			d, err := s.Create(ctx, "db", store.Creation{})
			must(t, err)
			crash := r.IntN(60)
			for n := range 60 {
				if n == 10 {
					s.write(d, "_design/d", `{"journal":1}`)
				}
				if n == crash {
					after = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
				}
				s.write(d, fmt.Sprintf("d%02d", n), fmt.Sprintf(`{"n":%d}`, n))
			}
		})
		on(after, true, func(s serving) {
			s.check()
			must(t, s.x.Run(ctx, s.database("db")))
			s.check()
		})
	}
}

package kvtest

import "sync"

// RandomStale returns a function that reports true of each fourth call, at random. As store.Options.Doubt it has as many reads
// begin again, as they do when another server has just written: whoever reads has to begin anew then.
func RandomStale(seed uint64) func() bool {
	var mu sync.Mutex
	random := NewRand(seed)
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(4) == 0
	}
}

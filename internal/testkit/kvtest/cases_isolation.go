package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sectional/sectional/internal/kv"
)

func isolationCases() []testCase {
	return []testCase{
		{"lost update is prevented", lostUpdate},
		{"write skew commits", writeSkew},
		{"write skew is prevented by reading for update", noWriteSkew},
		{"phantoms commit", phantoms},
		{"absent keys are read for update", absentForUpdate},
		{"many are read for update", manyForUpdate},
		{"many are read plainly", manyPlain},
		{"reads for update without writes", lockOnly},
		{"who read for update commits before who writes", readerFirst},
		{"deleted and put again is a conflict", abaConflict},
		{"reruns leave no trace", rerunTrace},
		{"a rerun sees the newer state", rerunFresh},
		{"a rerun stops with its context", rerunContext},
		{"updates see what was committed", updateSees},
		{"concurrent counters", counters},
		{"concurrent disjoint writers", disjoint},
		{"a closure that always loses ends", starved},
		{"a key that is absent before and after", absentTwice},
		{"deletions of absent keys", absentDeleted},
	}
}

// contend runs a transaction during whose first run another one commits, and
// returns how often it ran.
func (v env) contend(fn func(kv.Txn), meanwhile func(kv.Txn)) (runs int) {
	v.Helper()
	v.update(func(t kv.Txn) {
		runs++
		fn(t)
		if runs == 1 {
			v.update(meanwhile)
		}
	})
	return runs
}

// wantRuns expects a number of runs.
func (v env) wantRuns(got, want int) {
	v.Helper()
	if got != want {
		v.Errorf("the closure ran %d times, want %d", got, want)
	}
}

func lostUpdate(v env) {
	v.load("n=1")
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "n="+v.get(t, "n")+"a") },
		func(t kv.Txn) { v.put(t, "n="+v.get(t, "n")+"b") })
	v.wantRuns(runs, 2)
	v.want(v.all(), "n=1ba")
}

func writeSkew(v env) {
	v.load("x=1 y=1")
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "x=from_y"+v.get(t, "y")) },
		func(t kv.Txn) { v.put(t, "y=from_x"+v.get(t, "x")) })
	v.wantRuns(runs, 1)
	v.want(v.all(), "x=from_y1 y=from_x1")
}

// manyForUpdate: each of the keys counts, the absent ones too.
func manyForUpdate(v env) {
	for _, other := range []string{"x=2", "y=2", "z=2"} {
		v.update(func(t kv.Txn) {
			v.put(t, "x=1 y=1")
			v.wantKind(t.Delete([]byte("z")), none)
		})
		runs := v.contend(
			func(t kv.Txn) {
				v.put(t, "saw="+strings.ReplaceAll(v.getMany("z y x y", t.GetManyForUpdate), " ", ","))
			},
			func(t kv.Txn) { v.put(t, other) })
		v.wantRuns(runs, 2)
	}
	v.want(v.all(), "saw=2,1,1,1 x=1 y=1 z=2")
}

func manyPlain(v env) {
	v.load("x=1 y=1")
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "x=from_y"+v.getMany("y", t.GetMany)) },
		func(t kv.Txn) { v.put(t, "y=from_x"+v.getMany("x", t.GetMany)) })
	v.wantRuns(runs, 1)
	v.want(v.all(), "x=from_y1 y=from_x1")
}

func noWriteSkew(v env) {
	v.load("x=1 y=1")
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "x=from_y"+v.lock(t, "y")) },
		func(t kv.Txn) { v.put(t, "y=from_x"+v.lock(t, "x")) })
	v.wantRuns(runs, 2)
	v.want(v.all(), "x=from_yfrom_x1 y=from_x1")
}

func phantoms(v env) {
	v.load("r1=1 r2=1")
	runs := v.contend(
		func(t kv.Txn) { v.put(t, fmt.Sprintf("n=%d", len(v.rows(t, kv.Prefix([]byte("r")), forward)))) },
		func(t kv.Txn) { v.put(t, "r3=1") })
	v.wantRuns(runs, 1)
	v.want(v.all(), "n=9 r1=1 r2=1 r3=1")
}

func absentForUpdate(v env) {
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "seen="+v.lock(t, "absent")) },
		func(t kv.Txn) { v.put(t, "absent=now") })
	v.wantRuns(runs, 2)
	v.want(v.all(), "absent=now seen=now")
	runs = v.contend(
		func(t kv.Txn) { v.put(t, "seen="+v.lock(t, "absent")+v.lock(t, "absent2")) },
		func(t kv.Txn) { v.put(t, "absent3=x") })
	v.wantRuns(runs, 1)
}

func lockOnly(v env) {
	v.load("a=1")
	runs := v.contend(
		func(t kv.Txn) { v.lock(t, "a") },
		func(t kv.Txn) { v.put(t, "a=2") })
	v.wantRuns(runs, 2)
	runs = v.contend(
		func(t kv.Txn) { v.get(t, "a") },
		func(t kv.Txn) { v.put(t, "a=3") })
	v.wantRuns(runs, 1)
}

// readerFirst: who read a key for update commits before who writes it, from a snapshot that
// is older than that commit. The reader comes before the writer then, which is a conflict
// only where the writer has read for update what the reader wrote.
func readerFirst(v env) {
	v.load("k=1 j=1")
	reader := func(t kv.Txn) { v.put(t, "j=saw"+v.lock(t, "k")) }
	runs := v.contend(func(t kv.Txn) { v.get(t, "j"); v.put(t, "k=2") }, reader)
	v.wantRuns(runs, 1)
	v.want(v.all(), "j=saw1 k=2")
	runs = v.contend(func(t kv.Txn) { v.get(t, "j"); v.put(t, "k="+v.get(t, "k")+"3") }, reader)
	v.wantRuns(runs, 1)
	v.want(v.all(), "j=saw2 k=23")
	runs = v.contend(func(t kv.Txn) { v.put(t, "k=after"+v.lock(t, "j")) }, reader)
	v.wantRuns(runs, 2)
	v.want(v.all(), "j=saw23 k=aftersaw23")
}

func abaConflict(v env) {
	v.load("a=1")
	runs := 0
	v.update(func(t kv.Txn) {
		runs++
		v.lock(t, "a")
		if runs == 1 {
			v.update(func(t kv.Txn) { v.deleteOnce(t, "a") })
			v.load("a=1")
		}
		v.put(t, "b=1")
	})
	v.wantRuns(runs, 2)
}

func rerunTrace(v env) {
	v.load("n=0 once=1")
	runs := 0
	v.update(func(t kv.Txn) {
		runs++
		v.put(t, fmt.Sprintf("run%d=x", runs))
		if runs == 1 {
			v.lock(t, "locked-at-first")
			v.deleteOnce(t, "once")
			v.put(t, "n=1")
			v.load("n=other")
			return
		}
		v.want(v.get(t, "run1"), "-")
		v.want(v.get(t, "once"), "1")
		if runs == 2 { // no longer locked: no further run
			v.load("locked-at-first=x n=later")
		}
	})
	v.wantRuns(runs, 2)
	v.want(v.all(), "locked-at-first=x n=later once=1 run2=x")
}

func rerunFresh(v env) {
	v.load("n=0")
	var seen []string
	v.update(func(t kv.Txn) {
		n := v.lock(t, "n")
		seen = append(seen, n)
		if i := len(seen); i < 4 {
			v.load(fmt.Sprintf("n=%d", i))
		}
		v.put(t, "n=last"+n)
	})
	v.want(fmt.Sprint(seen), "[0 1 2 3]")
	v.want(v.all(), "n=last3")
}

func rerunContext(v env) {
	ctx, cancel := context.WithCancel(context.Background())
	runs := 0
	err := v.e.Update(ctx, func(t kv.Txn) error {
		runs++
		v.get(t, "n")
		v.put(t, "n=mine")
		v.load("n=other")
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		v.Errorf("Update: %v, want Canceled", err)
	}
	v.wantRuns(runs, 1)
	v.want(v.all(), "n=other")
}

func updateSees(v env) {
	v.load("a=1")
	v.update(func(t kv.Txn) {
		v.want(v.get(t, "a"), "1")
		v.put(t, "a=2")
	})
	v.update(func(t kv.Txn) { v.want(v.lock(t, "a"), "2") })
}

func counters(v env) {
	const workers, rounds = 8, 50
	v.load("shared=0")
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				v.update(func(t kv.Txn) {
					v.increment(t, "shared")
					v.increment(t, fmt.Sprintf("own%d", w))
				})
			}
		})
	}
	wg.Wait()
	v.view(func(s kv.Snapshot) {
		v.want(v.get(s, "shared"), strconv.Itoa(workers*rounds))
		for w := range workers {
			v.want(v.get(s, fmt.Sprintf("own%d", w)), strconv.Itoa(rounds))
		}
	})
}

// increment adds one to a number, 0 if it is absent.
func (v env) increment(t kv.Txn, key string) {
	n, err := strconv.Atoi(v.lock(t, key))
	if err != nil {
		n = 0
	}
	if err := t.Put([]byte(key), strconv.AppendInt(nil, int64(n)+1, 10)); err != nil {
		v.Errorf("Put: %v", err)
	}
}

func disjoint(v env) {
	const workers, rounds = 8, 40
	var runs atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				v.update(func(t kv.Txn) {
					runs.Add(1)
					v.put(t, fmt.Sprintf("w%d-%02d=%d", w, i, i))
				})
				v.view(func(s kv.Snapshot) {
					if got := v.get(s, fmt.Sprintf("w%d-%02d", w, i)); got != strconv.Itoa(i) {
						v.Errorf("a committed row reads %q", got)
					}
				})
			}
		})
	}
	wg.Wait()
	v.wantRuns(int(runs.Load()), workers*rounds)
}

// starved has one closure read every row that others write all the time.
func starved(v env) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					v.update(func(t kv.Txn) { v.increment(t, fmt.Sprintf("hot%d", w)) })
				}
			}
		})
	}
	for range 10 {
		v.update(func(t kv.Txn) {
			for w := range 4 {
				v.lock(t, fmt.Sprintf("hot%d", w))
			}
			v.increment(t, "slow")
		})
	}
	close(stop)
	wg.Wait()
	v.view(func(s kv.Snapshot) { v.want(v.get(s, "slow"), "10") })
}

// absentTwice: what is absent at both moments may make a conflict and need not.
func absentTwice(v env) {
	runs := v.contend(
		func(t kv.Txn) { v.put(t, "seen="+v.lock(t, "absent")) },
		func(t kv.Txn) {
			v.put(t, "absent=x")
			v.wantKind(t.Delete([]byte("absent")), none)
		})
	if runs > 2 {
		v.Errorf("the closure ran %d times", runs)
	}
	v.want(v.all(), "seen=-")
}

// absentDeleted: whoever deletes what its snapshot does not have may come before or after
// the one that creates it, but loses nothing of its own.
func absentDeleted(v env) {
	v.contend(
		func(t kv.Txn) {
			v.get(t, "x")
			v.wantKind(t.Delete([]byte("x")), none)
			v.put(t, "own=1")
		},
		func(t kv.Txn) { v.put(t, "x=1") })
	if got := v.all(); got != "own=1" && got != "own=1 x=1" {
		v.Errorf("the rows are %q", got)
	}
	runs := v.contend( // one that it read for update is another matter
		func(t kv.Txn) {
			v.lock(t, "y")
			v.wantKind(t.Delete([]byte("y")), none)
		},
		func(t kv.Txn) { v.put(t, "y=1") })
	v.wantRuns(runs, 2)
}

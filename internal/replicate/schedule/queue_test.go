package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// bench is a run queue whose jobs run when they are told to and end only when they
// are stopped, under a clock that stands still.
type bench struct {
	t *testing.T
	*runQueue
	now time.Time
	ran map[string]int // how often each job was started
}

func newBench(t *testing.T, overrides ...config.Setting) *bench {
	for i := range overrides {
		if overrides[i].Section == "" {
			overrides[i].Section = "replicator"
		}
	}
	c, err := config.Open(config.Options{Overrides: overrides})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, runQueue: newRunQueue(), now: time.Unix(1_000_000, 0), ran: map[string]int{}}
	b.limits = parseSettings(c.Snapshot())
	return b
}

func (b *bench) put(db, id string, continuous bool) *job {
	j := &job{id: id, key: docKey{db, document.ID(id)}, rep: &spec.Replication{Continuous: continuous}, began: b.now, failures: &failures{}}
	j.note(event{kind: added, when: b.now}, 20)
	b.add(j)
	return j
}

func (b *bench) start() {
	for _, j := range b.room(b.now) {
		if j.running {
			b.t.Fatalf("%s is started twice", j.id)
		}
		j.running = true
		j.note(event{kind: started, when: b.now}, b.limits.maxHistory)
		b.ran[j.id]++
	}
	if n := b.busy(); n > b.limits.maxJobs {
		b.t.Fatalf("%d jobs run", n)
	}
}

// step lets an interval pass.
func (b *bench) step() (stop []*job) {
	b.now = b.now.Add(b.limits.interval)
	stop = b.reschedule(b.now)
	for _, j := range stop {
		j.running = false
		j.note(event{kind: stopped, when: b.now}, b.limits.maxHistory)
	}
	b.start()
	return stop
}

func ids(list []*job) (ids []string) {
	for _, j := range list {
		ids = append(ids, j.id)
	}
	return ids
}

func (b *bench) runs() (ids []string) {
	for id, j := range b.jobs {
		if j.running {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestThousandJobs: with twice as many jobs as may run, each gets its turn, and
// none more than two turns ahead of another one.
func TestThousandJobs(t *testing.T) {
	b := newBench(t, config.Setting{Key: "max_jobs", Value: "100"}, config.Setting{Key: "max_churn", Value: "50"})
	for i := range 1000 {
		b.put("_replicator", fmt.Sprintf("j%04d", i), true)
		b.now = b.now.Add(time.Millisecond)
	}
	b.start()
	for range 100 {
		if n := len(b.step()); n > 50 {
			t.Fatalf("%d jobs change in one turn", n)
		}
		if n := len(b.runs()); n != 100 {
			t.Fatalf("%d jobs run", n)
		}
	}
	least, most := 1<<30, 0
	for id := range b.jobs {
		least, most = min(least, b.ran[id]), max(most, b.ran[id])
	}
	if least < 4 || most > least+2 {
		t.Errorf("one job had %d turns, another one %d", least, most)
	}
}

// TestSharesCount: of two databases that ask for more than there is room for, the
// one with more shares gets more, and the one with many jobs does not get all.
func TestSharesCount(t *testing.T) {
	for name, c := range map[string]struct {
		a, b        int // jobs
		shares      string
		least, most float64 // part of the time that a gets
	}{
		"equal":        {50, 50, "100", 0.45, 0.55},
		"many and few": {200, 20, "100", 0.3, 0.75},
		"few shares":   {50, 50, "20", 0.05, 0.35},
		"more shares":  {50, 50, "500", 0.65, 0.97},
	} {
		b := newBench(t, config.Setting{Key: "max_jobs", Value: "20"}, config.Setting{Key: "max_churn", Value: "20"},
			config.Setting{Section: "replicator.shares", Key: "a/_replicator", Value: c.shares})
		for i := range c.a {
			b.put("a/_replicator", fmt.Sprintf("a%d", i), true)
		}
		for i := range c.b {
			b.put("b/_replicator", fmt.Sprintf("b%d", i), true)
		}
		of := map[byte]int{}
		b.start()
		for range 200 {
			b.step()
			for _, id := range b.runs() {
				of[id[0]]++
			}
		}
		part := float64(of['a']) / float64(of['a']+of['b'])
		if part < c.least || part > c.most {
			t.Errorf("%s: a gets %.2f of the time", name, part)
		}
		for id := range b.jobs {
			if b.ran[id] == 0 {
				t.Errorf("%s: %s never had a turn", name, id)
			}
		}
	}
}

// TestWhoStops holds the choice of those who stop to CouchDB's: continuous jobs
// before others, the longest running first, and others only when there are more
// than may run.
func TestWhoStops(t *testing.T) {
	b := newBench(t, config.Setting{Key: "max_jobs", Value: "3"}, config.Setting{Key: "max_churn", Value: "2"})
	b.put("d", "once", false)
	b.start()
	b.now = b.now.Add(time.Second)
	b.put("d", "long", true)
	b.start()
	b.now = b.now.Add(time.Second)
	b.put("d", "late", true)
	b.start()
	b.now = b.now.Add(time.Second)
	b.put("d", "waits", true)
	b.start()
	if diff := cmp.Diff([]string{"late", "long", "once"}, b.runs()); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"long"}, ids(b.step())); diff != "" {
		t.Errorf("for one that waits (-want +got):\n%s", diff)
	}
	b.remove(b.jobs["long"])
	if stop := b.step(); stop != nil {
		t.Errorf("for nobody %v stops", ids(stop))
	}
	b.limits.maxJobs = 2
	if diff := cmp.Diff([]string{"late"}, ids(b.step())); diff != "" {
		t.Errorf("for one too many (-want +got):\n%s", diff)
	}
	b.limits.maxJobs = 0
	if diff := cmp.Diff([]string{"waits", "once"}, ids(b.step())); diff != "" {
		t.Errorf("when none may run (-want +got):\n%s", diff)
	}
}

// TestLeavingJobsKeepTheirPlaces: a job that was removed while it ran takes a
// place until it has ended.
func TestLeavingJobsKeepTheirPlaces(t *testing.T) {
	b := newBench(t, config.Setting{Key: "max_jobs", Value: "1"})
	first := b.put("d", "a", true)
	b.start()
	b.put("d", "b", true)
	b.remove(first)
	b.start()
	if runs := b.runs(); runs != nil {
		t.Errorf("%v runs", runs)
	}
	b.leaving--
	b.start()
	if diff := cmp.Diff([]string{"b"}, b.runs()); diff != "" {
		t.Error(diff)
	}
}

// TestCrashesAreCounted holds the count to CouchDB's rules.
func TestCrashesAreCounted(t *testing.T) {
	for history, want := range map[string]int{
		"a": 0, "as": 0, "asc": 1, "ascsc": 2, "ascscsc": 3, "ascs": 1, "ascsS": 0, "ascscsSsc": 1, "as......c": 0, "asc......s": 1, "ascs......c": 0, "ascs......csc": 1,
	} {
		j, now := &job{}, time.Unix(0, 0)
		for _, c := range history {
			now = now.Add(10 * time.Second)
			if kind := map[rune]string{'a': added, 's': started, 'S': stopped, 'c': crashed}[c]; kind != "" {
				j.note(event{kind: kind, when: now}, 20)
			}
		}
		if got := j.crashes(time.Minute); got != want {
			t.Errorf("%s: %d crashes, want %d", history, got, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	for crashes, want := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 5: 8 * time.Minute, 11: 512 * time.Minute, 12: 512 * time.Minute, 1000: 512 * time.Minute} {
		least, most := backoff(crashes, 0), backoff(crashes, 1)
		if least != want*3/4 || most != want*5/4 {
			t.Errorf("after %d crashes from %s to %s, want about %s", crashes, least, most, want)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	j := &job{}
	for i := range 50 {
		j.note(event{kind: crashed, when: time.Unix(int64(i), 0)}, 5)
	}
	if len(j.history) != 5 || j.history[0].when != time.Unix(49, 0) || j.crashes(time.Minute) != 4 {
		t.Errorf("%d events, the newest at %s", len(j.history), j.history[0].when)
	}
}

// TestRandomRunQueues: whatever comes and goes, no more run than may, and whoever
// could run does when there is room.
func TestRandomRunQueues(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t, config.Setting{Key: "max_jobs", Value: fmt.Sprint(1 + r.IntN(5))}, config.Setting{Key: "max_churn", Value: fmt.Sprint(r.IntN(4))})
		for n := range 300 {
			running := b.runs()
			switch r.IntN(5) {
			case 0, 1:
				b.put(fmt.Sprintf("%d/_replicator", r.IntN(3)), fmt.Sprint("j", n), r.IntN(2) == 0)
			case 2:
				if len(running) > 0 {
					j := b.jobs[running[r.IntN(len(running))]]
					j.running = false
					j.note(event{kind: crashed, when: b.now}, 20)
					j.due = b.now.Add(backoff(j.crashes(time.Minute), r.Float64()))
				}
			case 3:
				if len(running) > 0 {
					j := b.jobs[running[r.IntN(len(running))]]
					b.remove(j)
					b.leaving--
				}
			case 4:
				b.step()
			}
			b.now = b.now.Add(time.Duration(r.IntN(20)) * time.Second)
			b.start()
			if b.busy() < b.limits.maxJobs && len(b.waiting(b.now)) > 0 {
				t.Fatalf("seed %d: there is room, and %v wait", seed, ids(b.waiting(b.now)))
			}
			if next := b.next(b.now); !next.IsZero() && !next.After(b.now) {
				t.Fatalf("seed %d: next is in the past", seed)
			}
		}
	}
}

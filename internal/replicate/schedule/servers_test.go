package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestOneServerRuns has two servers over one store follow the same documents: one of them
// runs each replication, and the other when the first stops or is not heard of any more.
func TestOneServerRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		serve := func(holder uint64) (*Scheduler, *store.Store) {
			st, err := store.Open(ctx, w.engine, store.Options{Idle: true, Holder: holder, Lease: time.Minute})
			must(t, err)
			s := New(Options{Store: st, Users: w, Config: w.config, Node: "n", Run: w.run, Random: func() float64 { return 0.5 }})
			must(t, s.Start(nil))
			synctest.Wait()
			return s, st
		}
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		one, oneStore := serve(1)
		if n := w.begun("h/a"); n != 1 {
			t.Fatalf("it was begun %d times", n)
		}
		two, twoStore := serve(2)
		time.Sleep(3 * time.Hour)
		if n := w.begun("h/a"); n != 1 {
			t.Errorf("with two servers it was begun %d times", n)
		}
		if jobs, err := two.Jobs(ctx); err != nil || len(jobs) != 1 {
			t.Errorf("the other server has the jobs %v", jobs)
		}
		one.Close()
		must(t, oneStore.Close())
		time.Sleep(time.Minute)
		if n := w.begun("h/a"); n != 2 || w.running("h/a") == nil {
			t.Errorf("after the first has stopped it was begun %d times", n)
		}
		two.Close()
		must(t, twoStore.Close())
	})
}

// TestServerStandsStill has the server that runs a replication lose its disk for a while: it stops the replication when
// its lease ends, the other server goes on with it, and keeps it when the first one is well again.
func TestServerStandsStill(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const lease = time.Minute
		serve := func(e kv.Engine, holder uint64) (*Scheduler, *store.Store) {
			st, err := store.Open(context.Background(), e, store.Options{Idle: true, Holder: holder, Lease: lease})
			must(t, err)
			s := New(Options{Store: st, Users: w, Config: w.config, Node: "n", Run: w.run, Random: func() float64 { return 0.5 }})
			must(t, s.Start(nil))
			synctest.Wait()
			return s, st
		}
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		f := kvtest.NewFaults(w.engine)
		one, oneStore := serve(f, 1)
		two, twoStore := serve(w.engine, 2)
		first := w.running("h/a")
		for _, part := range []struct {
			what  string
			rates kvtest.Rates
			begun int
		}{{"while both are well", nil, 1}, {"without a disk", kvtest.Rates{kvtest.Refused: 100}, 2}, {"when it is back", nil, 2}} {
			f.Randomly(1, part.rates)
			time.Sleep(lease + 2*runsElsewhere)
			if n, now := w.begun("h/a"), w.running("h/a"); n != part.begun || now == nil || (now == first) != (part.begun == 1) {
				t.Errorf("%s it was begun %d times, want %d", part.what, n, part.begun)
			}
		}
		two.Close()
		must(t, twoStore.Close())
		time.Sleep(2 * lease)
		if n := w.begun("h/a"); n != 3 {
			t.Errorf("after the other has stopped it was begun %d times", n)
		}
		one.Close()
		must(t, oneStore.Close())
	})
}

// TestServersTell has two servers over one store: both tell the same of every replication, whoever runs it, and of one
// that fails, which they try as often as one would.
func TestServersTell(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const lease = 8 * time.Second
		ctx := t.Context()
		all := map[string]*Scheduler{}
		stores := map[string]*store.Store{}
		serve := func(e kv.Engine, holder uint64, name string) {
			st, err := store.Open(ctx, e, store.Options{Idle: true, Holder: holder, Lease: lease})
			must(t, err)
			all[name], stores[name] = New(Options{Store: st, Users: w, Config: w.config, Node: name, Run: w.run, Random: func() float64 { return 0.5 }}), st
			must(t, all[name].Start(nil))
			synctest.Wait()
		}
		f := kvtest.NewFaults(w.engine)
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		serve(f, 1, "one")
		serve(w.engine, 2, "two")
		serve(w.engine, 3, "three")
		// shown is what each of some servers says of the job, its document and its task.
		shown := func(names ...string) (same string) {
			t.Helper()
			synctest.Wait()
			for _, name := range names {
				s := all[name]
				jobs, err := s.Jobs(ctx)
				must(t, err)
				tasks, err := s.Tasks(ctx)
				must(t, err)
				db, err := stores[name].Database(ctx, rdb)
				must(t, err)
				doc, err := s.Doc(ctx, db, "d")
				must(t, err)
				docs, err := s.Docs(ctx, db, DocsQuery{Limit: -1})
				must(t, err)
				if len(jobs) != 1 || len(docs.Docs) != 1 || docs.Docs[0].State != doc.State || docs.Docs[0].Node != jobs[0].Node {
					t.Fatalf("%s has the jobs %v and the documents %v", name, jobs, docs)
				}
				one, err := s.Job(ctx, jobs[0].ID)
				must(t, err)
				got := string(raw([]any{jobs[0].Node, jobs[0].PID != nil, jobs[0].History[0].Type, len(jobs[0].History), doc.State, doc.ErrorCount, doc.Info, len(tasks)}))
				if string(raw(one)) != string(raw(jobs[0])) || same != "" && got != same {
					t.Errorf("%s shows %s, another one %s", name, got, same)
				}
				same = got
			}
			return same
		}
		want := func(what, want string, names ...string) {
			t.Helper()
			if got := shown(names...); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		everybody := []string{"one", "two", "three"}
		want("it runs", `["one",true,"started",2,"running",0,null,1]`, everybody...)
		w.running("h/a").Report(replicate.Stats{DocsRead: 3})
		time.Sleep(lease) // it is told when the lease is renewed
		if got := shown(everybody...); !strings.Contains(got, `"docs_read":3`) {
			t.Errorf("figures are not told: %s", got)
		}
		// It fails, and fails: every server waits as long as one alone would.
		w.finish("h/a", errPeer)
		want("it failed", `["one",false,"crashed",3,"crashing",1,{"error":"the peer is down"},0]`, everybody...)
		for n, wait := range []time.Duration{30, 60, 120, 240} {
			time.Sleep(wait*time.Second - time.Second)
			if got := w.begun("h/a"); got != n+1 {
				t.Errorf("after failure %d it was begun %d times", n+1, got)
			}
			time.Sleep(2*time.Second + runsElsewhere)
			if got := w.begun("h/a"); got != n+2 {
				t.Fatalf("after the wait of failure %d it was begun %d times", n+1, got)
			}
			w.finish("h/a", errPeer)
		}
		if got := shown(everybody...); !strings.Contains(got, `"crashing",5,`) {
			t.Errorf("five failures are told as %s", got)
		}
		// The one that runs it is not heard of any more, and another goes on.
		time.Sleep(time.Hour)
		var other []string
		for _, name := range everybody {
			if !strings.HasPrefix(shown(name), `["`+name) {
				other = append(other, name)
			}
		}
		if len(other) != 2 {
			t.Fatalf("it is run by none of %v", everybody)
		}
		for _, name := range everybody {
			all[name].Close()
			must(t, stores[name].Close())
		}
	})
}

// TestServerVanishes has the server that runs a replication lose its store: the others tell of it no more when its lease
// is over, and of the one that goes on with it; when the first is well again it tells the same.
func TestServerVanishes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const lease = 8 * time.Second
		ctx := t.Context()
		f := kvtest.NewFaults(w.engine)
		serve := func(e kv.Engine, holder uint64, name string) (*Scheduler, *store.Store) {
			st, err := store.Open(ctx, e, store.Options{Idle: true, Holder: holder, Lease: lease})
			must(t, err)
			s := New(Options{Store: st, Users: w, Config: w.config, Node: name, Run: w.run, Random: func() float64 { return 0.5 }})
			must(t, s.Start(nil))
			synctest.Wait()
			return s, st
		}
		nodes := func(s *Scheduler) (names []string) {
			t.Helper()
			synctest.Wait()
			tasks, err := s.Tasks(ctx)
			must(t, err)
			for _, x := range tasks {
				names = append(names, x.Node)
			}
			return names
		}
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		one, oneStore := serve(f, 1, "one")
		two, twoStore := serve(w.engine, 2, "two")
		if got := nodes(two); !slices.Equal(got, []string{"one"}) {
			t.Errorf("the tasks are of %v", got)
		}
		f.Randomly(1, kvtest.Rates{kvtest.Refused: 100})
		time.Sleep(lease + 2*runsElsewhere)
		if got := nodes(two); !slices.Equal(got, []string{"two"}) {
			t.Errorf("after the lease the tasks are of %v", got)
		}
		f.Randomly(1, nil)
		time.Sleep(lease)
		for _, s := range []*Scheduler{one, two} {
			if got := nodes(s); !slices.Equal(got, []string{"two"}) {
				t.Errorf("when the first is back the tasks are of %v", got)
			}
		}
		one.Close()
		must(t, oneStore.Close())
		two.Close()
		must(t, twoStore.Close())
	})
}

// TestRequestsMeetAtServers: what a request began at one server is known at the other, which does not begin it again,
// lets nobody take it over, and says where it can be ended.
func TestRequestsMeetAtServers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		serve := func(holder uint64, name string) (*Scheduler, *store.Store) {
			st, err := store.Open(ctx, w.engine, store.Options{Idle: true, Holder: holder, Lease: 8 * time.Second})
			must(t, err)
			s := New(Options{Store: st, Users: w, Config: w.config, Node: name, Run: w.run, Random: func() float64 { return 0.5 }})
			must(t, s.Start(nil))
			return s, st
		}
		one, oneStore := serve(1, "one")
		two, twoStore := serve(2, "two")
		w.users["eva"], w.users["eve"] = &auth.Caller{Name: "eva"}, &auth.Caller{Name: "eve"}
		body := func(more string) []byte {
			return []byte(`{"source":"http://h/a","target":"http://h/b","continuous":true` + more + `}`)
		}
		ask := func(s *Scheduler, user, more string) string {
			t.Helper()
			a, err := s.Replicate(ctx, w.users[user], body(more))
			synctest.Wait()
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%v %v %s", a.Running, a.Cancelled, a.Elsewhere)
		}
		for _, c := range []struct {
			s                *Scheduler
			user, more, want string
		}{
			{one, "eva", "", "true false "},
			{two, "eva", "", "true false "},
			{two, "eve", "", "another user"},
			{two, "eva", `,"cancel":true`, "false false one"},
			{one, "eve", `,"cancel":true`, "another user"},
			{one, "eva", `,"cancel":true`, "false true "},
			{two, "eva", `,"cancel":true`, "missing"},
		} {
			if got := ask(c.s, c.user, c.more); !strings.Contains(got, c.want) {
				t.Errorf("%s asks %s with %q: %s, want %s", c.user, c.s.o.Node, c.more, got, c.want)
			}
		}
		if n := w.begun("h/a"); n != 1 {
			t.Errorf("it was begun %d times", n)
		}
		w.put(rdb, "d", replication("h/c", `"continuous":true`))
		synctest.Wait()
		time.Sleep(time.Second)
		jobs, err := two.Jobs(ctx)
		must(t, err)
		other := two
		if len(jobs) == 1 && jobs[0].Node == "two" {
			other = one
		}
		_, err = other.Replicate(ctx, w.users["adm"], []byte(`{"source":"http://h/c","target":"http://h/b","continuous":true}`))
		if err != nil && !strings.Contains(err.Error(), "already") {
			t.Error(err)
		}
		one.Close()
		must(t, oneStore.Close())
		two.Close()
		must(t, twoStore.Close())
	})
}

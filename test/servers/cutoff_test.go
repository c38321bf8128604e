package servers

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// backWithin is how long a server may take that was cut off until it is of use again, once the network is back.
const backWithin = 45 * time.Second

// TestBackFromCutOff cuts servers off from PostgreSQL, silently, one way or both, while they read, write, wait for locks
// and for changes; for a moment, or until PostgreSQL has given up the last of their sessions. Each time the server is of
// use again within a while of the network's return, whatever it was at. In the long run only: PostgreSQL takes its time.
func TestBackFromCutOff(t *testing.T) {
	testrun.Long(t)
	pgtest.Need(t)
	n := connect(t, 3)
	if n == nil {
		return
	}
	p := &postgreses{}
	p.start(t, n)
	s := over(t, Options{Dynamo: "127.0.0.1:0", Place: n.place, Postgres: p.url})
	c := ask(s.Base)
	c.must(t, 201, "PUT", "/ordinary", "", nil)
	c.must(t, 201, "PUT", "/divided?partitioned=true", "", nil)
	for i := range 3 {
		follow(t, s.Server(i).Base, "/divided")
	}
	l := write(t, s, &single{path: "/ordinary/a"}, &single{path: "/divided/p:a"}, &batches{partition: "q"}, newRights(t, c))
	conn, err := pgx.Connect(t.Context(), p.primary.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	sessions := func(victim int) (many int64) {
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE host(client_addr) = $1", n.address(victim, toPostgres)).Scan(&many)
		if err != nil {
			t.Error(err)
		}
		return many
	}
	for round, lost := range []struct {
		what           string
		to, from, long bool
	}{
		{"it does not hear PostgreSQL", true, false, false},
		{"it does not hear PostgreSQL, for long", true, false, true},
		{"PostgreSQL does not hear it", false, true, false},
		{"PostgreSQL does not hear it, for long", false, true, true},
		{"neither hears the other", true, true, false},
		{"neither hears the other, for long", true, true, true},
	} {
		victim := round % 3
		l.some(10, "before "+lost.what)
		n.cut(victim, toPostgres, lost.to, lost.from)
		process.Within(t, patience, lost.what+": the balancer notices", func() bool { return !s.Up(victim) })
		if lost.long {
			process.Within(t, patience, lost.what+": PostgreSQL gives its sessions up", func() bool { return sessions(victim) == 0 })
		}
		n.mend(victim, toPostgres, lost.to, lost.from)
		began := time.Now()
		up := process.Within(t, backWithin, lost.what+": it is back", func() bool { return s.Up(victim) })
		one, i := ask(s.Server(victim).Base), 0
		one.http.Timeout = answerWithin
		process.Within(t, backWithin, lost.what+": it writes", func() bool {
			i++
			a, err := one.do("PUT", fmt.Sprintf("/ordinary/after-%d-%d", round, i), "{}")
			return err == nil && a.status == 201
		})
		t.Logf("%s: up after %s, writes after %s", lost.what, up.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
	l.verify()
}

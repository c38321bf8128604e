package servers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// moved is how long work may take to move to another server. It moves when its lease has ended, which is seven seconds after
// the last sign of life, and others look each two seconds; the rest is for a machine that does much else. Work that a server
// forgets does not go on at all.
const moved = time.Minute

// receiver takes the messages of a subscription.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	messages map[string]map[string]bool // id and sequence of a change → ids of the messages that had it
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{messages: map[string]map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var message struct{ Results []row }
		body, err := io.ReadAll(q.Body)
		if err != nil || json.Unmarshal(body, &message) != nil {
			return // it is sent again
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, change := range message.Results {
			key := change.ID + " " + change.Seq
			if r.messages[key] == nil {
				r.messages[key] = map[string]bool{}
			}
			r.messages[key][q.Header.Get("webhook-id")] = true
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// has reports whether a change of a document has come.
func (r *receiver) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.messages {
		if strings.HasPrefix(key, id+" ") {
			return true
		}
	}
	return false
}

// replicating returns which servers say that they run a replication.
func replicating(t *testing.T, s *Servers, alive []int) (who []int) {
	t.Helper()
	for _, i := range alive {
		var tasks []struct {
			Type string
			Node string
		}
		ask(s.Server(i).Base).must(t, 200, "GET", "/_active_tasks", "", &tasks)
		name := node(t, s.Server(i).Base)
		for _, task := range tasks {
			if task.Type == "replication" && task.Node == name {
				who = append(who, i)
			}
		}
	}
	return who
}

// TestWorkMoves kills two of three servers, among them the one that replicates and the one that was told to build an
// index. The third goes on with all of it, and each message has one id however often it was sent.
func TestWorkMoves(t *testing.T) {
	t.Parallel()
	s, r := start(t), newReceiver(t)
	c := ask(s.Base)
	c.must(t, 200, "PUT", "/_node/_local/_config/subscriptions/allow_private", `"true"`, nil)
	c.must(t, 201, "PUT", "/from", "", nil)
	c.must(t, 201, "PUT", "/from/_subscriptions/s", `{"url":"`+r.URL+`","secret":"sixteen bytes it is","since":"0"}`, nil)
	base := strings.Replace(s.Base, "http://", "http://adm:pass@", 1)
	c.must(t, 201, "PUT", "/_replicator/r", `{"source":"`+base+`/from","target":"`+base+`/to","create_target":true,"continuous":true}`, nil)
	arrived := func(c *client, id string) bool {
		a, err := c.do("GET", "/to/"+id, "")
		return err == nil && a.status == 200 && r.has(id)
	}
	c.must(t, 201, "PUT", "/from/first", "{}", nil)
	process.Within(t, patience, "the first document arrives", func() bool { return arrived(c, "first") })
	var who []int
	process.Within(t, patience, "one server replicates", func() bool { who = replicating(t, s, []int{0, 1, 2}); return len(who) == 1 })

	victim, other, left := who[0], (who[0]+1)%3, (who[0]+2)%3
	documents := build(t, ask(s.Server(victim).Base))
	for _, i := range []int{victim, other} {
		if err := s.Server(i).Kill(); err != nil {
			t.Fatal(err)
		}
	}
	c = ask(s.Server(left).Base)
	c.must(t, 201, "PUT", "/from/second", "{}", nil)
	began := time.Now()
	goesOn := map[string]func() bool{
		"the subscription": func() bool { return r.has("second") },
		"the replication": func() bool {
			a, err := c.do("GET", "/to/second", "")
			return err == nil && a.status == 200
		},
		"the build of the index": func() bool {
			var rows struct{ Rows []struct{ Value int } }
			c.must(t, 200, "GET", "/many/_design/d/_view/n?update=false", "", &rows)
			return len(rows.Rows) == 1 && rows.Rows[0].Value == documents
		},
	}
	process.Within(t, moved, "all work goes on", func() bool {
		for what, done := range goesOn {
			if done() {
				t.Logf("%s went on within %s", what, time.Since(began).Round(time.Millisecond))
				delete(goesOn, what)
			}
		}
		return len(goesOn) == 0
	})
	for _, i := range []int{victim, other} {
		if err := s.Restart(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	c.must(t, 201, "PUT", "/from/third", "{}", nil)
	process.Within(t, patience, "the third document arrives", func() bool { return arrived(c, "third") })
	if who = replicating(t, s, []int{0, 1, 2}); len(who) != 1 {
		t.Errorf("the servers %v replicate", who)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for change, ids := range r.messages {
		if len(ids) != 1 {
			t.Errorf("%s was sent as %d messages", change, len(ids))
		}
	}
}

// build makes a database with documents, and by a server an index over them; it returns how many there are.
func build(t *testing.T, c *client) int {
	t.Helper()
	const documents = 3000
	c.must(t, 201, "PUT", "/many", "", nil)
	var docs []string
	for i := range documents {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%d","n":%d}`, i, i))
	}
	c.must(t, 201, "POST", "/many/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`, nil)
	c.must(t, 201, "PUT", "/many/_design/d", `{"views":{"n":{"map":"function(d){emit(d.n)}","reduce":"_count"}}}`, nil)
	return documents
}

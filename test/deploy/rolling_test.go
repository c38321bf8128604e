package deploy

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// load are clients that write documents and read them again, each request once, as long as ctx lives.
type load struct {
	group  sync.WaitGroup
	mu     sync.Mutex
	stored map[string]bool // ids that were acknowledged
	failed []string
}

const clients = 8

// begin starts the clients, whose documents' ids begin with a name.
func (s *site) begin(ctx context.Context, name string) *load {
	l := &load{stored: map[string]bool{}}
	for i := range clients {
		l.group.Go(func() {
			c := s.client("")
			for n := 0; ctx.Err() == nil; n++ {
				l.once(c, fmt.Sprintf("p%d:%s%d", i, name, n))
			}
		})
	}
	return l
}

// once writes a document and reads it. A request that was begun is awaited: its fate is to be known.
func (l *load) once(c *client, id string) {
	ctx := context.Background()
	a, err := c.do(ctx, "PUT", "/shop/"+id, []byte(`{"n":1}`))
	if err != nil || a.status != 201 {
		l.fail(fmt.Sprintf("PUT %s: %d %s %v", id, a.status, a.body, err))
		return
	}
	l.mu.Lock()
	l.stored[id] = true
	l.mu.Unlock()
	if a, err = c.do(ctx, "GET", "/shop/"+id, nil); err != nil || a.status != 200 {
		l.fail(fmt.Sprintf("GET %s: %d %s %v", id, a.status, a.body, err))
	}
}

func (l *load) fail(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, what)
}

// count returns how many documents were stored so far.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stored)
}

// more waits until documents were stored after this moment.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	before := l.count()
	process.Within(t, time.Minute, "requests are answered", func() bool { return l.count() >= before+n })
}

// follower reads a feed to its end, again and again from where it was, and notes what it saw.
type follower struct {
	mu   sync.Mutex
	seen map[string]bool
	ends int
	err  error
}

// follow reads a feed of a kind until ctx ends. All errors but that one are kept.
func (s *site) follow(ctx context.Context, kind string) *follower {
	f := &follower{seen: map[string]bool{}}
	go func() {
		c := s.client("")
		for since := "0"; ctx.Err() == nil; {
			r, err := c.open(ctx, "GET", "/shop/_changes?feed="+kind+"&heartbeat=500&since="+since, nil)
			if err == nil {
				since, err = f.read(r, kind, since)
			}
			if err != nil && ctx.Err() == nil {
				f.mu.Lock()
				f.err = fmt.Errorf("%s: %w", kind, err)
				f.mu.Unlock()
				return
			}
		}
	}()
	return f
}

// entry is a line of a feed, or its end.
type entry struct {
	Seq     string
	ID      string
	Last    string `json:"last_seq"`
	Results []entry
}

// read takes all entries of one answer.
func (f *follower) read(r *http.Response, kind, since string) (last string, err error) {
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(r.Body) // for the error, as much as there is
		return "", fmt.Errorf("%d %s", r.StatusCode, text)
	}
	if kind == "longpoll" { // the answer is one value
		var e entry
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			return "", err
		}
		for _, change := range e.Results {
			f.saw(change.ID)
		}
		return e.Last, nil
	}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "data: ")
		var e entry
		if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &e) != nil {
			continue // heartbeats, and lines of event streams that are no data
		}
		if e.Last != "" {
			since = e.Last
			continue
		}
		f.saw(e.ID)
		since = e.Seq
	}
	f.mu.Lock()
	f.ends++
	f.mu.Unlock()
	return since, lines.Err()
}

func (f *follower) saw(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[id] = true
}

// lacks returns how many of the documents it has not seen, and what went wrong.
func (f *follower) lacks(stored map[string]bool) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range stored {
		if !f.seen[id] {
			n++
		}
	}
	return n, f.err
}

// TestRollingRestart: each server is ended and started again, one after the other, while clients write and read and
// feeds are followed. No request fails, no feed breaks or lacks a change, and what was acknowledged is there.
func TestRollingRestart(t *testing.T) {
	s := launch(t)
	c := s.client("")
	c.must(t, 201, "PUT", "/shop?partitioned=true", "")
	// Shorter than in sectional.ini: it is the balancer's look each second that counts.
	c.must(t, 200, "PUT", "/_node/_local/_config/sectional/drain", `"2s"`)

	ctx, end := context.WithCancel(t.Context())
	defer end()
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	feeds := map[string]*follower{}
	for _, kind := range []string{"continuous", "eventsource", "longpoll"} {
		feeds[kind] = s.follow(ctx, kind)
	}
	l := s.begin(loading, "")
	for i := range s.servers {
		l.more(t, 50)
		s.restart(t, i)
	}
	l.more(t, 50)
	stop()
	l.group.Wait()
	for _, what := range l.failed {
		t.Error(what)
	}
	for kind, f := range feeds {
		process.Within(t, time.Minute, kind+" saw everything", func() bool {
			n, err := f.lacks(l.stored)
			return n == 0 || err != nil
		})
		if _, err := f.lacks(l.stored); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d documents written and read while three servers were restarted, %d requests failed; the continuous feed was begun %d times", len(l.stored), len(l.failed), feeds["continuous"].ends+1)
	var all struct{ Rows []struct{ ID string } }
	if err := json.Unmarshal(c.must(t, 200, "GET", "/shop/_all_docs", ""), &all); err != nil || len(all.Rows) != len(l.stored) {
		t.Errorf("%d documents are there, %d were stored: %v", len(all.Rows), len(l.stored), err)
	}

	s.largeBodies(t)
	s.addresses(t)
	s.commandLine(t)
	s.byDatabase(t)
	s.killed(t)
	end()
	s.check(t)
}

// byDatabase: by a variable of the balancer's environment writes to one database go to one server, those of many databases
// to several, and to another server when theirs is gone.
func (s *site) byDatabase(t *testing.T) {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Fatal(err)
	}
	before := *s
	defer func() { s.base, s.dynamo, s.balancer = before.base, before.dynamo, before.balancer }()
	s.balance(t, haproxy, "WRITES=by-database")
	c := s.client("")
	puts := func() (counts [3]float64) {
		for i, server := range s.servers {
			var got struct{ Value float64 }
			body := newClient("http://"+server.Address, "").must(t, 200, "GET", "/_node/_local/_stats/couchdb/httpd_request_methods/PUT", "")
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			counts[i] = got.Value
		}
		return counts
	}
	theirs := map[int]string{} // a database of each server that has one
	for n := range 16 {
		database := fmt.Sprintf("/spread%d", n)
		c.must(t, 201, "PUT", database, "")
		earlier := puts()
		for i := range 5 {
			c.must(t, 201, "PUT", fmt.Sprintf("%s/%d", database, i), "{}")
		}
		for i, count := range puts() {
			switch count - earlier[i] {
			case 0:
			case 5:
				theirs[i] = database
			default:
				t.Errorf("%v of 5 writes to %s went to server %d", count-earlier[i], database, i)
			}
		}
	}
	if len(theirs) < 2 {
		t.Errorf("writes to 16 databases went to %d servers", len(theirs))
	}
	for i, database := range theirs {
		s.restart(t, i)
		c.must(t, 201, "PUT", database+"/after", "{}")
		break
	}
}

// largeBodies passes an attachment up and down.
func (s *site) largeBodies(t *testing.T) {
	t.Helper()
	c := s.client("")
	file := make([]byte, 48<<20)
	rand.Read(file) // never fails
	a, err := c.do(t.Context(), "PUT", "/shop/p0:large/file", file)
	if err != nil || a.status != 201 {
		t.Errorf("up: %d %s %v", a.status, a.body, err)
	}
	a, err = c.do(t.Context(), "GET", "/shop/p0:large/file", nil)
	if err != nil || a.status != 200 || string(a.body) != string(file) {
		t.Errorf("down: %d, %d bytes, %v", a.status, len(a.body), err)
	}
	// Long queries are of views with many keys.
	keys := strings.Repeat(`"p0:0",`, 5000) + `"p0:1"`
	path := "/shop/_all_docs?keys=[" + strings.ReplaceAll(keys, `"`, "%22") + "]"
	if a, err = c.do(t.Context(), "GET", path, nil); err != nil || a.status != 200 {
		t.Errorf("a query string of %d bytes: %d %.200s %v", len(path), a.status, a.body, err)
	}
	// Ids with slashes arrive as they were written.
	c.must(t, 201, "PUT", "/shop/p0:a%2Fb", "{}")
	c.must(t, 200, "GET", "/shop/p0:a%2Fb", "")
}

// addresses: servers know whom a request comes from, whatever he says.
func (s *site) addresses(t *testing.T) {
	t.Helper()
	c := s.client("127.0.0.9")
	c.must(t, 201, "PUT", "/plain", "")
	c.must(t, 201, "PUT", "/plain/_design/d", `{"shows":{"peer":"function(doc,req){return req.peer}"}}`)
	for _, says := range []string{"", "203.0.113.7"} {
		if says != "" {
			c.header.Set("X-Forwarded-For", says)
		}
		if peer := string(c.must(t, 200, "GET", "/plain/_design/d/_show/peer", "")); peer != "127.0.0.9" {
			t.Errorf("who says that he is %q is taken for %s", says, peer)
		}
	}
	c.header.Set("X-Forwarded-Host", "elsewhere.example")
	c.header.Set("X-Forwarded-Proto", "https")
	a, err := c.do(t.Context(), "PUT", "/plain/doc", []byte("{}"))
	if location := a.header.Get("Location"); err != nil || location != s.base+"/plain/doc" {
		t.Errorf("Location: %s, %v", location, err)
	}
}

// commandLine: the health check of the container file, and the DynamoDB API behind the balancer.
func (s *site) commandLine(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(process.Binary(), "up", s.base).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("sectional up: %v %s", err, out)
	}
	for range 3 {
		r, err := http.Post(s.dynamo, "application/x-amz-json-1.0", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if r.Body.Close(); err != nil || r.StatusCode != 400 || !strings.Contains(string(text), "__type") {
			t.Errorf("the DynamoDB API: %d %s %v", r.StatusCode, text, err)
		}
	}
}

// killed: of a server that dies only what it was at is lost, and its clients are not told that it happened.
func (s *site) killed(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := s.begin(ctx, "k")
	l.more(t, 50)
	if err := s.servers[1].Kill(); err != nil {
		t.Fatal(err)
	}
	l.more(t, 300)
	stop()
	l.group.Wait()
	if t.Logf("%d requests were cut by the death of a server", len(l.failed)); len(l.failed) > clients {
		t.Errorf("%d of %d clients' requests failed, such as %s", len(l.failed), clients, l.failed[0])
	}
	s.stopBalancer(t)
}

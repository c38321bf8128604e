package transfer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// pair is two servers, and what passes between them and a sync.
type pair struct {
	t      *testing.T
	a, b   *apitest.Server
	asked  []string // method and path of each request
	before func(*http.Request) error
	after  func(*http.Request, *http.Response)
	// Several requests are on their way at once.
	beginning, ending sync.Mutex
	out               bytes.Buffer
}

// newPair makes a server with the database db, and one with the database copy.
func newPair(t *testing.T, query string) *pair {
	p := &pair{t: t, a: apitest.New(t), b: apitest.New(t)}
	p.a.OK("PUT", "/db"+query, "")
	p.b.OK("PUT", "/copy"+query, "")
	return p
}

// RoundTrip implements http.RoundTripper.
func (p *pair) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.begin(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	server := p.a
	if r.URL.Host == "b" {
		server = p.b
	}
	answer, err := (&replicate.Local{Handler: server}).RoundTrip(r)
	if err == nil && p.after != nil {
		p.ending.Lock()
		defer p.ending.Unlock()
		p.after(r, answer)
	}
	return answer, err
}

// begin notes a request, and returns why it is not carried out.
func (p *pair) begin(r *http.Request) error {
	p.beginning.Lock()
	defer p.beginning.Unlock()
	p.asked = append(p.asked, r.Method+" "+r.URL.Host+r.URL.Path)
	if p.before == nil {
		return nil
	}
	return p.before(r)
}

func (p *pair) sync(source, target string) *Sync {
	side := func(u string) Side { return Side{URL: u, User: "adm", Password: "pass", Transport: p} }
	return &Sync{Source: side(source), Target: side(target), Out: &p.out, partBytes: 1}
}

// id is that of the checkpoints.
func (p *pair) id() string {
	p.t.Helper()
	task, err := (&run{Sync: p.sync("http://a/db", "http://b/copy")}).task()
	if err != nil {
		p.t.Fatal(err)
	}
	return task.ID
}

// run runs a sync that has to succeed.
func (p *pair) run() Outcome {
	p.t.Helper()
	o, err := p.sync("http://a/db", "http://b/copy").Run(context.Background())
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.out.String())
	}
	return o
}

// count returns how many requests had this beginning.
func (p *pair) count(beginning string) (n int) {
	for _, a := range p.asked {
		if strings.HasPrefix(a, beginning) {
			n++
		}
	}
	return n
}

// fill writes documents of 2 KB that do not become much shorter when packed.
func (p *pair) fill(from, to int) {
	p.t.Helper()
	var docs []string
	for i := from; i < to; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		var raw []byte
		for range 125 {
			raw = binary.LittleEndian.AppendUint64(raw, r.Uint64())
		}
		docs = append(docs, fmt.Sprintf(`{"_id":"p:%05d","fill":"%x"}`, i, raw))
	}
	p.a.OK("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
}

// feed is the leaves of all documents.
func feed(t *testing.T, s *apitest.Server, path string) map[string]any {
	t.Helper()
	var f struct {
		Results []struct {
			ID      string
			Changes any
			Deleted bool
		}
	}
	if err := json.Unmarshal([]byte(s.OK("GET", path+"/_changes?style=all_docs", "")), &f); err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	for _, r := range f.Results {
		m[r.ID] = []any{r.Changes, r.Deleted}
	}
	return m
}

func (p *pair) same() {
	p.t.Helper()
	if diff := cmp.Diff(feed(p.t, p.a, "/db"), feed(p.t, p.b, "/copy")); diff != "" {
		p.t.Fatalf("(-source +target):\n%s", diff)
	}
}

// TestFirstSync takes a snapshot once, and goes on by changes.
func TestFirstSync(t *testing.T) {
	p := newPair(t, "?partitioned=true")
	p.fill(0, 2000)
	p.a.OK("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"p:x","_rev":"1-aa","n":1},{"_id":"p:x","_rev":"1-bb","n":2}]}`)
	p.a.OK("PUT", "/db/_design/d", `{}`)
	wrote := false
	p.after = func(r *http.Request, _ *http.Response) {
		if r.Method == "POST" && strings.HasSuffix(r.URL.Path, "/_snapshot") && !wrote { // under way
			wrote = true
			p.a.OK("PUT", "/db/p:00000x", `{"new":true}`)
			p.a.OK("PUT", "/db/p:x?new_edits=false", `{"_id":"p:x","_rev":"1-cc","n":3}`)
		}
	}
	o := p.run()
	if o.Documents < 2000 || o.Refused != 0 || o.Written == 0 || o.Written > 10 {
		t.Errorf("%+v\n%s", o, p.out.String())
	}
	p.same()
	parts := p.count("GET a/db/_snapshot")
	if parts < 3 || p.count("POST b/copy/_bulk_docs") != 1 {
		t.Errorf("%d parts:\n%s", parts, strings.Join(p.asked, "\n"))
	}
	p.after = nil
	p.fill(2000, 2010)
	if o := p.run(); o.Documents > 0 || o.Written != 10 || p.count("GET a/db/_snapshot") != parts {
		t.Errorf("again: %+v", o)
	}
	p.same()
	if list := p.b.OK("GET", "/copy/_local_docs", ""); strings.Contains(list, ".snapshot") {
		t.Errorf("the mark stays: %s", list)
	}
}

// TestKilledSync ends at each request of the snapshot in turn; the next run goes
// on.
func TestKilledSync(t *testing.T) {
	var whole int
	for n := 1; whole == 0 || n <= whole; n += 2 {
		p := newPair(t, "")
		p.fill(0, 800)
		if whole == 0 {
			p.run()
			whole, n = 2+slices.Index(p.asked, "DELETE b/copy/_local/"+p.id()+".snapshot"), -1
			continue
		}
		ctx, kill := context.WithCancel(context.Background())
		p.before = func(*http.Request) error {
			if len(p.asked) >= n {
				kill()
				return ctx.Err()
			}
			return nil
		}
		_, err := p.sync("http://a/db", "http://b/copy").Run(ctx)
		if err == nil {
			t.Errorf("killed at %d of %d: no error", n, whole)
		}
		carried := p.count("POST b/copy/_snapshot")
		p.before, p.asked = nil, nil
		p.run()
		p.same()
		if again := p.count("POST b/copy/_snapshot"); carried > 1 && again > 5-carried {
			t.Errorf("killed at %d after %d parts: %d more\n%s", n, carried, again, p.out.String())
		}
	}
}

// cutBody ends with an error after so many bytes.
type cutBody struct {
	io.ReadCloser
	left int
}

func (c *cutBody) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, errors.New("the line is cut")
	}
	n, err := c.ReadCloser.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// TestCutLine cuts the source's stream: what came is kept, and the sync goes on
// after it.
func TestCutLine(t *testing.T) { synctest.Test(t, cutLine) }

func cutLine(t *testing.T) {
	p := newPair(t, "")
	p.fill(0, 1500)
	cuts := 0
	p.after = func(r *http.Request, a *http.Response) {
		if r.Method == "GET" && strings.HasSuffix(r.URL.Path, "/_snapshot") && cuts < 3 {
			cuts++
			a.Body = &cutBody{a.Body, 400_000 * cuts}
		}
	}
	s := p.sync("http://a/db", "http://b/copy")
	s.partBytes = 1 << 30
	o, err := s.Run(context.Background())
	if err != nil || cuts != 3 {
		t.Fatalf("%+v %v, %d cuts\n%s", o, err, cuts, p.out.String())
	}
	p.same()
	p.after = nil
	if !strings.Contains(p.out.String(), "the line is cut; trying again") {
		t.Errorf("told:\n%s", p.out.String())
	}
	// One that is always cut at once is given up.
	p = newPair(t, "")
	p.fill(0, 10)
	p.after = func(r *http.Request, a *http.Response) {
		if r.Method == "GET" && strings.HasSuffix(r.URL.Path, "/_snapshot") {
			a.Body = &cutBody{a.Body, 10}
		}
	}
	if _, err := p.sync("http://a/db", "http://b/copy").Run(context.Background()); err == nil || p.count("POST b/copy/_snapshot") != attempts {
		t.Errorf("always cut: %v", err)
	}
}

// TestTargetDroppedUnderWay drops the partition that a first sync goes to, when a
// part of the snapshot is there: no checkpoint says that the part is there, and
// the sync begins again.
func TestTargetDroppedUnderWay(t *testing.T) {
	p := newPair(t, "?partitioned=true")
	for n := range 3 {
		p.a.OK("PUT", fmt.Sprintf("/db/x:%d", n), "{}")
	}
	dropped := false
	p.after = func(r *http.Request, _ *http.Response) {
		if r.Method == "POST" && strings.HasSuffix(r.URL.Path, "/_snapshot") && !dropped {
			dropped = true
			p.b.OK("DELETE", "/copy/_partition/x", "")
			if err := p.b.Store.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
			p.b.OK("PUT", "/copy/x:new", "{}")
		}
	}
	s := p.sync("http://a/db/_partition/x", "http://b/copy/_partition/x")
	if _, err := s.Run(context.Background()); err != nil || !dropped || !strings.Contains(p.out.String(), "began anew") {
		t.Errorf("the sync whose target was dropped (%v) ended with %v:\n%s", dropped, err, p.out.String())
	}
	for n := range 3 {
		p.b.OK("GET", fmt.Sprintf("/copy/x:%d", n), "")
	}
}

// TestStandardProtocol goes by the protocol alone where a side is no Sectional.
func TestStandardProtocol(t *testing.T) {
	p := newPair(t, "")
	p.fill(0, 20)
	p.after = func(r *http.Request, a *http.Response) {
		if r.URL.Host == "b" && strings.HasSuffix(r.URL.Path, "/_snapshot") { // as CouchDB answers
			a.StatusCode = 404
		}
	}
	if o := p.run(); o.Documents > 0 || o.Written != 20 || p.count("GET a/db/_snapshot")+p.count("POST b/copy/_snapshot") != 0 {
		t.Errorf("%+v", o)
	}
	p.same()
}

// TestNoAnswer asks again before it takes a server for another kind, and gives up
// at last.
func TestNoAnswer(t *testing.T) { synctest.Test(t, noAnswer) }

// attempts is how often in a row a server is asked in vain.
const attempts = 6

func noAnswer(t *testing.T) {
	p := newPair(t, "")
	p.fill(0, 5)
	p.before = func(*http.Request) error {
		if len(p.asked) < 12 && len(p.asked)%3 != 0 { // while they get to know each other
			return errors.New("no answer")
		}
		return nil
	}
	if o := p.run(); o.Documents != 5 {
		t.Errorf("%+v\n%s", o, p.out.String())
	}
	p.same()
	p.asked, p.before = nil, func(*http.Request) error { return errors.New("no answer") }
	if _, err := p.sync("http://a/db", "http://b/copy").Run(context.Background()); err == nil || len(p.asked) != attempts {
		t.Errorf("%v after %d requests", err, len(p.asked))
	}
}

// TestRefusals goes on when documents are refused, and reports them.
func TestRefusals(t *testing.T) {
	p := newPair(t, "")
	p.b.OK("PUT", "/copy/_design/v", `{"validate_doc_update":"function (doc) { if (doc.bad) throw {forbidden: 'bad'}; }"}`)
	p.a.OK("PUT", "/db/p:bad", `{"bad":true}`)
	p.a.OK("PUT", "/db/p:good", `{}`)
	o := p.run()
	if o.Refused != 1 || o.Documents != 2 || !strings.Contains(p.out.String(), "refused: p:bad 1-") {
		t.Errorf("%+v\n%s", o, p.out.String())
	}
	p.b.OK("GET", "/copy/p:good", "")
}

// TestPartitionsAndNewTargets syncs a partition, and makes a target of the
// source's kind.
func TestPartitionsAndNewTargets(t *testing.T) {
	p := newPair(t, "?partitioned=true")
	p.fill(0, 10)
	p.a.OK("PUT", "/db/q:1", `{}`)
	s := p.sync("http://a/db/_partition/q", "http://b/copy/_partition/q")
	if o, err := s.Run(context.Background()); err != nil || o.Documents != 1 {
		t.Errorf("%+v %v\n%s", o, err, p.out.String())
	}
	if got := feed(t, p.b, "/copy"); len(got) != 1 {
		t.Errorf("copy has %v", got)
	}
	s = p.sync("http://a/db", "http://b/fresh")
	if _, err := s.Run(context.Background()); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("without a target: %v", err)
	}
	s.CreateTarget = true
	if o, err := s.Run(context.Background()); err != nil || o.Documents != 11 {
		t.Errorf("%+v %v\n%s", o, err, p.out.String())
	}
	if !strings.Contains(p.b.OK("GET", "/fresh", ""), `"partitioned":true`) {
		t.Error("the target is of another kind")
	}
}

// TestReadOnlySource keeps the checkpoint on the target alone.
func TestReadOnlySource(t *testing.T) {
	p := newPair(t, "")
	p.fill(0, 10)
	p.before = func(r *http.Request) error { return nil }
	p.after = func(r *http.Request, a *http.Response) {
		if r.URL.Host == "a" && r.Method == "PUT" {
			a.StatusCode = 403
			a.Body = io.NopCloser(strings.NewReader(`{"error":"forbidden","reason":"no"}`))
		}
	}
	if o := p.run(); o.Documents != 10 {
		t.Errorf("%+v", o)
	}
	var c struct {
		SourceReadOnly bool `json:"source_read_only"`
	}
	if err := json.Unmarshal([]byte(p.b.OK("GET", "/copy/_local/"+p.id(), "")), &c); err != nil || !c.SourceReadOnly {
		t.Errorf("%+v %v", c, err)
	}
}

// TestAddresses takes URLs apart, and never shows a password.
func TestAddresses(t *testing.T) {
	a, err := address(Side{URL: "https://me:s%40x@h:1/a%2Fb/", User: "you"})
	if err != nil || a.URL != "https://h:1/a%2Fb" || a.User != "me" || a.Password != "s@x" {
		t.Errorf("%+v %v", a, err)
	}
	for _, u := range []string{"", "db", "http://h", "http://h/", "ftp://h/db", "http://me:secret@h:x/db", "http://h/db?x=1"} {
		if _, err := address(Side{URL: u}); !dberr.Is(err, dberr.Invalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

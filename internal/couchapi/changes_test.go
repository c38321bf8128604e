package couchapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// feedOf returns a feed's answer in short: ids with "!" for deletions, then "|"
// and pending.
func feedOf(v map[string]any) string {
	var ids []string
	for _, row := range v["results"].([]any) {
		m := row.(map[string]any)
		id := m["id"].(string)
		if m["deleted"] == true {
			id += "!"
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ") + " | " + fmt.Sprint(v["pending"])
}

// feeds checks rows of address, body ("" is GET) and short answer.
func (a *testAPI) feeds(rows [][3]string) {
	a.t.Helper()
	for _, row := range rows {
		method := "GET"
		if row[1] != "" {
			method = "POST"
		}
		if got := feedOf(a.do(method, strings.ReplaceAll(row[0], `"`, "%22"), row[1]).want(200, "").json()); got != row[2] {
			a.t.Errorf("%s %s %.100s\n got %.300s\nwant %.300s", method, row[0], row[1], got, row[2])
		}
	}
}

// remove deletes a document.
func (a *testAPI) remove(path string) {
	a.t.Helper()
	a.do("DELETE", path+"?rev="+a.do("GET", path, "").want(200, "").json()["_rev"].(string), "").want(200, "")
}

func TestChanges(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "_design/v", "a", "b", "c", "d")
	a.remove("/db/b")
	first := a.do("GET", "/db/_changes?limit=2", "").want(200, "").json()["last_seq"].(string)
	const c = "/db/_changes"
	a.feeds([][3]string{
		{c, "", "_design/v a c d b! | 0"},
		{c + "?limit=2", "", "_design/v a | 3"},
		{c + "?limit=-1", "", "_design/v a c d b! | 0"},
		{c + "?limit=0", "", " | 5"},
		{c + "?since=" + first, "", "c d b! | 0"},
		{c + `?since="` + first + `"`, "", "c d b! | 0"},
		{c + `?since=[2,"` + strings.SplitN(first, "-", 2)[1] + `"]`, "", "c d b! | 0"},
		{c + "?last-event-id=" + first, "", "c d b! | 0"},
		{c + "?since=now", "", " | 0"},
		{c + "?since=0&limit=1", "", "_design/v | 4"},
		{c + "?descending=true&limit=2&since=now", "", "b! d | 3"},
		{c + "?filter=_design", "", "_design/v | 4"},
		{c + `?filter=_doc_ids&doc_ids=["b","none","_local/x","_x",""]`, "", "b! | 4"},
		{c + "?filter=_doc_ids", `{"doc_ids":["d","a"]}`, "a d | 3"},
		{c + "?filter=_selector", `{"selector":{"n":{"$gt":3}}}`, "c d | 0"},
		{c + "?filter=_selector", `{"selector":{"_deleted":true}}`, "b! | 0"},
		{c + "?filter=", "", "_design/v a c d b! | 0"},
		{c, `{"doc_ids":["a"],"limit":1,"since":"now"}`, "_design/v a c d b! | 0"},
		{c + "?feed=longpoll&since=" + first, "", "c d b! | 0"},
		{c + "?feed=longpoll&since=now&timeout=1", "", " | 0"},
	})
}

func TestChangesText(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	w := a.do("GET", "/db/_changes?include_docs=true", "").want(200, "")
	want := regexp.MustCompile(`^\{"results":\[
\{"seq":"1-[^"]+","id":"a","changes":\[\{"rev":"1-[0-9a-f]{32}"\}\],"doc":\{"_id":"a","_rev":"1-[0-9a-f]{32}","n":1\}\}
\],
"last_seq":"1-[^"]+","pending":0\}
$`)
	if !want.MatchString(w.Body) {
		t.Errorf("%q", w.Body)
	}
	event := a.do("GET", "/db/_changes?feed=eventsource&limit=1", "").want(200, "")
	if !regexp.MustCompile(`^data: \{"seq":"(1-[^"]+)","id":"a",.*\}\nid: "1-[^"]+"\n\n\n$`).MatchString(event.Body) ||
		event.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%q", event.Body)
	}
	id := regexp.MustCompile(`id: "(.*)"`).FindStringSubmatch(event.Body)[1]
	if w := a.do("GET", "/db/_changes?feed=eventsource&timeout=1", "", "Last-Event-ID", id); w.Body != "" {
		t.Errorf("after the last event: %q", w.Body)
	}
}

func TestChangesETag(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	tag := a.do("GET", "/db/_changes", "").want(200, "").Header.Get("Etag")
	if w := a.do("GET", "/db/_changes", "", "If-None-Match", tag); tag == "" || w.Status != 304 || w.Body != "" {
		t.Errorf("%q: %d %q", tag, w.Status, w.Body)
	}
	a.do("PUT", "/db/b", "{}").want(201, "")
	a.do("GET", "/db/_changes", "", "If-None-Match", tag).want(200, "")
	if w := a.do("GET", "/db/_changes?feed=longpoll", ""); w.Header.Get("Etag") != "" {
		t.Error("a longpoll has an ETag")
	}
}

func TestChangesOfLeaves(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db")
	const b, c = "1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "1-cccccccccccccccccccccccccccccccc"
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"x","_rev":"`+b+`","side":"b"},{"_id":"x","_rev":"`+c+`","side":"c"}]}`).want(201, "")
	for _, row := range [][3]string{ // query, body, revisions and document
		{"", "", c},
		{"style=all_docs", "", c + " " + b},
		{"style=all_docs&filter=_selector", `{"selector":{"side":"b"}}`, b},
		{"filter=_selector", `{"selector":{"side":"b"}}`, "none"},
		{"include_docs=true&conflicts=true", "", c + ` {"_conflicts":["` + b + `"],"_id":"x","_rev":"` + c + `","side":"c"}`},
		{"include_docs=true&filter=_selector", `{"selector":{"_rev":"` + c + `"},"fields":["side","_rev"]}`, c + ` {"_rev":"` + c + `","side":"c"}`},
		{"include_docs=true&conflicts=true&filter=_selector", `{"selector":{},"fields":["_conflicts"]}`, c + ` {"_conflicts":["` + b + `"]}`},
	} {
		method := "GET"
		if row[1] != "" {
			method = "POST"
		}
		results := a.do(method, "/db/_changes?"+row[0], row[1]).want(200, "").json()["results"].([]any)
		got := "none"
		if len(results) == 1 {
			m := results[0].(map[string]any)
			var revs []string
			for _, r := range m["changes"].([]any) {
				revs = append(revs, r.(map[string]any)["rev"].(string))
			}
			got = strings.Join(revs, " ")
			if m["doc"] != nil {
				got += " " + jsonText(t, m["doc"])
			}
		}
		if got != row[2] {
			t.Errorf("%s %s\n got %s\nwant %s", row[0], row[1], got, row[2])
		}
	}
}

func TestChangesWithAttachments(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "before")
	a.do("PUT", "/db/pic", `{"_attachments":{"t":{"content_type":"x/y","data":"cGxhaW4gYnl0ZXM="}}}`).want(201, "")
	a.do("PUT", "/db/after", `{}`).want(201, "")
	for _, feed := range []string{"normal", "continuous&timeout=1", "eventsource&timeout=1"} {
		stub := a.do("GET", "/db/_changes?include_docs=true&feed="+feed, "").want(200, "").Body
		data := a.do("GET", "/db/_changes?include_docs=true&attachments=true&feed="+feed, "").want(200, "").Body
		if want := strings.Replace(stub, `"length":11,"stub":true`, `"data":"cGxhaW4gYnl0ZXM="`, 1); data != want || stub == want {
			t.Errorf("%s:\n got %s\nwant %s", feed, data, want)
		}
	}
	sel := a.do("POST", "/db/_changes?filter=_selector&include_docs=true", `{"selector":{"_attachments.t.length":11},"fields":["_attachments.t.length"]}`).want(200, "").json()
	if got := jsonText(t, sel["results"].([]any)[0].(map[string]any)["doc"]); got != `{"_attachments":{"t":{"length":11}}}` {
		t.Error(got)
	}
}

func TestSeqInterval(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a", "b", "c", "d", "e")
	for query, want := range map[string]string{ // as recorded
		"seq_interval=2":         "x-x-x",
		"seq_interval=3":         "-x--x",
		"seq_interval=100":       "x----",
		"seq_interval=1&limit=2": "xx",
		"seq_interval=2&limit=3": "-x-",
	} {
		got := ""
		for _, row := range a.do("GET", "/db/_changes?"+query, "").want(200, "").json()["results"].([]any) {
			if row.(map[string]any)["seq"] == nil {
				got += "-"
			} else {
				got += "x"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	event := a.do("GET", "/db/_changes?feed=eventsource&seq_interval=3&limit=3", "").Body
	if strings.Count(event, "\nid: ") != 1 || strings.Contains(event, "id: null") {
		t.Errorf("events that tell no sequence have no id: %q", event)
	}
}

func TestBadChanges(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	const (
		malformed = "Malformed sequence supplied in 'since' parameter."
		feeds     = "Supported `feed` types: normal, continuous, live, longpoll, eventsource"
		noIDs     = "`doc_ids` filter parameter is not a list of doc ids."
		form      = "`filter` must be of the form `designname/filtername`"
	)
	for _, row := range [][3]string{
		{"since=yesterday", "", malformed},
		{"since=-1", "", malformed},
		{"since=1-nonsense", "", malformed},
		{"since=", "", malformed},
		{"since=[1]", "", malformed},
		{"feed=stream", "", feeds},
		{"feed=", "", feeds},
		{"feed=NORMAL", "", feeds},
		{"limit=x", "", "The limit value should be a non-negative integer"},
		{"seq_interval=0", "", "invalid_seq_interval"},
		{"seq_interval=x", "", "invalid_seq_interval"},
		{"heartbeat=often", "", "Invalid heartbeat value. Expecting a positive integer value (in milliseconds)."},
		{"heartbeat=0", "", "The heartbeat value should be a positive integer (in milliseconds)."},
		{"heartbeat=-5", "", "The heartbeat value should be a positive integer (in milliseconds)."},
		{"timeout=x", "", "Invalid timeout value. Expecting a positive integer value (in milliseconds)."},
		{"filter=_doc_ids", "", noIDs},
		{"filter=_doc_ids", `{"doc_ids":[1]}`, noIDs},
		{"filter=_doc_ids", `{"doc_ids":"a"}`, noIDs},
		{"filter=_doc_ids&doc_ids=a", "", "invalid UTF-8 JSON (parameter doc_ids: a)"},
		{"filter=_selector", "", "Selector must be specified in POST payload"},
		{"filter=_selector", `{}`, "Selector error: expected a JSON object"},
		{"filter=_selector", `{"selector":"n"}`, "Selector error: expected a JSON object"},
		{"filter=_selector", `{"selector":{"n":{"$foo":1}}}`, "Invalid operator: $foo"},
		{"filter=_selector", `{"selector":{},"fields":"n"}`, "Selector error: fields must be JSON array"},
		{"filter=_selector", `{"selector":{},"fields":[1]}`, "Invalid JSON for field spec: 1"},
		{"filter=min", "", form},
		{"filter=f/min/x", "", form},
		{"filter=_unknown", "", "unknown builtin filter name"},
		{"filter=_view", "", "`view` filter parameter is not provided."},
		{"filter=_view&view=x", "", "`view` must be of the form `designname/viewname`"},
		{"", `[1]`, "Request body must be a JSON object"},
		{"", `{nope`, "invalid UTF-8 JSON (line 1, column 2, byte 2: nope)"},
	} {
		method := "GET"
		if row[1] != "" {
			method = "POST"
		}
		got := a.do(method, "/db/_changes?"+row[0], row[1]).want(400, "").json()
		if got["error"] != "bad_request" || got["reason"] != row[2] {
			t.Errorf("%s %s: %v, want %s", row[0], row[1], got, row[2])
		}
	}
	a.do("POST", "/db/_changes", "{}", "Content-Type", "text/plain").want(415, "")
	a.do("GET", "/nodb/_changes?feed=continuous", "").want(404, `{"error":"not_found","reason":"Database does not exist."}`)
	a.do("PUT", "/db/_changes", "{}").want(405, `{"error":"method_not_allowed","reason":"Only GET,POST,HEAD allowed"}`)
}

func TestFilterFunctions(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db")
	a.do("PUT", "/db/_design/f", `{"filters":{"min":"function(){return true}"}}`).want(201, "")
	a.do("PUT", "/db/_design/v", `{"views":{"even":{"map":"function(){}"}}}`).want(201, "")
	for query, want := range map[string]string{
		"filter=f/none":             "404 missing json key: none",
		"filter=v/even":             "404 missing json key: filters",
		"filter=none/min":           "404 missing",
		"filter=_view&view=v/none":  "404 missing json key: none",
		"filter=_view&view=none/v":  "404 missing",
		"filter=_view&view=f/views": "404 missing json key: views",
		"filter=_view&view=v":       "400 `view` must be of the form `designname/viewname`",
	} {
		w := a.do("GET", "/db/_changes?"+query, "")
		if got := fmt.Sprintf("%d %v", w.Status, w.json()["reason"]); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestBulkOrderInFeed(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "c", "a", "b")
	a.do("PUT", "/db/0", "{}").want(201, "")
	a.feeds([][3]string{{"/db/_changes", "", "a b c 0 | 0"}})
}

func TestPurgeLeavesTheFeed(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a", "b")
	rev := a.do("GET", "/db/a", "").json()["_rev"].(string)
	a.do("POST", "/db/_purge", `{"a":["`+rev+`"]}`).want(201, "")
	v := a.do("GET", "/db/_changes", "").want(200, "").json()
	if got := feedOf(v); got != "b | 0" || !strings.HasPrefix(v["last_seq"].(string), "2-") {
		t.Errorf("%s, last_seq %v", got, v["last_seq"])
	}
}

func TestPartitionChanges(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "_design/v", "p:1", "p:2", "q:1", "q:2")
	a.remove("/db/p:1")
	const p = "/db/_partition/p/_changes"
	since := a.do("GET", p+"?limit=1", "").json()["last_seq"].(string)
	a.feeds([][3]string{
		{p, "", "p:2 p:1! | 0"},
		{p + "?since=" + since, "", "p:1! | 0"},
		{"/db/_changes?since=" + since, "", "q:1 q:2 p:1! | 0"}, // sequences are the database's
		{p + "?descending=true", "", "p:1! p:2 | 0"},
		{p + "?filter=_doc_ids", `{"doc_ids":["q:1","p:2","_design/v"]}`, "p:2 | 1"},
		{p + "?filter=_design", "", " | 2"},
		{p + "?filter=_selector", `{"selector":{"n":3}}`, "p:2 | 0"},
		{p + "?feed=longpoll&since=now&timeout=1", "", " | 0"},
		{"/db/_partition/none/_changes", "", " | 0"},
	})
}

// TestLongFeed checks that the pages of a feed join, with and without
// documents.
func TestLongFeed(t *testing.T) {
	a := newTestAPI(t)
	var ids []string
	for i := range 1234 {
		ids = append(ids, fmt.Sprintf("d%04d", i))
	}
	a.fill("db", ids...)
	want := strings.Join(ids, " ") + " | 0"
	a.feeds([][3]string{{"/db/_changes", "", want}, {"/db/_changes?include_docs=true", "", want}, {"/db/_changes?filter=_selector", `{"selector":{}}`, want}})
	lines := strings.Split(a.do("GET", "/db/_changes?feed=continuous&timeout=1&include_docs=true", "").Body, "\n")
	if len(lines) != 1234+2 {
		t.Errorf("%d lines", len(lines))
	}
}

// listener is a client of a continuous feed over a real connection.
type listener struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
}

func (a *testAPI) listen(t *testing.T, s *httptest.Server, target string) *listener {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+target, nil)
	must(t, err)
	r.SetBasicAuth("adm", "pass")
	w, err := http.DefaultClient.Do(r)
	must(t, err)
	if w.StatusCode != 200 {
		t.Fatalf("status %d", w.StatusCode)
	}
	t.Cleanup(func() { w.Body.Close() })
	return &listener{t, w.Body, bufio.NewScanner(w.Body)}
}

// next returns the next line that is not blank; "" at a proper end.
func (l *listener) next() string {
	l.t.Helper()
	for l.lines.Scan() {
		if text := l.lines.Text(); text != "" {
			return text
		}
	}
	must(l.t, l.lines.Err())
	return ""
}

func (l *listener) expect(substring string) {
	l.t.Helper()
	if got := l.next(); !strings.Contains(got, substring) {
		l.t.Fatalf("line %q, want %q in it", got, substring)
	}
}

// TestLiveFeed checks that rows reach the client at once, and that feeds end
// well when their database is dropped and when the server stops.
func TestLiveFeed(t *testing.T) {
	a := newTestAPI(t)
	s := httptest.NewServer(a)
	defer s.Close()
	a.fill("db", "p:1", "q:1")
	a.fill("other", "x")
	whole := a.listen(t, s, "/db/_changes?feed=continuous&heartbeat=60000&include_docs=true")
	part := a.listen(t, s, "/db/_partition/p/_changes?feed=live&since=now")
	other := a.listen(t, s, "/other/_changes?feed=continuous&since=now&heartbeat=1000")
	events := a.listen(t, s, "/other/_changes?feed=eventsource&since=now&heartbeat=1000")
	whole.expect(`"id":"p:1"`)
	whole.expect(`"id":"q:1"`)
	for i := range 5 {
		id := fmt.Sprint("p:n", i)
		a.do("PUT", "/db/"+id, `{"i":1}`).want(201, "")
		whole.expect(`"id":"` + id + `"`)
		part.expect(`"id":"` + id + `"`)
	}
	a.do("PUT", "/db/q:2", "{}").want(201, "")
	whole.expect(`"id":"q:2"`)
	events.expect("event: heartbeat")
	events.expect("data: ")

	a.do("DELETE", "/db", "").want(200, "")
	whole.expect(`{"last_seq":"8-`)
	part.expect(`{"last_seq":"7-`)
	if got := whole.next() + part.next(); got != "" {
		t.Errorf("after the last line: %q", got)
	}
	a.do("PUT", "/other/y", "{}").want(201, "")
	other.expect(`"id":"y"`)
	a.EndFeeds()
	other.expect(`{"last_seq":"2-`)
}

// quiet is a ResponseWriter that counts what it is sent.
type quiet struct {
	header http.Header
	got    chan<- struct{}
}

func (q *quiet) Header() http.Header { return q.header }

func (q *quiet) WriteHeader(int) {}

func (q *quiet) Flush() {}

func (q *quiet) Write(p []byte) (int, error) {
	if strings.Contains(string(p), `"id":`) {
		q.got <- struct{}{}
	}
	return len(p), nil
}

// TestThousandFeeds opens a thousand continuous feeds on a partition each and
// on the database, and checks that one write reaches those it concerns, and
// what an idle feed costs.
func TestThousandFeeds(t *testing.T) {
	const feeds = 1000
	a := newTestAPI(t)
	a.fill("db", "p:1", "q:1")
	ctx, cancel := context.WithCancel(t.Context())
	var open sync.WaitGroup
	start := func(target string, got chan<- struct{}) {
		r := httptest.NewRequestWithContext(ctx, "GET", target+"/_changes?feed=continuous&heartbeat=3600000", nil)
		r.SetBasicAuth("adm", "pass")
		open.Go(func() {
			defer func() { // a feed that is ended while it reads cuts the connection so
				if cut := recover(); cut != nil && cut != http.ErrAbortHandler {
					panic(cut)
				}
			}()
			a.ServeHTTP(&quiet{http.Header{}, got}, r)
		})
	}
	before := memoryInUse()
	ps, qs := make(chan struct{}, 2*feeds), make(chan struct{}, 2*feeds)
	for range feeds {
		start("/db/_partition/p", ps)
		start("/db/_partition/q", qs)
	}
	for range feeds {
		<-ps
		<-qs
	}
	each := (memoryInUse() - before) / (2 * feeds)
	t.Logf("an idle feed costs %d bytes", each)
	if each > 32<<10 { // with the race detector it is 21 KB
		t.Error("which is too much")
	}
	a.do("PUT", "/db/p:2", "{}").want(201, "")
	for range feeds {
		<-ps
	}
	if len(qs) > 0 {
		t.Errorf("%d feeds of another partition got a row", len(qs))
	}
	cancel()
	open.Wait()
}

// memoryInUse returns the bytes of heap and stacks.
func memoryInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

func TestChangesTimeoutSetting(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "changes_timeout", Value: "5"})
	a.fill("db")
	began := time.Now()
	a.feeds([][3]string{{"/db/_changes?feed=longpoll", "", " | 0"}, {"/db/_changes?feed=longpoll&timeout=3600000", "", " | 0"}})
	if d := time.Since(began); d >= time.Minute { // the setting's default
		t.Errorf("took %v", d)
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

package couchapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// nouveauDesign is a design document with an index i of Nouveau's.
func nouveauDesign(more, function string) string {
	return `{` + more + `"nouveau":{"i":{"index":"function(doc){ ` + function + ` }"}}}`
}

// TestNouveauRights: who may not read a database, or only one of its partitions, finds
// nothing in the others, and learns nothing of them.
func TestNouveauRights(t *testing.T) {
	a := newTestAPI(t)
	const function = "index('text', 'default', doc.text); if (doc.n) { index('double', 'n', doc.n); } if (doc.s) { index('string', 's', doc.s); }"
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_design/p", nouveauDesign("", function)).want(201, "")
	a.do("PUT", "/db/alice:1", `{"text":"secret","s":"x"}`).want(201, "")
	a.do("PUT", "/db/alice:2", `{"text":"not so"}`).want(201, "")
	a.do("PUT", "/db/bob:1", `{"text":"secret secret"}`).want(201, "")
	a.do("GET", "/db/_design/p/_nouveau/i?q=secret", "", "Authorization", "").want(401, "")
	a.do("POST", "/_nouveau_analyze", `{"analyzer":"standard","text":"a"}`, "Authorization", "").want(401, "")
	n := 0
	for _, path := range []string{"/db/_partition/alice/_design/p", "/db/_owner/alice/_design/p"} {
		ask := func() (all string) {
			for _, more := range []string{"q=secret", `q=*:*&sort="n"`, "q=n:x", "q=n:[a+TO+b]", `q=*:*&counts=["s"]&ranges={"n":[{"label":"all"}]}`, `q=*:*&counts=["n"]`, "q=sec*", "q=secrat~"} {
				got := a.do("GET", path+"/_nouveau/i?"+more, "")
				body := got.Body
				if _, behind, ok := strings.Cut(body, `"hits"`); ok {
					body = behind // latencies differ
				}
				all += fmt.Sprintln(more, got.Status, body)
			}
			return all
		}
		before := ask()
		if strings.Contains(before, "bob") {
			t.Errorf("%s: %s", path, before)
		}
		// Neither scores nor what fields are tell of other partitions.
		n++
		a.do("POST", "/db/_bulk_docs", fmt.Sprintf(`{"docs":[{"_id":"carol:%d","text":"secret secrets of others","n":%d,"s":"x"}]}`, n, n)).want(201, "")
		if after := ask(); after != before {
			t.Errorf("%s: before %s, after %s", path, before, after)
		}
	}
}

// TestNouveauOfOnePartition: whom a rule lets into a partition finds what is in it, and
// nothing else.
func TestNouveauOfOnePartition(t *testing.T) {
	w := newOpaqueWorld(t)
	w.do("PUT", "/parts/_design/s", nouveauDesign("", "index('double', 'n', doc.n);")).want(201, "")
	w.do("PUT", "/parts/_design/g", nouveauDesign(`"options":{"partitioned":false},`, "index('double', 'n', doc.n);")).want(201, "")
	for _, path := range []string{"/parts/_partition/alice/_design/s/_nouveau/i?q=*:*", "/parts/_owner/alice/_design/s/_nouveau/i?q=*:*"} {
		if got := w.as(readsOne, "GET", path+"&include_docs=true", "").want(200, "").Body; !strings.Contains(got, `"total_hits":1,`) || strings.Contains(got, "bob") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := w.as(readsOne, "GET", "/parts/_partition/alice/_design/g/_nouveau/i?q=*:*", ""); got.Status == 200 && (!strings.Contains(got.Body, `"total_hits":1,`) || strings.Contains(got.Body, "bob")) {
		t.Errorf("by a global index: %s", got.Body)
	}
	for _, path := range []string{"/parts/_partition/bob/_design/s/_nouveau/i?q=*:*", "/parts/_owner/bob/_design/s/_nouveau/i?q=*:*", "/parts/_design/s/_nouveau/i?q=*:*&partition=bob",
		"/parts/_design/s/_nouveau/i?q=*:*&partition=alice", "/parts/_design/g/_nouveau/i?q=*:*", "/parts/_design/s/_nouveau_info/i", "/parts/_partition/alice/_design/s/_nouveau_info/i"} {
		if got := w.as(readsOne, "GET", path, ""); got.Status != 403 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if got := w.as(readsOne, "GET", "/parts/_partition/alice/_design/s/_nouveau/i?q=*:*&partition=bob", ""); got.Status != 400 && got.Status != 403 {
		t.Errorf("another partition by the parameter: %d %s", got.Status, got.Body)
	}
}

// TestStaleNouveau: update=false answers from what the index has, and a hit whose document
// has gone since has none.
func TestStaleNouveau(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", nouveauDesign(`"autoupdate":false,`, "index('string', 'x', 'x');")).want(201, "")
	rev := a.do("PUT", "/db/a", `{}`).want(201, "").json()["rev"].(string)
	const path = "/db/_design/d/_nouveau/i?q=x:x&include_docs=true"
	hits := func(more string, want int, has string) {
		t.Helper()
		got := a.do("GET", path+more, "").want(200, "")
		if fmt.Sprint(got.json()["total_hits"]) != fmt.Sprint(want) || !strings.Contains(got.Body, has) {
			t.Errorf("%s: %s, want %v hits and %s", more, got.Body, want, has)
		}
	}
	hits("&update=true", 1, `"doc":{"_id":"a"`)
	a.do("PUT", "/db/b", `{}`).want(201, "")
	a.do("DELETE", "/db/a?rev="+rev, "").want(200, "")
	hits("&update=false", 1, `"doc":null`)
	hits("", 1, `"doc":{"_id":"b"`)
}

// TestDroppedFromNouveau: documents of a partition that was dropped are not found at once.
func TestDroppedFromNouveau(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_design/d", nouveauDesign("", "index('string', 's', doc._id);")).want(201, "")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:1"},{"_id":"q:1"}]}`).want(201, "")
	a.do("GET", "/db/_design/d/_nouveau/i?q=*:*", "").want(200, "")
	a.do("DELETE", "/db/_partition/p", "")
	got := a.do("GET", `/db/_design/d/_nouveau/i?q=*:*&counts=["s"]`, "").want(200, "").Body
	if strings.Contains(got, "p:1") || !strings.Contains(got, `"q:1":1`) {
		t.Error(got)
	}
}

// TestHostileNouveau: what would cost much is refused, or answered; nothing is an error of
// the server's.
func TestHostileNouveau(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", nouveauDesign("", "index('text', 'default', doc._id + ' ' + 'a'.repeat(3000)); index('double', 'n', 1); index('string', 's', 'x');")).want(201, "")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b"}]}`).want(201, "")
	many := func(what string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(what+",", n), ",") + "]"
	}
	for _, body := range []string{
		`"q":"` + strings.Repeat("(", 5000) + `"`,
		`"q":"` + strings.Repeat("a ", 5000) + `"`,
		`"q":"` + strings.Repeat("(a b c d e f) ", 1000) + strings.Repeat("(a b c d e f)", 400) + `"`,
		`"q":"\"` + strings.Repeat("a ", 3000) + `\""`,
		`"q":"\"` + strings.Repeat("a ", 1000) + `\"~100000"`,
		`"q":"a` + strings.Repeat("*a", 900) + `b"`,
		`"q":"/` + strings.Repeat("a?", 2000) + `b/"`,
		`"q":"/(a*)*b/"`,
		`"q":"` + strings.Repeat("a", 200) + `~2"`,
		`"q":"a^1e39 a^99999999999999999999999999999999999999999999"`,
		`"q":"((a^99999999999999999999999999999999999999)^99999999999999999999999999999999999999)^99999999999999999999999999999999999999"`,
		`"q":"n:1` + strings.Repeat("0", 400) + `"`,
		`"q":"` + strings.Repeat("x", 2<<20) + `"`,
		`"q":"\ud800"`,
		`"q":"a","limit":1000000000`,
		`"q":"a","top_n":1000000000`,
		`"q":"a","sort":` + many(`"n"`, 1000),
		`"q":"a","counts":` + many(`"s"`, 5000),
		`"q":"a","ranges":{"n":` + many(`{"label":"x","min":0}`, 5000) + `}`,
		`"q":"a","ranges":{"n":[{"label":"x","min":1e308,"max":-1e308},{"label":"y","max":1e400}]}`,
		`"q":"a","bookmark":"` + strings.Repeat("A", 1<<20) + `"`,
		`"q":"a","locale":"` + strings.Repeat("x_", 1<<20) + `"`,
		`"q":"a b` + strings.Repeat(" f", 3) + `","counts":["s"],"ranges":{"n":[{"label":"x"}]},"top_n":1000`,
	} {
		got := a.do("POST", "/db/_design/d/_nouveau/i", "{"+body+"}")
		if got.Status != 200 && got.Status != 400 && got.Status != 413 {
			t.Errorf("%.80s: %d %.200s", body, got.Status, got.Body)
		}
	}
	a.do("POST", "/_nouveau_analyze", `{"analyzer":"whitespace","text":"`+strings.Repeat("a ", 1<<19)+`a"}`).want(413, `{"error":"too_large","reason":"text parameter must not have more than 1048576 bytes"}`)
}

// TestNouveauPages walks through pages by their bookmarks while documents are written.
func TestNouveauPages(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", nouveauDesign("", "index('double', 'n', doc.n); index('string', 's', 's' + doc.n);")).want(201, "")
	var docs []string
	for i := range 40 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, i/2))
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	added := 0
	for _, sort := range []string{"null", `"-n"`, `"s"`, `["-_id"]`, `["s","-n"]`} {
		seen, bookmark := map[string]bool{}, ""
		for range 50 {
			more := "&sort=" + url.QueryEscape(sort)
			if sort == "null" {
				more = ""
			}
			answer := a.do("GET", "/db/_design/d/_nouveau/i?q=*:*&limit=7"+more+"&bookmark="+bookmark, "").want(200, "").json()
			hits := answer["hits"].([]any)
			for _, h := range hits {
				id := h.(map[string]any)["id"].(string)
				if seen[id] {
					t.Errorf("%s: %s is there twice", sort, id)
				}
				seen[id] = true
			}
			if bookmark = answer["bookmark"].(string); len(hits) == 0 {
				break
			}
			added++
			a.do("PUT", fmt.Sprintf("/db/z%d", added), `{"n":14.5}`).want(201, "")
		}
		for i := range 40 {
			if id := fmt.Sprintf("%02d", i); !seen[id] {
				t.Errorf("%s: %s is missing", sort, id)
			}
		}
	}
}

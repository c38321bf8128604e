package couchapi_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/snapshot"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// leakDesign has functions that tell all they see.
const leakDesign = `{"_id":"_design/d",
	"views":{"v":{"map":"function (doc) { emit(doc.n, {_id: 'bob:1'}); emit(doc.n, 1); }"},"r":{"map":"function (doc) { emit(doc.n, doc.n); }","reduce":"_stats"}},
	"updates":{"u":"function (doc, req) { return [null, JSON.stringify([doc, req.info, req.secObj])]; }"},
	"shows":{"s":"function (doc, req) { return JSON.stringify([doc, req.info, req.secObj]); }"},
	"filters":{"f":"function (doc, req) { return doc.n >= req.info.doc_count; }"},
	"lists":{"l":"function (head, req) { var row, all = []; while (row = getRow()) all.push(row); return JSON.stringify([head, all, req.info, req.secObj]); }"},
	"rewrites":[{"from":"/all","to":"../../_all_docs"},{"from":"/v","to":"_view/v"},{"from":"/up","to":"../../../../*"}]}`

// leakDocs are the documents of a partition: with a conflict, a tombstone, an
// attachment and many others.
func leakDocs(partition string, many int) string {
	docs := []string{
		`{"_id":"P:1","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"n":1,"p":"P","_attachments":{"a.txt":{"data":"YWFh","content_type":"text/plain"}}}`,
		`{"_id":"P:1","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"n":7,"p":"P"}`,
		`{"_id":"P:gone","_rev":"1-d","_deleted":true}`,
	}
	for i := range many {
		docs = append(docs, fmt.Sprintf(`{"_id":"P:m%02d","_rev":"1-e","n":%d,"p":"P"}`, i, i))
	}
	return strings.ReplaceAll(`{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`, "P", partition)
}

// leakWorld is a server that restricted readers are asked about: what they were told of
// sequences has names, in the order in which they came to know them.
type leakWorld struct {
	*testAPI
	seqs map[string]string
	last string // of the sequences that are no 0
}

// newLeakWorld is a server whose database has the partition alice, and bob's
// documents written where others says. Tenants may write design documents as
// designs says, once they have some.
func newLeakWorld(t *testing.T, designs string, others ...string) *leakWorld {
	w := &leakWorld{testAPI: newTestAPIWith(t, apitest.Options{Store: store.Options{Rand: &lockedRand{from: rand.NewChaCha8([32]byte{})}}, // equal histories have equal sequences
		Settings: []config.Setting{{Section: "sectional", Key: "owner_design_docs", Value: "members"}, {Section: "sectional", Key: "min_seq_wait", Value: "1ms"}}}), seqs: map[string]string{}}
	for _, name := range []string{readsOne, writesTo} {
		w.do("PUT", "/_users/org.couchdb.user:"+name, fmt.Sprintf(`{"name":%q,"password":%q,"roles":[],"type":"user"}`, name, name)).want(201, "")
	}
	owns := func(name, design string) {
		tenant := "/parts/_owner/" + name
		w.do("POST", tenant+"/_bulk_docs", `{"docs":[`+leakDesign+`,`+strings.ReplaceAll(leakDesign, "_design/d", design)+`]}`).want(201, "")
		w.do("POST", tenant+"/_index", `{"index":{"fields":["n"]},"name":"byn","ddoc":"m"}`).want(200, "")
		w.do("POST", tenant+"/_index", `{"index":{"fields":["p"]},"name":"byp","ddoc":"g"}`).want(200, "")
		w.do("GET", tenant+"/_design/d/_view/v", "").want(200, "")
	}
	bob := func(when string) {
		if !slices.Contains(others, when) {
			return
		}
		w.do("POST", "/parts/_bulk_docs", strings.ReplaceAll(leakDocs("bob", 40), "1-e", "1-"+when)).want(201, "")
		owns("bob", "_design/bobs"+when)
		for _, endpoint := range []string{"/parts", "/parts/_partition/bob", "/parts/_owner/bob"} {
			w.do("PUT", endpoint+"/_local/"+when, `{}`).want(201, "")
		}
		w.do("PUT", "/parts/_partition/bob/_expiry", `{"field":"expires"}`).want(200, "")
		w.do("PUT", "/parts/_partition/bob/_subscriptions/s", `{"url":"https://example.com","secret":"0123456789abcdef","paused":true}`)
	}
	w.do("PUT", "/parts?partitioned=true", "").want(201, "")
	w.do("PUT", "/parts/_security", accessRules).want(200, "")
	bob("before")
	w.do("POST", "/parts/_bulk_docs", `{"docs":[`+leakDesign+`]}`).want(201, "")
	w.do("POST", "/parts/_bulk_docs", `{"docs":[`+strings.ReplaceAll(leakDesign, "_design/d", "_design/shared")+`]}`).want(201, "")
	w.do("POST", "/parts/_index", `{"index":{"fields":["n"]},"name":"byn","ddoc":"m"}`).want(200, "")
	w.do("POST", "/parts/_index", `{"index":{"fields":["n","p"]},"name":"bynp","ddoc":"sharedm"}`).want(200, "")
	w.do("POST", "/parts/_index", `{"index":{"fields":["p"]},"name":"byp","ddoc":"g","partitioned":false}`).want(200, "")
	w.do("POST", "/parts/_bulk_docs", leakDocs("alice", 5)).want(201, "")
	owns("alice", "_design/own")
	bob("after")
	w.do("POST", "/parts/_find", `{"selector":{"p":"bob"}}`).want(200, "")
	w.do("GET", "/parts/_partition/bob/_design/d/_view/v", "").want(200, "")
	_, err := w.Config.Set(config.Setting{Section: "sectional", Key: "owner_design_docs", Value: designs}, false)
	must(t, err)
	return w
}

var (
	leakTimes    = regexp.MustCompile(`"(execution_time_ms|instance_start_time|writes_per_hour|last_write)":"?[0-9.TZ:-]+"?`)
	leakSeqs     = regexp.MustCompile(`\b1-[A-Za-z0-9_-]{22,}`)
	leakBookmark = regexp.MustCompile(`"after":"([A-Za-z0-9_-]+)"`)
	leakPlain    = regexp.MustCompile(`«plain-([0-9]+)»`)
)

// name returns what a text has in the places of sequences names: a world's k-th
// sequence is "seq k", wherever it is met again.
func (w *leakWorld) name(text string) string {
	return leakSeqs.ReplaceAllStringFunc(text, func(found string) string {
		q, behind := strings.TrimSuffix(found, "-0"), "" // of a feed's ETag
		if len(q) < len(found) {
			behind = "-0"
		}
		if !opaqueForm.MatchString(q) {
			return found // a revision
		}
		if w.seqs[q] == "" {
			w.seqs[q] = fmt.Sprintf("seq %d", len(w.seqs)+1)
		}
		w.last = q
		return w.seqs[q] + behind
	})
}

// seen is what a caller sees of an answer: all of it but the request's id, times,
// and the length of times, with names for the sequences.
func (w *leakWorld) seen(got answer) string {
	h := maps.Clone(got.Header)
	for _, name := range []string{"X-Couch-Request-Id", "X-Couchdb-Body-Time", "Date"} {
		delete(h, name)
	}
	if leakTimes.MatchString(got.Body) { // they may take more digits
		delete(h, "Content-Length")
	}
	return w.name(leakTimes.ReplaceAllString(fmt.Sprint(got.Status, " ", h, "\n", got.Body), `"$1":0`))
}

// seenSnapshot is what a caller sees of a stream: its length, and what a database
// holds that it is loaded into.
func (w *leakWorld) seenSnapshot(sink *testAPI, got answer) string {
	sink.do("DELETE", "/sink", "")
	sink.do("PUT", "/sink?partitioned=true", "").want(201, "")
	loaded := sink.do("POST", "/sink/_snapshot", got.Body, "Content-Type", snapshot.ContentType).want(201, "")
	progress := leakBookmark.ReplaceAllStringFunc(loaded.Body, func(m string) string {
		raw, err := base64.RawURLEncoding.DecodeString(leakBookmark.FindStringSubmatch(m)[1])
		must(w.t, err)
		return strings.Map(func(c rune) rune { return max(c, ' ') }, string(raw))
	})
	docs := sink.do("GET", "/sink/_all_docs?include_docs=true&attachments=true&conflicts=true", "").want(200, "").Body
	delete(got.Header, "X-Couch-Request-Id")
	delete(got.Header, "X-Couchdb-Body-Time")
	return w.name(fmt.Sprint(len(got.Body), " ", got.Header, "\n", progress, "\n", docs))
}

// ask sends a probe as somebody, and returns what he sees.
func (w *leakWorld) ask(sink *testAPI, p leakProbe, caller string, header ...string) (seen, body string) {
	db, err := w.Store.Database(w.t.Context(), "parts")
	must(w.t, err)
	p.path = leakPlain.ReplaceAllStringFunc(strings.ReplaceAll(p.path, "«last»", w.last), func(n string) string {
		number, err := strconv.Atoi(leakPlain.FindStringSubmatch(n)[1])
		must(w.t, err)
		return db.Whole().FormatSeq(store.Seq(number))
	})
	got := p.send(w.testAPI, caller, header...)
	if got.Status == 200 && got.Header.Get("Content-Type") == snapshot.ContentType {
		return w.seenSnapshot(sink, got), ""
	}
	return w.seen(got), got.Body
}

// TestNoLeak asks everything as somebody whom rules let into alice, of a
// database that has alice only and of others where bob is too: all answers are
// the same, byte for byte, but for sequences. These are equal in the one world
// where they are equal in the other.
func TestNoLeak(t *testing.T) {
	testrun.Sequential(t)
	sink := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"})
	for _, designs := range []string{"none", "members"} {
		for i, others := range [][]string{{"after"}, {"before", "after"}} {
			if (i == 0) == (designs == "none") && !testrun.IsLong() {
				continue // each of both once
			}
			t.Run(fmt.Sprint(designs, " ", others), func(t *testing.T) {
				alone, shared := newLeakWorld(t, designs), newLeakWorld(t, designs, others...)
				for _, caller := range []string{readsOne, writesTo} {
					for _, p := range leakProbes() {
						if caller == readsOne && (p.method == "PUT" || p.method == "PATCH") && strings.HasPrefix(p.path, "/parts/bob") {
							// also in the disguise of a POST
							compareLeak(t, sink, leakProbe{"POST", p.path, p.body}, caller, alone, shared, "X-HTTP-Method-Override", p.method)
						}
						compareLeak(t, sink, p, caller, alone, shared)
					}
				}
			})
		}
	}
}

func compareLeak(t *testing.T, sink *testAPI, p leakProbe, caller string, alone, shared *leakWorld, header ...string) {
	t.Helper()
	a, _ := alone.ask(sink, p, caller, header...)
	b, body := shared.ask(sink, p, caller, header...)
	if a != b {
		t.Errorf("%s %s %s as %s\nwithout bob: %s\nwith bob:    %s", p.method, p.path, p.body, caller, a, b)
	}
	if strings.Contains(body, `"p":"bob"`) {
		t.Errorf("%s %s as %s shows bob's documents: %s", p.method, p.path, caller, body)
	}
}

// lockedRand is a source of random bytes that commits may share.
type lockedRand struct {
	sync.Mutex
	from *rand.ChaCha8
}

func (r *lockedRand) Read(p []byte) (int, error) {
	r.Lock()
	defer r.Unlock()
	return r.from.Read(p)
}

package couchapi

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/store"
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

// newLeakWorld is a server whose database has the partition alice, and bob's
// documents written where others says.
func newLeakWorld(t *testing.T, others ...string) *testAPI {
	w := newTestAPIWith(t, store.Options{Rand: &lockedRand{from: rand.NewChaCha8([32]byte{})}}) // equal histories have equal sequences
	for _, name := range []string{readsOne, writesTo} {
		w.do("PUT", "/_users/org.couchdb.user:"+name, fmt.Sprintf(`{"name":%q,"password":%q,"roles":[],"type":"user"}`, name, name)).want(201, "")
	}
	bob := func(when string) {
		if slices.Contains(others, when) {
			w.do("POST", "/parts/_bulk_docs", strings.ReplaceAll(leakDocs("bob", 40), "1-e", "1-"+when)).want(201, "")
			w.do("PUT", "/parts/_local/"+when, `{}`).want(201, "")
		}
	}
	w.do("PUT", "/parts?partitioned=true", "").want(201, "")
	w.do("PUT", "/parts/_security", accessRules).want(200, "")
	bob("before")
	w.do("POST", "/parts/_bulk_docs", `{"docs":[`+leakDesign+`]}`).want(201, "")
	w.do("POST", "/parts/_index", `{"index":{"fields":["n"]},"name":"byn","ddoc":"m"}`).want(200, "")
	w.do("POST", "/parts/_index", `{"index":{"fields":["p"]},"name":"byp","ddoc":"g","partitioned":false}`).want(200, "")
	w.do("POST", "/parts/_bulk_docs", leakDocs("alice", 5)).want(201, "")
	bob("after")
	w.do("POST", "/parts/_find", `{"selector":{"p":"bob"}}`).want(200, "")
	w.do("GET", "/parts/_partition/bob/_design/d/_view/v", "").want(200, "")
	return w
}

// leakProbe is a request that might tell of somebody else's documents.
type leakProbe struct{ method, path, body string }

const aliceDoor = "/parts/_partition/alice"

// leakProbes ask for bob's documents at alice's door, in every way there is.
func leakProbes() (probes []leakProbe) {
	for _, line := range strings.Split(strings.TrimSpace(leakLines), "\n") {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		p := leakProbe{method: parts[0], path: strings.Replace(parts[1], "~", aliceDoor, 1)}
		if len(parts) == 3 {
			p.body = parts[2]
		}
		probes = append(probes, p)
	}
	return probes
}

// In leakLines, ~ is alice's door.
const leakLines = `
GET ~
GET ~/_all_docs
GET ~/_all_docs?include_docs=true&update_seq=true&conflicts=true
GET ~/_all_docs?start_key="a"&end_key="z"
GET ~/_all_docs?key="bob:1"
GET ~/_all_docs?key="ghost:1"
GET ~/_all_docs?skip=3&descending=true
GET ~/_all_docs?partition=bob
POST ~/_all_docs {"keys":["bob:1","alice:1","bob:gone","_design/d"]}
POST ~/_all_docs/queries {"queries":[{"keys":["bob:1"]},{"start_key":"b"},{"partition":"bob"}]}
GET ~/_changes
GET ~/_changes?include_docs=true&style=all_docs&descending=true
GET ~/_changes?since=0&limit=2
GET ~/_changes?since=now
GET ~/_changes?since=now&feed=longpoll&timeout=1
GET ~/_changes?filter=d/f
GET ~/_changes?filter=_view&view=d/v
GET ~/_changes?filter=_design
POST ~/_changes?filter=_doc_ids {"doc_ids":["bob:1","alice:1"]}
POST ~/_changes?filter=_selector {"selector":{"p":"bob"}}
POST ~/_find {"selector":{"n":{"$gte":0}},"execution_stats":true}
POST ~/_find {"selector":{"p":"bob"},"execution_stats":true}
POST ~/_find {"selector":{"p":"alice"},"execution_stats":true}
POST ~/_find {"selector":{"_id":{"$gt":"b"}},"execution_stats":true}
POST ~/_find {"selector":{"_id":"bob:1"}}
POST ~/_find {"selector":{},"partition":"bob"}
POST ~/_find {"selector":{},"use_index":["g","byp"]}
POST ~/_find {"selector":{"n":{"$gt":0}},"sort":["n"],"limit":2}
POST ~/_find {"selector":{},"count":true}
POST ~/_find {"selector":{},"group":{"by":["p"],"compute":{"s":{"$sum":"n"}}}}
POST ~/_explain {"selector":{"n":{"$gte":0}},"execution_stats":true}
POST ~/_explain {"selector":{"p":"bob"},"execution_stats":true}
POST ~/_explain {"selector":{"p":"bob"},"use_index":["g","byp"],"execution_stats":true}
GET ~/_index
GET ~/_design/d/_view/v
GET ~/_design/d/_view/v?include_docs=true&update_seq=true
GET ~/_design/d/_view/v?key=1&skip=1
GET ~/_design/d/_view/v?limit=0
POST ~/_design/d/_view/v/queries {"queries":[{"start_key":0},{"keys":[1,2]}]}
GET ~/_design/d/_view/r
GET ~/_design/d/_view/r?reduce=false&include_docs=true
GET ~/_design/d/_show/s
GET ~/_design/d/_show/s/alice:1
GET ~/_design/d/_show/s/bob:1
GET ~/_design/d/_show/s/ghost:1
GET ~/_design/d/_list/l/v
GET ~/_design/d/_list/l/v?include_docs=true
POST ~/_design/d/_update/u {}
POST ~/_design/d/_update/u {"_id":"bob:1"}
POST ~/_design/d/_update/u/alice:1 {}
POST ~/_design/d/_update/u/bob:1 {}
GET ~/_design/d/_rewrite/all
GET ~/_design/d/_rewrite/v
GET ~/_design/d/_rewrite/up
GET ~/_design/d/_info
GET ~/_design/g/_info
GET ~/bob:1
GET ~/ghost:1
GET ~/bob:1/a.txt
GET ~/_partitions
POST ~/_bulk_get {"docs":[{"id":"alice:1"},{"id":"bob:1"},{"id":"bob:1","rev":"2-b"},{"id":"ghost:1"},{"id":"alice:gone","rev":"1-d"},{"id":"_design/d"}]}
POST ~/_bulk_get?revs=true&attachments=true {"docs":[{"id":"alice:1","rev":"2-b"},{"id":"bob:1","rev":"2-b","atts_since":["1-a"]}]}
POST ~/_revs_diff {"alice:1":["2-b","3-x"],"alice:9":["1-x"]}
POST ~/_revs_diff {"bob:1":["2-b","3-x"]}
POST ~/_revs_diff {"ghost:1":["2-b","3-x"]}
POST ~/_missing_revs {"bob:1":["2-b","3-x"]}
POST ~/_missing_revs {"alice:1":["2-b","3-x"]}
GET ~/_design/d
GET ~/_design/d?local_seq=true&meta=true
GET ~/alice:1?rev=2-b&attachments=true&local_seq=true
GET ~/alice:1?open_revs=all&revs=true
GET ~/alice:1/a.txt
GET ~/alice:1/..%2F..%2Fbob:1
GET ~/bob:1?rev=2-b
GET ~/bob:1?open_revs=all
GET ~/ghost:1?open_revs=all
GET ~/_local/after
GET ~/_local/before
GET ~/_local_docs
GET ~/_design_docs?update_seq=true
GET ~/_security
GET ~/_session
PUT ~
POST ~/_ensure_full_commit
PUT ~/_local/mine {"a":1}
GET ~/_local/mine
COPY ~/_local/mine>_local/other
COPY ~/_local/mine>alice:local
COPY ~/_local/mine>bob:local
DELETE ~/_local/mine
GET /parts/alice:1?rev=2-b&attachments=true&revs_info=true&conflicts=true&local_seq=true
GET /parts/alice:1?open_revs=all&revs=true
GET /parts/alice:1?meta=true
GET /parts/alice:1/a.txt
GET /parts/alice:1/..%2Fbob:1
GET /parts/alice:1/../bob:1
GET /parts/alice:%2F..%2Fbob:1
GET /parts/alice:1%2F..%2F..%2Fbob:1
GET /parts/alice:1%2Fa.txt
GET /parts/alice%3A1
GET /parts/bob:1?rev=2-b
GET /parts/bob:1/a.txt
GET /parts/bob%3A1
GET /parts/alice:1;bob:1
GET /parts/alice:bob:1
GET /parts/_partition/bob
GET /parts/_partition/alice%2Fbob/_all_docs
GET /parts/_partition/alice/../bob/_all_docs
GET /parts/_partition/alice%2F..%2Fbob/_all_docs
GET /parts%2F_partition%2Fbob/_all_docs
GET /parts/_partition/alice%00/_all_docs
GET /parts/_all_docs?partition=alice
GET /parts/_changes
GET /parts/_partitions
GET /parts
GET /parts/_local_docs
GET /parts/_design/d/_view/v?partition=alice
GET /parts/_security
GET /parts/_shards/alice:1
POST /parts/_bulk_get {"docs":[{"id":"alice:1"},{"id":"bob:1"}]}
POST /parts/_find {"selector":{},"partition":"alice"}
POST /parts/_bulk_docs {"docs":[{"_id":"alice:new"}]}
POST /parts {"_id":"alice:new"}
POST ~/_bulk_docs {"docs":[{"_id":"bob:1"}]}
POST ~/_bulk_docs {"docs":[{"_id":"ghost:1"}]}
POST ~/_bulk_docs {"docs":[{"_id":"alice:b1"},{"_id":"_design/x"},{"_id":"alice:_design/x"},{"_id":"_local/b"}]}
POST ~/_bulk_docs {"new_edits":false,"docs":[{"_id":"alice:b2","_rev":"1-a"},{"_id":"_design/x","_rev":"1-a"}]}
POST ~/_bulk_docs {"new_edits":false,"docs":[{"_id":"bob:b2","_rev":"1-a"}]}
POST ~/_bulk_docs {"atomic":true,"docs":[{"_id":"alice:b3"},{"_id":"bob:b3"}]}
POST ~ {"_id":"bob:1"}
POST ~ {"_id":"alice:p"}
PUT ~/alice:q {"_attachments":{"a.txt":{"stub":true,"digest":"md5-R7zmfwhi0zd64e7yk5z+jg==","revpos":1}}}
PUT ~/bob:1 {}
PUT ~/ghost:1 {}
PUT ~/alice:q/b.txt {}
PUT ~/bob:1/b.txt?rev=2-b {}
PUT ~/_design/x {}
PUT ~/alice:_design%2Fx {}
PATCH ~/bob:1 {"n":9}
DELETE ~/bob:1?rev=2-b
COPY ~/alice:1>bob:copy
COPY ~/bob:1>alice:stolen
COPY ~/ghost:1>alice:stolen
COPY ~/alice:1>alice:copied
PUT /parts/alice:2 {"_id":"bob:2"}
PUT /parts/bob:2 {}
PUT /parts/ghost:2 {}
PUT /parts/alice:3 {"_attachments":{"a.txt":{"stub":true,"digest":"md5-R7zmfwhi0zd64e7yk5z+jg==","revpos":1}}}
PUT /parts/alice:4 {"n":4}
PATCH /parts/bob:1 {"n":9}
PATCH /parts/alice:4 {"n":9}
DELETE /parts/bob:1?rev=2-b
PUT /parts/alice:5/b.txt {}
PUT /parts/bob:5/b.txt {}
COPY /parts/alice:1>bob:copy
COPY /parts/alice:1>ghost:copy
COPY /parts/alice:1>bob:1
COPY /parts/alice:1>_local/x
COPY /parts/alice:1>_design/x
COPY /parts/alice:1>alice:copy
COPY /parts/bob:1>alice:stolen
COPY /parts/ghost:1>alice:stolen
DELETE ~
`

var (
	leakTimes = regexp.MustCompile(`"(execution_time_ms|instance_start_time)":"?[0-9.]+"?`)
	leakSeqs  = regexp.MustCompile(`"([0-9]+)-([A-Za-z0-9_-]{8,22})"`)
	leakCount = regexp.MustCompile(`"(_local_seq|update_seq)":[0-9]+`)
)

// leakSeen is what a caller sees of an answer: all of it but the request's id,
// times, and the sequence that a write was given. Of other sequences it keeps
// the number, or nothing. All of them count the writes of the whole database.
func leakSeen(w answer, numbers bool) string {
	h := maps.Clone(w.Header)
	for _, name := range []string{"X-Couch-Request-Id", "X-Couchdb-Body-Time", "Date", seqHeader} {
		delete(h, name)
	}
	if leakTimes.MatchString(w.Body) || !numbers { // they may take more digits
		delete(h, "Content-Length")
	}
	if !numbers {
		delete(h, "Etag")
	}
	all := leakTimes.ReplaceAllString(fmt.Sprint(w.Status, " ", h, "\n", w.Body), `"$1":0`)
	if numbers {
		return all
	}
	return leakSeqs.ReplaceAllString(leakCount.ReplaceAllString(all, `"$1":0`), `"seq"`)
}

// send sends a probe as somebody. COPY has its destination behind a ">".
func (p leakProbe) send(w *testAPI, caller string, header ...string) answer {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(caller, caller)
	path, to, copies := strings.Cut(p.path, ">")
	if copies {
		header = append(header, "Destination", to)
	}
	return w.do(p.method, path, p.body, append([]string{"Authorization", r.Header.Get("Authorization"), "Accept", "application/json"}, header...)...)
}

// TestNoLeak asks everything as somebody whom rules let into alice, of a
// database that has alice only and of others where bob is too: all answers are
// the same, byte for byte.
func TestNoLeak(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers bool // of changes are equal, too
		others  []string
	}{
		{"after", true, []string{"after"}},
		{"before and after", false, []string{"before", "after"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone, shared := newLeakWorld(t), newLeakWorld(t, c.others...)
			for _, caller := range []string{readsOne, writesTo} {
				for _, p := range leakProbes() {
					if caller == readsOne && (p.method == "PUT" || p.method == "PATCH") && strings.HasPrefix(p.path, "/parts/bob") {
						// also in the disguise of a POST
						over := leakProbe{"POST", p.path, p.body}
						compareLeak(t, over, caller, over.send(alone, caller, "X-HTTP-Method-Override", p.method), over.send(shared, caller, "X-HTTP-Method-Override", p.method), c.numbers)
					}
					compareLeak(t, p, caller, p.send(alone, caller), p.send(shared, caller), c.numbers)
				}
			}
		})
	}
}

func compareLeak(t *testing.T, p leakProbe, caller string, alone, shared answer, numbers bool) {
	t.Helper()
	a, b := leakSeen(alone, numbers), leakSeen(shared, numbers)
	if a != b {
		t.Errorf("%s %s %s as %s\nwithout bob: %s\nwith bob:    %s", p.method, p.path, p.body, caller, a, b)
	}
	if strings.Contains(shared.Body, `"p":"bob"`) {
		t.Errorf("%s %s as %s shows bob's documents: %s", p.method, p.path, caller, shared.Body)
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

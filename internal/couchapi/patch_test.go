package couchapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func TestPatchOperators(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	a.do("PUT", "/db/_design/strict", `{"options":{"partitioned":false},"validate_doc_update":"function (doc) { if (doc.n > 9007199254740995) throw {forbidden: 'too many'} }"}`).want(201, "")
	rev := a.put("/db/p:d", `{"n":9007199254740993,"_attachments":{"x":{"data":"YQ=="}}}`)
	const merge = "application/merge-patch+json"
	for _, path := range []string{"/db/p:d", "/db/_partition/p/p:d", "/db/_owner/p/d"} {
		a.do("PATCH", path, `{"$inc":{"n":1},"$append":{"log":["`+path+`"]},"at":{"x":1},"$set":{"at.y":2}}`).want(201, "")
		a.do("PATCH", path, `{"$inc":{"n":-1}}`, "Content-Type", "application/x-www-form-urlencoded").want(201, "")
	}
	if got := a.do("GET", "/db/p:d", "").Body; !strings.Contains(got, `"n":9007199254740993,"at":{"x":1,"y":2},"log":["/db/p:d","/db/_partition/p/p:d","/db/_owner/p/d"],"_attachments":{"x":`) {
		t.Errorf("patched: %s", got)
	}
	a.do("PATCH", "/db/p:d", `{"$inc":{"n":100}}`).want(403, `{"error":"forbidden","reason":"too many"}`)
	a.do("PATCH", "/db/p:d", `{"$inc":{"n":1}}`, "If-Match", rev).want(409, "")
	a.do("PATCH", "/db/p:d", `{"_rev":"`+rev+`","$inc":{"n":1}}`).want(409, "")
	now := a.do("GET", "/db/p:d", "").json()["_rev"].(string)
	a.do("PATCH", "/db/p:d", `{"$inc":{"n":1}}`, "If-Match", now).want(201, "")
	a.do("PATCH", "/db/p:d", `{"$inc":{"log":1}}`).want(400, "{\"error\":\"invalid_patch\",\"reason\":\"$inc of `log`: the member is an array, not a number.\"}")
	a.do("PATCH", "/db/p:d", `{"$inc":{"_rev":1}}`).want(400, `{"error":"invalid_patch","reason":"A patch can't change the member _rev"}`)
	a.do("PATCH", "/db/p:d", `{"$inc":{"n":1},"_deleted":true}`).want(400, "")
	a.do("PATCH", "/db/p:d", `{"$inc":{"n":5}}`, "Content-Type", merge).want(201, "")
	if got := a.do("GET", "/db/p:d", "").Body; !strings.Contains(got, `"n":9007199254740994`) || !strings.Contains(got, `"$inc":{"n":5}`) {
		t.Errorf("by its type a merge patch has no operators: %s", got)
	}

	// Nothing grows above the limit of a document.
	a.do("PUT", "/_node/_local/_config/couchdb/max_document_size", `"1000"`).want(200, "")
	long := `{"$append":{"long":["` + strings.Repeat("x", 400) + `"]}}`
	a.do("PATCH", "/db/p:e?upsert=true", long).want(201, "")
	a.do("PATCH", "/db/p:e", long).want(201, "")
	a.do("PATCH", "/db/p:e", long).want(413, `{"error":"document_too_large","reason":"p:e (the limit is 1000 bytes: [couchdb] max_document_size)"}`)
}

func TestPatchUpserts(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	const patch = `{"$inc":{"hits":1},"$setOnInsert":{"since":"today"}}`
	a.do("PATCH", "/db/p:d", patch).want(404, `{"error":"not_found","reason":"missing"}`)
	a.do("PATCH", "/db/p:d?upsert=false", patch).want(404, "")
	a.do("PATCH", "/db/p:d?upsert=true", patch, "If-Match", "1-abc").want(404, "")
	w := a.do("PATCH", "/db/p:d?upsert=true", patch).want(201, "")
	if rev := w.json()["rev"].(string); !strings.HasPrefix(rev, "1-") {
		t.Errorf("made as %s", rev)
	}
	rev := a.do("PATCH", "/db/_owner/p/d?upsert=true", patch).want(201, "").json()["rev"].(string)
	if got := a.do("GET", "/db/p:d", "").Body; !strings.HasSuffix(strings.TrimSpace(got), `"hits":2,"since":"today"}`) {
		t.Errorf("upserted twice: %s", got)
	}
	a.do("DELETE", "/db/p:d?rev="+rev, "").want(200, "")
	a.do("PATCH", "/db/p:d", patch).want(404, `{"error":"not_found","reason":"deleted"}`)
	if rev := a.do("PATCH", "/db/p:d?upsert=true", `{"anew":true}`).want(201, "").json()["rev"].(string); !strings.HasPrefix(rev, "4-") {
		t.Errorf("made anew as %s", rev)
	}
	a.do("PATCH", "/db/nopartition?upsert=true", patch).want(400, "")
	a.do("PATCH", "/db/_partition/p/q:d?upsert=true", patch).want(403, "")
}

// TestPatchOperatorsNeedAReader: what an operator meets shows in its answer, so
// who may only write has none.
func TestPatchOperatorsNeedAReader(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	writer, alice := a.user("wim"), a.user("alice")
	a.put("/db/p:d", `{"n":"secret"}`)
	a.put("/db/alice:d", `{"n":1}`)
	a.do("PUT", "/db/_security", `{"cloudant":{"wim":["_writer"]},"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`).want(200, "")
	a.do("PATCH", "/db/p:d", `{"m":1}`, "Authorization", writer).want(201, "")
	for _, patch := range []string{`/db/p:d {"$inc":{"n":1}}`, `/db/p:d {"$inc":{"x":1}}`, `/db/p:none?upsert=true {}`} {
		path, body, _ := strings.Cut(patch, " ")
		if w := a.do("PATCH", path, body, "Authorization", writer); w.Status != 403 || strings.Contains(w.Body, "number") {
			t.Errorf("%s: %d %s", patch, w.Status, w.Body)
		}
	}
	a.do("PATCH", "/db/_owner/alice/d", `{"$inc":{"n":1}}`, "Authorization", alice).want(201, "")
	a.do("PATCH", "/db/_owner/alice/e?upsert=true", `{"$inc":{"n":1}}`, "Authorization", alice).want(201, "")
	for _, path := range []string{"/db/_owner/p/d", "/db/_partition/p/p:d", "/db/_owner/p/none?upsert=true"} {
		if w := a.do("PATCH", path, `{"$inc":{"n":1}}`, "Authorization", alice); w.Status != 403 && w.Status != 401 {
			t.Errorf("alice at %s: %d %s", path, w.Status, w.Body)
		}
		a.do("PATCH", path, `{"$inc":{"n":1}}`, "Authorization", "").want(401, "")
	}
}

// TestIncrementsSumUp: increments of one document by many at once, by different
// paths to it and with plain writes in between, are all counted once.
func TestIncrementsSumUp(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	const clients, each = 100, 5
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(c), 1))
			for n := range each {
				path := []string{"/db/p:d", "/db/_partition/p/p:d", "/db/_owner/p/d"}[r.IntN(3)]
				if w := a.do("PATCH", path+"?upsert=true", fmt.Sprintf(`{"$inc":{"sum":%d,"by.c%d":0.1},"$append":{"all":[%d]}}`, c, c%7, n)); w.Status != 201 {
					t.Errorf("client %d: %d %s", c, w.Status, w.Body)
				}
				if r.IntN(10) == 0 { // it may fail or not, and must lose nothing
					d := a.do("GET", "/db/p:d", "").Body
					a.do("PUT", "/db/p:d", d)
				}
			}
		})
	}
	wg.Wait()
	var got struct {
		Sum json.Number
		By  map[string]json.Number
		All []int
	}
	must(t, json.Unmarshal([]byte(a.do("GET", "/db/p:d", "").Body), &got))
	if want := fmt.Sprint(each * clients * (clients - 1) / 2); got.Sum.String() != want || len(got.All) != clients*each {
		t.Errorf("the sum is %s of %d, want %s of %d", got.Sum, len(got.All), want, clients*each)
	}
	if got.By["c0"] != "7.5" { // 15 clients, 5 times, a tenth
		t.Errorf("by client: %v", got.By)
	}
}

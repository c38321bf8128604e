package couchapi_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/snapshot"
)

// post sends a snapshot as the administrator.
func (a *testAPI) post(target, stream string, header ...string) answer {
	a.t.Helper()
	return a.do("POST", target, stream, append([]string{"Content-Type", snapshot.ContentType}, header...)...)
}

// TestSnapshot takes a database from one server to another, packed in each way,
// as a whole and in parts.
func TestSnapshot(t *testing.T) {
	a, b := newDB(t, "?partitioned=true"), newTestAPI(t)
	for i := range 30 {
		a.do("PUT", "/db/p"+strconv.Itoa(i%3)+":"+strconv.Itoa(i), `{"n":1,"_attachments":{"a":{"data":"aGVsbG8="}}}`).want(201, "")
	}
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[
		{"_id":"p0:0","_rev":"2-aa","_revisions":{"start":2,"ids":["aa","bb"]},"conflict":true},
		{"_id":"p1:gone","_rev":"1-cc","_deleted":true,"why":"no more"}]}`).want(201, "[]")
	a.do("PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n); }"}}}`).want(201, "")
	a.do("PUT", "/db/_local/l", `{}`).want(201, "")
	since := a.do("GET", "/db", "").json()["update_seq"].(string)
	want := a.do("GET", "/db/_changes?style=all_docs", "").json()["results"]
	for i, encoding := range []string{"", "gzip", "zstd"} {
		name := "/copy" + strconv.Itoa(i)
		b.do("PUT", name+"?partitioned=true", "").want(201, "")
		w := a.do("GET", "/db/_snapshot", "", "Accept-Encoding", encoding).want(200, "")
		if w.Header.Get("Content-Encoding") != encoding || w.Header.Get("Content-Type") != snapshot.ContentType || w.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", encoding, w.Header)
		}
		got := b.post(name+"/_snapshot", w.Body, "Content-Encoding", encoding).want(201, "").json()
		if after := got["after"]; after == "" || got["seq"] != since {
			t.Errorf("after %v, seq %v, want %s", after, got["seq"], since)
		}
		delete(got, "after")
		delete(got, "seq")
		wantAnswer(t, got, `{"ok":true,"more":false,"documents":32,"revisions":33,"attachments":3,"attachment_bytes":15,"refused":0,"refusals":[]}`)
		sameRows(t, want, b.do("GET", name+"/_changes?style=all_docs", "").json()["results"])
		b.do("GET", name+"/_local/l", "").want(404, "")
		b.do("GET", name+"/_partition/p1/_design/d/_view/v?limit=1", "").want(200, "")
		if got := b.do("GET", name+"/p1:1/a", "").want(200, "").Body; got != "hello" {
			t.Errorf("the attachment is %q", got)
		}
		rows := b.do("GET", name+"/_changes", "").json()["last_seq"]
		b.post(name+"/_snapshot", w.Body, "Content-Encoding", encoding).want(201, "")
		if again := b.do("GET", name+"/_changes", "").json()["last_seq"]; again != rows {
			t.Errorf("loading again moved %v to %v", rows, again)
		}
	}
	// In parts, each of which goes on where the one before ended.
	b.do("PUT", "/parts?partitioned=true", "").want(201, "")
	part := b.post("/parts/_snapshot", a.do("GET", "/db/_snapshot?max_bytes=1", "").want(200, "").Body).want(201, "").json()
	if part["more"] != false { // a page holds them all
		t.Errorf("%v", part)
	}
	a.do("HEAD", "/db/_snapshot", "").want(200, "")
	// A partition, through the endpoints of one.
	b.do("PUT", "/one?partitioned=true", "").want(201, "")
	w := a.do("GET", "/db/_partition/p1/_snapshot", "").want(200, "")
	one := b.post("/one/_partition/p1/_snapshot", w.Body).want(201, "").json()
	if one["documents"] != json.Number("11") || one["refused"] != json.Number("0") {
		t.Errorf("a partition: %v", one)
	}
	sameRows(t, a.do("GET", "/db/_partition/p1/_changes?style=all_docs", "").json()["results"],
		b.do("GET", "/one/_changes?style=all_docs", "").json()["results"])
}

// TestSnapshotRefusals asks for what can't be had and sends what can't be taken.
func TestSnapshotRefusals(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	a.do("PUT", "/db/p:1", `{}`).want(201, "")
	a.do("PUT", "/db/q:1", `{}`).want(201, "")
	stream := a.do("GET", "/db/_snapshot", "").want(200, "").Body
	a.do("GET", "/db/_snapshot?after=x", "").want(400, `{"error":"invalid_bookmark",
		"reason":"The bookmark does not belong to a snapshot of this database or partition: begin again without it."}`)
	for _, most := range []string{"0", "-1", "x", ""} {
		a.do("GET", "/db/_snapshot?max_bytes="+most, "").want(400, `{"error":"query_parse_error","reason":"`+"`max_bytes` must be a positive integer."+`"}`)
	}
	a.do("GET", "/db/_partition/_p/_snapshot", "").want(400, "")
	a.do("PUT", "/db/_snapshot", "{}").want(405, "")
	a.do("POST", "/db/_snapshot", stream).want(415, `{"error":"bad_content_type","reason":"Content-Type must be application/vnd.sectional.snapshot"}`)
	a.post("/db/_snapshot", stream, "Content-Encoding", "br").want(415, "")
	a.post("/db/_snapshot", stream, "Content-Encoding", "gzip").want(400, `{"error":"bad_snapshot","reason":"The snapshot can't be unpacked."}`)
	a.do("PUT", "/copy?partitioned=true", "").want(201, "")
	cut := a.post("/copy/_snapshot", stream[:len(stream)-10]).want(400, "").json()
	if cut["error"] != "bad_snapshot" || cut["reason"] != "The snapshot ends before its end." || cut["documents"] != json.Number("2") || cut["after"] == "" {
		t.Errorf("cut: %v", cut)
	}
	a.do("GET", "/copy/p:1", "").want(200, "")
	a.do("PUT", "/copy2?partitioned=true", "").want(201, "")
	other := a.post("/copy2/_partition/p/_snapshot", stream).want(201, "").json()
	if other["refused"] != json.Number("1") {
		t.Errorf("another partition's document: %v", other)
	}
	wantAnswer(t, other["refusals"].([]any)[0], `{"id":"q:1","rev":"1-5b3f680fbade19f08dcd1fefa566aaff","error":"forbidden","reason":"The document 'q:1' is not in this partition."}`)
}

// TestSnapshotRights lets those in who may read the feed, and write documents.
func TestSnapshotRights(t *testing.T) {
	a := newDB(t, "")
	a.do("PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","password":"x","roles":[],"type":"user"}`).want(201, "")
	a.do("PUT", "/_users/org.couchdb.user:bob", `{"name":"bob","password":"x","roles":[],"type":"user"}`).want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["ann"]},"admins":{"names":["adm"]}}`).want(200, "")
	a.do("PUT", "/db/_design/d", `{"validate_doc_update":"function (doc) { if (doc.bad) throw {forbidden: 'bad'}; }"}`).want(201, "")
	ann, bob := basic("ann", "x"), basic("bob", "x")
	a.do("PUT", "/from", "").want(201, "")
	a.do("PUT", "/from/_design/other", `{}`).want(201, "")
	a.do("PUT", "/from/bad", `{"bad":true}`).want(201, "")
	a.do("PUT", "/from/good", `{}`).want(201, "")
	stream := a.do("GET", "/from/_snapshot", "").want(200, "").Body
	for _, c := range []struct {
		caller string
		status int
	}{{"", 401}, {bob, 403}} {
		a.do("GET", "/db/_snapshot", "", "Authorization", c.caller).want(c.status, "")
		a.post("/db/_snapshot", stream, "Authorization", c.caller).want(c.status, "")
	}
	a.do("GET", "/db/_snapshot", "", "Authorization", ann).want(200, "")
	got := a.post("/db/_snapshot", stream, "Authorization", ann).want(201, "").json()
	var refused []string
	for _, r := range got["refusals"].([]any) {
		refused = append(refused, r.(map[string]any)["id"].(string)+" "+r.(map[string]any)["error"].(string))
	}
	if len(refused) != 2 || !strings.Contains(strings.Join(refused, ","), "bad forbidden") || !strings.Contains(strings.Join(refused, ","), "_design/other ") {
		t.Errorf("refused: %v", got)
	}
	a.do("GET", "/db/good", "").want(200, "")
	a.do("GET", "/db/bad", "").want(404, "")
	a.do("GET", "/_users/_snapshot", "", "Authorization", ann).want(401, "")
	a.do("GET", "/_users/_snapshot", "").want(200, "")
}

// wantAnswer compares a part of an answer with JSON.
func wantAnswer(t *testing.T, got any, want string) {
	t.Helper()
	if diff := cmp.Diff(fromJSON(t, want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sameRows compares the rows of two feeds, whatever their order and sequences.
func sameRows(t *testing.T, want, got any) {
	t.Helper()
	byID := func(rows any) map[string]any {
		m := map[string]any{}
		for _, r := range rows.([]any) {
			row := r.(map[string]any)
			delete(row, "seq")
			m[row["id"].(string)] = row
		}
		return m
	}
	if diff := cmp.Diff(byID(want), byID(got)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

package couchapi_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/snapshot"
)

// opaqueForm is the form of all sequences that a restricted reader is shown.
var opaqueForm = regexp.MustCompile(`^(0|1-[A-Za-z0-9_-]{22})$`)

// anySeq finds the texts that may be sequences, opaque or not.
var anySeq = regexp.MustCompile(`[0-9]+-[A-Za-z0-9_-]{11,}`)

// newOpaqueWorld is a server with the users of accessRules and their database
// parts, in which alice and bob have a document each.
func newOpaqueWorld(t *testing.T) *accessWorld {
	w := &accessWorld{testAPI: newTestAPI(t, config.Setting{Section: "sectional", Key: "min_seq_wait", Value: "1ms"})}
	for _, name := range []string{readsOne, writesTo, isMember} {
		w.do("PUT", "/_users/org.couchdb.user:"+name, fmt.Sprintf(`{"name":%q,"password":%q,"roles":[],"type":"user"}`, name, name)).want(201, "")
	}
	w.do("PUT", "/parts?partitioned=true", "").want(201, "")
	w.do("PUT", "/parts/_security", accessRules).want(200, "")
	w.do("PUT", "/parts/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n, 1); }"}},"shows":{"s":"function (doc, req) { return req.info.update_seq; }"},
		"updates":{"u":"function (doc, req) { return [{_id: 'alice:' + req.uuid}, req.info.update_seq]; }"}}`).want(201, "")
	w.do("PUT", "/parts/bob:1", `{"n":1}`).want(201, "")
	w.do("PUT", "/parts/alice:1", `{"n":1}`).want(201, "")
	return w
}

// rowsOf returns the ids of a feed's rows, in any of its forms.
func rowsOf(body string) []string {
	var ids []string
	for _, m := range regexp.MustCompile(`"id":"([^"]*)"`).FindAllStringSubmatch(body, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// TestRestrictedReadersSeeOpaqueSequences looks at every place where an answer shows a
// sequence: a restricted reader is told one that says nothing, a member that of the database.
func TestRestrictedReadersSeeOpaqueSequences(t *testing.T) {
	w := newOpaqueWorld(t)
	const endpoint = "/parts/_partition/alice"
	for i, p := range []struct{ method, path, body string }{
		{"GET", endpoint, ""}, {"GET", endpoint + "/_changes", ""}, {"GET", endpoint + "/_changes?since=now", ""}, {"GET", endpoint + "/_changes?descending=true&limit=1", ""},
		{"GET", endpoint + "/_changes?feed=continuous&timeout=1", ""}, {"GET", endpoint + "/_changes?feed=eventsource&timeout=1", ""}, {"GET", endpoint + "/_changes?filter=_design", ""},
		{"GET", endpoint + "/_all_docs?update_seq=true", ""}, {"GET", endpoint + "/_design_docs?update_seq=true", ""}, {"POST", endpoint + "/_all_docs/queries", `{"queries":[{"update_seq":true}]}`},
		{"GET", endpoint + "/_design/d/_view/v?update_seq=true", ""}, {"GET", endpoint + "/_design/d/_show/s", ""}, {"GET", "/parts/_owner/alice", ""}, {"GET", "/parts/_owner/alice/_changes", ""},
		{"PUT", endpoint + "/alice:%d?seq=true", `{}`}, {"PUT", "/parts/alice:%d?seq=true", `{}`}, {"PUT", "/parts/_owner/alice/%d?seq=true", `{}`}, {"POST", endpoint + "?seq=true", `{"_id":"alice:%d"}`},
		{"POST", endpoint + "/_bulk_docs?seq=true", `{"docs":[{"_id":"alice:%d"},{"_id":"alice:x%d"}]}`}, {"POST", endpoint + "/_design/d/_update/u", `{}`},
	} {
		p.path, p.body = strings.ReplaceAll(p.path, "%d", fmt.Sprint(i)), strings.ReplaceAll(p.body, "%d", fmt.Sprint(i))
		seqs := func(caller string) (list []string) {
			w.do("PUT", "/parts/bob:"+caller+fmt.Sprint(i), `{}`).want(201, "")
			got := w.as(caller, p.method, p.path, p.body, "Accept", "application/json")
			if got.Status >= 300 {
				t.Fatalf("%s %s as %s: %d %s", p.method, p.path, caller, got.Status, got.Body)
			}
			for _, text := range append(got.Header["Etag"], got.Header.Get(couchhttp.SeqHeader), got.Body) {
				text = regexp.MustCompile(`"rev":"[^"]*"`).ReplaceAllString(strings.TrimSuffix(text, `-0"`), "")
				list = append(list, anySeq.FindAllString(text, -1)...)
			}
			return slices.DeleteFunc(list, func(s string) bool { return regexp.MustCompile(`^[0-9]+-[0-9a-f]{32}$`).MatchString(s) }) // an ETag
		}
		opaque := seqs(writesTo)
		if len(opaque) == 0 {
			t.Errorf("%s %s tells no sequence", p.method, p.path)
		}
		for _, q := range opaque {
			if !opaqueForm.MatchString(q) {
				t.Errorf("%s %s tells the restricted reader %s", p.method, p.path, q)
			}
		}
		if p.method == "GET" {
			for _, q := range seqs(isMember) {
				if opaqueForm.MatchString(q) {
					t.Errorf("%s %s tells the member %s", p.method, p.path, q)
				}
			}
		}
	}
	if got := w.as(readsOne, "GET", endpoint+"/alice:1?local_seq=true", "").want(200, ""); strings.Contains(got.Body, "_local_seq") {
		t.Errorf("a restricted reader is told %s", got.Body)
	}
	if got := w.as(isMember, "GET", endpoint+"/alice:1?local_seq=true", "").want(200, ""); !strings.Contains(got.Body, "_local_seq") {
		t.Errorf("a member is told %s", got.Body)
	}
}

// TestSnapshotsOfRestrictedReaders takes a snapshot in streams of a page each, as a restricted reader and
// then as a member: the bookmarks of the one hold for the other, and what the first
// says completes it.
func TestSnapshotsOfRestrictedReaders(t *testing.T) {
	w := newOpaqueWorld(t)
	for _, id := range []string{"2", "3", "4"} { // each is a page
		w.do("PUT", "/parts/alice:"+id, `{"text":"`+strings.Repeat("x", 600<<10)+`"}`).want(201, "")
	}
	w.do("PUT", "/copy?partitioned=true", "").want(201, "")
	const path = "/_partition/alice/_snapshot"
	after, seq := "", ""
	for i, caller := range []string{readsOne, readsOne, isMember} {
		stream := w.as(caller, "GET", "/parts"+path+"?max_bytes=1&after="+after, "").want(200, "").Body
		p := w.do("POST", "/copy"+path, stream, "Content-Type", snapshot.ContentType).want(201, "").json()
		if after = p["after"].(string); p["more"] != (i < 2) {
			t.Fatalf("the stream as %s: %v", caller, p)
		}
		if i == 0 {
			seq = p["seq"].(string)
		}
		if p["seq"] != seq && caller == readsOne || opaqueForm.MatchString(p["seq"].(string)) != (caller == readsOne) {
			t.Errorf("the sequence as %s is %v, it was %s", caller, p["seq"], seq)
		}
	}
	w.do("PUT", "/parts/alice:5", `{}`).want(201, "")
	if got := rowsOf(w.as(readsOne, "GET", "/parts/_partition/alice/_changes?since="+seq, "").want(200, "").Body); !slices.Equal(got, []string{"alice:5"}) {
		t.Errorf("changes since the snapshot: %q", got)
	}
	plain := w.as(isMember, "GET", "/parts"+path+"?max_bytes=1", "").want(200, "").Body
	bookmark := w.do("POST", "/copy"+path, plain, "Content-Type", snapshot.ContentType).want(201, "").json()["after"].(string)
	w.as(readsOne, "GET", "/parts"+path+"?after="+bookmark, "").want(400, "")
}

// TestFeedsGoOnFromOpaqueSequences reads a feed to its end, writes, and reads on
// from what it told: in all feeds, at both endpoints, as the restricted reader and as a member.
func TestFeedsGoOnFromOpaqueSequences(t *testing.T) {
	w := newOpaqueWorld(t)
	const endpoint = "/parts/_partition/alice"
	info := w.as(readsOne, "GET", endpoint, "").json()["update_seq"].(string)
	at := w.as(readsOne, "GET", endpoint+"/_changes", "").json()["last_seq"].(string)
	if at != info || at != w.as(readsOne, "GET", "/parts/_owner/alice/_changes?since=now", "").json()["last_seq"] {
		t.Errorf("the feed ends at %s, the information says %s", at, info)
	}
	w.do("PUT", "/parts/bob:2", `{}`).want(201, "")
	if got := w.as(readsOne, "GET", endpoint, "").json()["update_seq"]; got != info {
		t.Errorf("update_seq was %s, and is %s since somebody else wrote", info, got)
	}
	w.as(writesTo, "PUT", "/parts/alice:2", `{}`).want(201, "")
	quoted, _ := json.Marshal(at)
	pair := `[1,"` + at[2:] + `"]`
	for _, caller := range []string{readsOne, writesTo, isMember} {
		for _, since := range []string{"since=" + at, "since=" + string(quoted), "since=" + pair, "last-event-id=" + at} {
			for _, feed := range []string{"", "&feed=longpoll", "&feed=continuous&timeout=1", "&feed=eventsource&timeout=1", "&descending=true"} {
				want := []string{"alice:2"}
				if feed == "&descending=true" {
					want = []string{"alice:2", "alice:1"} // as in CouchDB, which reads all of it backwards
				}
				path := endpoint + "/_changes?" + strings.ReplaceAll(since, `"`, "%22") + feed
				if got := rowsOf(w.as(caller, "GET", path, "").want(200, "").Body); !slices.Equal(got, want) {
					t.Errorf("GET %s as %s: %q, want %q", path, caller, got, want)
				}
			}
		}
		events := w.as(caller, "GET", endpoint+"/_changes?feed=eventsource&timeout=1", "", "Last-Event-Id", string(quoted)).want(200, "")
		if got := rowsOf(events.Body); !slices.Equal(got, []string{"alice:2"}) {
			t.Errorf("events as %s: %q", caller, got)
		}
	}
	tag := w.as(readsOne, "GET", endpoint+"/_changes", "").Header.Get("Etag")
	w.do("PUT", "/parts/bob:3", `{}`).want(201, "")
	w.as(readsOne, "GET", endpoint+"/_changes", "", "If-None-Match", tag).want(304, "")
	w.as(writesTo, "PUT", "/parts/alice:3", `{}`).want(201, "")
	w.as(readsOne, "GET", endpoint+"/_changes", "", "If-None-Match", tag).want(200, "")
}

// TestRestrictedReadersCannotGuessSequences returns a restricted reader what a member would be told, and
// what was made opaque for another partition, database or life of the database: a feed
// begins anew, and nothing waits for it.
func TestRestrictedReadersCannotGuessSequences(t *testing.T) {
	w := newOpaqueWorld(t)
	const endpoint, rules = "/parts/_partition/alice", `{"members":{"names":["mia"]},"partitions":[{"who":{"names":["rita","will"]},"partition":"alice","access":"write"},
		{"who":{"names":["rita"]},"partition":"bob","access":"read"}]}`
	w.do("PUT", "/parts/_security", rules).want(200, "")
	w.do("PUT", "/other?partitioned=true", "").want(201, "")
	w.do("PUT", "/other/_security", rules).want(200, "")
	own := w.as(readsOne, "PUT", "/parts/alice:2", `{}`).want(201, "").Header.Get(couchhttp.SeqHeader)
	plain := w.do("GET", endpoint, "").json()["update_seq"].(string)
	elsewhere := w.as(readsOne, "PUT", "/other/alice:2", `{}`).want(201, "").Header.Get(couchhttp.SeqHeader)
	bobs := w.as(readsOne, "GET", "/parts/_partition/bob", "").want(200, "").json()["update_seq"].(string)
	damaged := own[:2] + own[3:] + own[2:3]
	for _, c := range []struct {
		caller, seq string
		rows        int
		status      int
	}{
		{readsOne, own, 0, 200}, {isMember, own, 0, 200}, {isMember, plain, 0, 200}, {readsOne, "0", 2, 200},
		{readsOne, plain, 2, 400}, {readsOne, elsewhere, 2, 400}, {isMember, elsewhere, 2, 400}, {readsOne, bobs, 2, 400}, {isMember, bobs, 2, 400}, {readsOne, damaged, 2, 400},
	} {
		if got := rowsOf(w.as(c.caller, "GET", endpoint+"/_changes?since="+c.seq, "").want(200, "").Body); len(got) != c.rows {
			t.Errorf("since %s as %s: %q", c.seq, c.caller, got)
		}
		for _, path := range []string{endpoint, endpoint + "/_all_docs", "/parts/_owner/alice/_changes"} {
			if got := w.as(c.caller, "GET", path+"?min_seq="+c.seq, ""); got.Status != c.status {
				t.Errorf("GET %s?min_seq=%s as %s: %d %s", path, c.seq, c.caller, got.Status, got.Body)
			}
		}
	}
	w.as(readsOne, "GET", "/parts/alice:2?min_seq="+own, "").want(200, "")
	// Whoever becomes a member goes on where he was; whoever was one begins anew.
	w.do("PUT", "/parts/_security", `{"members":{"names":["rita"]},"partitions":[]}`).want(200, "")
	if got := rowsOf(w.as(readsOne, "GET", endpoint+"/_changes?since="+own, "").want(200, "").Body); len(got) != 0 {
		t.Errorf("as a member: %q", got)
	}
	// The same numbers in a database of the same name.
	w.do("DELETE", "/parts", "").want(200, "")
	w.do("PUT", "/parts?partitioned=true", "").want(201, "")
	w.do("PUT", "/parts/_security", rules).want(200, "")
	w.do("PUT", "/parts/alice:1", `{}`).want(201, "")
	if got := rowsOf(w.as(readsOne, "GET", endpoint+"/_changes?since="+own, "").want(200, "").Body); len(got) != 1 {
		t.Errorf("of a database that was made anew: %q", got)
	}
}

// TestViewsShowRestrictedReadersTheirOwnSequence lets a view lag behind and catch up with
// what others write: a restricted reader is told a sequence of his own partition.
func TestViewsShowRestrictedReadersTheirOwnSequence(t *testing.T) {
	w := newOpaqueWorld(t)
	const view = "/parts/_partition/alice/_design/d/_view/v?update_seq=true"
	seq := func(more string) string {
		return w.as(readsOne, "GET", view+more, "").want(200, "").json()["update_seq"].(string)
	}
	first := seq("")
	if last := w.as(readsOne, "GET", "/parts/_partition/alice", "").json()["update_seq"]; first != last {
		t.Errorf("the view stands at %s, the partition at %s", first, last)
	}
	w.do("PUT", "/parts/bob:2", `{}`).want(201, "")
	w.do("GET", "/parts/_partition/bob/_design/d/_view/v", "").want(200, "") // takes the index along
	w.do("PUT", "/parts/alice:2", `{}`).want(201, "")
	if lazy := seq("&update=false"); lazy != first {
		t.Errorf("the view stood at %s, and stands at %s", first, lazy)
	}
	if now := seq(""); now == first || now != w.as(readsOne, "GET", "/parts/_partition/alice", "").json()["update_seq"] {
		t.Errorf("the view stands at %s", now)
	}
}

// TestRestrictedReadersReplicate lets restricted readers carry a partition to a database of theirs, again
// and again: each time only what is new is read, though all sequences have one
// number.
func TestRestrictedReadersReplicate(t *testing.T) {
	for _, endpoint := range []string{"_partition", "_owner"} {
		for _, caller := range []string{readsOne, writesTo} {
			t.Run(endpoint+" "+caller, func(t *testing.T) {
				w := newOpaqueWorld(t)
				w.do("PUT", "/mine", "").want(201, "")
				w.do("PUT", "/mine/_security", `{"members":{"names":["`+caller+`"]}}`).want(200, "")
				carry := func() map[string]any {
					t.Helper()
					return w.as(caller, "POST", "/_replicate", `{"source":"parts/`+endpoint+`/alice","target":"mine"}`).want(200, "").json()
				}
				for n := range 3 {
					told := carry()
					last := told["history"].([]any)[0].(map[string]any)
					if got := fmt.Sprint(last["docs_read"], " ", last["missing_checked"]); got != "1 1" || !opaqueForm.MatchString(told["source_last_seq"].(string)) {
						t.Errorf("run %d read %s: %v", n, got, told)
					}
					if again := carry(); again["no_changes"] != true {
						t.Errorf("run %d anew: %v", n, again)
					}
					w.do("PUT", fmt.Sprintf("/parts/bob:n%d", n), `{}`).want(201, "")
					w.do("PUT", fmt.Sprintf("/parts/alice:n%d", n), `{}`).want(201, "")
				}
			})
		}
	}
}

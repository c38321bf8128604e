package couchapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// soon is a time from now on, as bodies have it.
func (a *testAPI) soon(d time.Duration) int64 {
	return a.Store.Now().Add(d).Unix()
}

// pass lets time pass for the store, in steps that its clock is believed in,
// and does the background work.
func (a *testAPI) pass(d time.Duration) {
	a.t.Helper()
	for d > 0 {
		step := min(d, 50*time.Minute)
		a.Later(step)
		must(a.t, a.Store.Sweep(context.Background()))
		d -= step
	}
}

func TestExpirySettings(t *testing.T) {
	a := newTestAPI(t)
	member, boss := a.user("mia"), a.user("bob")
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_security", `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`).want(200, "")
	for _, path := range []string{"/db/_expiry", "/db/_partition/p/_expiry"} {
		inherited := map[bool]string{true: `"inherited":true,`}[path != "/db/_expiry"]
		own := strings.ReplaceAll(inherited, "true", "false")
		a.do("GET", path, "", "Authorization", "").want(401, "")
		a.do("GET", path, "", "Authorization", member).want(200, `{"field":null,`+inherited+`"ready":true}`)
		for _, method := range []string{"PUT", "DELETE"} {
			a.do(method, path, `{"field":"expires"}`, "Authorization", member).want(401, `{"error":"unauthorized","reason":"You are not a server or db admin."}`)
			a.do(method, path, `{"field":"expires"}`, "Authorization", "").want(401, "")
		}
		for _, bad := range []string{``, `{`, `5`, `"expires"`, `[]`, `{}`, `{"field":5}`, `{"field":""}`, `{"field":"_id"}`,
			`{"field":"expires","else":1}`, `{"else":1}`, `{"field":"` + strings.Repeat("x", 256) + `"}`, `{"field":"a","field":"b"}`,
			`{"ttl":0}`, `{"ttl":-1}`, `{"ttl":1.5}`, `{"ttl":"60"}`, `{"ttl":10000000001}`, `{"ttl":99999999999999999999}`, `{"ttl_field":""}`, `{"ttl_field":"_x"}`, `{"ttl_field":5}`, `{"field":"a","ttl_field":"a"}`} {
			if w := a.do("PUT", path, bad); w.Status != 400 || w.json()["error"] != "bad_request" {
				t.Errorf("%s %s: %d %s", path, bad, w.Status, w.Body)
			}
		}
		a.do("GET", path, "").want(200, `{"field":null,`+inherited+`"ready":true}`)
		a.do("PUT", path, `{"field":"expires"}`, "Authorization", boss).want(200, `{"ok":true}`)
		a.do("GET", path, "").want(200, `{"field":"expires",`+own+`"ready":false}`)
		a.pass(time.Second)
		a.do("GET", path, "").want(200, `{"field":"expires",`+own+`"ready":true}`)
		a.do("POST", path, `{}`).want(405, `{"error":"method_not_allowed","reason":"Only GET,PUT,DELETE allowed"}`)
		a.do("PUT", path, `{"ttl":3600,"ttl_field":"ttl"}`).want(200, `{"ok":true}`)
		a.pass(time.Second)
		a.do("GET", path, "").want(200, `{"field":null,"ttl_field":"ttl","ttl":3600,`+own+`"ready":true}`)
		for _, off := range []string{`null`, `{"field":null}`, `{"field":null,"ttl_field":null,"ttl":null}`} {
			a.do("PUT", path, off).want(200, `{"ok":true}`)
			a.do("GET", path, "").want(200, `{"field":null,`+own+`"ready":false}`)
			a.pass(time.Second)
			a.do("PUT", path, `{"field":"expires"}`).want(200, `{"ok":true}`)
		}
		a.do("DELETE", path, "", "Authorization", boss).want(200, `{"ok":true}`)
		a.pass(time.Second)
		a.do("GET", path, "").want(200, `{"field":null,`+inherited+`"ready":true}`)
	}
	a.do("PUT", "/_users/_expiry", `{"field":"expires"}`).want(400, `{"error":"bad_request","reason":"The documents of system databases do not expire."}`)
	a.do("PUT", "/plain", "").want(201, "")
	a.do("PUT", "/plain/_partition/p/_expiry", `{"field":"expires"}`).want(400, `{"error":"bad_request","reason":"database is not partitioned"}`)
	a.do("PUT", "/nodb/_expiry", `{"field":"expires"}`).want(404, "")
}

func TestExpiry(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_expiry", `{"field":"expires"}`).want(200, "")
	a.do("PUT", "/db/_design/v", `{"views":{"all":{"map":"function (doc) { emit(doc.kind, 1) }","reduce":"_sum"}}}`).want(201, "")
	a.do("PUT", "/db/_design/strict", `{"options":{"partitioned":false},"validate_doc_update":"function (doc) { if (doc._deleted) throw {forbidden: 'Nothing is deleted here.'} }"}`).want(201, "")
	a.do("POST", "/db/_index", `{"index":{"fields":["kind"]},"name":"kind"}`).want(200, "")
	for i := range 5 {
		a.do("PUT", fmt.Sprintf("/db/p:%d", i), fmt.Sprintf(`{"kind":"code","expires":%d}`, a.soon(time.Duration(i+1)*time.Minute))).want(201, "")
	}
	a.do("PUT", "/db/p:text", fmt.Sprintf(`{"kind":"code","expires":"%d"}`, a.soon(time.Minute))).want(201, "")
	a.do("PUT", "/db/_local/l", `{"expires":1}`).want(201, "")
	a.do("DELETE", "/db/p:0?rev="+a.do("GET", "/db/p:0", "").json()["_rev"].(string), "").want(403, "")

	sees := func(want int) {
		t.Helper()
		for path, body := range map[string]string{"_design/v/_view/all": "", "_find": `{"selector":{"kind":"code"}}`} {
			method, list := "GET", "rows"
			if body != "" {
				method, list = "POST", "docs"
			} else {
				path += "?reduce=false"
			}
			got := a.do(method, "/db/_partition/p/"+path, body).want(200, "").json()
			if n := len(got[list].([]any)); n != want {
				t.Errorf("%s has %d documents, want %d", path, n, want)
			}
		}
		got := a.do("GET", "/db/_partition/p", "").json()
		if fmt.Sprintln(got["doc_count"], got["doc_del_count"]) != fmt.Sprintln(want, 6-want) {
			t.Errorf("the partition counts %v, want %d documents", got, want)
		}
	}
	sees(6)
	a.Later(3*time.Minute + time.Second)
	a.do("GET", "/db/p:0", "").want(200, "") // it is there until a sweep comes
	a.pass(time.Second)
	a.do("GET", "/db/p:0", "").want(404, `{"error":"not_found","reason":"deleted"}`)
	sees(3)
	a.pass(time.Hour)
	sees(1)
	a.do("GET", "/db/_local/l", "").want(200, "")
	if changes := a.do("GET", "/db/_partition/p/_changes", "").want(200, "").Body; strings.Count(changes, `"deleted":true`) != 5 {
		t.Errorf("changes: %s", changes)
	}
}

// TestExpiryForms: times in each form that is read, relative ones, and what
// nobody can read, which is counted for the database, the partition and the
// tenant who may see it.
func TestExpiryForms(t *testing.T) {
	a := newTestAPI(t)
	alice := a.user("alice")
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["nobody"]},"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`).want(200, "")
	a.do("PUT", "/db/_expiry", `{"field":"expires","ttl_field":"ttl"}`).want(200, "")
	at := time.Unix(a.soon(10*time.Minute), 0).UTC()
	bodies := []string{
		fmt.Sprintf(`{"expires":%d}`, at.Unix()), fmt.Sprintf(`{"expires":%d}`, at.UnixMilli()), `{"expires":"` + at.Format(time.RFC3339) + `"}`,
		`{"expires":"` + at.Format("2006-01-02T15:04:05.000Z") + `"}`, `{"ttl":600}`,
	}
	for i, body := range bodies {
		a.do("PUT", fmt.Sprintf("/db/alice:%d", i), body).want(201, "")
	}
	a.do("PUT", "/db/alice:stays", `{"ttl":-1}`).want(201, "")
	a.do("PUT", "/db/alice:wrong", `{"expires":"soon"}`).want(201, "")
	a.do("PUT", "/db/bob:wrong", `{"ttl":"600"}`).want(201, "")
	a.do("GET", "/db/_expiry", "").want(200, `{"field":"expires","ttl_field":"ttl","ready":false,"unreadable":2,"examples":["alice:wrong","bob:wrong"]}`)
	a.pass(time.Second)
	const own = `{"field":"expires","ttl_field":"ttl","inherited":true,"ready":true,"unreadable":1,"examples":["alice:wrong"]}`
	a.do("GET", "/db/_partition/alice/_expiry", "", "Authorization", alice).want(200, own)
	for _, path := range []string{"/db/_expiry", "/db/_partition/bob/_expiry"} {
		a.do("GET", path, "", "Authorization", alice).want(403, "")
	}
	metrics := a.do("GET", "/_node/_local/_prometheus", "").want(200, "").Body
	if !strings.Contains(metrics, "sectional_documents_expiry_unreadable_total 2\n") {
		t.Errorf("what could not be read is not counted")
	}
	a.pass(11 * time.Minute)
	for i, body := range bodies {
		if w := a.do("GET", fmt.Sprintf("/db/alice:%d", i), ""); w.Status != 404 {
			t.Errorf("%s: %d %s", body, w.Status, w.Body)
		}
	}
	a.do("GET", "/db/alice:stays", "").want(200, "")
	if metrics := a.do("GET", "/_node/_local/_prometheus", "").Body; !strings.Contains(metrics, "sectional_documents_expired_total 5\n") {
		t.Errorf("what expired is not counted")
	}
	a.do("DELETE", "/db/_partition/bob", "").want(202, "")
	a.do("GET", "/db/_expiry", "").want(200, `{"field":"expires","ttl_field":"ttl","ready":true,"unreadable":1,"examples":["alice:wrong"]}`)
	rev := a.do("GET", "/db/alice:wrong", "").json()["_rev"].(string)
	a.do("PUT", "/db/alice:wrong?rev="+rev, `{"ttl":null}`).want(201, "")
	a.do("GET", "/db/_expiry", "").want(200, `{"field":"expires","ttl_field":"ttl","ready":true}`)
}

func TestAutoPurgeSettings(t *testing.T) {
	a := newTestAPI(t)
	member, boss := a.user("mia"), a.user("bob")
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`).want(200, "")
	const path = "/db/_auto_purge"
	a.do("GET", path, "", "Authorization", member).want(200, `{}`)
	a.do("PUT", path, `{"deleted_document_ttl":"1_day"}`, "Authorization", member).want(401, "")
	for _, bad := range []string{``, `{`, `5`, `"1_day"`, `{"deleted_document_ttl":0}`, `{"deleted_document_ttl":-5}`, `{"deleted_document_ttl":"x"}`, `{"deleted_document_ttl":1.5}`,
		`{"deleted_document_ttl":"5_years"}`, `{"deleted_document_ttl":"-3_hour"}`, `{"deleted_document_ttl":"day"}`, `{"deleted_document_ttl":{}}`, `{"ttl":"1_day"}`,
		`{"deleted_document_ttl":"99999999999999999999_days"}`, `{"deleted_document_ttl":"9999999_days"}`} {
		if w := a.do("PUT", path, bad); w.Status != 400 || w.json()["error"] != "bad_request" {
			t.Errorf("%s: %d %s", bad, w.Status, w.Body)
		}
	}
	a.do("GET", path, "").want(200, `{}`)
	for _, good := range []string{`"3_months"`, `"3_mon"`, `"10_min"`, `"1_hour"`, `"2_weeks"`, `"infinity"`, `86400`} {
		a.do("PUT", path, `{"deleted_document_ttl":`+good+`}`, "Authorization", boss).want(202, `{"ok":true}`)
		a.do("GET", path, "").want(200, `{"deleted_document_ttl":`+good+`}`)
	}
	for _, off := range []string{`{}`, `null`, `{"deleted_document_ttl":null}`} {
		a.do("PUT", path, `{"deleted_document_ttl":"1_day"}`).want(202, "")
		a.do("PUT", path, off).want(202, `{"ok":true}`)
		a.do("GET", path, "").want(200, `{}`)
	}
	a.do("DELETE", path, "").want(405, `{"error":"method_not_allowed","reason":"Only GET,PUT allowed"}`)
}

func TestAutoPurge(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_auto_purge", `{"deleted_document_ttl":"30_min"}`).want(202, "")
	a.do("PUT", "/db/_design/v", `{"views":{"all":{"map":"function (doc) { emit(null) }"}}}`).want(201, "")
	first := a.do("PUT", "/db/a", `{}`).json()["rev"].(string)
	a.do("PUT", "/db/stays", `{}`).want(201, "")
	a.do("GET", "/db/_design/v/_view/all", "").want(200, "")
	deleted := a.do("DELETE", "/db/a?rev="+first, "").want(200, "").json()["rev"].(string)
	a.pass(time.Second)
	a.do("GET", "/db/a", "").want(404, `{"error":"not_found","reason":"deleted"}`)
	a.pass(40 * time.Minute)
	a.do("GET", "/db/a", "").want(404, `{"error":"not_found","reason":"missing"}`)
	if info := a.do("GET", "/db", "").json(); fmt.Sprintln(info["doc_count"], info["doc_del_count"], info["purge_seq"]) != "2 0 0\n" {
		t.Errorf("info: %v", info)
	}
	a.do("GET", "/db/_purged_infos", "").want(200, `{"purged_infos":[]}`)
	if changes := a.do("GET", "/db/_changes", "").Body; strings.Contains(changes, `"id":"a"`) {
		t.Errorf("changes: %s", changes)
	}
	if rows := a.do("GET", "/db/_design/v/_view/all", "").want(200, "").json()["rows"].([]any); len(rows) != 1 {
		t.Errorf("the view has %v", rows)
	}

	// An old replica that never heard of the tombstone.
	a.do("POST", "/db/_revs_diff", `{"a":["`+first+`","`+deleted+`"]}`).want(200, `{}`)
	a.do("POST", "/db/_missing_revs", `{"a":["`+first+`"]}`).want(200, `{"missing_revs":{}}`)
	hash := strings.TrimPrefix(first, "1-")
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"a","_rev":"`+first+`","_revisions":{"start":1,"ids":["`+hash+`"]}}]}`).want(201, `[]`)
	a.do("PUT", "/db/a?new_edits=false", `{"_rev":"`+first+`"}`).want(201, "")
	a.do("GET", "/db/a", "").want(404, `{"error":"not_found","reason":"missing"}`)

	// An edit that was made on top of the tombstone elsewhere.
	a.do("POST", "/db/_revs_diff", `{"a":["3-abc"]}`).want(200, `{"a":{"missing":["3-abc"]}}`)
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"a","n":3,"_rev":"3-abc","_revisions":{"start":3,"ids":["abc","`+strings.TrimPrefix(deleted, "2-")+`","`+hash+`"]}}]}`).want(201, `[]`)
	a.do("GET", "/db/a", "").want(200, `{"_id":"a","_rev":"3-abc","n":3}`)

	// One that is made here goes over it too, as if the tombstone were there.
	b := a.do("PUT", "/db/b", `{}`).json()["rev"].(string)
	b = a.do("DELETE", "/db/b?rev="+b, "").want(200, "").json()["rev"].(string)
	a.pass(time.Second)
	a.pass(40 * time.Minute)
	a.do("PUT", "/db/b?rev="+b, `{}`).want(409, "")
	again := a.do("PUT", "/db/b", `{"again":true}`).want(201, "").json()["rev"].(string)
	if !strings.HasPrefix(again, "3-") {
		t.Errorf("written again as %s over %s", again, b)
	}
	if revs := a.do("GET", "/db/b?revs=true", "").want(200, "").json()["_revisions"].(map[string]any); len(revs["ids"].([]any)) != 2 {
		t.Errorf("revisions: %v", revs)
	}
}

// TestPurgeOfAPartition: documents, deletion markers and local documents of a partition go
// without a trace, and the indexes lose their rows.
func TestPurgeOfAPartition(t *testing.T) {
	a := newTestAPI(t)
	boss, member := a.user("bob"), a.user("mia")
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_security", `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`).want(200, "")
	a.do("PUT", "/db/_auto_purge", `{"deleted_document_ttl":"30_min"}`).want(202, "")
	a.do("PUT", "/db/_design/v", `{"options":{"partitioned":false},"views":{"all":{"map":"function (doc) { emit(null) }"}}}`).want(201, "")
	rev := a.do("PUT", "/db/p:gone", `{}`).json()["rev"].(string)
	a.do("DELETE", "/db/p:gone?rev="+rev, "").want(200, "")
	a.pass(time.Second)
	a.pass(40 * time.Minute)
	for i := range 250 {
		a.do("PUT", fmt.Sprintf("/db/p:%d", i), `{}`).want(201, "")
	}
	a.do("PUT", "/db/q:1", `{}`).want(201, "")
	a.do("PUT", "/db/_partition/p/_expiry", `{"field":"expires"}`).want(200, "")
	if rows := a.do("GET", "/db/_design/v/_view/all", "").want(200, "").json()["rows"].([]any); len(rows) != 251 {
		t.Fatalf("the view has %d rows", len(rows))
	}
	a.do("DELETE", "/db/_partition/p", "", "Authorization", member).want(401, "")
	a.do("DELETE", "/db/_partition/p", "", "Authorization", boss).want(202, `{"ok":true}`)
	if tasks := a.do("GET", "/_active_tasks", "").want(200, "").Body; !strings.Contains(tasks, `"type":"partition_drop"`) || !strings.Contains(tasks, `"partition":"p"`) {
		t.Errorf("tasks: %s", tasks)
	}
	a.pass(time.Second)
	a.do("GET", "/_active_tasks", "").want(200, `[]`)
	if rows := a.do("GET", "/db/_design/v/_view/all", "").want(200, "").json()["rows"].([]any); len(rows) != 1 {
		t.Errorf("the view has %d rows", len(rows))
	}
	if changes := a.do("GET", "/db/_changes", "").want(200, "").Body; strings.Contains(changes, `"id":"p:`) {
		t.Errorf("changes: %s", changes)
	}
	// Nothing is remembered of it, neither a deletion marker nor a setting.
	a.do("POST", "/db/_revs_diff", `{"p:gone":["`+rev+`"]}`).want(200, `{"p:gone":{"missing":["`+rev+`"]}}`)
	a.do("GET", "/db/_partition/p/_expiry", "").want(200, `{"field":null,"inherited":true,"ready":true}`)
	a.do("PUT", "/db/p:1", `{}`).want(201, "")
}

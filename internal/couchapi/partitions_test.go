package couchapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

// fruit is the database of the recordings of partitions.
func (a *testAPI) fruit() {
	a.t.Helper()
	a.fill("db", "fruit:apple", "fruit:berry", "fruit:cherry", "tools:axe", "tools:bolt", "_design/v")
	a.fill("plain", "a")
}

// TestPartitionRules is every rule of partitions that needs no index: request,
// status, and the answer: a list in short, an error as "error: reason", or
// else as it is.
func TestPartitionRules(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "admins"})
	a.fruit()
	const (
		colonless = "illegal_docid: Doc id must be of form partition:id"
		under     = "illegal_partition: Partition must not start with an underscore"
		reserved  = "illegal_docid: Only reserved document ids may start with underscore."
		noParts   = "bad_request: database is not partitioned"
		missing   = "not_found: missing"
		conflict  = "bad_request: Conflicting value for `partition` in query string"
		only      = "method_not_allowed: Only GET,HEAD,POST allowed"
		all       = "0/3: fruit:apple fruit:berry fruit:cherry"
		f         = "/db/_partition/fruit"
	)
	for _, row := range []struct {
		request string
		status  int
		want    string
	}{
		// Making databases.
		{"PUT /p1?partitioned=true", 201, ""},
		{"PUT /p2?partitioned=false", 201, ""},
		{"PUT /p3?partitioned=maybe", 400, "bad_request: Invalid `partitioned` parameter"},
		{"PUT /_replicator?partitioned=true", 400, "bad_request: Cannot partition a system database"},

		// Ids.
		{"PUT /p1/x {}", 400, colonless},
		{"PUT /p1/:x {}", 400, "illegal_partition: Partition must not be empty"},
		{"PUT /p1/p: {}", 400, "illegal_docid: Document id must not be empty"},
		{"PUT /p1/_p:x {}", 400, reserved},
		{"PUT /p1/p:_x {}", 400, reserved},
		{"PUT /p1/p:_design%2Fx {}", 201, ""},
		{"PUT /p1/p:a:b {}", 201, ""},
		{"PUT /p1/_design/d {}", 201, ""},
		{"PUT /p1/_local/l {}", 201, ""},
		{"POST /p1 {}", 400, colonless},
		{`POST /p1 {"_id":"p:3"}`, 201, ""},
		{"GET /p1/x", 400, colonless},
		{`POST /p1/_bulk_docs {"docs":[{"_id":"p:4"},{"_id":"x"}]}`, 400, colonless + ` (docs[1], _id "x")`},
		{"GET /p1/p:4", 404, missing},
		{`POST /p1/_revs_diff {"x":["1-a"]}`, 400, colonless},
		{`POST /p1/_missing_revs {"x":["1-a"]}`, 400, colonless},
		{`POST /p1/_purge {"x":["1-a"]}`, 400, colonless},
		{`POST /p1/_bulk_get {"docs":[{"id":"x"}]}`, 200, ""},
		{"GET /p1/_partition/p/_all_docs", 200, "0/3: p:3 p:_design/x p:a:b"},

		// Paths.
		{"GET /db/_partition", 400, "bad_request: invalid_partition_req"},
		{"GET /db/_partition/", 400, "bad_request: invalid_partition_req"},
		{"POST /db/_partition {}", 400, "bad_request: invalid_partition_req"},
		{"GET /db/_partition/_bad", 400, under},
		{"POST /db/_partition/_bad {}", 400, under},
		{"GET /db/_partition/a%3Ab", 400, "illegal_partition: Partition must not contain a colon"},
		{"GET /db/_partition/%ff", 400, "illegal_partition: Partition must be valid UTF-8"},
		{"GET /db/_partition//_all_docs", 400, under},
		{"GET /db/_partition/_all_docs", 400, under},
		{"GET /db/_partition/_design/_all_docs", 400, under},
		{"GET /db/_partition/_design/d/_view/v", 400, under},
		{"POST /db/_partition/_find {}", 400, under},
		{"POST /db/_partition/_explain {}", 400, under},
		{"GET /db/_partition/_local", 400, under},

		// The partition itself.
		{"PUT " + f, 412, "file_exists: The database could not be created, the file already exists."},
		{"HEAD " + f, 200, ""},
		{"COPY " + f, 405, "method_not_allowed: Only DELETE,GET,HEAD,POST allowed"},

		// What a partition has not.
		{"GET " + f + "/_shards", 404, missing},
		{"PUT " + f + "/_security {}", 405, "method_not_allowed: Only GET allowed"},
		{"PUT " + f + "/_revs_limit 5", 400, reserved},
		{"POST " + f + "/_compact {}", 400, "bad_request: Referer header required."},
		{"POST " + f + "/_find {}", 400, "missing_required_key: Missing required key: selector"},
		{"GET " + f + "/_design/v/_view/v", 404, "not_found: missing_named_view"},

		// Ordinary and missing databases.
		{"GET /plain/_partition/p", 400, noParts},
		{"GET /plain/_partition/p/_all_docs", 400, noParts},
		{"GET /plain/_partition/p/_changes", 400, noParts},
		{"POST /plain/_partition/p/_find {}", 400, noParts},
		{"DELETE /plain/_partition/p", 400, noParts},
		{"GET /plain/_partitions", 400, noParts},
		{"GET /plain/_all_docs?partition=p", 400, "query_parse_error: `partition` parameter is not supported on this db"},
		{"GET /nodb/_partition/p", 404, "not_found: Database does not exist."},
		{"GET /nodb/_partition/p/_all_docs", 404, "not_found: Database does not exist."},

		// Lists.
		{"GET " + f + "/_all_docs", 200, all},
		{"GET " + f + "/_all_docs?partition=fruit", 200, all},
		{"GET /db/_all_docs?partition=fruit", 200, all},
		{`POST /db/_all_docs {"partition":"fruit"}`, 200, all},
		{"GET /db/_partition/tools/_all_docs", 200, "0/2: tools:axe tools:bolt"},
		{"GET /db/_partition/none/_all_docs", 200, "0/0: "},
		{"GET " + f + "/_all_docs?partition=tools", 400, conflict},
		{"POST " + f + `/_all_docs {"partition":"tools"}`, 400, conflict},
		{"GET /db/_all_docs?partition=_x", 400, under},
		{"GET /db/_all_docs?partition=", 400, "illegal_partition: Partition must not be empty"},
		{"GET " + f + "/_all_docs?descending=true&limit=1&skip=1", 200, "1/3: fruit:berry"},
		{"GET " + f + "/_all_docs?skip=5", 200, "3/3: "},
		{"GET " + f + `/_all_docs?startkey="fruit:b"`, 200, "1/3: fruit:berry fruit:cherry"},
		{"GET " + f + `/_all_docs?startkey="a"&endkey="zzz"`, 200, all},
		{"GET " + f + `/_all_docs?startkey="tools:axe"`, 200, "3/3: "},
		{"GET " + f + `/_all_docs?endkey="a"`, 200, "0/3: "},
		{"GET " + f + `/_all_docs?descending=true&startkey="a"`, 200, "3/3: "},
		{"GET " + f + `/_all_docs?key="fruit:berry"`, 200, "1/3: fruit:berry"},
		{"GET " + f + `/_all_docs?key="tools:axe"`, 200, "3/3: "},
		{"POST " + f + `/_all_docs {"keys":["tools:axe","fruit:cherry","_design/v","fruit:none"]}`, 200, "<nil>/3: tools:axe? fruit:cherry _design/v? fruit:none?"},
		{"PUT " + f + "/_all_docs {}", 405, only},
		{"DELETE " + f + "/_all_docs", 405, only},
		{"PUT " + f + "/_changes {}", 405, "method_not_allowed: Only GET,POST,HEAD allowed"},
		{"POST " + f + `/_all_docs/queries {"queries":[{"partition":"tools"}]}`, 400, conflict},

		// Names that need care in a path.
		{"PUT /p1/Home%23Kitchen%23Small%20Appliances:toaster {}", 201, ""},
		{"GET /p1/_partition/Home%23Kitchen%23Small+Appliances/_all_docs", 200, "0/1: Home#Kitchen#Small Appliances:toaster"},
		{"PUT /p1/a%2Fb:1 {}", 201, ""},
		{"GET /p1/_partition/a%2Fb/_all_docs", 200, "0/1: a/b:1"},
		{"PUT /p1/a;:1 {}", 201, ""},
		{"PUT /p1/a:1 {}", 201, ""},
		{"GET /p1/_partition/a/_all_docs", 200, "0/1: a:1"},
		{"GET /p1/_partition/a;/_all_docs", 200, "0/1: a;:1"},
	} {
		method, rest, _ := strings.Cut(row.request, " ")
		target, body, _ := strings.Cut(rest, " ")
		w := a.do(method, strings.ReplaceAll(target, `"`, "%22"), body)
		if w.Status != row.status {
			t.Errorf("%s: status %d, want %d: %s", row.request, w.Status, row.status, w.Body)
			continue
		}
		if row.want == "" {
			continue
		}
		got := w.json()
		switch {
		case got["error"] != nil:
			if text := fmt.Sprintf("%v: %v", got["error"], got["reason"]); text != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.request, text, row.want)
			}
		case got["rows"] != nil:
			if text := summary(got); text != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.request, text, row.want)
			}
		default:
			if diff := cmp.Diff(fromJSON(t, row.want), any(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.request, diff)
			}
		}
	}
}

func TestPartitionCounters(t *testing.T) {
	a := newTestAPI(t)
	a.fruit()
	counts := func() string {
		m := a.do("GET", "/db/_partition/fruit", "").want(200, "").json()
		return fmt.Sprintf("%v %v %v", m["doc_count"], m["doc_del_count"], m["sizes"].(map[string]any)["external"])
	}
	rev := a.do("GET", "/db/fruit:apple", "").json()["_rev"].(string)
	rev = a.do("DELETE", "/db/fruit:apple?rev="+rev, "").want(200, "").json()["rev"].(string)
	if got := counts(); got != "2 1 16" { // the tombstone's body is {}
		t.Errorf("after a deletion: %s", got)
	}
	a.do("POST", "/db/_purge", fmt.Sprintf(`{"fruit:apple":[%q]}`, rev)).want(201, "")
	if got := counts(); got != "2 0 14" {
		t.Errorf("after a purge: %s", got)
	}
	a.do("PUT", "/db/fruit:date/a", "0123456789", "Content-Type", "x/y").want(201, "")
	if got := counts(); got != "3 0 26" {
		t.Errorf("after an attachment: %s", got)
	}
}

func TestListPartitions(t *testing.T) {
	a := newTestAPI(t)
	a.fruit()
	a.do("PUT", "/db/home:1", `{"text":"`+strings.Repeat("x", 100)+`"}`).want(201, "")
	list := func(query string) (names []string, v map[string]any) {
		v = a.do("GET", "/db/_partitions"+query, "").want(200, "").json()
		for _, row := range v["rows"].([]any) {
			names = append(names, row.(map[string]any)["partition"].(string))
		}
		return names, v
	}
	for query, want := range map[string]string{
		"":                               "fruit home tools",
		"?descending=true":               "tools home fruit",
		"?sort=docs":                     "home tools fruit",
		"?sort=docs&descending=true":     "fruit tools home",
		"?sort=external&descending=true": "home fruit tools",
		"?sort=active&limit=1":           "tools",
		"?sort=writes&descending=true":   "fruit tools home",
	} {
		if names, _ := list(query); strings.Join(names, " ") != want {
			t.Errorf("%s: %v, want %s", query, names, want)
		}
	}
	// Pages.
	for _, order := range []string{"?limit=2", "?limit=2&sort=docs"} {
		first, v := list(order)
		second, end := list(order + "&bookmark=" + v["bookmark"].(string))
		if len(first) != 2 || len(second) != 1 || end["bookmark"] != "" {
			t.Errorf("%s: pages %v and %v, bookmark %v", order, first, second, end["bookmark"])
		}
		if w := a.do("GET", "/db/_partitions?sort=writes&bookmark="+v["bookmark"].(string), ""); w.Status != 400 {
			t.Errorf("a bookmark of another list: %d", w.Status)
		}
	}
	// The shape.
	if names, _ := list("?sort=last_write"); len(names) != 3 {
		t.Errorf("by last write: %v", names)
	}
	_, v := list("?sort=external&limit=1&descending=true")
	row := v["rows"].([]any)[0].(map[string]any)
	if _, err := time.Parse(time.RFC3339Nano, row["last_write"].(string)); err != nil || row["partition"] != "home" {
		t.Errorf("the largest partition: %v", row)
	}
	row["last_write"], row["writes_per_hour"] = nil, nil
	want := map[string]any{"partition": "home", "doc_count": json.Number("1"), "doc_del_count": json.Number("0"), "last_write": nil, "writes_per_hour": nil,
		"sizes": map[string]any{"active": json.Number("111"), "external": json.Number("111")}}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for query, reason := range map[string]string{
		"sort=colour": "Invalid value for `sort`: expected external, active, docs, writes or last_write.",
		"limit=0":     "`limit` must be a positive integer.",
		"limit=2001":  "Limit is too large, must not exceed 2000",
		"limit=x":     `Invalid value for integer: "x"`,
	} {
		if got := a.do("GET", "/db/_partitions?"+query, "").want(400, "").json(); got["reason"] != reason {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func TestDropPartition(t *testing.T) {
	a := newTestAPI(t)
	a.fruit()
	a.do("DELETE", "/db/_partition/none", "").want(404, "")
	a.do("DELETE", "/db/_partition/fruit?tombstones=maybe", "").want(400, "")
	a.do("DELETE", "/db/_partition/fruit", "").want(202, `{"ok":true}`)
	a.lists([][3]string{{"/db/_partition/fruit/_all_docs", "", "0/0: "}, {"/db/_partition/tools/_all_docs", "", "0/2: tools:axe tools:bolt"}})
	a.do("GET", "/db/fruit:apple", "").want(404, "")
	a.do("PUT", "/db/fruit:apple", "{}").want(409, "")
	must(t, a.Store.Sweep(context.Background()))
	a.do("PUT", "/db/fruit:apple", "{}").want(201, "")

	a.do("DELETE", "/db/_partition/tools?tombstones=true", "").want(202, "")
	must(t, a.Store.Sweep(context.Background()))
	info := a.do("GET", "/db/_partition/tools", "").want(200, "").json()
	if info["doc_count"] != json.Number("0") || info["doc_del_count"] != json.Number("2") {
		t.Errorf("after tombstones: %v", info)
	}
	feed := a.do("GET", "/db/_partition/tools/_changes", "").want(200, "").json()["results"].([]any)
	if len(feed) != 2 || feed[0].(map[string]any)["deleted"] != true {
		t.Errorf("the feed of tombstones: %v", feed)
	}
}

// TestPartitionRights checks who may see and touch partitions.
func TestPartitionRights(t *testing.T) {
	a := newTestAPI(t)
	a.fruit()
	for name, roles := range map[string]string{"reader": `[]`, "boss": `[]`} {
		a.do("PUT", "/_users/org.couchdb.user:"+name, fmt.Sprintf(`{"name":%q,"type":"user","password":"pw","roles":%s}`, name, roles)).want(201, "")
	}
	a.do("PUT", "/db/_security", `{"members":{"names":["reader"]},"admins":{"names":["boss"]}}`).want(200, "")
	const reader, boss = "Basic cmVhZGVyOnB3", "Basic Ym9zczpwdw=="
	for _, row := range []struct {
		method, target, who string
		status              int
	}{
		{"GET", "/db/_partition/fruit", "", 401},
		{"GET", "/db/_partition/fruit/_changes", "", 401},
		{"GET", "/db/_partitions", "", 401},
		{"GET", "/db/_partition/fruit", reader, 200},
		{"GET", "/db/_partition/fruit/_all_docs", reader, 200},
		{"GET", "/db/_partition/fruit/_changes", reader, 200},
		{"GET", "/db/_partitions", reader, 401},
		{"DELETE", "/db/_partition/fruit", reader, 401},
		{"GET", "/db/_partitions", boss, 200},
		{"DELETE", "/db/_partition/fruit", boss, 202},
	} {
		if w := a.do(row.method, row.target, "", "Authorization", row.who); w.Status != row.status {
			t.Errorf("%s %s as %q: %d, want %d: %s", row.method, row.target, row.who, w.Status, row.status, w.Body)
		}
	}
}

package couchapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

// people makes a database with a few documents.
func (a *testAPI) people(name string) {
	a.t.Helper()
	a.do("PUT", "/"+name, "").want(201, "")
	a.do("POST", "/"+name+"/_bulk_docs", `{"docs":[
		{"_id":"ada","age":36,"land":"uk","rank":5,"tags":["x","y"]},
		{"_id":"bob","age":20,"land":"us","rank":3,"tags":["y"]},
		{"_id":"cyd","age":36,"land":"fr","rank":1},
		{"_id":"dan","age":51,"land":"us","rank":4,"tags":"x"}]}`).want(201, "")
}

// index makes an index of that name and waits for it.
func (a *testAPI) index(db, name, definition string) {
	a.t.Helper()
	a.do("POST", "/"+db+"/_index", fmt.Sprintf(`{"ddoc":%q,"name":%q,"index":%s}`, name, name, definition)).
		want(200, fmt.Sprintf(`{"result":"created","id":"_design/%s","name":%q}`, name, name))
	d, err := a.Store.Database(context.Background(), db)
	must(a.t, err)
	must(a.t, a.API.Indexes.Run(context.Background(), d))
}

// find returns the ids that a request finds, in order, and the whole answer.
func (a *testAPI) find(path, request string) (ids string, m map[string]any) {
	a.t.Helper()
	m = a.do("POST", path+"/_find", request).want(200, "").json()
	for _, d := range m["docs"].([]any) {
		ids += " " + d.(map[string]any)["_id"].(string)
	}
	return strings.TrimSpace(ids), m
}

func (a *testAPI) finds(path, request, want string) map[string]any {
	a.t.Helper()
	got, m := a.find(path, request)
	if got != want {
		a.t.Fatalf("%s finds %q, want %q", request, got, want)
	}
	return m
}

func TestMixedSort(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "mixed", `{"fields":[{"age":"asc"},{"rank":"desc"}]}`)
	a.finds("/db", `{"selector":{"age":{"$gt":0}},"sort":["age",{"rank":"desc"}]}`, "bob ada cyd dan")
	a.finds("/db", `{"selector":{"age":{"$gt":0}},"sort":[{"age":"desc"},"rank"]}`, "dan cyd ada bob")
	a.do("POST", "/db/_find", `{"selector":{"age":{"$gt":0}},"sort":["age","rank"]}`).
		want(400, `{"error":"no_usable_index","reason":"No index exists for this sort, try indexing by the sort fields."}`)
}

func TestSortByID(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.finds("/db", `{"selector":{"age":36},"sort":[{"_id":"desc"}]}`, "cyd ada")
	a.index("db", "age", `{"fields":["age"]}`)
	a.finds("/db", `{"selector":{"age":{"$gte":36}},"sort":[{"age":"desc"},{"_id":"desc"}]}`, "dan cyd ada")
}

func TestIndexRefusals(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, c := range []struct{ body, word string }{
		{`{"index":{"fields":[]}}`, "invalid_index"},
		{`{"index":{"fields":["a.[]","b.[]"]}}`, "invalid_index"},
		{`{"index":{"fields":["a"],"include":"b"}}`, "invalid_fields"},
		{`{"index":{"fields":["a"],"include":[["b"]]}}`, "invalid_fields"},
		{`{"index":{"fields":["a"]},"partitioned":true}`, "invalid_design_doc"},
		{`{"index":{"fields":["a"]},"partitioned":"x"}`, "invalid_partitioned_value"},
	} {
		if got := a.do("POST", "/db/_index", c.body).want(400, "").json()["error"]; got != c.word {
			t.Errorf("%s: %v, want %s", c.body, got, c.word)
		}
	}
	a.do("GET", "/db/_index?limit=0", "").want(400, "")
	for _, bookmark := range []string{"1", "[]", "{}"} {
		a.do("POST", "/db/_find", `{"selector":{},"bookmark":`+bookmark+`}`).want(400, "")
	}
}

// TestOwnRefusalsShowJSON shows that members which CouchDB does not know are refused
// by name and with what they hold as it was sent.
func TestOwnRefusalsShowJSON(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, c := range []struct{ path, body, reason string }{
		{"_find", `{"selector":{},"group":{"by":"town"}}`, `by must be an array of field names, not: "town"`},
		{"_find", `{"selector":{},"group":{"by":[["town"]]}}`, `by must be an array of field names, not: [["town"]]`},
		{"_find", `{"selector":{},"count":"yes"}`, `count must be true or false, not: "yes"`},
		{"_find", `{"selector":{},"bookmark":{"a":1}}`, `Invalid bookmark value: {"a":1}`},
		{"_index", `{"index":{"fields":["a"],"include":"b"}}`, `include must be an array of field names, not: "b"`},
		{"_index", `{"index":{"fields":["a","b"],"sparse":"no"}}`, `sparse must be true or false, not: "no"`},
		{"_index", `{"index":{"fields":["a"]},"partitioned":"x"}`, `Invalid value for partitioned: "x"`},
	} {
		if got := a.do("POST", "/db/"+c.path, c.body).want(400, "").json()["reason"]; got != c.reason {
			t.Errorf("%s: %v, want %s", c.body, got, c.reason)
		}
	}
}

func TestPartialIndexIsChosen(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "us", `{"fields":["age"],"partial_filter_selector":{"land":"us"}}`)
	m := a.finds("/db", `{"selector":{"age":{"$gt":0},"land":"us"},"execution_stats":true}`, "bob dan")
	if keys := m["execution_stats"].(map[string]any)["total_keys_examined"]; fmt.Sprint(keys) != "2" || m["warning"] != nil {
		t.Errorf("got %v", m)
	}
	if m := a.finds("/db", `{"selector":{"age":{"$gt":0},"land":"uk"}}`, "ada"); m["warning"] == nil {
		t.Errorf("the index of another land was used: %v", m)
	}
}

func TestExecutionStats(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:1","n":1},{"_id":"p:2","n":2},{"_id":"q:1","n":1}]}`).want(201, "")
	for path, want := range map[string][3]string{"/db": {"3", "2", "query"}, "/db/_partition/p": {"2", "1", "lookup"}} {
		got := a.do("POST", path+"/_find", `{"selector":{"n":1},"execution_stats":true}`).want(200, "")
		s := got.json()["execution_stats"].(map[string]any)
		class := got.Header.Get("X-Cloudant-Request-Class")
		if fmt.Sprint(s["total_keys_examined"]) != want[0] || fmt.Sprint(s["partitions"]) != want[1] || class != want[2] || fmt.Sprint(s["bytes"]) == "0" {
			t.Errorf("%s: %s, class %s", path, got.Body, class)
		}
	}
}

func TestExplainTellsThePlan(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "age", `{"fields":["age"]}`)
	m := a.do("POST", "/db/_explain", `{"selector":{"$or":[{"age":20},{"age":{"$gt":40}}]},"execution_stats":true}`).want(200, "").json()
	want := fromJSON(t, `[{"index":"_design/age/age","direction":"fwd","covering":false,"ranges":["20","(40, )"],"rows":2,"exact":true}]`)
	if diff := cmp.Diff(want, m["plan"]); diff != "" {
		t.Error(diff)
	}
	if m := a.do("POST", "/db/_explain", `{"selector":{"age":20}}`).want(200, "").json(); m["plan"] != nil {
		t.Errorf("a plan nobody asked for: %v", m)
	}
}

func TestIDsCompareRaw(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/Z", "{}").want(201, "")
	a.finds("/db", `{"selector":{"_id":{"$gte":"B","$lte":"a"}}}`, "Z")
}

func TestCountAndGroup(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "land", `{"fields":["land","age"]}`)
	for request, want := range map[string]string{
		`{"selector":{"land":"us","age":{"$gt":0}},"count":true}`: `{"count":2}`,
		`{"selector":{"land":{"$gt":null},"age":{"$gt":0}},"group":{"by":["land"],"compute":{"n":{"$count":true},"oldest":{"$max":"age"}}}}`: `{"groups":[
			{"key":["fr"],"value":{"n":1,"oldest":36}},{"key":["uk"],"value":{"n":1,"oldest":36}},{"key":["us"],"value":{"n":2,"oldest":51}}]}`,
		`{"selector":{"land":{"$gt":"fr"},"age":{"$gt":0}},"skip":1,"limit":1,"group":{"by":["land"]}}`: `{"groups":[{"key":["us"],"value":{}}]}`,
		`{"selector":{"land":"xx","age":1},"group":{"compute":{"sum":{"$sum":"age"}}}}`:                 `{"groups":[]}`,
	} {
		a.do("POST", "/db/_find", request).want(200, want)
	}
	m := a.do("POST", "/db/_find", `{"selector":{"land":"us","age":{"$gt":0}},"count":true,"execution_stats":true}`).want(200, "").json()
	if docs := m["execution_stats"].(map[string]any)["total_docs_examined"]; fmt.Sprint(docs) != "0" {
		t.Errorf("%v documents were read where the index has everything", docs)
	}
	for _, bad := range []string{
		`"count":true,"limit":1`, `"count":true,"group":{"by":["a"]}`, `"group":{}`, `"group":{"by":["a"],"compute":{"x":{"$mode":"a"}}}`,
		`"group":{"by":["a"]},"sort":["a"]`, `"group":{"compute":{"x":{"$sum":true}}}`, `"group":{"compute":{"x":{}}}`, `"group":{"of":1}`, `"group":1`,
	} {
		if got := a.do("POST", "/db/_find", `{"selector":{},`+bad+`}`).want(400, "").json(); got["error"] != "invalid_group" {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

func TestElementIndex(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "tags", `{"fields":["tags.[]"]}`)
	for request, want := range map[string]string{
		`{"selector":{"tags":{"$elemMatch":{"$eq":"y"}}}}`:        "ada bob",
		`{"selector":{"tags":{"$in":["x","y"]}}}`:                 "ada dan bob",
		`{"selector":{"tags":{"$all":["x","y"]}}}`:                "ada",
		`{"selector":{"tags":"x"}}`:                               "dan",
		`{"selector":{"$or":[{"_id":"ada"},{"tags":"x"}]}}`:       "ada dan",
		`{"selector":{"tags":{"$allMatch":{"$beginsWith":"y"}}}}`: "bob",
	} {
		if m := a.finds("/db", request, want); m["warning"] != nil {
			t.Errorf("%s: %v", request, m["warning"])
		}
	}
}

func TestPartitionOfFind(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/p:1", "{}").want(201, "")
	a.finds("/db/_partition/p", `{"selector":{},"partition":"p"}`, "p:1")
	a.finds("/db", `{"selector":{},"partition":"p"}`, "p:1")
	a.do("POST", "/db/_partition/p/_find", `{"selector":{},"partition":"q"}`).want(400, "")
	a.do("POST", "/db/_find?partition=p", `{"selector":{},"partition":"q"}`).want(400, "")
}

func TestBookmarksOfOtherPlans(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "age", `{"fields":["age"]}`)
	request := `{"selector":{"age":{"$gt":0},"rank":{"$gt":0}},"limit":2,"bookmark":"%s"}`
	m := a.finds("/db", fmt.Sprintf(request, ""), "bob ada")
	a.index("db", "better", `{"fields":["age","rank"]}`)
	m = a.finds("/db", fmt.Sprintf(request, m["bookmark"]), "cyd dan")
	a.do("DELETE", "/db/_index/age/json/age", "").want(200, `{"ok":true}`)
	a.do("POST", "/db/_find", fmt.Sprintf(request, m["bookmark"])).
		want(400, fmt.Sprintf(`{"error":"invalid_bookmark","reason":"Invalid bookmark value: \"%s\""}`, m["bookmark"]))
}

func TestIndexIsItsDesignDocument(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"_design/own","language":"query","views":{
		"age":{"map":{"fields":{"age":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["age"]}}}}}]}`).want(201, "")
	// The sort needs the index, so this waits for it.
	m := a.finds("/db", `{"selector":{"age":{"$gt":20}},"sort":["age"]}`, "ada cyd dan")
	if m["warning"] != nil {
		t.Errorf("warning %v", m["warning"])
	}
	rev := a.do("GET", "/db/_design/own", "").want(200, "").json()["_rev"]
	a.do("DELETE", fmt.Sprintf("/db/_design/own?rev=%s", rev), "").want(200, "")
	a.do("POST", "/db/_find", `{"selector":{"age":{"$gt":20}},"sort":["age"]}`).want(400, "")
	if tasks := a.do("GET", "/_active_tasks", "").want(200, "").Body; tasks != "[]\n" {
		t.Errorf("tasks %s", tasks)
	}
}

func TestMangoNeedsAMember(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "age", `{"fields":["age"]}`)
	for _, c := range [][2]string{
		{"GET /db/_index", ""},
		{"POST /db/_index", `{"index":{"fields":["a"]}}`},
		{"POST /db/_index/_bulk_delete", `{"docids":["age"]}`},
		{"DELETE /db/_index/age/json/age", ""},
		{"POST /db/_find", `{"selector":{}}`},
		{"POST /db/_explain", `{"selector":{}}`},
	} {
		method, path, _ := strings.Cut(c[0], " ")
		a.do(method, path, c[1], "Authorization", "").want(401, "")
	}
}

func TestCloudantTimeOfPartitionFind(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "limits", Value: "cloudant"})
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/p:1", "{}").want(201, "")
	began := a.API.Now()
	late := false
	clock := a.API.Now
	a.API.Now = func() time.Time {
		if late {
			return began.Add(10 * time.Second)
		}
		late = true
		return clock()
	}
	a.do("POST", "/db/_partition/p/_find", `{"selector":{}}`).want(500, "")
}

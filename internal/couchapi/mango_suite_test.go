package couchapi_test

import (
	"strings"
	"testing"
)

// What CouchDB's own tests of Mango hold, where no recorded scenario does.
func TestAsInCouchDBsMangoTests(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "age-rank-land", `{"fields":["age","rank","land"],"sparse":true}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		holds              string
	}{
		{"PUT", "/db/_design/bad", `{"language":"query","views":{"v":{"map":"function(d){emit(1)}"}}}`, 400, `"error":"invalid_design_doc"`},
		{"GET", "/db/_index/foo", ``, 405, `Only DELETE allowed`},
		{"DELETE", "/db/_index/foo", ``, 404, `missing`},
		{"GET", "/db/_index?limit=;skip=", ``, 400, ``},
		{"POST", "/db/_index", `{"index":{"fields":["a"],"selector":{"a":1}}}`, 400, `invalid_key`},
		{"POST", "/db/_index", `{"index":{"fields":["a"]},"type":"space"}`, 400, `invalid_index`},
		{"POST", "/db/_index", `{"index":{"fields":["a"]},"name":""}`, 400, `invalid_empty_string`},
		{"POST", "/db/_index", `{"index":{"fields":[{"a":"asc","b":"desc"}]}}`, 400, `invalid_sort_field`},
		{"POST", "/db/_find", `{"selector":{"land":{"$exists":false},"land":{"$exists":true}},"count":true}`, 200, `{"count":4,`},
		{"POST", "/db/_find", `{"selector":{"rank":{"$gt":1},"age":{"$gt":0}},"sort":["rank"]}`, 400, `no_usable_index`},
		{"POST", "/db/_find", `{"selector":{"$or":[]}}`, 200, `{"docs":[]`},
		{"POST", "/db/_find", `{"selector":{"_id":{"$beginsWith":true}}}`, 400, `invalid_operator`},
		{"POST", "/db/_explain", `{"selector":{"_id":"ada"}}`, 200, `"start_key":"ada","end_key":"ada"`},
		{"POST", "/db/_explain", `{"selector":{"age":36,"rank":{"$gt":1},"land":"uk"},"sort":[{"rank":"desc"}]}`, 200, `"direction":"rev"`},
		{"POST", "/db/_explain", `{"selector":{"age":36},"sort":["land"]}`, 200, `"index":null`},
		{"POST", "/db/_find", `{"selector":{"age":36},"use_index":["_design/none","none"],"allow_fallback":false}`, 400, `_design/none, none specified by`},
		{"POST", "/db/_find", `{"selector":{"age":36},"use_index":"none"}`, 200, `"warning":"_design/none was not used because it does not contain a valid index for this query.`},
	} {
		if got := a.do(c.method, c.path, c.body); got.Status != c.status || !strings.Contains(got.Body, c.holds) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.Status, got.Body)
		}
	}
}

// Fields that have one value sort nothing, wherever they are in the sort.
func TestSortsWithOneValue(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.index("db", "i", `{"fields":["age","rank","land"]}`)
	for request, want := range map[string]string{
		`{"selector":{"age":36,"rank":{"$gt":0},"land":"uk"},"sort":["land"]}`:                     "ada",
		`{"selector":{"rank":3,"age":{"$gt":0},"land":{"$gt":null}},"sort":["age","land"]}`:        "bob",
		`{"selector":{"land":"us","age":{"$gt":0},"rank":{"$gt":0}},"sort":["age","rank","land"]}`: "bob dan",
	} {
		a.finds("/db", request, want)
	}
}

// Indexes never lag behind, so update and stable have nothing to say.
func TestUpdateFalseSeesWrites(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.index("db", "name", `{"fields":["name"]}`)
	a.do("PUT", "/db/a", `{"name":"Eddie"}`).want(201, "")
	for _, option := range []string{`"update":false`, `"update":false,"stable":true`, `"stale":"ok"`, `"update":true`} {
		a.finds("/db", `{"selector":{"name":"Eddie"},"use_index":"name","allow_fallback":false,`+option+`}`, "a")
	}
}

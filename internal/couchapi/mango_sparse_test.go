package couchapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// Two queries of the articles name the first field of their index alone. Some documents lack the second.
func TestIndexesServeTheirFirstFields(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/orders?partitioned=true", "").want(201, "")
	a.do("POST", "/orders/_bulk_docs", `{"docs":[
		{"_id":"order1:order","type":"order","userid":"user1","date":"2019-01-28"},
		{"_id":"order2:order","type":"order","userid":"user1"},
		{"_id":"order2:line","type":"line","userid":"user1"},
		{"_id":"order3:order","type":"order","userid":"user2","date":"2019-01-29"}]}`).want(201, "")
	a.do("POST", "/orders/_index", `{"index":{"partial_filter_selector":{"type":"order"},"fields":["userid","date"]},"ddoc":"orders-by-customer-index","type":"json","partitioned":false}`).want(200, "")
	a.do("PUT", "/readings?partitioned=true", "").want(201, "")
	a.do("POST", "/readings/_bulk_docs", `{"docs":[
		{"_id":"bridge-1234:1","deviceID":"device-1","ts":"20181211"},{"_id":"bridge-1234:2","deviceID":"device-1"},
		{"_id":"bridge-1234:3","deviceID":"device-2","ts":"20181211"},{"_id":"bridge-5:1","deviceID":"device-1","ts":"20181211"}]}`).want(201, "")
	a.do("POST", "/readings/_index", `{"index":{"fields":["deviceID","ts"]},"name":"deviceID-readings","type":"json","partitioned":true}`).want(200, "")

	for _, c := range []struct{ path, request, want, keys string }{
		{"/orders", `{"selector":{"type":"order","userid":"user1"},"use_index":"orders-by-customer-index","execution_stats":true}`, "order2:order order1:order", "2"},
		{"/orders", `{"selector":{"type":"order","userid":"user1"},"execution_stats":true}`, "order2:order order1:order", "2"},
		{"/orders", `{"selector":{"type":"order","userid":"nobody"},"execution_stats":true}`, "", "0"},
		{"/readings/_partition/bridge-1234", `{"selector":{"deviceID":"device-1"},"execution_stats":true}`, "bridge-1234:2 bridge-1234:1", "2"},
		{"/readings/_partition/bridge-1234", `{"selector":{"deviceID":"device-1","ts":{"$gte":"2018"}},"execution_stats":true}`, "bridge-1234:1", "1"},
		{"/readings/_partition/bridge-1234", `{"selector":{"deviceID":"device-1"},"sort":[{"deviceID":"desc"},{"ts":"desc"}],"execution_stats":true}`, "bridge-1234:1", "1"},
	} {
		m := a.finds(c.path, c.request, c.want)
		if keys := m["execution_stats"].(map[string]any)["total_keys_examined"]; fmt.Sprint(keys) != c.keys || m["warning"] != nil {
			t.Errorf("%s: %v keys, warning %v", c.request, keys, m["warning"])
		}
	}
}

// An index of CouchDB leaves documents out that lack a field. It stays so here, and warnings tell how it would serve.
func TestSparseIndexes(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.do("PUT", "/db/eve", `{"age":20}`).want(201, "")
	asCouch := `{"_id":"_design/i","language":"query","views":{"i":{"map":{"fields":{"age":"asc","rank":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["age","rank"]}}}}}`
	a.do("PUT", "/db/_design/i", asCouch).want(201, "")
	warning := "No matching index found, create an index to optimize query time.\n" +
		`Index _design/i/i on age, rank leaves out documents without rank. It would serve if the selector had "rank": {"$exists": true}, or if it were made with "sparse": false.`
	create := func(sparse, result string) {
		t.Helper()
		a.do("POST", "/db/_index", `{"ddoc":"i","name":"i","index":{"fields":["age","rank"]`+sparse+`}}`).want(200, `{"result":"`+result+`","id":"_design/i","name":"i"}`)
	}
	shows := func(want string) {
		t.Helper()
		if got := a.do("GET", "/db/_index", "").want(200, "").Body; !strings.Contains(got, `"def":{"fields":[{"age":"asc"},{"rank":"asc"}]`+want+`}}`) {
			t.Errorf("the list is %s", got)
		}
	}
	create("", "exists")
	shows(`,"sparse":true`)
	if m := a.finds("/db", `{"selector":{"age":20}}`, "bob eve"); m["warning"] != warning {
		t.Errorf("warning %q", m["warning"])
	}
	if m := a.finds("/db", `{"selector":{"age":20,"rank":{"$exists":true}}}`, "bob"); m["warning"] != nil {
		t.Errorf("warning %q", m["warning"])
	}
	refused := a.do("POST", "/db/_find", `{"selector":{"age":20},"sort":["age"]}`).want(400, "").json()["reason"].(string)
	if !strings.Contains(refused, "It would serve if the selector had") {
		t.Errorf("the refusal says %q", refused)
	}

	create(`,"sparse":false`, "created")
	shows("")
	if m := a.finds("/db", `{"selector":{"age":20},"sort":["age"]}`, "eve bob"); m["warning"] != nil {
		t.Errorf("warning %q", m["warning"])
	}
	create(`,"sparse":false`, "exists")
	create(`,"sparse":true`, "created")
	shows(`,"sparse":true`)
	create(`,"sparse":true`, "exists")
	a.do("POST", "/db/_index", `{"index":{"fields":["age","rank"],"sparse":1}}`).want(400, `{"error":"invalid_boolean","reason":"sparse must be true or false, not: 1"}`)
}

// A design document goes to another database and comes back as it is, and means the same there.
func TestSparseIsReplicated(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.do("PUT", "/db/eve", `{"age":20}`).want(201, "")
	a.index("db", "new", `{"fields":["age","rank"]}`)
	a.index("db", "one", `{"fields":["age"]}`)
	a.do("PUT", "/copy", "").want(201, "")
	for _, id := range []string{"new", "one", "ada", "bob", "eve"} {
		path := "/" + id
		if id == "new" || id == "one" {
			path = "/_design/" + id
		}
		body := a.do("GET", "/db"+path+"?revs=true", "").want(200, "").Body
		a.do("PUT", "/copy"+path+"?new_edits=false", body).want(201, "")
	}
	for _, path := range []string{"/db", "/copy"} {
		design := a.do("GET", path+"/_design/new", "").want(200, "").Body
		if !strings.Contains(design, `"views":{"new":{"map":{"fields":{"age":"asc","rank":"asc"},"partial_filter_selector":{},"sparse":false},"reduce":"_count","options":{"def":{"fields":["age","rank"]}}}}`) {
			t.Errorf("%s holds %s", path, design)
		}
		if one := a.do("GET", path+"/_design/one", "").want(200, "").Body; strings.Contains(one, "sparse") {
			t.Errorf("an index of one field became %s", one)
		}
		a.finds(path, `{"selector":{"age":20},"use_index":"new","sort":["age"],"allow_fallback":false}`, "eve bob")
	}
}

// Indexes that are defined alike and named otherwise lie in design documents of their own, as in CouchDB.
func TestNamesOfIndexes(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	post := func(body string) (result, id, name string) {
		t.Helper()
		m := a.do("POST", "/db/_index", body).want(200, "").json()
		return m["result"].(string), m["id"].(string), m["name"].(string)
	}
	ids := map[string]string{}
	for _, body := range []string{
		`{"index":{"fields":["a"]}}`, `{"index":{"fields":["a"]},"name":"x"}`, `{"index":{"fields":["a"]},"name":"y"}`, `{"index":{"fields":["b"]},"name":"x"}`,
		`{"index":{"fields":["a","b"]}}`, `{"index":{"fields":["a","b"],"sparse":true}}`, `{"index":{"fields":["a","b"],"sparse":true},"name":"x"}`,
		`{"index":{"fields":["a"],"partial_filter_selector":{"b":1}}}`, `{"index":{"fields":["a"]},"partitioned":false}`,
	} {
		result, id, name := post(body)
		if other := ids[id]; other != "" || result != "created" {
			t.Errorf("%s is %s in %s, where %q lies", body, result, id, other)
		}
		ids[id] = body
		if again, at, as := post(body); again != "exists" || at != id || as != name {
			t.Errorf("%s a second time is %s in %s as %s", body, again, at, as)
		}
	}
	// Saying what goes without saying is the same index; CouchDB's form of fields too.
	if _, id, _ := post(`{"index":{"fields":["a","b"],"sparse":false}}`); ids[id] != `{"index":{"fields":["a","b"]}}` {
		t.Errorf("it lies with %s", ids[id])
	}
}

// A design document whose id was made when the name of an index did not count goes on being that of the index.
func TestFormerNamesOfIndexes(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	unnamed := a.do("POST", "/db/_index", `{"index":{"fields":["a","b"]}}`).want(200, "").json()["id"].(string)
	rev := a.do("GET", "/db/"+unnamed, "").json()["_rev"]
	a.do("PUT", "/db/"+unnamed, fmt.Sprintf(`{"_rev":%q,"language":"query","views":{"x":{"map":{"fields":{"a":"asc","b":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["a","b"]}}}}}`, rev)).want(201, "")
	a.do("POST", "/db/_index", `{"index":{"fields":["a","b"]},"name":"x"}`).want(200, fmt.Sprintf(`{"result":"exists","id":%q,"name":"x"}`, unnamed))
	if m := a.do("POST", "/db/_index", `{"index":{"fields":["a","b"]},"name":"y"}`).want(200, "").json(); m["result"] != "created" || m["id"] == unnamed {
		t.Errorf("another name is %v", m)
	}
}

// What GET _index shows of an index makes the same one elsewhere.
func TestListedIndexesTellTheirDefinition(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	a.people("copy")
	for name, def := range map[string]string{
		"a": `{"fields":[{"age":"asc"},{"rank":"desc"}],"include":["land","o.\\.x"]}`,
		"b": `{"fields":[{"age":"asc"},{"rank":"asc"}],"partial_filter_selector":{"land":{"$eq":"us"}},"sparse":true}`,
		"c": `{"fields":[{"tags.[]":"asc"}]}`,
	} {
		a.index("db", name, def)
		if got := a.do("GET", "/db/_index", "").want(200, "").Body; !strings.Contains(got, `"name":"`+name+`","type":"json","partitioned":false,"def":`+def+`}`) {
			t.Errorf("%s is shown in %s", def, got)
		}
		if got := a.do("POST", "/db/_explain", `{"selector":{"land":"us","age":1,"rank":2,"tags":"x"},"use_index":"`+name+`"}`).want(200, "").Body; !strings.Contains(got, `"def":`+def) {
			t.Errorf("%s is shown in %s", def, got)
		}
	}
}

// A query finds the same documents with an index on a member with an underscore as without; where that can't be, there
// is no such index.
func TestIndexesOfReservedMembers(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t)
	fill := func(db string) {
		a.do("PUT", "/"+db, "").want(201, "")
		a.do("POST", "/"+db+"/_bulk_docs", `{"docs":[{"_id":"a","n":1},{"_id":"b","n":1},
			{"_id":"c","n":1,"_attachments":{"f":{"data":"aGk=","content_type":"text/plain"}}},{"_id":"d"},{"_id":"e","_deleted":true}]}`).want(201, "")
		a.do("POST", "/"+db+"/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"b","_rev":"1-00000000000000000000000000000000","n":1},
			{"_id":"a","_rev":"2-00000000000000000000000000000000","_deleted":true}]}`).want(201, "")
	}
	fill("scan")
	a.finds("/scan", `{"selector":{"_conflicts":{"$exists":true}},"conflicts":true}`, "b")
	a.finds("/scan", `{"selector":{"_attachments":{"$exists":true}}}`, "c")
	refused := `{"error":"invalid_index","reason":"Of the members that begin with an underscore an index knows _id and _rev alone; its partial_filter_selector can't look at _attachments or _conflicts."}`
	for i, c := range []struct {
		member, def string
		taken       bool
	}{
		{"_id", `{"fields":["_id"]}`, true},
		{"_id", `{"fields":["n","_id"]}`, true},
		{"_rev", `{"fields":["_rev"]}`, true},
		{"_rev", `{"fields":["n","_rev"],"include":["_rev"]}`, true},
		{"_rev", `{"fields":["n"],"partial_filter_selector":{"_rev":{"$exists":true}}}`, true},
		{"_deleted", `{"fields":["n"],"partial_filter_selector":{"_deleted":{"$exists":false}}}`, true},
		{"_conflicts", `{"fields":["_conflicts"]}`, false},
		{"_conflicts", `{"fields":["n","_conflicts"]}`, false},
		{"_conflicts", `{"fields":["_conflicts.0"]}`, false},
		{"_conflicts", `{"fields":["_conflicts.[]"]}`, false},
		{"_conflicts", `{"fields":["n"],"partial_filter_selector":{"$or":[{"n":2},{"_conflicts":{"$exists":true}}]}}`, false},
		{"_conflicts", `{"fields":["n"],"include":["_conflicts"]}`, false},
		{"_attachments", `{"fields":["_attachments"]}`, false},
		{"_attachments", `{"fields":["n"],"partial_filter_selector":{"_attachments":{"$exists":true}}}`, false},
		{"_attachments", `{"fields":["n","_attachments.f.length"]}`, false},
		{"_deleted", `{"fields":["_deleted"]}`, false},
		{"_deleted_conflicts", `{"fields":["n","_deleted_conflicts"]}`, false},
		{"_revs_info", `{"fields":["_revs_info"]}`, false},
		{"_revisions", `{"fields":["_revisions"]}`, false},
		{"_local_seq", `{"fields":["_local_seq"]}`, false},
	} {
		for _, how := range []string{"post", "design"} {
			db := fmt.Sprint("db", i, how)
			fill(db)
			if how == "post" {
				if answer := a.do("POST", "/"+db+"/_index", `{"ddoc":"i","name":"i","index":`+c.def+`}`); c.taken {
					answer.want(200, "")
				} else {
					answer.want(400, refused)
					a.do("GET", "/"+db+"/_design/i", "").want(404, "")
				}
			} else { // as it arrives from a CouchDB
				a.do("PUT", "/"+db+"/_design/i", `{"language":"query","views":{"i":{"map":`+c.def+`,"reduce":"_count","options":{}}}}`).want(201, "")
			}
			for _, condition := range []string{`"n":1`, `"n":1,"M":{"$exists":true}`, `"M":{"$exists":true}`, `"M":{"$gt":null}`, `"M":{"$exists":false}`, `"n":1,"M":{"$exists":false}`} {
				for _, conflicts := range []string{"true", "false"} {
					request := `{"selector":{` + strings.ReplaceAll(condition, "M", c.member) + `},"conflicts":` + conflicts + `,"use_index":"i"}`
					want, _ := a.find("/scan", request)
					if got, _ := a.find("/"+db, request); sorted(got) != sorted(want) {
						t.Errorf("with %s, made by %s, %s finds %q, and without it %q", c.def, how, request, got, want)
					}
				}
			}
		}
	}
}

// A design document whose index is refused stops no query, and is listed.
func TestRefusedIndexesStopNothing(t *testing.T) {
	a := newTestAPI(t)
	a.people("db")
	for i, def := range []string{
		`{"fields":{"age":"asc"},"partial_filter_selector":{"land":{"$regex":"(?=u)us"}}}`, `{"fields":{"_conflicts":"asc"}}`, `{"fields":["age"],"sparse":1}`, `{"fields":7}`,
	} {
		a.do("PUT", fmt.Sprint("/db/_design/d", i), `{"language":"query","views":{"i":{"map":`+def+`,"reduce":"_count","options":{}}}}`).want(201, "")
	}
	a.finds("/db", `{"selector":{"age":{"$gt":20},"land":"us"}}`, "dan")
	a.finds("/db", `{"selector":{"age":{"$gt":20},"land":"us"},"use_index":"d0"}`, "dan")
	list := a.do("GET", "/db/_index", "").want(200, "").Body
	for _, want := range []string{`"total_rows":3`, `{"ddoc":"_design/d0","name":"i","type":"json","partitioned":false,"def":{"fields":[{"age":"asc"}],"partial_filter_selector":{"land":{"$regex":"(?=u)us"}}}}`, `"def":{"fields":[{"_conflicts":"asc"}]}`} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is not in %s", want, list)
		}
	}
	a.do("POST", "/db/_explain", `{"selector":{"age":{"$gt":20}}}`).want(200, "")
	a.do("PUT", "/db/ada2", `{"age":1}`).want(201, "")
}

// sorted returns words in alphabetical order.
func sorted(words string) string {
	all := strings.Fields(words)
	slices.Sort(all)
	return strings.Join(all, " ")
}

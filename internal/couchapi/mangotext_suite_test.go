package couchapi_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// instruments are documents with what CouchDB's tests of text indexes look at: fields of
// every type, names that need escapes, members that few have.
const instruments = `{"docs":[
	{"_id":"bell","no":1,"maker":{"first":"Agnes","last":"Sutter"},"year":1622,"house":"Aarhus","mail":"agnes@aarhus.example","playable":false,"pupil":"@agnes","keys":["brass","tin","wood"],"in":{"hall":"North"}},
	{"_id":"crumhorn","no":2,"maker":{"first":"Jorg","last":"Wier"},"year":1531,"house":"Dresden","mail":"jorg@wier.example","playable":false,"pupil":"@jorg","keys":["brass","wood",{"old":{"kind":"reed"}}],"in":{"hall":"South"}},
	{"_id":"drum","no":3,"maker":{"first":"Ida","last":"Alder"},"year":1942,"house":"Wien","mail":"ida@wien.example","playable":true,"keys":["skin","wood","cord"],"in":{"hall":"New Wing"},"made_in":{"month":3,"day":"first"}},
	{"_id":"fiddle","no":4,"maker":{"first":"Paolo","last":"Testo"},"year":1979,"house":"Milano","mail":"paolo@testo.example","playable":true,"keys":[["skin","cord","wood"],"cord","tin","cord"],"in":{"hall":"East"},"4711":"a number","8":{"15":"and one below"}},
	{"_id":"gong","no":5,"maker":{"first":"Wen","last":"Li"},"year":1861,"house":null,"mail":"wen@gong.example","playable":true,"keys":null,"in":{"hall":"new annex"},"once":"here","order":null,"maker.first":"with a dot"},
	{"_id":"harp","no":6,"maker":{"first":"Ramona","last":"Alder"},"year":1499,"house":"Ulm","mail":"ramona@ulm.example","playable":true,"pupil":null,"keys":["skin","cord","wood"],"in":{"hall":"West"},"parts":["neck","base"],"signs":"+-(){}[]^~&&*||\"\\/?:!","once":"there","order":9},
	{"_id":"lute","no":7,"maker":{"first":"Hans","last":"Frei"},"year":1520,"house":"Bologna","mail":"hans@frei.example","playable":true,"keys":["cord","cord"],"in":{"hall":"New Wing"},"parts":["neck"],"box":{"lid":"flat"},"order":"a"},
	{"_id":"oud","no":8,"maker":{"first":"Nahat","last":"Fares"},"year":1903,"house":"Damascus","mail":"nahat@oud.example","keys":["cord","wood","skin"],"in":{"hall":"Place of Lots"},"box":{"rose":"cut"},"order":"A",
	 "bands":[{"no":0,"who":{"first":"Mo","last":"Ray"},"as":"guest"},{"no":1,"who":{"first":"Li","last":"Tan"},"as":"guest"}],"marks":[82,85,88],"best":["Faro","Oslo"]},
	{"_id":"pipe","no":9,"maker":{"first":"Una","last":"Moss"},"year":1733,"house":"Ystad","mail":"una@pipe.example","playable":false,"pupil":"@una","keys":["tin","brass","brass"],"in":{"hall":"Cellar"},
	 "bands":[{"no":0,"who":{"first":"Li","last":"Tan"},"as":"host"},{"no":1,"who":{"first":"Mo","last":"Ray"},"as":"guest"},{"no":2,"who":{"first":"Li","last":"Oak"},"as":"host"}]},
	{"_id":"rebec","title":"odd names","dot.name":"a point","$cash":"dollar","":"","in":{"$cash":"deep"},"a[]:string":"s","b[]:boolean[]":true,"c[]:number":9,"c[]:null":null,"ÄÖ-\uf8ff":"beyond"}
]}`

// asInCouchDBsTextTests are selectors of every kind that CouchDB's tests ask text indexes,
// and which documents they find.
var asInCouchDBsTextTests = []struct{ selector, want string }{
	{`{"$text":"Ramona"}`, "harp"},
	{`{"$text":"nobody"}`, ""},
	{`{"maker.first":"Ramona","year":1499}`, "harp"},
	{`{"maker.first":"Agnes","playable":false}`, "bell"},
	{`{"maker.first":"Agnes","keys":["brass","tin","wood"]}`, "bell"},
	{`{"keys.1":"wood"}`, "crumhorn drum oud"},
	{`{"keys.0.2":"wood"}`, "fiddle"},
	{`{"4711":"a number"}`, "fiddle"},
	{`{"8.15":"and one below"}`, "fiddle"},
	{`{"year":{"$lt":1499}}`, ""},
	{`{"year":{"$lt":1520}}`, "harp"},
	{`{"year":{"$lte":1520}}`, "harp lute"},
	{`{"year":{"$gt":1942}}`, "fiddle"},
	{`{"year":{"$gte":1942}}`, "drum fiddle"},
	{`{"year":{"$gt":1979}}`, ""},
	{`{"house":{"$lt":"Bologna","$gt":null}}`, "bell"},
	{`{"house":{"$lte":"Bologna","$ne":null}}`, "bell lute"},
	{`{"house":{"$gt":"Wien"}}`, "pipe"},
	{`{"house":{"$gte":"Wien"}}`, "drum pipe"},
	{`{"year":1500}`, ""},
	{`{"year":{"$eq":1499}}`, "harp"},
	{`{"year":{"$ne":1499}}`, "bell crumhorn drum fiddle gong lute oud pipe"},
	{`{"$not":{"year":1499}}`, "bell crumhorn drum fiddle gong lute oud pipe"},
	{`{"year":1499,"playable":true}`, "harp"},
	{`{"$and":[{"year":1499},{"playable":false}]}`, ""},
	{`{"$text":"Ramona","year":1499}`, "harp"},
	{`{"$and":[{"$text":"Ramona"},{"year":1499}]}`, "harp"},
	{`{"$and":[{"$text":"Ramona"},{"$text":"Alder"}]}`, "harp"},
	{`{"$or":[{"year":1499},{"year":1520}]}`, "harp lute"},
	{`{"$or":[{"$text":"Ramona"},{"$text":"Agnes"}]}`, "bell harp"},
	{`{"$or":[{"$text":"Ramona"},{"year":1499}]}`, "harp"},
	{`{"year":1499,"$or":[{"playable":false},{"in.hall":"West"}]}`, "harp"},
	{`{"$or":[{"$text":"Ramona"},{"year":1520,"playable":true}]}`, "harp lute"},
	{`{"$nor":[{"year":1499},{"year":1520}]}`, "bell crumhorn drum fiddle gong oud pipe"},
	{`{"year":{"$in":[1,5]}}`, ""},
	{`{"year":{"$in":[1,1499,1520]}}`, "harp lute"},
	{`{"no":{"$in":[` + numbers(1000) + `]}}`, "bell crumhorn drum fiddle gong harp lute oud pipe"},
	{`{"keys":{"$in":["nothing",52,{"old":{"kind":"reed"}}]}}`, "crumhorn"},
	{`{"keys":{"$in":["skin","tin"]}}`, "bell drum fiddle harp oud pipe"},
	{`{"made_in":{"$in":[{"month":3,"day":"first"}]}}`, "drum"},
	{`{"year":{"$nin":[1499,1520]}}`, "bell crumhorn drum fiddle gong oud pipe"},
	{`{"no":{"$nin":[` + numbers(1000) + `]}}`, ""},
	{`{"keys":{"$nin":["nothing",52,{"old":{"kind":"reed"}}]}}`, "bell drum fiddle gong harp lute oud pipe"},
	{`{"keys":{"$nin":["skin","tin"]}}`, "crumhorn gong lute"},
	{`{"keys":{"$nin":[]}}`, "bell crumhorn drum fiddle gong harp lute oud pipe"},
	{`{"made_in":{"$nin":[{"month":3,"day":"first"}]}}`, ""},
	{`{"keys":{"$all":["brass","wood",{"old":{"kind":"reed"}}]}}`, "crumhorn"},
	{`{"keys":{"$all":[["skin","cord","wood"]]}}`, "fiddle harp"},
	{`{"in":{"$all":["North"]}}`, ""},
	{`{"once":{"$exists":true}}`, "gong harp"},
	{`{"once":{"$exists":false},"no":{"$lt":7}}`, "bell crumhorn drum fiddle"},
	{`{"parts":{"$exists":true}}`, "harp lute"},
	{`{"parts":{"$exists":false},"no":{"$gt":5}}`, "oud pipe"},
	{`{"box":{"$exists":true}}`, "lute oud"},
	{`{"box.lid":{"$exists":true}}`, "lute"},
	{`{"box.lid":{"$exists":false},"no":{"$gt":6}}`, "oud pipe"},
	{`{"$and":[{"playable":{"$exists":true}},{"box.lid":{"$exists":true}}]}`, "lute"},
	{`{"$and":[{"playable":{"$exists":false}},{"box.lid":{"$exists":true}}]}`, ""},
	{`{"$not":{"$and":[{"playable":{"$exists":false}},{"box.lid":{"$exists":true}}]},"no":{"$gt":6}}`, "lute oud pipe"},
	{`{"signs":"+-(){}[]^~&&*||\"\\/?:!"}`, "harp"},
	{`{"year":{"$gt":1500},"in.hall":{"$regex":"(?i)new.*"}}`, "drum gong lute"},
	{`{"in.hall":{"$beginsWith":"New"}}`, "drum lute"},
	{`{"$or":[{"in.hall":{"$beginsWith":"New"}},{"in.hall":{"$beginsWith":"C"}}]}`, "drum lute pipe"},
	{`{"_id":{"$beginsWith":"h"}}`, "harp"},
	{`{"best":{"$elemMatch":{"$eq":"Oslo"}}}`, "oud"},
	{`{"marks":{"$elemMatch":{"$gte":80,"$lt":85}}}`, "oud"},
	{`{"bands":{"$elemMatch":{"who.first":"Mo"}}}`, "oud pipe"},
	{`{"bands":{"$elemMatch":{"who.first":"Li","who.last":"Oak"}}}`, "pipe"},
	{`{"bands":{"$elemMatch":{"who.first":"Li","as":"guest"}}}`, "oud"},
	{`{"bands":{"$elemMatch":{"who.first":"Li","$or":[{"as":"host"},{"as":"guest"}]}}}`, "oud pipe"},
	{`{"bands":{"$elemMatch":{"who.first":"Li","as":{"$in":["host","guest"]}}}}`, "oud pipe"},
	{`{"$and":[{"bands":{"$elemMatch":{"no":0,"who":{"$exists":true}}}},{"bands":{"$elemMatch":{"$or":[{"who":{"first":"Li","last":"Oak"}},{"who":{"$in":[{"first":"No","last":"One"}]}}]}}}]}`, "pipe"},
	{`{"bands":{"$allMatch":{"as":"guest"}}}`, "oud"},
	{`{"bands":{"$allMatch":{"who.first":{"$in":["Li","Mo"]},"$or":[{"as":"host"},{"as":"guest"}]}}}`, "oud pipe"},
	{`{"keys":{"$allMatch":{"$eq":"cord"}}}`, "lute"},
	{`{"keys":{"$size":4}}`, "fiddle"},
	{`{"box":{"$keyMapMatch":{"$eq":"rose"}}}`, "oud"},
	{`{"pupil":{"$ne":"@nobody"}}`, "bell crumhorn harp pipe"},
	{`{"pupil":{"$lt":1}}`, "harp"},
	{`{"pupil":{"$lte":null}}`, "harp"},
	{`{"pupil":{"$gte":null}}`, "bell crumhorn harp pipe"},
	{`{"pupil":{"$and":[{"$lte":"@z"},{"$ne":null}]}}`, "bell crumhorn pipe"},
	{`{"order":{"$lte":"a"}}`, "gong harp lute"},
	{`{"order":{"$gte":"a"}}`, "lute oud"},
	{`{"no":{"$mod":[4,0]}}`, "fiddle oud"},
	{`{"pupil":{"$type":"null"}}`, "harp"},
	{`{"maker\\.first":"with a dot"}`, "gong"},
	{`{"maker.first":"with a dot"}`, ""},
	{`{"dot\\.name":"a point"}`, "rebec"},
	{`{"\\$cash":"dollar"}`, "rebec"},
	{`{"in.$cash":"deep"}`, "rebec"},
	{`{"ÄÖ-\uf8ff":"beyond"}`, "rebec"},
	{`{"a[]:string":"s"}`, "rebec"},
	{`{"b[]:boolean[]":true}`, "rebec"},
	{`{"c[]:number":9}`, "rebec"},
	{`{"c[]:null":null}`, "rebec"},
	{`{"year":1499,"house":{"$in":[]}}`, ""},
	{`{"year":1499,"$or":[]}`, "harp"},
	{`{"year":1499,"$and":[]}`, "harp"},
	{`{"year":1499,"house":{"$all":[]}}`, ""},
	{`{"year":1499,"$and":[{"house":{"$all":[]}}]}`, ""},
	{`{"$or":[],"nothing":{"$in":[]}}`, ""},
	{`{"$or":[]}`, ""},
	{`{"in.hall":"New"}`, ""}, // strings are terms as they are
	{`{"year":"1499"}`, ""},
}

// numbers lists whole numbers.
func numbers(n int) string {
	all := make([]string, n)
	for i := range n {
		all[i] = strconv.Itoa(i)
	}
	return strings.Join(all, ",")
}

// What CouchDB's own tests of Mango hold where there are text indexes: the same is found
// with an index of all fields, with one of some, and without any.
func TestAsInCouchDBsTextTests(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t)
	for _, name := range []string{"none", "every", "some", "unmeasured"} {
		a.do("PUT", "/"+name, "").want(201, "")
		a.do("POST", "/"+name+"/_bulk_docs", instruments).want(201, "")
	}
	a.textIndex("every", "i", `{}`)
	a.textIndex("some", "i", `{"fields":[{"name":"keys.[]","type":"string"},{"name":"playable","type":"boolean"},{"name":"year","type":"number"},
		{"name":"in.hall","type":"string"},{"name":"maker.first","type":"string"},{"name":"maker.last","type":"string"},{"name":"maker\\.first","type":"string"},{"name":"once","type":"string"},{"name":"parts.[]","type":"string"},{"name":"box.lid","type":"string"}]}`)
	a.textIndex("unmeasured", "i", `{"index_array_lengths":false}`)
	for _, c := range asInCouchDBsTextTests {
		words := strings.Contains(c.selector, `"$text"`)
		long := len(c.selector) > 1000 || c.selector == `{"$or":[]}` // it would take too many clauses, or finds nothing
		if index, ok := a.do("POST", "/every/_explain", fmt.Sprintf(`{"selector":%s}`, c.selector)).want(200, "").json()["index"].(map[string]any); !ok || index["type"] != "text" && !long {
			t.Errorf("%s is answered by %s", c.selector, index["type"])
		}
		for _, name := range []string{"none", "every", "some", "unmeasured"} {
			if words && name == "none" {
				continue
			}
			got, _ := a.find("/"+name, fmt.Sprintf(`{"selector":%s}`, c.selector))
			ids := strings.Fields(got)
			slices.Sort(ids) // of $text the best come first
			if found := strings.Join(ids, " "); found != c.want {
				t.Errorf("%s in %s: %q, want %q", c.selector, name, found, c.want)
			}
		}
	}
}

// textIndex makes a text index and waits for it.
func (a *testAPI) textIndex(db, name, definition string) {
	a.t.Helper()
	a.do("POST", "/"+db+"/_index", fmt.Sprintf(`{"type":"text","ddoc":%q,"name":%q,"index":%s}`, name, name, definition)).
		want(200, fmt.Sprintf(`{"result":"created","id":"_design/%s","name":%q}`, name, name))
}

// TestSortsOfTextIndexes: a sort names types, or they follow from the selector.
func TestSortsOfTextIndexes(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("POST", "/db/_bulk_docs", instruments).want(201, "")
	a.textIndex("db", "i", `{}`)
	for _, c := range []struct{ request, want string }{
		{`"selector":{"year":{"$gt":0}},"sort":["year:number"],"limit":2`, "harp lute"},
		{`"selector":{"year":{"$gt":0}},"sort":[{"year":"desc"}],"limit":2`, "fiddle drum"},
		{`"selector":{"playable":true},"sort":[{"year:number":"desc"}]`, "fiddle drum gong lute harp"},
		{`"selector":{"mail":{"$gt":null}},"sort":["mail:string"],"limit":2`, "bell lute"},
		{`"selector":{"keys":{"$exists":true},"no":{"$gt":4}},"sort":["keys.[]:string"]`, "gong lute pipe harp oud"}, // by the last of them, none first
		{`"selector":{"maker":{"$exists":true}},"sort":["maker.last:string","year:number"],"limit":3`, "harp drum oud"},
		{`"selector":{"$or":[{"year":{"$gt":0}},{"mail":{"$gt":null}}]},"sort":["year"],"limit":2`, "harp lute"},
		{`"selector":{"$and":[{"year":{"$gt":0}},{"mail":{"$gt":null}},{"year":{"$lte":1600}}]},"sort":["year"]`, "harp lute crumhorn"},
		{`"selector":{"$or":[{"year":{"$gt":0}},{"maker.last":"Alder"}]},"sort":["maker.last","year"],"limit":3`, "harp drum oud"},
		{`"selector":{"$or":[{"year":{"$gt":0}},{"maker.last":"Alder"}]},"sort":["maker.last:string","year"],"limit":3`, "harp drum oud"},
		{`"selector":{"year":{"$gt":0}},"sort":["year"],"skip":7`, "drum fiddle"},
		{`"selector":{"year":{"$gt":0}},"sort":["year"],"limit":0`, ""},
	} {
		if got, _ := a.find("/db", "{"+c.request+"}"); got != c.want {
			t.Errorf("%s: %q, want %q", c.request, got, c.want)
		}
	}
	for request, holds := range map[string]string{
		`"selector":{"mail":{"$gt":null}},"sort":["mail"]`:                                              "text_sort_error",
		`"selector":{"$or":[{"year":{"$gt":0}},{"mail":{"$gt":null}},{"year":"1499"}]},"sort":["year"]`: "text_sort_error",
		`"selector":{"year":{"$gt":0}},"limit":-1`:                                                      "invalid_non_neg_integer",
		`"selector":{"year":{"$gt":0}},"skip":-1`:                                                       "invalid_non_neg_integer",
		`"selector":{"in.hall":{"$beginsWith":7}}`:                                                      "invalid_operator",
		`"selector":{"$text":"a"},"use_index":"none","allow_fallback":false`:                            "invalid_index",
	} {
		if got := a.do("POST", "/db/_find", "{"+request+"}"); got.Status != 400 || !strings.Contains(got.Body, holds) {
			t.Errorf("%s: %d %s", request, got.Status, got.Body)
		}
	}
	for limit := 1; limit < 10; limit += 3 {
		for _, sort := range []string{``, `"sort":["year"],`} {
			a.pagesOf("/db", limit, `"selector":{"year":{"$gt":0}},`+sort, 9)
		}
	}
}

// pagesOf reads an answer page by page: want documents, none of them twice.
func (a *testAPI) pagesOf(path string, limit int, request string, want int) {
	a.t.Helper()
	seen, bookmark := map[string]bool{}, ""
	for {
		got, m := a.find(path, fmt.Sprintf(`{%s"limit":%d,"bookmark":%q}`, request, limit, bookmark))
		if got == "" {
			break
		}
		for _, id := range strings.Fields(got) {
			if seen[id] {
				a.t.Errorf("%s, %d at a time: %s comes twice", request, limit, id)
			}
			seen[id] = true
		}
		if m["bookmark"] == bookmark {
			a.t.Fatalf("%s: the bookmark stays %s", request, bookmark)
		}
		bookmark = m["bookmark"].(string)
	}
	if len(seen) != want {
		a.t.Errorf("%s, %d at a time: %d documents, want %d", request, limit, len(seen), want)
	}
}

// TestDefinitionsOfTextIndexes: which documents and texts an index holds, and which are
// refused.
func TestDefinitionsOfTextIndexes(t *testing.T) {
	a := newTestAPI(t)
	make := func(name, definition string) {
		t.Helper()
		a.do("PUT", "/"+name, "").want(201, "")
		a.do("POST", "/"+name+"/_bulk_docs", instruments).want(201, "")
		a.textIndex(name, "i", definition)
	}
	explains := func(db, request, want string) {
		t.Helper()
		m := a.do("POST", "/"+db+"/_explain", request).want(200, "").json()
		if index := m["index"].(map[string]any); index["name"] != want {
			t.Errorf("%s in %s is answered by %v", request, db, index)
		}
	}
	make("mute", `{"default_field":{"enabled":false,"analyzer":"keyword"}}`)
	a.do("POST", "/mute/_find", `{"selector":{"$text":"Ramona"}}`).want(400, "")
	a.finds("/mute", `{"selector":{"year":1499}}`, "harp")
	make("whole", `{"default_field":{"enabled":true,"analyzer":"keyword"}}`)
	a.finds("/whole", `{"selector":{"$text":"Ramona"}}`, "harp")
	a.finds("/whole", `{"selector":{"$text":"Place of Lots"}}`, "oud")
	a.finds("/whole", `{"selector":{"$text":"Lots"}}`, "")

	later := `{"house":{"$gte":"M"}}`
	for db, member := range map[string]string{"filter": "partial_filter_selector", "old": "selector"} {
		make(db, `{"fields":[{"name":"house","type":"string"}],"`+member+`":`+later+`}`)
		if got := a.do("GET", "/"+db+"/_index", "").want(200, "").Body; !strings.Contains(got, `"`+member+`":`+later) {
			t.Errorf("the list of indexes: %s", got)
		}
		a.finds("/"+db, `{"selector":`+later+`,"use_index":"i"}`, "drum fiddle harp pipe")
		a.finds("/"+db, `{"selector":{"house":{"$gte":"A"}},"use_index":"i"}`, "drum fiddle harp pipe")
		a.finds("/"+db, `{"selector":{"house":{"$exists":true}},"use_index":"i"}`, "drum fiddle harp pipe")
		explains(db, `{"selector":{"house":{"$exists":true}},"use_index":"i"}`, "i")
		explains(db, `{"selector":{"house":{"$exists":true}}}`, "_all_docs")
	}
	a.do("PUT", "/old/_design/couchdb", `{"language":"query","indexes":{"theirs":{"index":{"default_analyzer":"keyword","default_field":{},"selector":`+later+`,
		"fields":[{"name":"house","type":"string"}],"index_array_lengths":true},"analyzer":{"name":"perfield","default":"keyword","fields":{"$default":"standard"}}}}}`).want(201, "")
	a.finds("/old", `{"selector":{"house":{"$exists":true}},"use_index":["couchdb","theirs"]}`, "drum fiddle harp pipe")
	a.do("PUT", "/old/_design/other", `{"language":"query","indexes":{"f":{"analyzer":"standard","index":"function(doc){index('f', doc.no);}"}}}`).want(201, "")
	a.finds("/old", `{"selector":{"year":1499}}`, "harp")

	for _, fields := range []string{`true`, `"bing"`, `2.0`, `["a","b"]`, `[{"name":"a"}]`, `[{"name":"a","type":"garbage"}]`, `[{"type":"number"}]`,
		`[{"name":"a","type":"number"},{"name":"b"}]`, `[{"name":"a","type":"number"},"b"]`, `[{"name":"","type":"number"}]`} {
		if got := a.do("POST", "/old/_index", `{"type":"text","index":{"fields":`+fields+`}}`); got.Status != 400 || !strings.Contains(got.Body, "invalid_index_fields_definition") {
			t.Errorf("%s: %d %s", fields, got.Status, got.Body)
		}
	}
}

// TestIndexAllDisabled: text indexes of all fields can be forbidden, or noted.
func TestIndexAllDisabled(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	const at, all = "/_node/_local/_config/mango/index_all_disabled", `{"type":"text","name":"all","index":{"fields":[]}}`
	a.do("PUT", at, `"true"`).want(200, "")
	a.do("POST", "/db/_index", all).want(403, `{"error":"index_all_disabled","reason":"New text indexes are forbidden to index all fields."}`)
	a.do("POST", "/db/_index", `{"type":"text","index":{}}`).want(403, "")
	a.textIndex("db", "some", `{"fields":[{"name":"year","type":"number"}]}`)
	a.do("PUT", at, `"warn"`).want(200, "")
	a.textIndex("db", "noted", `{"index_array_lengths":false}`)
	a.do("PUT", at, `"false"`).want(200, "")
	a.do("POST", "/db/_index", all).want(200, "")
}

// TestExplainOfTextIndexes: the other indexes and why they were not chosen, and what text
// indexes can help with.
func TestExplainOfTextIndexes(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("POST", "/db/_bulk_docs", instruments).want(201, "")
	a.textIndex("db", "words", `{}`)
	const all = `{"index":{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}},"analysis":{"usable":true,"reasons":[{"name":"unfavored_type"}],"ranking":1,"covering":null}}`
	explain := func(want string) {
		t.Helper()
		if got := a.do("POST", "/db/_explain", `{"selector":{"year":1499}}`).want(200, "").Body; !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	explain(`"index_candidates":[` + all + `],"selector_hints":[{"type":"json","indexable_fields":["year"],"unindexable_fields":[]},{"type":"text","indexable_fields":["year"],"unindexable_fields":[]}]`)
	a.index("db", "year", `{"fields":["year"]}`)
	a.index("db", "no", `{"fields":["no"]}`)
	explain(`"index_candidates":[{"index":{"ddoc":"_design/words","name":"words","type":"text","partitioned":false,"def":{"default_analyzer":"keyword","default_field":{},"selector":{},"fields":[],"index_array_lengths":true}},` +
		`"analysis":{"usable":true,"reasons":[{"name":"unfavored_type"}],"ranking":1,"covering":null}},` +
		`{"index":{"ddoc":"_design/no","name":"no","type":"json","partitioned":false,"def":{"fields":[{"no":"asc"}]}},"analysis":{"usable":false,"reasons":[{"name":"field_mismatch"}],"ranking":2,"covering":false}},` + all + `]`)
	m := a.do("POST", "/db/_find", `{"selector":{"$text":"Ramona"},"execution_stats":true}`).want(200, "").json()
	stats := m["execution_stats"].(map[string]any)
	for _, name := range []string{"total_docs_examined", "total_keys_examined", "results_returned"} {
		if fmt.Sprint(stats[name]) != "1" {
			t.Errorf("%s is %v", name, stats[name])
		}
	}
}

package couchapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// fill makes a database with documents {"n":1}, {"n":2} and so on.
func (a *testAPI) fill(name string, ids ...string) {
	a.t.Helper()
	target := "/" + name
	if strings.Contains(strings.Join(ids, ""), ":") {
		target += "?partitioned=true"
	}
	a.do("PUT", target, "").want(201, "")
	for len(ids) > 0 {
		n := min(len(ids), 1000)
		docs := []string{}
		for i, id := range ids[:n] {
			docs = append(docs, fmt.Sprintf(`{"_id":%q,"n":%d}`, id, i+1))
		}
		a.do("POST", "/"+name+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
		ids = ids[n:]
	}
}

// summary is a list in short: "offset/total: ids", where a row without an id is
// its key and error.
func summary(v map[string]any) string {
	var ids []string
	for _, row := range v["rows"].([]any) {
		m := row.(map[string]any)
		switch {
		case m["error"] != nil:
			ids = append(ids, fmt.Sprintf("%v?", m["key"]))
		case m["value"].(map[string]any)["deleted"] != nil:
			ids = append(ids, fmt.Sprintf("%v!", m["id"]))
		default:
			ids = append(ids, m["id"].(string))
		}
	}
	return fmt.Sprintf("%v/%v: %s", v["offset"], v["total_rows"], strings.Join(ids, " "))
}

// lists checks rows of address, body ("" is GET) and summary.
func (a *testAPI) lists(rows [][3]string) {
	a.t.Helper()
	for _, row := range rows {
		method := "GET"
		if row[1] != "" {
			method = "POST"
		}
		target := strings.NewReplacer(`"`, "%22", " ", "%20").Replace(row[0])
		if got := summary(a.do(method, target, row[1]).want(200, "").json()); got != row[2] {
			a.t.Errorf("%s %s %.100s\n got %.300s\nwant %.300s", method, row[0], row[1], got, row[2])
		}
	}
}

func TestRanges(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a", "b", "c", "x", "d", "_design/m", "Z")
	rev := a.do("GET", "/db/x", "").json()["_rev"].(string)
	a.do("DELETE", "/db/x?rev="+rev, "").want(200, "")
	const all = "/db/_all_docs?"
	a.lists([][3]string{
		{all, "", "0/6: Z _design/m a b c d"},
		{all + `startkey="b"`, "", "3/6: b c d"},
		{all + `start_key="b"&end_key="c"`, "", "3/6: b c"},
		{all + `startkey="bb"&endkey="c"&inclusive_end=false`, "", "4/6: "},
		{all + `endkey=""`, "", "0/6: "},
		{all + `startkey=""`, "", "0/6: Z _design/m a b c d"},
		{all + `descending=true`, "", "0/6: d c b a _design/m Z"},
		{all + `descending=true&startkey="c"&endkey="a"`, "", "1/6: c b a"},
		{all + `descending=true&startkey="c"&endkey="a"&inclusive_end=false`, "", "1/6: c b"},
		{all + `descending=true&startkey="x"&limit=1`, "", "0/6: d"},
		{all + `descending=true&startkey=""`, "", "6/6: "},
		{all + `descending=true&startkey=5`, "", "6/6: "},
		{all + `descending=true&endkey=5&limit=1&skip=5`, "", "5/6: Z"},
		{all + `startkey="c"&endkey="b"`, "", "4/6: "},
		{all + `key="c"`, "", "4/6: c"},
		{all + `key="x"`, "", "6/6: "},
		{all + `key=""`, "", "0/6: "},
		{all + `skip=2&limit=2`, "", "2/6: a b"},
		{all + `skip=99`, "", "6/6: "},
		{all + `skip=2&limit=2&include_docs=true`, "", "2/6: a b"},
		{all + `limit=0`, "", "0/6: "},
		{all, `{"startkey":"b","limit":1}`, "3/6: b"},
		{all + `limit=2`, `{"startkey":"b","limit":1}`, "3/6: b c"},
		{all, `{"include_docs":"true","descending":true,"limit":1}`, "0/6: d"},
		{all + `sorted=false&limit=1`, "", "<nil>/<nil>: Z"},
		{all + `keys=["c","x","none","c"]`, "", "<nil>/6: c x! none? c"},
		{all, `{"keys":["c","b","a"],"descending":true,"skip":1,"limit":1}`, "<nil>/6: b"},
		{all, `{"keys":[]}`, "<nil>/6: "},
	})
}

func TestRowsWithDocuments(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"b","_rev":"1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","w":1},
		{"_id":"b","_rev":"1-cccccccccccccccccccccccccccccccc","w":2},
		{"_id":"gone","_rev":"1-cccccccccccccccccccccccccccccccc","_deleted":true},
		{"_id":"pic","_rev":"1-cccccccccccccccccccccccccccccccc","_attachments":{"t":{"content_type":"x/y","revpos":1,"data":"cGxhaW4gYnl0ZXM="}}}]}`).want(201, "")
	b := `{"_id":"b","_rev":"1-cccccccccccccccccccccccccccccccc","w":2`
	pic := `{"id":"pic","key":"pic","value":{"rev":"1-cccccccccccccccccccccccccccccccc"},"doc":{"_id":"pic","_rev":"1-cccccccccccccccccccccccccccccccc",
		"_attachments":{"t":{"content_type":"x/y","revpos":1,"digest":"md5-M2PsPK1l2X05YWz4bf8w5A==",`
	row := `{"id":"b","key":"b","value":{"rev":"1-cccccccccccccccccccccccccccccccc"}`
	list := func(rows ...string) string {
		return `{"total_rows":3,"offset":null,"rows":[` + strings.Join(rows, ",") + `]}`
	}
	keys := `{"keys":["b","gone","pic","none"]}`
	gone := `{"id":"gone","key":"gone","value":{"rev":"1-cccccccccccccccccccccccccccccccc","deleted":true},"doc":null}`
	none := `{"key":"none","error":"not_found"}`
	for query, want := range map[string]string{
		"include_docs=true":                                 list(row+`,"doc":`+b+`}}`, gone, pic+`"length":11,"stub":true}}}}`, none),
		"include_docs=true&conflicts=true":                  list(row+`,"doc":`+b+`,"_conflicts":["1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}}`, gone, pic+`"length":11,"stub":true}}}}`, none),
		"include_docs=true&attachments=true&keys=[\"pic\"]": list(pic + `"data":"cGxhaW4gYnl0ZXM="}}}}`),
		"conflicts=true&attachments=true&keys=[\"b\"]":      list(row + `}`),
	} {
		a.do("POST", "/db/_all_docs?"+strings.ReplaceAll(query, `"`, "%22"), keys).want(200, want)
	}
	// Rows after a document with attachments go on in a page of their own.
	a.lists([][3]string{{"/db/_all_docs?include_docs=true&attachments=true&conflicts=true", "", "0/3: a b pic"},
		{"/db/_all_docs?include_docs=true&attachments=true&descending=true", "", "0/3: pic b a"}})
}

func TestLocalDocs(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "x")
	for _, id := range []string{"b", "a", "c"} {
		a.do("PUT", "/db/_local/"+id, `{"of":"`+id+`"}`).want(201, "")
	}
	a.lists([][3]string{
		{"/db/_local_docs", "", "<nil>/<nil>: _local/a _local/b _local/c"},
		{"/db/_local_docs?descending=true&limit=1&skip=1", "", "<nil>/<nil>: _local/b"},
		{`/db/_local_docs?startkey="_local/b"&update_seq=true`, "", "<nil>/<nil>: _local/b _local/c"},
		{"/db/_local_docs", `{"keys":["_local/c","x","_local/no"]}`, "<nil>/<nil>: _local/c x? _local/no?"},
		{"/db/_all_docs", `{"keys":["_local/c","x"]}`, "<nil>/1: _local/c x"},
		{"/db/_design_docs", `{"keys":["_local/c","x"]}`, "<nil>/0: _local/c? x?"},
	})
	a.do("GET", `/db/_local_docs?include_docs=true&key=%22_local/a%22`, "").want(200,
		`{"total_rows":null,"offset":null,"rows":[{"id":"_local/a","key":"_local/a","value":{"rev":"0-1"},"doc":{"_id":"_local/a","_rev":"0-1","of":"a"}}]}`)
}

func TestDesignDocs(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "A", "_design/b", "_design/a", "x", "y")
	a.lists([][3]string{
		{"/db/_design_docs", "", "0/2: _design/a _design/b"},
		{"/db/_design_docs?descending=true", "", "0/2: _design/b _design/a"}, // difference 69
		{`/db/_design_docs?startkey="_design/b"`, "", "1/2: _design/b"},
		{`/db/_design_docs?startkey="z"`, "", "2/2: "},
		{`/db/_design_docs?startkey="A"&endkey="z"`, "", "0/2: _design/a _design/b"},
		{`/db/_design_docs?endkey="A"`, "", "0/2: "},
		{`/db/_design_docs?descending=true&startkey="A"`, "", "2/2: "},
	})
}

func TestListQueries(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a", "b", "c")
	v := a.do("POST", "/db/_all_docs/queries", `{"queries":[{"limit":1,"startkey":"b"},{"keys":["none"]},{"keys":["c"],"include_docs":true}]}`).want(200, "").json()
	var got []string
	for _, l := range v["results"].([]any) {
		got = append(got, summary(l.(map[string]any)))
	}
	// One key is no different from several: difference 70.
	if diff := cmp.Diff([]string{"1/3: b", "<nil>/3: none?", "<nil>/3: c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.do("POST", "/db/_design_docs/queries", `{"queries":[]}`).want(200, `{"results":[]}`)
	a.do("POST", "/db/_all_docs/queries", `{"queries":[{"limit":1},{"limit":"x"}]}`).want(400,
		`{"error":"query_parse_error","reason":"Invalid value for integer: <<\"x\">>"}`)
	a.do("POST", "/db/_all_docs/queries", `{"queries":[5]}`).want(400, `{"error":"bad_request","reason":"Request body must be a JSON object"}`)
	a.do("GET", "/db/_all_docs/queries", "").want(405, `{"error":"method_not_allowed","reason":"Only POST allowed"}`)
}

func TestKeysThatAreNoIDs(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	a.lists([][3]string{{"/db/_all_docs", `{"keys":[5,null,["a"],{"a":1},"","a"]}`, "<nil>/1: 5? <nil>? [a]? map[a:1]? ? a"}})
}

func TestBadListParameters(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	parse := func(reason string) string {
		b, _ := json.Marshal(map[string]string{"error": "query_parse_error", "reason": reason})
		return string(b)
	}
	notJSON := func(where string) string {
		return `{"error":"bad_request","reason":"invalid UTF-8 JSON (` + where + `)"}`
	}
	for query, want := range map[string]string{
		"limit=-1":              parse(`Invalid value for positive integer: "-1"`),
		"limit=":                parse(`Invalid value for integer: []`),
		"skip=1.5":              parse(`Invalid value for integer: "1.5"`),
		"descending=yes":        parse(`Invalid boolean parameter: "yes"`),
		"inclusive_end=1":       parse(`Invalid boolean parameter: "1"`),
		"stale=x":               parse("Invalid value for `stale`."),
		"update=x":              parse("Invalid value for `update`."),
		"stable=x":              parse("Invalid value for `stable`."),
		"startkey=a":            notJSON("parameter startkey: a"),
		"key=%22%ff%22":         notJSON(`parameter key: \"�\"`),
		"keys=5":                parse("`keys` must be an array of strings."),
		"keys=[]&key=1":         parse("`keys` is incompatible with `key`, `start_key` and `end_key`"),
		"keys=[]&endkey=1":      parse("`keys` is incompatible with `key`, `start_key` and `end_key`"),
		"reduce=true":           parse("Reduce is invalid for map-only views."),
		"group=true":            parse("Invalid use of grouping on a map view."),
		"group_level=1":         parse("Invalid use of grouping on a map view."),
		"limit=x&startkey=nope": parse(`Invalid value for integer: "x"`), // the first bad one is reported
		"startkey=nope&limit=x": notJSON("parameter startkey: nope"),
	} {
		a.do("GET", "/db/_all_docs?"+query, "").want(400, want)
	}
	for body, want := range map[string]string{
		`{"limit":-1}`:      parse("Invalid value for positive integer: -1"),
		`{"limit":true}`:    parse("Invalid value for integer: true"),
		`{"descending":5}`:  parse("Invalid boolean parameter: 5"),
		`{"partition":5}`:   parse("Invalid value for `partition`."),
		`{"partition":"p"}`: parse("`partition` parameter is not supported on this db"),
		`{"keys":null}`:     `{"error":"bad_request","reason":"` + "`keys` body member must be an array." + `"}`,
		`[]`:                `{"error":"bad_request","reason":"Request body must be a JSON object"}`,
		`{`:                 notJSON("line 1, column 2, byte 2: the text ends there"),
	} {
		a.do("POST", "/db/_all_docs", body).want(400, want)
	}
	a.do("GET", "/db/_all_docs?reduce=false&group=false&group_level=0&unknown=1&update=lazy&stable=true&stale=ok", "").want(200, "")
}

// TestLongLists checks that pages join without a gap, in both directions, and
// with large documents.
func TestLongLists(t *testing.T) {
	a := newTestAPI(t)
	var ids []string
	for i := range 2*couchhttp.PageRows + 30 {
		ids = append(ids, fmt.Sprintf("d%04d", i))
	}
	a.fill("db", ids...)
	// Every fifth is deleted: a page looks at those too.
	var docs, want []string
	for i, id := range ids {
		if i%5 == 0 {
			docs = append(docs, fmt.Sprintf(`{"_id":%q,"_deleted":true,"_rev":%q}`, id, a.do("GET", "/db/"+id, "").json()["_rev"]))
		} else {
			want = append(want, id)
		}
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	var down []string
	for _, id := range want {
		down = append([]string{id}, down...)
	}
	n := len(want)
	keys, err := json.Marshal(map[string]any{"keys": want})
	must(t, err)
	a.lists([][3]string{
		{"/db/_all_docs", "", fmt.Sprintf("0/%d: %s", n, strings.Join(want, " "))},
		{"/db/_all_docs?include_docs=true", "", fmt.Sprintf("0/%d: %s", n, strings.Join(want, " "))},
		{"/db/_all_docs?descending=true&include_docs=true", "", fmt.Sprintf("0/%d: %s", n, strings.Join(down, " "))},
		{"/db/_all_docs?skip=700", "", fmt.Sprintf("700/%d: %s", n, strings.Join(want[700:], " "))},
		{"/db/_all_docs?skip=700&include_docs=true&limit=3", "", fmt.Sprintf("700/%d: %s", n, strings.Join(want[700:703], " "))},
		{"/db/_all_docs?include_docs=true", string(keys), fmt.Sprintf("<nil>/%d: %s", n, strings.Join(want, " "))},
	})
}

func TestOffsetBound(t *testing.T) {
	a := newTestAPI(t)
	var ids []string
	for i := range 1002 {
		ids = append(ids, fmt.Sprintf("d%04d", i))
	}
	a.fill("db", ids...)
	a.lists([][3]string{
		{`/db/_all_docs?startkey="d1000"`, "", "1000/1002: d1000 d1001"},
		{`/db/_all_docs?startkey="d1001"`, "", "<nil>/1002: d1001"},
		{`/db/_all_docs?descending=true&startkey="d0000"`, "", "<nil>/1002: d0000"},
	})
}

func TestCloudantLimits(t *testing.T) {
	testrun.Sequential(t)
	var ids []string
	for i := range 2001 {
		ids = append(ids, fmt.Sprintf("p:%04d", i))
	}
	rows := func(a *testAPI, target string) int {
		return len(a.do("GET", target, "").want(200, "").json()["rows"].([]any))
	}
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "limits", Value: "cloudant"})
	a.fill("db", ids...)
	tooLarge := `{"error":"query_parse_error","reason":"Limit is too large, must not exceed 2000"}`
	a.do("GET", "/db/_partition/p/_all_docs?limit=2001", "").want(400, tooLarge)
	a.do("GET", "/db/_all_docs?partition=p&limit=2001", "").want(400, tooLarge)
	for target, want := range map[string]int{
		"/db/_partition/p/_all_docs": 2000, "/db/_partition/p/_all_docs?limit=2000": 2000, "/db/_all_docs": 2001,
	} {
		if n := rows(a, target); n != want {
			t.Errorf("%s: %d rows, want %d", target, n, want)
		}
	}
	// The clock goes two seconds on at each look.
	now := time.Now()
	a.API.Now = func() time.Time { now = now.Add(2 * time.Second); return now }
	func() {
		defer func() { _ = recover() }() // the connection is cut, as the answer has begun
		w := a.do("GET", "/db/_partition/p/_all_docs", "")
		t.Errorf("the query was not ended: %d", w.Status)
	}()
	a.API.Now = func() time.Time { now = now.Add(6 * time.Second); return now }
	a.do("GET", "/db/_partition/p/_all_docs", "").want(500,
		`{"error":"timeout","reason":"The request could not be processed in a reasonable amount of time."}`)
	// Six lists of the partition were asked for, two of them too slow.
	for name, want := range map[string]string{"requests": "6", "timeouts": "2"} {
		got := a.do("GET", "/_node/_local/_stats/couchdb/httpd/partition_all_docs_"+name, "").want(200, "").json()
		if toJSON(t, got["value"]) != want {
			t.Errorf("%s: %v, want %s", name, got["value"], want)
		}
	}
	if n := rows(a, "/db/_all_docs"); n != 2001 {
		t.Errorf("a query of the whole database has %d rows", n)
	}

	b := newTestAPI(t)
	b.fill("db", ids...)
	if n := rows(b, "/db/_partition/p/_all_docs?limit=3000"); n != 2001 {
		t.Errorf("without limits: %d rows", n)
	}
}

func TestListsOfSystemDatabases(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	a.do("PUT", "/_users/_security", `{"members":{"roles":[]},"admins":{"roles":[]}}`).want(200, "")
	for _, page := range []string{"_all_docs", "_design_docs", "_local_docs", "_changes"} {
		a.do("GET", "/_users/"+page, "").want(200, "")
		if w := a.do("GET", "/_users/"+page, "", "Authorization", ""); w.Status != 401 {
			t.Errorf("%s of _users for everybody: %d", page, w.Status)
		}
	}
}

func TestListByHead(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a")
	for _, page := range []string{"_all_docs?" + url.QueryEscape("startkey") + "=%22a%22", "_changes", "_changes?feed=continuous&since=now"} {
		w := a.do("HEAD", "/db/"+page, "")
		if w.Status != 200 || w.Body != "" {
			t.Errorf("HEAD %s: %d %q", page, w.Status, w.Body)
		}
		if length := w.Header.Get("Content-Length"); length != "" {
			t.Errorf("HEAD %s: length %s, though rows were left out", page, length)
		}
	}
}

package couchapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/lists"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// viewDesign makes the body of a design document with views; a view is map and
// reduce, the latter perhaps empty.
func viewDesign(views map[string][2]string, more ...string) string {
	members := map[string]any{}
	for name, v := range views {
		one := map[string]string{"map": v[0]}
		if v[1] != "" {
			one["reduce"] = v[1]
		}
		members[name] = one
	}
	b, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return strings.Join(append([]string{`{"views":` + string(b)}, more...), ",") + "}"
}

// rows is the answer of a view in short: "key=value", a row each.
func (w answer) rows() string {
	w.t.Helper()
	if w.Status != 200 {
		w.t.Fatalf("status %d: %s", w.Status, w.Body)
	}
	var a struct {
		Rows []struct{ Key, Value json.RawMessage }
	}
	if err := json.Unmarshal([]byte(w.Body), &a); err != nil {
		w.t.Fatalf("%v: %s", err, w.Body)
	}
	var rows []string
	for _, r := range a.Rows {
		rows = append(rows, string(r.Key)+"="+string(r.Value))
	}
	return strings.Join(rows, " ")
}

// TestViewFollowsDesign: a changed view answers from the old index while the new one
// is being built, but no longer than that.
func TestViewFollowsDesign(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "view_wait", Value: "0"})
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/a", `{"n":1}`).want(201, "")
	// With autoupdate false nothing but queries builds the index.
	rev := a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit('old', doc.n); }", "_sum"}}, `"autoupdate":false`)).
		want(201, "").json()["rev"]
	if got := a.do("GET", "/db/_design/d/_view/v", "").rows(); got != "null=1" {
		t.Fatalf("the first view: %s", got)
	}
	a.do("PUT", fmt.Sprintf("/db/_design/d?rev=%v", rev), viewDesign(map[string][2]string{"v": {"function(doc){ emit('new', 10 * doc.n); }", "_count"}}, `"autoupdate":false`)).want(201, "")
	a.do("PUT", "/db/b", `{"n":2}`).want(201, "")
	w := a.do("GET", "/db/_design/d/_view/v?group=true", "")
	if got := w.rows(); got != `"old"=3` || w.Header.Get(lists.PreviousHeader) != "previous" {
		t.Errorf("while the new index is built: %s, header %q", got, w.Header.Get(lists.PreviousHeader))
	}
	a.do("GET", "/db/_design/d/_view/v?update=lazy", "").want(200, "")
	a.API.Wait()
	w = a.do("GET", "/db/_design/d/_view/v?group=true", "")
	if got := w.rows(); got != `"new"=2` || w.Header.Get(lists.PreviousHeader) != "" {
		t.Errorf("then: %s, header %q", got, w.Header.Get(lists.PreviousHeader))
	}
}

func TestViewETag(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/a", `{"n":1}`).want(201, "")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.n); }", ""}})).want(201, "")
	first := a.do("GET", "/db/_design/d/_view/v", "").want(200, "").Header.Get("Etag")
	if first == "" {
		t.Fatal("no ETag")
	}
	if w := a.do("GET", "/db/_design/d/_view/v", "", "If-None-Match", first); w.Status != 304 || w.Body != "" {
		t.Errorf("the same again: %d %s", w.Status, w.Body)
	}
	a.do("PUT", "/db/b", `{"n":2}`).want(201, "")
	w := a.do("GET", "/db/_design/d/_view/v", "", "If-None-Match", first).want(200, "")
	if next := w.Header.Get("Etag"); next == first {
		t.Error("the ETag stays though there is a row more")
	}
	if w := a.do("POST", "/db/_design/d/_view/v", "{}").want(200, ""); w.Header.Get("Etag") != "" {
		t.Error("a POST has an ETag")
	}
}

// TestHeadIsAGetWithoutItsBody shows that HEAD says of lists what GET says, the ETag and the
// refusals among it.
func TestHeadIsAGetWithoutItsBody(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/a", `{"n":1}`).want(201, "")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.n); }", "_count"}})).want(201, "")
	a.do("PUT", "/_node/_local/_config/query_server_config/query_limit", `"3"`).want(200, "")
	for _, path := range []string{"/db/_all_docs", "/db/_design_docs", "/db/_design/d/_view/v"} {
		for _, query := range []string{"", "?limit=1", "?limit=4", "?include_docs=true", "?skip=5", "?reduce=false", "?limit=x"} {
			get, head := a.do("GET", path+query, ""), a.do("HEAD", path+query, "")
			if head.Status != get.Status || head.Header.Get("Etag") != get.Header.Get("Etag") || head.Body != "" {
				t.Errorf("%s: GET %d %s, HEAD %d %s %q", path+query, get.Status, get.Header.Get("Etag"), head.Status, head.Header.Get("Etag"), head.Body)
			}
		}
	}
}

// TestViewErrorOrder: of several faults the one is reported that CouchDB looks for
// first.
func TestViewErrorOrder(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.n); }", ""}})).want(201, "")
	for target, want := range map[string]string{
		"/db/_design/none/_view/v?limit=x":                                 "missing",
		"/db/_design/d/_view/none?limit=x":                                 `Invalid value for integer: "x"`,
		"/db/_design/d/_view/none?reduce=true":                             "missing_named_view",
		"/db/_design/d/_view/v?reduce=true&group=true":                     "Reduce is invalid for map-only views.",
		"/db/_design/d/_view/v?group=true&partition=p":                     "Invalid use of grouping on a map view.",
		"/db/_design/d/_view/v?partition=p&startkey=2&endkey=1":            "`partition` parameter is not supported in this design doc",
		"/db/_design/d/_view/v?keys=[1,2]&key=1&group_level=2":             "`keys` is incompatible with `key`, `start_key` and `end_key`",
		"/db/_design/d/_view/v?group=false&group_level=1&reduce=true":      "Can't specify group=false and group_level>0 at the same time",
		"/db/_design/d/_view/v?startkey=2&endkey=1&descending=false&skip=": "Invalid value for integer: []",
	} {
		if got := a.do("GET", target, "").json()["reason"]; got != want {
			t.Errorf("%s: %v, want %s", target, got, want)
		}
	}
}

// TestLongViews reads views that have more rows than a page, and documents that
// are sent with their attachments.
func TestLongViews(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t)
	ids := make([]string, 1200)
	for i := range ids {
		ids[i] = fmt.Sprintf("d%04d", i)
	}
	a.fill("db", ids...)
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{
		"v": {"function(doc){ emit(doc.n % 7, doc.n); }", "_count"},
		"w": {"function(doc){ emit(doc.n); }", ""},
		"x": {"function(doc){ emit(doc.n, 1); }", "_sum"},
	})).want(201, "")
	for query, want := range map[string]int{
		"v?reduce=false": 1200, "v?reduce=false&descending=true": 1200, "w?skip=100": 1100, "w?descending=true&skip=1150": 50,
		"x?group=true": 1000, "x?group=true&skip=650": 350, "x?group=true&limit=700&skip=100": 700, "v?group=true": 7,
		"w?include_docs=true&limit=777": 777, "w?keys=[5,900,5000,7]": 5, "x?group=true&keys=[5,900,5000,7]": 3,
	} {
		got := len(strings.Fields(a.do("GET", "/db/_design/d/_view/"+query, "").rows()))
		if got != want {
			t.Errorf("%s: %d rows, want %d", query, got, want)
		}
	}
	a.do("PUT", "/db/att", `{"n":-1,"_attachments":{"f":{"content_type":"a/b","data":"AAEC"}}}`).want(201, "")
	a.do("PUT", "/db/_design/e", viewDesign(map[string][2]string{"v": {"function(doc){ if (doc._attachments) for (var i = 0; i < 3; i++) emit(1, i); }", ""}})).want(201, "")
	for _, query := range []string{"", "&descending=true", "&limit=2"} {
		w := a.do("GET", "/db/_design/e/_view/v?include_docs=true&attachments=true"+query, "")
		if n := strings.Count(w.Body, `"data":"AAEC"`); n != len(strings.Fields(w.rows())) || n < 2 {
			t.Errorf("%s: %d documents with data: %s", query, n, w.Body)
		}
	}
}

// TestPartitionViews: what CouchDB answers 500 or nothing for.
func TestPartitionViews(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "p:a", "p:b", "q:c", "q:d")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{
		"sum":    {"function(doc){ emit(doc.n, doc.n); }", "_sum"},
		"custom": {"function(doc){ emit([doc._id.charAt(0), doc.n], doc.n); }", "function(k, v, re){ return sum(v); }"},
	})).want(201, "")
	q := "/db/_partition/q/_design/d/_view/"
	for query, want := range map[string]string{
		"sum": "null=7", "sum?group=true&keys=[4,1,3]": "4=4 3=3", "custom": "null=7", "custom?group_level=1": `["q"]=7`,
		"sum?keys=[4]": "null=4", "custom?group=true&keys=[[\"q\",3]]": `["q",3]=3`,
	} {
		if got := a.do("GET", q+url.PathEscape(query[:strings.IndexByte(query+"?", '?')])+query[strings.IndexByte(query+"?", '?'):], "").rows(); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	a.do("PUT", "/db/_design/g", viewDesign(map[string][2]string{"sum": {"function(doc){ emit(doc.n, doc.n); }", "_sum"}}, `"options":{"partitioned":false}`)).want(201, "")
	global := "/db/_design/g/_view/sum"
	if got := a.do("GET", global, "").rows(); got != "null=10" {
		t.Errorf("a global view: %s", got)
	}
	a.do("DELETE", "/db/_partition/q", "").want(202, "") // its rows stay: nobody sweeps here
	for query, want := range map[string]string{
		"?update=false": "null=3", "": "null=3", "?group=true&descending=true": "2=2 1=1", "?reduce=false": "1=1 2=2", "?reduce=false&skip=1": "2=2",
	} {
		w := a.do("GET", global+query, "")
		if got := w.rows(); got != want {
			t.Errorf("%s without the dropped partition: %s, want %s", query, got, want)
		}
		if total, ok := w.json()["total_rows"]; ok && fmt.Sprint(total) != "2" {
			t.Errorf("%s: total_rows %v", query, total)
		}
	}
	if got := a.do("GET", q+"sum?update=false", "").rows(); got != "" {
		t.Errorf("a view of a dropped partition: %s", got)
	}
	if got := a.do("GET", q+"sum", "").rows(); got != "" {
		t.Errorf("a view of a dropped partition, updated: %s", got)
	}
}

// TestViewInfo: what _info says of an index that is not there yet, and then is.
func TestViewInfo(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a", "b")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.n); }", ""}}, `"autoupdate":false`)).want(201, "")
	pending := func() any {
		return a.do("GET", "/db/_design/d/_info", "").want(200, "").json()["view_index"].(map[string]any)["updates_pending"].(map[string]any)["total"]
	}
	if n := pending(); fmt.Sprint(n) != "2" {
		t.Errorf("%v changes are left before the first query", n)
	}
	a.do("GET", "/db/_design/d/_view/v", "").want(200, "")
	if n := pending(); fmt.Sprint(n) != "0" {
		t.Errorf("%v changes are left after it", n)
	}
}

// TestViewsOfADesignDocumentAreIndexesOfTheirOwn: a query waits for its view alone,
// and _info describes the one that is furthest behind.
func TestViewsOfADesignDocumentAreIndexesOfTheirOwn(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "a", "b")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.n); }", ""}, "w": {"function(doc){ emit(doc.n, 1); }", ""}}, `"autoupdate":false`)).want(201, "")
	for _, c := range []struct{ view, pending string }{{"v", "2"}, {"w", "0"}} {
		a.do("GET", "/db/_design/d/_view/"+c.view, "").want(200, "")
		info := a.do("GET", "/db/_design/d/_info", "").want(200, "").json()["view_index"].(map[string]any)
		if n := info["updates_pending"].(map[string]any)["total"]; fmt.Sprint(n) != c.pending {
			t.Errorf("after a query of %s %v changes are left, want %s", c.view, n, c.pending)
		}
	}
}

// asksViews asks the demo's data what people ask of views.
func (a *testAPI) asksViews() {
	t := a.t
	t.Helper()
	a.do("PUT", "/orders/_design/sales", viewDesign(map[string][2]string{"byDate": {
		`function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`, "_sum",
	}}, `"options":{"partitioned":false}`)).want(201, "")
	sales := map[string]float64{} // by year, month and day, each level
	count := 0
	for _, row := range a.do("GET", "/orders/_all_docs?include_docs=true", "").json()["rows"].([]any) {
		doc := row.(map[string]any)["doc"].(map[string]any)
		if doc["type"] != "order" {
			continue
		}
		date := strings.Split(doc["date"].(string)[:10], "-")
		total, err := doc["total"].(json.Number).Float64()
		must(t, err)
		count++
		for level := 0; level <= 3; level++ {
			var parts []string
			for _, p := range date[:level] {
				parts = append(parts, strings.TrimLeft(p, "0"))
			}
			sales["["+strings.Join(parts, ",")+"]"] += total
		}
	}
	v := "/orders/_design/sales/_view/byDate"
	for level := 0; level <= 3; level++ {
		got, want := map[string]string{}, map[string]string{}
		for _, row := range strings.Fields(a.do("GET", fmt.Sprintf("%s?group_level=%d", v, level), "").rows()) {
			key, value, _ := strings.Cut(row, "=")
			var f float64
			must(t, json.Unmarshal([]byte(value), &f))
			got[strings.Replace(key, "null", "[]", 1)] = fmt.Sprintf("%.2f", f)
		}
		for key, total := range sales {
			if strings.Count(key, ",") == level-1 && key != "[]" || level == 0 && key == "[]" {
				want[key] = fmt.Sprintf("%.2f", total)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("level %d (-want +got):\n%s", level, diff)
		}
	}
	if n := len(strings.Fields(a.do("GET", v+"?reduce=false", "").rows())); n != count {
		t.Errorf("%d rows of %d orders", n, count)
	}
	year := a.do("GET", v+"?startkey=[2017]&endkey=[2017,{}]&group_level=1", "").rows()
	if !strings.HasPrefix(year, "[2017]=") || strings.Contains(year, " ") {
		t.Errorf("a year: %s", year)
	}

	a.do("PUT", "/fitness/_design/lifts", viewDesign(map[string][2]string{"byWorkout": {
		"function(doc){ if (doc._id.indexOf('lift:') === 0) emit([doc.workoutId, doc.createdAt]); }", ""}})).want(201, "")
	first := a.do("GET", "/fitness/_all_docs?startkey=\"workout\"&limit=1", "").json()["rows"].([]any)[0].(map[string]any)["id"]
	want := 0
	for _, row := range a.do("GET", "/fitness/_all_docs?include_docs=true", "").json()["rows"].([]any) {
		if row.(map[string]any)["doc"].(map[string]any)["workoutId"] == first {
			want++
		}
	}
	lifts := a.do("GET", "/fitness/_design/lifts/_view/byWorkout?include_docs=true&startkey=["+quoted(first)+"]&endkey=["+quoted(first)+",{}]", "").json()
	if got := len(lifts["rows"].([]any)); got != want || want < 2 {
		t.Errorf("%d lifts of %d", got, want)
	}

	a.do("PUT", "/readings/_design/devices", viewDesign(map[string][2]string{"bridge": {
		"function(doc){ emit(doc.deviceID, doc.infrastructureID); }", ""}}, `"options":{"partitioned":false}`)).want(201, "")
	if got := a.do("GET", `/readings/_design/devices/_view/bridge?keys=["device-123456"]&limit=1`, "").rows(); got != `"device-123456"="bridge-9876"` {
		t.Errorf("the bridge of a device: %s", got)
	}
}

func quoted(v any) string { return url.QueryEscape(string(couchhttp.AppendString(nil, v.(string)))) }

// TestViewsSeeWrites: a query that begins after a write was answered sees it,
// beside other writers and the background.
func TestViewsSeeWrites(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.who, 1); }", "_sum"}})).want(201, "")
	done := make(chan string, 4)
	for who := range 4 {
		go func() {
			for i := range 25 {
				w := a.do("PUT", fmt.Sprintf("/db/%d-%d", who, i), fmt.Sprintf(`{"who":%d}`, who))
				if w.Status != 201 {
					done <- w.Body
					return
				}
				w = a.do("GET", fmt.Sprintf("/db/_design/d/_view/v?key=%d", who), "")
				if want := fmt.Sprintf(`"value":%d}`, i+1); !strings.Contains(w.Body, want) {
					done <- fmt.Sprintf("after %d writes of %d: %s", i+1, who, w.Body)
					return
				}
			}
			done <- ""
		}()
	}
	for range 4 {
		if failed := <-done; failed != "" {
			t.Error(failed)
		}
	}
	if got := a.do("GET", "/db/_design/d/_view/v", "").rows(); got != "null=100" {
		t.Errorf("in the end: %s", got)
	}
}

// TestDeployUnderLoad: a view changes again and again while it is queried. Every
// query is answered, by one definition or the other, and whole.
func TestDeployUnderLoad(t *testing.T) {
	a := newTestAPI(t)
	ids := make([]string, 700)
	for i := range ids {
		ids[i] = fmt.Sprintf("d%04d", i)
	}
	a.fill("db", ids...)
	versions := []string{"function(doc){ emit('a', 1); }", "function(doc){ emit('b', 1); }", "function(doc){ emit('c', 1); }"}
	put := func(i int, rev any) any {
		return a.do("PUT", fmt.Sprintf("/db/_design/d?rev=%v", rev), viewDesign(map[string][2]string{"v": {versions[i%3], "_sum"}})).want(201, "").json()["rev"]
	}
	rev := a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {versions[0], "_sum"}})).want(201, "").json()["rev"]
	stop, done := make(chan struct{}), make(chan string, 2)
	for _, query := range []string{"?group=true", "?reduce=false"} {
		go func() {
			for {
				select {
				case <-stop:
					done <- ""
					return
				default:
				}
				w := a.do("GET", "/db/_design/d/_view/v"+query, "")
				whole := false
				for _, key := range []string{"a", "b", "c"} {
					whole = whole || strings.Contains(w.Body, `{"key":"`+key+`","value":700}`) || strings.Count(w.Body, `,"key":"`+key+`","value":1}`) == 700
				}
				if w.Status != 200 || !whole {
					done <- fmt.Sprintf("%s: %d %.200s", query, w.Status, w.Body)
					return
				}
			}
		}()
	}
	for i := range 20 {
		rev = put(i+1, rev)
		a.do("GET", "/db/_design/d/_view/v?limit=1", "").want(200, "")
	}
	close(stop)
	for range 2 {
		if failed := <-done; failed != "" {
			t.Error(failed)
		}
	}
}

// TestInfoTellsOfSkippedDocuments has a map function that throws for one
// document of three.
func TestInfoTellsOfSkippedDocuments(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a","n":{"x":1}},{"_id":"b"},{"_id":"c","n":{"x":2}}]}`).want(201, "")
	a.do("PUT", "/db/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(doc.n.x, null) }", ""}})).want(201, "")
	if rows := a.do("GET", "/db/_design/d/_view/v", "").want(200, "").json()["rows"].([]any); len(rows) != 2 {
		t.Errorf("the view has the rows %v", rows)
	}
	info := a.do("GET", "/db/_design/d/_info", "").want(200, "").json()["view_index"].(map[string]any)
	if fmt.Sprint(info["skipped"]) != "1" {
		t.Errorf("skipped is %v, want 1", info["skipped"])
	}
}

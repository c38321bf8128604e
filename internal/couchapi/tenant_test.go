package couchapi_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/testrun"
	"github.com/sectional/sectional/internal/web"
)

// TestWhoWritesTenantDesigns writes a design document of a partition in every way
// that a document's name can be given, under each setting and by each caller: who
// may not is refused for that document alone.
func TestWhoWritesTenantDesigns(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	ways := []asked{
		{"", `PUT /fit/alice:_design%2Fx {}`, 201, ""},
		{"", `PUT /fit/_partition/alice/alice:_design%2Fx {}`, 201, ""},
		{"", `PUT /fit/alice:_design%2Fx?new_edits=false {"_rev":"1-a"}`, 201, ""},
		{"", `POST /fit {"_id":"alice:_design/x"}`, 201, ""},
		{"", `POST /fit/_bulk_docs {"docs":[{"_id":"alice:_design/x"},{"_id":"alice:3"}]}`, 201, `^\[{"id":"alice:_design/x","error":"(forbidden|unauthorized)",[^}]*},{"ok":true`},
		{"", `COPY /fit/alice:1 alice:_design/x`, 201, ""},
		{"", `PUT /fit/alice:_design%2Fx/a hello`, 201, ""},
		{"", `PUT /fit/bob:_design%2Fx {}`, 201, ""},
	}
	const off, noAdmin = "Design documents of partitions are switched off: `\\[sectional\\] owner_design_docs = none`", "You are not a db or server admin."
	for _, c := range []struct{ setting, who, refusal string }{
		{"none", "", off}, {"none", "boss", off}, {"none", "ann", off}, {"mistyped", "", off},
		{"admins", "", ""}, {"admins", "boss", ""}, {"admins", "ann", noAdmin},
		{"members", "", ""}, {"members", "boss", ""}, {"members", "ann", ""},
		{"views", "", ""}, {"views", "boss", ""}, {"views", "ann", ""},
	} {
		_, err := a.Config.Set(config.Setting{Section: "sectional", Key: "owner_design_docs", Value: c.setting}, false)
		must(t, err)
		for _, q := range ways {
			bulk := q.want
			q.who, q.want = c.who, `"ok":true`
			if c.refusal != "" {
				q.status, q.want = 403, c.refusal
				if bulk != "" {
					q.status, q.want = 201, bulk
				}
			}
			a.ask([]asked{q})
			for _, id := range []string{"alice:3", "alice:_design%2Fx", "bob:_design%2Fx"} {
				if got := a.do("GET", "/fit/"+id, ""); got.Status == 200 {
					if c.refusal != "" && id != "alice:3" {
						t.Errorf("%v: %s stored %s", c, q.request, id)
					}
					a.do("DELETE", "/fit/"+id+"?rev="+got.json()["_rev"].(string), "").want(200, "")
				}
			}
		}
	}
}

// TestTenantDesignsAreChecked holds design documents of partitions against the same
// rules as those of an ordinary database.
func TestTenantDesignsAreChecked(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"},
		config.Setting{Section: "sectional", Key: "limits", Value: "cloudant"})
	a.fitnessDB()
	a.do("PUT", "/plain", "").want(201, "")
	a.ask([]asked{
		{"ann", `PUT /fit/alice:_design%2Fx {"views":5}`, 400, "`views` field must have object type"},
		{"ann", `PUT /fit/alice:_design%2Fx {"views":{"v":{}}}`, 400, "must contain map function"},
		{"ann", `PUT /fit/alice:_design%2Fx {"views":{"v":{"map":"function("}}}`, 400, `"compilation_error"`},
		{"ann", `PUT /fit/alice:_design%2Fx {"options":{"partitioned":true}}`, 400, "non-partitioned database"},
		// Cloudant's limits are for partitioned design documents.
		{"ann", `PUT /fit/alice:_design%2Fx {"validate_doc_update":"function(n){ if (n.bad) throw {forbidden: n._id} }"}`, 201, `"rev":"(?P<rev>[^"]*)"`},
		{"ann", `PUT /fit/alice:bad {"bad":true}`, 403, `"reason":"bad"`},
		{"ann", `PUT /fit/bob:bad {"bad":true}`, 201, ``},
		// What was stored before the setting was switched off goes on working, and
		// administrators can delete it.
		{"", `PUT /_node/_local/_config/sectional/owner_design_docs "some"`, 400, "`owner_design_docs` is one of: none, admins, views, members."},
		{"", `PUT /_node/_local/_config/sectional/owner_design_docs "none"`, 200, ``},
		{"ann", `PUT /fit/alice:bad {"bad":true}`, 403, `"reason":"bad"`},
		{"ann", `DELETE /fit/alice:_design%2Fx?rev=«rev»`, 403, `not a db or server admin`},
		{"boss", `DELETE /fit/alice:_design%2Fx?rev=«rev»`, 200, ``},
		{"ann", `PUT /fit/alice:bad {"bad":true}`, 201, ``},
		// In an ordinary database such a name means nothing.
		{"", `PUT /plain/bob:_design%2Fx {"views":5}`, 201, ``},
	})
}

// tenantsDesign is a design document whose functions tell all that they see.
const tenantsDesign = `{"st_indexes":{"p":{"index":"function(doc){ st_index({type: 'Point', coordinates: [1, 2], at: [doc._id, doc.link]}) }"}},"views":{"v":{"map":"function(doc){ emit(doc._id, doc); emit('link', {_id: doc.link}); }","reduce":"_count"}},
	"filters":{"f":"function(doc, req){ return doc._id.indexOf('alice:') < 0 && JSON.stringify(req.secObj) == '{}'; }"},
	"shows":{"s":"function(doc, req){ return JSON.stringify([doc, req]); }"},
	"lists":{"l":"function(head, req){ send(JSON.stringify([head, req])); var r; while (r = getRow()) send(JSON.stringify(r)); }"},
	"updates":{"u":"function(doc, req){ return [{_id: doc ? doc._id : req.uuid, _rev: doc ? doc._rev : undefined, link: 'bob:secret'}, JSON.stringify([doc, req])]; }"},
	"rewrites":[{"from":"/all","to":"../../_all_docs","query":{"include_docs":"true"}}],
	"validate_doc_update":"function(n, o, u, s){ if (n.show) throw {forbidden: JSON.stringify([n, o, u, s])}; }"}`

// tenantRequests ask a tenant's endpoint everything that it answers: method, path, body,
// and headers after "|".
var tenantRequests = []string{
	`GET `, `PUT `, `POST  {"a":1}`, `GET /_session`, `POST /_session {"name":"ann","password":"pw"}`, `DELETE /_session`, `GET /_security`,
	`POST /_compact {}`, `POST /_view_cleanup {}`, `POST /_ensure_full_commit {}`,
	`PUT /_design/d ` + tenantsDesign, `GET /_design/d`, `GET /_design%2Fd`, `POST /_design/d x`, `PATCH /_design/d {"x":1}`, `COPY /_design/d |Destination: _design/e`,
	`PUT /_design/e/att?rev=«_design/e» x`, `GET /_design/e/att`, `DELETE /_design/e/att?rev=«_design/e»`, `DELETE /_design/e?rev=«_design/e»`,
	`PUT /a {"link":"bob:secret"}`, `PUT /b {"link":"a","_attachments":{"t":{"data":"eHg="}}}`, `PUT /b {"n":1}`, `PUT /c {"show":true}`, `PUT /a?rev=«a» {"show":true}`,
	`PUT /_x {}`, `PUT /alice:z {}`, `GET /alice:1`, `GET /bob:secret`, `GET /nobody`, `GET /1`, `GET /b?attachments=true&revs=true&revs_info=true&local_seq=true&conflicts=true`,
	`GET /b?open_revs=all`, `GET /b?attachments=true |Accept: multipart/related`, `GET /b?open_revs=all&attachments=true |Accept: multipart/mixed`,
	`PUT /b?rev=«b» {"_attachments":{"none":{"stub":true}}}`,
	`PATCH /a {"n":2}`, `COPY /b |Destination: copy`, `COPY /bob:secret |Destination: copy2`, `PUT /copy/t2?rev=«copy» yy`, `GET /copy/t2`, `DELETE /copy/t2?rev=«copy»`, `DELETE /copy?rev=«copy»`, `POST /b x`,
	`PUT /_local/l {"x":1}`, `GET /_local/l`, `COPY /_local/l |Destination: _local/m`, `POST /_local/l x`, `DELETE /_local/l?rev=0-1`, `GET /_local`, `GET /_local/l/att`,
	`POST /_bulk_docs {"docs":[{"_id":"d"},{"_id":"_design/bad","views":1},{"_id":"e","show":true},{}]}`, `POST /_bulk_docs {"docs":[{"_id":"_local/n"},{"_id":"a"}],"atomic":false}`,
	`POST /_bulk_docs {"docs":[{"_id":"a"},{"_id":"f"}],"atomic":true}`, `POST /_bulk_docs {"new_edits":false,"docs":[{"_id":"d","_rev":"1-a"},{"_id":"d","_rev":"1-b","show":true}]}`,
	`POST /_bulk_get {"docs":[{"id":"a"},{"id":"bob:secret"},{"id":"1","rev":"9-z"}]}`, `POST /_bulk_get?attachments=true {"docs":[{"id":"b"}]} |Accept: multipart/mixed`,
	`POST /_revs_diff {"a":["9-z"],"bob:secret":["1-a"]}`, `POST /_missing_revs {"a":["9-z"]}`,
	`GET /_all_docs?include_docs=true&conflicts=true&update_seq=true`, `POST /_all_docs {"keys":["a","alice:1","bob:secret","_design/v"]}`, `POST /_all_docs/queries {"queries":[{"startkey":"a"},{"descending":true}]}`,
	`GET /_all_docs?startkey=%22alice:%22&partition=%22bob%22`, `GET /_all_docs?partition=bob`,
	`GET /_design_docs?include_docs=true`, `POST /_design_docs {"keys":["_design/v","_design/d"]}`, `POST /_design_docs/queries {"queries":[{}]}`,
	`GET /_local_docs?include_docs=true`, `POST /_local_docs {}`, `POST /_local_docs/queries {"queries":[{}]}`,
	`GET /_changes?include_docs=true&style=all_docs&conflicts=true&attachments=true`, `POST /_changes?filter=_doc_ids {"doc_ids":["a","bob:secret"]}`, `POST /_changes?filter=_selector {"selector":{"_id":{"$gt":"a"}}}`,
	`GET /_changes?filter=_design&include_docs=true`, `GET /_changes?filter=d/f&include_docs=true`, `GET /_changes?filter=_view&view=d/v`, `GET /_changes?feed=longpoll`, `GET /_changes?feed=continuous&timeout=1`, `GET /_changes?feed=eventsource&timeout=1`,
	`GET /_changes?descending=true&limit=3`, `GET /_changes?filter=v/f`,
	`POST /_index {"index":{"fields":["link"]},"ddoc":"m","name":"m"}`, `GET /_index`, `POST /_explain {"selector":{"link":{"$gt":null}},"execution_stats":true}`, `POST /_explain {"selector":{"_id":"a"}}`,
	`POST /_find {"selector":{"link":{"$gt":null}},"limit":1,"execution_stats":true}`, `POST /_find {"selector":{"_id":{"$gte":"a"}},"sort":["_id"],"fields":["_id","n"]}`, `POST /_find {"selector":{"secret":{"$exists":true}}}`,
	`POST /_find {"selector":{},"count":true}`, `POST /_find {"selector":{"n":{"$gt":0}},"use_index":"v"}`, `POST /_find?partition=bob {"selector":{}}`,
	`POST /_index/_bulk_delete {"docids":["_design/m","_design/v"]}`, `DELETE /_index/_design/m/json/m`, `DELETE /_index/m/json/m`, `DELETE /_index/x`,
	`GET /_design/d/_info`, `GET /_design/d/_view/v?reduce=false&include_docs=true&update_seq=true`, `POST /_design/d/_view/v {"keys":["a","alice:1"],"reduce":false}`, `GET /_design/d/_view/v?reduce=true&group=true`,
	`GET /_design/d/_view/v?reduce=false&startkey=%22a%22&startkey_docid=a&limit=2&skip=1&descending=true`,
	`POST /_design/d/_view/v/queries {"queries":[{"reduce":false},{"reduce":true}]}`, `GET /_design/d/_view`, `GET /_design/d/_view/v/w`, `GET /_design/v/_view/v`, `GET /_design/d/_view/none`,
	`GET /_design/d/_show/s/a?x=1`, `GET /_design/d/_show`, `GET /_design/d/_list/l/v?reduce=false&include_docs=true`, `GET /_design/d/_list`, `GET /_design/d/_list/l/_all_docs?include_docs=true`, `OPTIONS /_design/d/_list/l/v/_all_docs`, `POST /_design/d/_update/u/a {}`, `POST /_design/d/_update/u {}`, `POST /_design/d/_update`,
	`GET /_design/d/_rewrite/all`, `GET /_design/d/_rewrite`, `GET /_design/d/_geo/g`, `GET /_design/d/_geo_info/g`, `GET /_design/d/_nouveau/g`, `GET /_design/d/_nouveau_info/g`, `GET /_design/d/_search/g`, `GET /_design/d/_search_info/g`, `GET /_design/d/_search_disk_size/g`,
	`GET /_design/v/_search/i?q=*:*&include_docs=true`, `POST /_design/v/_search/i {"q":"default:*","counts":["default"],"group_field":"default","sort":"default<string>"}`, `GET /_design/v/_search/i?q=hush*`,
	`GET /_design/v/_geo/p?bbox=0,0,9,9&include_docs=true`, `GET /_design/v/_geo/p?lat=2&lon=1&nearest=true&format=geojson`, `POST /_design/v/_geo/p {"bbox":"0,0,9,9","limit":1}`, `GET /_design/v/_geo/p?bbox=0,0,9,9&partition=bob`, `GET /_design/v/_geo_info/p`,
	`GET /_design/f/_geo/p?bbox=0,0,9,9&include_docs=true`, `GET /_design/f/_geo_info/p`, `GET /_design/d/_geo/p?bbox=0,0,9,9&include_docs=true`, `GET /_design/d/_geo_info/p`,
	`GET /_design/v/_search_info/i`, `GET /_design/v/_search_disk_size/i`,
	`POST /_temp_view {}`, `GET /_purge`, `GET /_revs_limit`, `GET /_shards`, `GET /_partition/bob`, `GET /_partitions`, `DELETE /d?rev=9-z`, `DELETE `,
}

// TestTenantSeesNobodyElse fills two partitions and asks one tenant's endpoint everything:
// no byte of an answer has the name of a document as it is stored, or anything of
// another tenant, of the database's design documents, or of who may see what.
func TestTenantSeesNobodyElse(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"})
	a.fitnessDB()
	a.do("PUT", "/fit/_design/v", `{"_rev":"`+a.do("GET", "/fit/_design/v", "").json()["_rev"].(string)+`","views":{"v":{"map":"function(doc){ var dbsecret; emit(doc.n) }"}},"filters":{"f":"dbsecret"},"indexes":{"i":{"index":"function(doc){ var dbsecret; index('default', String(doc.link), {store: true, facet: true}) }"}},"st_indexes":{"p":{"index":"function(doc){ var dbsecret; st_index({type: 'Point', coordinates: [1, 2], at: doc.link}) }"}}}`).want(201, "")
	a.do("PUT", "/fit/_design/f", `{"language":"query","st_indexes":{"p":{"index":{"fields":["at"]}}}}`).want(201, "")
	a.do("PUT", "/fit/bob:hidden", `{"link":"hushhush","n":1,"at":{"type":"Point","coordinates":[1,2],"link":"hushhush"}}`).want(201, "")
	a.do("PUT", "/fit/bob:_design%2Fd", `{"views":{"v":{"map":"function(doc){ emit('hushhush') }"}}}`).want(201, "")
	a.do("PUT", "/fit/alice:1?rev="+a.do("GET", "/fit/alice:1", "").json()["_rev"].(string), `{"link":"bob:hidden"}`).want(201, "")
	root, hit := couchhttp.NewTable(couchapi.AllRoutes(), couchhttp.Classes{}), map[*couchhttp.Route]bool{}
	secrets := []string{"alice:1", "alice:2", "alice:a", "alice:b", "alice:_", "alice:n", "hushhush", "dbsecret", "boss", `"partition":"a`, `"partitioned":true`}
	for _, q := range tenantRequests {
		q, header, _ := strings.Cut(q, " |")
		q = regexp.MustCompile(`«(.*?)»`).ReplaceAllStringFunc(q, func(id string) string {
			rev, _ := a.do("GET", "/fit/_owner/alice/"+strings.Trim(id, "«»"), "").json()["_rev"].(string)
			return rev
		})
		method, rest, _ := strings.Cut(q, " ")
		below, body, _ := strings.Cut(rest, " ")
		h := []string{"Authorization", basic("ann", "pw"), "Accept", "application/json"}
		if name, value, ok := strings.Cut(header, ": "); ok {
			h = append(h, name, value)
		}
		target := "/fit/_owner/alice" + below
		path, _, _ := strings.Cut(target, "?")
		p := splitPath(path)
		var args [web.MaxArgs]string
		if n := root.Find(&p, &args); n != nil {
			row, _ := n.Row(method)
			hit[row] = true
		}
		w := a.do(method, target, body, h...)
		if w.Status >= 500 && w.Status != 501 {
			t.Errorf("%s: %d %s", q, w.Status, w.Body)
		}
		text := fmt.Sprint(w.Header) + w.Body
		for _, m := range regexp.MustCompile(`"bookmark":"([^"]*)"`).FindAllStringSubmatch(w.Body, -1) {
			b, err := base64.RawURLEncoding.DecodeString(m[1])
			if err == nil {
				text += string(b)
			}
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) && !strings.Contains(q, secret) {
				t.Errorf("%s tells %s: %s", q, secret, text)
			}
		}
	}
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		if row.At == couchhttp.AtTenant && !slices.ContainsFunc(slices.Collect(maps.Keys(hit)), func(h *couchhttp.Route) bool { return h != nil && h.Pattern == row.Pattern && h.Methods == row.Methods }) {
			t.Errorf("nothing asks %s %s", row.Methods, row.Pattern)
		}
	}
}

// TestTenantsViews has the queries bring a tenant's views up to date, whatever they
// ask for, and holds them apart from those of another tenant.
func TestTenantsViews(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"})
	a.fitnessDB()
	const alice, bob = " /fit/_owner/alice", " /fit/_owner/bob"
	const view = `/_design/d/_view/v`
	a.ask([]asked{
		{"ann", "PUT" + alice + `/_design/d {"views":{"v":{"map":"function(doc){ emit(doc._id.split(':')[0], doc.n) }"}}}`, 201, ""},
		{"ann", "PUT" + alice + `/workout:1 {"n":1}`, 201, ""},
		{"ann", "GET" + alice + view, 200, `"total_rows":3,.*{"id":"1","key":"1","value":1},.*{"id":"workout:1","key":"workout","value":1}`},
		{"ann", "GET" + bob + view, 404, `"missing"`},
		{"ann", "GET /fit" + view, 404, `"missing"`},
		{"ann", "PUT" + bob + `/_design/d {"views":{"v":{"map":"function(doc){ emit(doc._id) }"}}}`, 201, ""},
		{"ann", "GET" + bob + view, 200, `"total_rows":1,.*{"id":"secret","key":"secret"`},
		{"ann", "GET" + alice + view + `?key="workout"&include_docs=true`, 200, `"doc":{"_id":"workout:1",`},
		{"ann", "GET" + alice + `/_design/d/_info`, 200, `"updates_pending":{"minimum":0`},
		{"ann", "PUT" + alice + `/workout:2 {"n":2}`, 201, `"rev":"(?P<r2>[^"]*)"`},
		{"ann", "GET" + alice + `/_design/d/_info`, 200, `"updates_pending":{"minimum":1`},
		{"ann", "GET" + alice + view + `?update=false`, 200, `"total_rows":3`},
		{"ann", "GET" + alice + view + `?startkey="workout"`, 200, `"total_rows":4`},
		{"ann", "DELETE" + alice + `/workout:2?rev=«r2»`, 200, ""},
		{"ann", "GET" + alice + view, 200, `"total_rows":3`},
		// A Mango index of the tenant's.
		{"ann", "POST" + alice + `/_index {"index":{"fields":["n"]},"ddoc":"m","name":"byN"}`, 200, `"result":"created","id":"_design/m"`},
		{"ann", "POST" + alice + `/_find {"selector":{"n":{"$gt":0}},"sort":["n"]}`, 200, `{"_id":"1".*{"_id":"workout:1".*{"_id":"2"`},
		{"ann", "POST" + alice + `/_explain {"selector":{"n":{"$gt":0}}}`, 200, `"dbname":"fit/_owner/alice",.*"ddoc":"_design/m","name":"byN"`},
		{"ann", "POST" + bob + `/_find {"selector":{"n":{"$gt":0}},"sort":["n"]}`, 400, `no_usable_index`},
		{"ann", "GET /fit/_index", 200, `"total_rows":1,`},
		{"ann", "GET /fit/alice:_design%2Fm", 200, `"language":"query"`},
		{"ann", "DELETE" + alice + `/_index/m/json/byN`, 200, ""},
		{"ann", "GET" + alice + `/_design/m`, 404, "deleted"},
		// What the service sees of all.
		{"", `POST /fit/_find {"selector":{"n":1}}`, 200, `"_id":"alice:workout:1"`},
		// It all goes with the partition.
		{"boss", "DELETE" + alice, 202, ""},
		{"ann", "GET" + alice + view, 404, ""},
	})
}

// TestQueriesFindNoTenantsDesigns asks every endpoint for documents that a tenant's
// design document matches too: none shows it, with an index or without, and lists
// go on showing it where it is a document.
func TestQueriesFindNoTenantsDesigns(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"})
	a.fitnessDB()
	const alice, partition = "/fit/_owner/alice", "/fit/_partition/alice"
	a.do("PUT", alice+"/_design/d", `{"n":1,"views":{"v":{"map":"function(doc){ emit(doc._id) }"}}}`).want(201, "")
	a.do("PUT", "/fit/alice:3", `{"n":1}`).want(201, "")
	questions := func() {
		t.Helper()
		a.ask([]asked{
			{"", "POST /fit/_find" + ` {"selector":{"n":1},"fields":["_id"]}`, 200, `^{"docs":\[\n{"_id":"alice:1"},\n{"_id":"alice:3"}\n\]`},
			{"", "POST /fit/_find" + ` {"selector":{"n":1},"count":true}`, 200, `"count":2`},
			{"", "POST /fit/_find" + ` {"selector":{"n":1},"group":{"by":["n"],"compute":{"all":{"$count":true}}}}`, 200, `"all":2`},
			{"", "POST /fit/_find" + ` {"selector":{"_id":"alice:_design/d"}}`, 200, `^{"docs":\[\n\]`},
			{"", "POST /fit/_find" + ` {"selector":{"_id":{"$gt":"alice:3"}},"fields":["_id"]}`, 200, `^{"docs":\[\n{"_id":"bob:secret"}\n\]`},
			{"ann", "POST " + partition + `/_find {"selector":{"n":1},"fields":["_id"]}`, 200, `^{"docs":\[\n{"_id":"alice:1"},\n{"_id":"alice:3"}\n\]`},
			{"ann", "POST " + partition + `/_find {"selector":{"n":1},"count":true}`, 200, `"count":2`},
			{"ann", "POST " + partition + `/_find {"selector":{"_id":{"$in":["alice:1","alice:_design/d"]}},"fields":["_id"]}`, 200, `^{"docs":\[\n{"_id":"alice:1"}\n\]`},
			{"ann", "POST " + alice + `/_find {"selector":{"n":1},"fields":["_id"]}`, 200, `^{"docs":\[\n{"_id":"1"},\n{"_id":"3"}\n\]`},
			{"ann", "POST " + alice + `/_find {"selector":{"n":1},"count":true}`, 200, `"count":2`},
			{"ann", "POST " + alice + `/_find {"selector":{"_id":"_design/d"}}`, 200, `^{"docs":\[\n\]`},
			{"", "GET /fit/_all_docs", 200, `"alice:_design/d"`},
			{"ann", "GET " + partition + "/_all_docs", 200, `"alice:_design/d"`},
			{"ann", "GET " + alice + "/_design_docs", 200, `"_design/d"`},
		})
	}
	questions()
	for _, endpoint := range []string{"/fit", alice} {
		a.do("POST", endpoint+"/_index", `{"index":{"fields":["n"]},"ddoc":"m"}`).want(200, "")
	}
	questions()
	a.ask([]asked{ // the stats tell what was read of documents
		{"", "POST /fit/_find" + ` {"selector":{"_id":{"$gte":"alice:3","$lte":"alice:~"}},"execution_stats":true}`, 200, `"total_keys_examined":1,"total_docs_examined":1,`},
	})
}

// TestTenantsDefineViewsByDefault writes design documents of a partition where no
// setting says anything: everybody who may write there may define views and indexes,
// and who wants more is told which setting allows it, for that document alone.
func TestTenantsDefineViewsByDefault(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	a.do("PUT", "/fit/_security", `{"admins":{"names":["boss"]},"partitions":[{"who":{"names":["ann"]},"partition":"alice","access":"write"},{"who":{"names":["vic"]},"partition":"alice","access":"read"}]}`).want(200, "")
	a.users("vic")
	const alice = " /fit/_owner/alice"
	refused := func(name string) string {
		return `"error":"forbidden","reason":"[^"]*` + "`" + name + "`: `\\[sectional\\] owner_design_docs = views`[^\"]*`members`"
	}
	a.ask([]asked{
		{"ann", "PUT" + alice + `/_design/lifts {"views":{"lifts":{"map":"function(doc){ emit(doc.n) }","reduce":"function(k, v, again){ return again ? sum(v) : v.length }"}},"filters":{},"rewrites":[]}`, 201, `"rev":"(?P<rev>[^"]*)"`},
		{"ann", "GET" + alice + `/_design/lifts/_view/lifts?reduce=false`, 200, `"total_rows":2`},
		{"vic", "GET" + alice + `/_design/lifts/_view/lifts`, 200, `"value":2`},
		{"vic", "PUT" + alice + `/_design/mine {}`, 403, `not allowed to write to this partition`},
		{"", "PUT" + alice + `/_design/anonymous {}`, 201, ``}, // the administrator
		{"-", "PUT" + alice + `/_design/mine {}`, 401, ``},
		{"ann", "POST" + alice + `/_index {"index":{"fields":["n"]},"ddoc":"m"}`, 200, `"created"`},
		{"ann", "PUT" + alice + `/_design/f {"filters":{"f":"function(){}"}}`, 403, refused("filters")},
		{"ann", "PUT" + alice + `/_design/f {"validate_doc_update":"function(){}"}`, 403, refused("validate_doc_update")},
		{"ann", "PUT" + alice + `/_design/f?new_edits=false {"_rev":"1-a","validate_doc_update":"function(){}"}`, 403, refused("validate_doc_update")},
		{"ann", "PUT" + alice + `/_design/f {"updates":{"f":"function(){}"}}`, 403, refused("updates")},
		{"ann", "PUT" + alice + `/_design/f {"shows":{"f":"function(){}"}}`, 403, refused("shows")},
		{"ann", "PUT" + alice + `/_design/f {"lists":{"f":"function(){}"}}`, 403, refused("lists")},
		{"ann", "PUT" + alice + `/_design/f {"rewrites":"function(){}"}`, 403, refused("rewrites")},
		{"ann", "PUT" + alice + `/_design/lifts {"_rev":"«rev»","shows":{"s":"function(){}"}}`, 403, refused("shows")},
		{"ann", "POST" + alice + `/_bulk_docs {"new_edits":false,"docs":[{"_id":"_design/f","_rev":"1-a","shows":{"s":"function(){}"}},{"_id":"_design/g","_rev":"1-a","views":{"v":{"map":"function(doc){}"}}},{"_id":"9","_rev":"1-a"}]}`, 201,
			`^\[{"id":"_design/f",("rev":"1-a",)?"error":"forbidden"[^}]*}\]`},
		{"ann", "GET" + alice + `/9`, 200, ``},
		{"ann", "GET" + alice + `/_design/g/_view/v`, 200, `"total_rows":0`},
		// What an administrator put there is his to take away.
		{"boss", "PUT" + alice + `/_design/h {"validate_doc_update":"function(n){ if (n.bad) throw {forbidden: 'bad'} }"}`, 201, `"rev":"(?P<h>[^"]*)"`},
		{"ann", "PUT" + alice + `/x {"bad":true}`, 403, `"bad"`},
		{"ann", "PUT" + alice + `/_design/h {"_rev":"«h»","views":{}}`, 403, refused("validate_doc_update")},
		{"ann", "DELETE" + alice + `/_design/h?rev=«h»`, 403, refused("validate_doc_update")},
		{"ann", "PUT" + alice + `/_design/h/att?rev=«h» x`, 403, refused("validate_doc_update")},
		{"boss", "DELETE" + alice + `/_design/h?rev=«h»`, 200, ``},
		{"ann", "DELETE" + alice + `/_design/lifts?rev=«rev»`, 200, ``},
	})
}

// TestTenantsDesignsAreBounded writes more design documents of a partition than it
// may have, one by one, in one request and as a replication does.
func TestTenantsDesignsAreBounded(t *testing.T) {
	set := func(key, value string) config.Setting {
		return config.Setting{Section: "sectional", Key: key, Value: value}
	}
	a := newTestAPI(t, set("owner_max_design_docs", "3"), set("owner_max_indexes", "4"), set("owner_max_design_size", "300"))
	a.fitnessDB()
	const alice = " /fit/_owner/alice"
	const view = `"views":{"v":{"map":"function(doc){ emit(1) }"},"lib":{"x":"exports.a = 1"}}`
	const two = `"views":{"v":{"map":"function(doc){ emit(1) }"}},"indexes":{"w":{"index":"function(doc){ index('a', 'b') }"}}`
	docs := func(n int, rest string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"_id":"_design/n%d"%s}`, i, rest))
		}
		return strings.Join(all, ",")
	}
	const tooMany, tooManyIndexes = "can have 3 design documents: `\\[sectional\\] owner_max_design_docs`", "can have 4 views and indexes in all: `\\[sectional\\] owner_max_indexes`"
	a.ask([]asked{
		{"ann", "PUT" + alice + `/_design/a {"x":"` + strings.Repeat("x", 300) + `"}`, 403, "can have 300 bytes: `\\[sectional\\] owner_max_design_size`"},
		{"ann", "POST" + alice + `/_bulk_docs {"docs":[` + docs(5, `,`+view) + `]}`, 201, `^(\[|,)({"ok":true,[^}]*},){3}({"id":"_design/n\d","error":"forbidden","reason":"[^}]*` + tooMany + `."},?){2}\]`},
		{"ann", "GET" + alice + `/_design_docs`, 200, `"total_rows":3`},
		{"ann", "POST" + alice + `/_bulk_docs {"new_edits":false,"docs":[{"_id":"_design/z","_rev":"1-a"},{"_id":"z","_rev":"1-a"}]}`, 201, `^\[{"id":"_design/z",[^}]*` + tooMany},
		{"ann", "POST" + alice + `/_bulk_docs {"atomic":true,"docs":[{"_id":"_design/z"},{"_id":"y"}]}`, 409, tooMany},
		{"ann", "GET" + alice + `/y`, 404, ``},
		{"ann", "POST" + alice + `/_index {"index":{"fields":["n"]}}`, 403, tooMany},
		{"ann", "GET" + alice + `/_design/n0`, 200, `"_rev":"(?P<r0>[^"]*)"`},
		{"ann", "GET" + alice + `/_design/n1`, 200, `"_rev":"(?P<r1>[^"]*)"`},
		{"ann", "GET" + alice + `/_design/n2`, 200, `"_rev":"(?P<r2>[^"]*)"`},
		{"ann", "PUT" + alice + `/_design/n0 {"_rev":"«r0»",` + two + `}`, 201, `"rev":"(?P<r0>[^"]*)"`},
		{"ann", "PUT" + alice + `/_design/n1 {"_rev":"«r1»",` + two + `}`, 403, tooManyIndexes},
		// A refused atomic batch leaves room as it was, and so does the deletion of one.
		{"ann", "POST" + alice + `/_bulk_docs {"atomic":true,"docs":[{"_id":"_design/n2","_rev":"«r2»","_deleted":true},{"_id":"_design/z"},{"_id":"1"}]}`, 409, ``},
		{"ann", "PUT" + alice + `/_design/z {}`, 403, tooMany},
		{"ann", "POST" + alice + `/_bulk_docs {"docs":[{"_id":"_design/n2","_rev":"«r2»","_deleted":true},{"_id":"_design/z"},{"_id":"_design/zz"}]}`, 201, `_design/z","rev.*_design/zz","error":"forbidden"`},
		{"ann", "PUT" + alice + `/_design/n1 {"_rev":"«r1»",` + two + `}`, 201, ``},
		// Another tenant has room of his own, and the database none of these limits.
		{"ann", "PUT /fit/_owner/bob/_design/z {}", 201, ``},
		{"", "POST /fit/_bulk_docs {\"docs\":[" + docs(9, "") + "]}", 201, `^\[({"ok":true,[^}]*},?){9}\]`},
	})
	// Ids that were used are kept, and have a bound too.
	for i := range 40 {
		w := a.do("PUT", fmt.Sprint("/fit/_owner/alice/_design/once", i, "?new_edits=false"), `{"_rev":"1-a","_deleted":true}`, "Authorization", basic("ann", "pw"))
		if want := map[bool]int{true: 200, false: 403}[i < 26]; w.Status != want {
			t.Fatalf("deletion %d: %d %s", i, w.Status, w.Body)
		}
	}
}

// TestTenantsViewsAreBounded has maps of a tenant emit more than his documents are
// worth, ask for what others write, and never end: those rows, or that view, are not
// there, and everything else is.
func TestTenantsViewsAreBounded(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "1000"})
	a.fitnessDB()
	const alice = " /fit/_owner/alice"
	design := func(name, fn string) asked {
		return asked{"ann", "PUT" + alice + "/_design/" + name + ` {"options":{"local_seq":true},"views":{"v":{"map":"` + fn + `"}}}`, 201, ``}
	}
	view := func(name, want string) asked {
		return asked{"ann", "GET" + alice + "/_design/" + name + "/_view/v", 200, want}
	}
	var more []string
	for i := range 10 {
		more = append(more, fmt.Sprintf(`{"_id":"m%d","big":"%s"}`, i, strings.Repeat("x", 30_000)))
	}
	a.ask([]asked{
		design("many", "function(doc){ for (var i = 0; i < (doc._id == '1' ? 5000 : 2); i++) emit(i, doc._id) }"), view("many", `"total_rows":2,`),
		design("large", "function(doc){ emit(doc._id); if (doc._id == '2') emit('x'.repeat(1 << 20)) }"), view("large", `"total_rows":1,`),
		design("endless", "function(doc){ emit(doc._id); while (doc._id == '2') emit('xxxxxxxxxxxxxxxx') }"), view("endless", `"total_rows":1,`),
		design("seq", "function(doc){ emit(doc._local_seq === undefined) }"), view("seq", `"key":true,.*"key":true,`),
		design("copies", "function(doc){ if (doc.big) { emit(doc._id, doc); emit(doc._id, doc) } }"),
		{"ann", "POST" + alice + "/_bulk_docs {\"docs\":[" + strings.Join(more, ",") + "]}", 201, ``},
		view("copies", `"total_rows":20,`),
		design("hangs", "function(doc){ if (doc.big) for (;;); }"),
		{"ann", "GET" + alice + "/_design/hangs/_view/v", 500, `"view_failed","reason":"The function had to be stopped`},
		{"ann", "GET" + alice + "/_design/many/_view/v?key=1", 200, `"rows":\[\r\n{"id":"2".*"m9"`},
		{"", `POST /fit/_find {"selector":{"n":1}}`, 200, `"_id":"alice:1"`},
	})
}

// TestTenantsQueryTheDatabasesViews asks a tenant's endpoint for the database's
// partitioned views and Mango indexes: their rows of the one partition, under the
// tenant's ids. The tenant's own design documents come first, those of the database stay
// unseen, and its global views are not there.
func TestTenantsQueryTheDatabasesViews(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	a.users("vic")
	a.do("PUT", "/fit/_security", `{"admins":{"names":["boss"]},"partitions":[{"who":{"names":["ann"]},"partition":"alice","access":"write"},{"who":{"names":["vic"]},"partition":"alice","access":"read"}]}`).want(200, "")
	a.do("PUT", "/fit/_design/all", `{"options":{"partitioned":false},"views":{"v":{"map":"function(doc){ emit(doc.n) }"}}}`).want(201, "")
	a.do("PUT", "/fit/_design/d", `{"views":{"byN":{"map":"function(doc){ emit(doc.n, doc.to ? {_id: doc.to} : null) }","reduce":"_count"},"byID":{"map":"function(doc){ emit(doc._id) }"}},"lists":{"l":"function(){ return 'list' }"},"secret":"dbsecret"}`).want(201, "")
	a.do("POST", "/fit/_bulk_docs", `{"docs":[{"_id":"alice:x","n":7,"to":"alice:2"},{"_id":"alice:y","n":7,"to":"bob:secret"},{"_id":"alice:z","n":8,"to":"2"},{"_id":"bob:other","n":7},{"_id":"alice:w","n":9,"to":"_design/d"}]}`).want(201, "")
	const alice, view = " /fit/_owner/alice", `/_design/d/_view/byN`
	row := func(id, key string) string { return `{"id":"` + id + `","key":` + key + `,` }
	a.ask([]asked{
		{"ann", "GET" + alice + view + `?reduce=false&startkey=7`, 200, `"total_rows":6,"offset":\d,"rows":\[\r\n` + row("x", "7") + `[^\n]*\n` + row("y", "7") + `[^\n]*\n` + row("z", "8") + `[^\n]*\n` + row("w", "9") + `[^\n]*\n\]`},
		{"vic", "GET" + alice + view, 200, `^{"rows":\[\r\n{"key":null,"value":6}`},
		{"vic", "POST" + alice + view + `/queries {"queries":[{"key":7},{"reduce":false,"limit":1,"skip":2}]}`, 200, `"value":2}.*` + row("x", "7")},
		{"vic", "GET" + alice + view + `?reduce=false&key=7&startkey_docid=y`, 200, `"rows":\[\r\n` + row("y", "7") + `[^\n]*\n\]`},
		{"vic", "GET" + alice + view + `?reduce=false&key=7&descending=true&startkey_docid=x`, 200, `"rows":\[\r\n` + row("x", "7") + `[^\n]*\n\]`},
		{"vic", "GET" + alice + view + `?reduce=false&startkey=7&include_docs=true`, 200, row("x", "7") + `[^\n]*"doc":{"_id":"2",[^\n]*\n` + row("y", "7") + `[^\n]*"doc":null},\r\n` + row("z", "8") + `[^\n]*"doc":null},\r\n` + row("w", "9") + `[^\n]*"doc":null}`},
		{"vic", "GET" + alice + view + `?partition="alice"`, 400, "`partition` parameter is not supported"},
		{"vic", "GET" + alice + `/_design/d/_view/none`, 404, `"missing_named_view"`},
		{"vic", "GET" + alice + `/_design/all/_view/v`, 404, `"missing"`},
		{"vic", "GET" + alice + `/_design/d`, 404, `"missing"`},
		{"vic", "GET" + alice + `/_design/d/_list/l/byN`, 404, `"missing"`},
		{"vic", "GET" + alice + `/_design_docs`, 200, `"total_rows":0`},
		{"-", "GET" + alice + view, 401, ``},
		{"vic", "GET /fit/_owner/bob" + view, 403, ``},

		// Mango indexes.
		{"boss", `POST /fit/_index {"index":{"fields":["n"]},"ddoc":"m","name":"byN"}`, 200, ``},
		{"boss", `POST /fit/_index {"index":{"fields":["n","_id"]},"ddoc":"mid","name":"byID"}`, 200, ``},
		{"boss", `POST /fit/_index {"index":{"fields":["to"]},"ddoc":"global","partitioned":false}`, 200, ``},
		{"vic", "GET" + alice + `/_index`, 200, `"total_rows":1,`},
		{"vic", "POST" + alice + `/_explain {"selector":{"n":{"$gt":6}}}`, 200, `"dbname":"fit/_owner/alice","index":{"ddoc":"_design/m","name":"byN"`},
		{"vic", "POST" + alice + `/_explain {"selector":{"to":{"$gt":""}}}`, 200, `"index":{"ddoc":null,"name":"_all_docs"`},
		{"vic", "POST" + alice + `/_find {"selector":{"n":{"$gt":6}},"sort":["n"],"use_index":"m","limit":2,"execution_stats":true}`, 200, `^{"docs":\[\n{"_id":"x",[^\n]*\n{"_id":"y",[^\n]*\n\],\n"bookmark":"(?P<b>[^"]*)",.*"total_keys_examined":2`},
		{"vic", "POST" + alice + `/_find {"selector":{"n":{"$gt":6}},"sort":["n"],"use_index":"m","limit":2,"bookmark":"«b»"}`, 200, `^{"docs":\[\n{"_id":"z",[^\n]*\n{"_id":"w",`},
		{"vic", "POST" + alice + `/_find {"selector":{"n":{"$gt":6}},"sort":[{"n":"desc"}],"fields":["_id","n"]}`, 200, `^{"docs":\[\n{"_id":"w","n":9},\n{"_id":"z","n":8},\n{"_id":"y","n":7},\n{"_id":"x","n":7}\n\]`},
		{"vic", "POST" + alice + `/_find {"selector":{"n":7},"count":true}`, 200, `"count":2`},
		{"vic", "POST" + alice + `/_find {"selector":{"n":7,"_id":{"$gt":"x"}},"fields":["_id"]}`, 200, `^{"docs":\[\n{"_id":"y"}\n\]`},

		// The tenant's own come first, also when they have no such view, until they are gone.
		{"ann", "PUT" + alice + `/_design/d {"views":{"other":{"map":"function(doc){ emit('mine') }"}}}`, 201, `"rev":"(?P<d>[^"]*)"`},
		{"ann", "GET" + alice + `/_design/d/_view/other`, 200, `"key":"mine"`},
		{"ann", "GET" + alice + view, 404, `"missing_named_view"`},
		{"ann", "GET" + alice + `/_design/d`, 200, `'mine'`},
		{"ann", "DELETE" + alice + `/_design/d?rev=«d»`, 200, ``},
		{"ann", "GET" + alice + view, 200, `"value":6`},
		{"ann", "PUT" + alice + `/_design/m {"views":{"other":{"map":"function(doc){ emit('mine') }"}}}`, 201, ``},
		{"ann", "POST" + alice + `/_explain {"selector":{"n":{"$gt":6}}}`, 200, `"index":{"ddoc":null,"name":"_all_docs"`},
		{"boss", "DELETE /fit/_partition/alice", 202, ``},
		{"vic", "GET" + alice + view, 200, `"value":0|"rows":\[\r\n\]`},
	})
}

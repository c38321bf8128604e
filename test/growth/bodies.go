package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// list returns n texts, with commas between them.
func list(n int, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, ",")
}

// many is list of one form, in which # is the number.
func many(form string) func(n int) string {
	return func(n int) string {
		return list(n, func(i int) string { return strings.ReplaceAll(form, "#", strconv.Itoa(i)) })
	}
}

// within is many within another text, at …
func within(text, form string) func(n int) string {
	before, after, _ := strings.Cut(text, "…")
	return func(n int) string { return before + many(form)(n) + after }
}

// deep is a value within n/8 arrays, beside n numbers.
func deep(n int) string {
	return strings.Repeat("[", n/8) + many("#")(n) + strings.Repeat("]", n/8)
}

// shapes are values of any size that may stand anywhere.
var shapes = map[string]func(n int) string{
	"names":   within(`["x…"]`, `#","x`),
	"members": within(`{…}`, `"x#":#`),
	"deep":    deep,
	"text":    func(n int) string { return `"` + strings.Repeat("x", 8*n) + `"` },
}

// sample is a body that an operation takes, of any size, with what stands behind its path.
type sample struct {
	query  string
	kind   string // of its content; "" is JSON
	leaves bool   // the database has a document with many
	body   func(n int) string
}

var (
	plainDocument = sample{body: within(`{…}`, `"x#":{"y":#}`)}
	keyList       = []sample{{body: within(`{"keys":[…]}`, `"d#"`)}, {body: within(`{"keys":[…]}`, `"d"`), query: "?include_docs=true&conflicts=true"}}
	keyQueries    = []sample{{body: within(`{"queries":[…]}`, `{"keys":["d"]}`)}}
	attachment    = []sample{{kind: "text/plain", body: func(n int) string { return strings.Repeat("text ", n) }}}
	function      = []sample{{kind: "text/plain", body: func(n int) string { return strings.Repeat("text ", n) }}, {kind: "application/x-www-form-urlencoded", body: func(n int) string { return strings.ReplaceAll(many("x#=#")(n), ",", "&") }}}
	revisionLists = []sample{{body: within(`{"d":[…]}`, `"1-a#"`)}, {body: within(`{…}`, `"d#":["1-a"]`)}, {leaves: true, body: within(`{"many":[…]}`, `"1-#"`)}}
	rules         = []sample{
		{body: within(`{"members":{"names":["u…"]}}`, `#","u`)}, {body: within(`{"cloudant":{…}}`, `"u#":["_reader"]`)},
		{body: within(`{"partitions":[…]}`, `{"who":{"roles":["r#"]},"partition":"p#","access":"read"}`)},
	}
	selectors = []string{`{"$or":[…]}`, `{"$and":[…]}`, `{"a":{"$in":[…]}}`, `{"a":{"$all":[…]}}`, `{"$nor":[…]}`}
	mangos    = slices.Concat(mango(`{"selector":`, `}`), []sample{
		{body: within(`{"selector":{},"fields":["f…"]}`, `#","f`)}, {body: within(`{"selector":{},"sort":["f…"]}`, `#","f`)}, {body: within(`{"selector":{…}}`, `"x#":#`)},
		{body: within(`{"selector":{"a":{"$regex":"…"}}}`, `x#|`)}, {body: within(`{"selector":{"x":{"$or":[…]}}}`, `{"y#":{"$gt":#}}`)},
		{body: func(n int) string {
			n /= 40
			return `{"selector":` + strings.Repeat(`{"$not":`, n) + `{"a":1}` + strings.Repeat("}", n) + "}"
		}},
		{body: within(`{"selector":{},"bookmark":"g…"}`, `AAAA`)},
	})
	lucene = []sample{
		{body: func(n int) string {
			return `{"q":"` + strings.ReplaceAll(many("a:x#")(min(n, 1<<20)), ",", " OR ") + `"}`
		}},
		{body: func(n int) string {
			return `{"q":"` + strings.Repeat("(", n/8) + "a:x" + strings.Repeat(")", n/8) + `"}`
		}},
		{body: func(n int) string { return `{"q":"a:x","sort":[` + many(`"f#<number>"`)(n) + `]}` }},
		{body: func(n int) string { return `{"q":"a:\"` + strings.Repeat("word ", n) + `\""}` }},
		{body: func(n int) string { return `{"q":"a:x","bookmark":"` + strings.Repeat("AAAA", n) + `"}` }},
		{body: func(n int) string { return `{"q":"a:/` + strings.Repeat("x?", n) + `/"}` }},
		{body: func(n int) string { return `{"q":"a:` + strings.Repeat("*x?", n) + `"}` }},
	}
	words    = []sample{{body: func(n int) string { return `{"analyzer":"standard","text":"` + strings.Repeat("word # ", n) + `"}` }}}
	follower = mango(`{"url":"https://example.com/","secret":"0123456789abcdef","selector":`, `}`)
	form     = []sample{{kind: "multipart/form-data; boundary=B", body: func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "--B\r\nContent-Disposition: form-data; name=\"x%d\"\r\n\r\nvalue\r\n", i)
		}
		return b.String() + "--B--\r\n"
	}}}
)

// mango are bodies with selectors in them.
func mango(before, after string) (all []sample) {
	for _, s := range selectors {
		form := `{"x#":#}`
		if strings.Contains(s, `"a"`) {
			form = `"x#"`
		}
		all = append(all, sample{body: within(before+s+after, form)})
	}
	return all
}

// related is a document with n attachments in parts of their own.
func related(n int) string {
	n /= 8
	b := "--B\r\nContent-Type: application/json\r\n\r\n{\"_attachments\":{" + many(`"a#":{"follows":true,"length":4,"content_type":"text/plain"}`)(n) + "}}\r\n"
	for range n {
		b += "--B\r\n\r\ntext\r\n"
	}
	return b + "--B--"
}

// relatedHeaders is a document in a part with n headers.
func relatedHeaders(n int) string {
	return "--B\r\nContent-Type: application/json\r\n" + strings.ReplaceAll(many("X-#: #\r\n")(n/8), ",", "") + "\r\n{}\r\n--B--"
}

// samples are the bodies of each operation: of every one that docs/openapi.json has with a body, but for those of a
// partition and of a tenant, which are the same.
var samples = map[string][]sample{
	"POST /_access_keys/{user}":                      {{body: within(`{"tables":["t…"]}`, `#","t`)}},
	"PUT /_api/v2/db/{db}/_security":                 rules,
	"PUT /_api/v2/user/config/cors":                  {{body: within(`{"enable_cors":false,"origins":[…]}`, `"https://h#.example.com"`)}},
	"POST /_cluster_setup":                           {{body: within(`{"action":"finish_cluster",…}`, `"x#":#`)}},
	"POST /_dbs_info":                                {{body: within(`{"keys":[…]}`, `"g#"`)}},
	"PUT /_node/{node}/_config/{section}/{key}":      {{body: shapes["text"]}},
	"POST /_nouveau_analyze":                         words,
	"POST /_search_analyze":                          words,
	"POST /_replicate":                               slices.Concat(mango(`{"source":"none","target":"nowhere","selector":`, `}`), []sample{{body: within(`{"source":"none","target":"nowhere","doc_ids":[…]}`, `"d#"`)}}),
	"POST /_session":                                 {{body: within(`{"name":"a","password":"b",…}`, `"x#":#`)}, {kind: "application/x-www-form-urlencoded", body: func(n int) string { return strings.ReplaceAll(many("x#=#")(n), ",", "&") }}},
	"POST /{db}":                                     {plainDocument},
	"POST /{db}/_all_docs":                           keyList,
	"POST /{db}/_all_docs/queries":                   keyQueries,
	"POST /{db}/_design_docs":                        keyList,
	"POST /{db}/_design_docs/queries":                keyQueries,
	"POST /{db}/_local_docs":                         keyList,
	"POST /{db}/_local_docs/queries":                 keyQueries,
	"PUT /{db}/_auto_purge":                          {{body: within(`{"deleted_document_ttl":1000000,…}`, `"x#":#`)}},
	"POST /{db}/_bulk_docs":                          {{body: within(`{"docs":[…]}`, `{"x":#}`)}, {body: within(`{"docs":[…]}`, `{"_id":"same«try»","x":#}`)}, {body: within(`{"new_edits":false,"docs":[…]}`, `{"_id":"leaves«try»","_rev":"1-#"}`)}},
	"POST /{db}/_bulk_get":                           {{body: within(`{"docs":[…]}`, `{"id":"d#"}`)}, {body: within(`{"docs":[…]}`, `{"id":"d","atts_since":["1-#"]}`)}, {leaves: true, query: "?latest=true&revs=true", body: within(`{"docs":[…]}`, `{"id":"many","rev":"1-#"}`)}, {leaves: true, body: within(`{"docs":[…]}`, `{"id":"many"}`)}},
	"POST /{db}/_changes":                            slices.Concat([]sample{{query: "?filter=_doc_ids", body: within(`{"doc_ids":[…]}`, `"d#"`)}, {body: within(`{"fields":["f…"]}`, `#","f`)}}, filtered(mango(`{"selector":`, `}`))),
	"POST /{db}/_design/{ddoc}/_geo/{index}":         {{body: func(n int) string { return `{"g":"MULTIPOINT(` + many("1.# 2.#")(n) + `)"}` }}},
	"POST /{db}/_design/{ddoc}/_list":                function,
	"POST /{db}/_design/{ddoc}/_list/{path}":         function,
	"POST /{db}/_design/{ddoc}/_nouveau/{index}":     lucene,
	"POST /{db}/_design/{ddoc}/_search/{index}":      lucene,
	"POST /{db}/_design/{ddoc}/_rewrite":             function,
	"PUT /{db}/_design/{ddoc}/_rewrite":              function,
	"POST /{db}/_design/{ddoc}/_rewrite/{path}":      function,
	"PUT /{db}/_design/{ddoc}/_rewrite/{path}":       function,
	"POST /{db}/_design/{ddoc}/_show":                function,
	"PUT /{db}/_design/{ddoc}/_show":                 function,
	"POST /{db}/_design/{ddoc}/_show/{path}":         function,
	"PUT /{db}/_design/{ddoc}/_show/{path}":          function,
	"POST /{db}/_design/{ddoc}/_update":              function,
	"PUT /{db}/_design/{ddoc}/_update":               function,
	"POST /{db}/_design/{ddoc}/_update/{path}":       function,
	"PUT /{db}/_design/{ddoc}/_update/{path}":        function,
	"POST /{db}/_design/{ddoc}/_view/{view}":         keyList,
	"POST /{db}/_design/{ddoc}/_view/{view}/queries": keyQueries,
	"PATCH /{db}/_design/{id}":                       patches,
	"PATCH /{db}/{id}":                               patches,
	"POST /{db}/_design/{id}":                        form,
	"POST /{db}/_local/{id}":                         form,
	"POST /{db}/{id}":                                form,
	"PUT /{db}/_local/{id}":                          {plainDocument},
	"PUT /{db}/_design/{id}": {{body: func(n int) string {
		return within(`{"views":{…}}`, `"v#":{"map":"function (doc) { emit(doc.x, #); }"}`)(n / 20)
	}}, {body: func(n int) string {
		return within(`{"indexes":{…}}`, `"i#":{"index":"function (doc) { index('a', doc.x); }"}`)(n / 20)
	}}, {body: within(`{"validate_doc_update":"function () { var a = […]; }"}`, `#`)}, {body: func(n int) string {
		return `{"views":{"v":{"map":"function (doc) { emit(` + strings.Repeat("(", n/8) + "1" + strings.Repeat(")", n/8) + `); }"}}}`
	}}, {body: within(`{"rewrites":[…]}`, `{"from":"a#/:b","to":"c#/:b"}`)}, {body: within(`{"language":"query","views":{"v":{"map":{"fields":{…}},"reduce":"_count","options":{"def":{"fields":["f0"]}}}}}`, `"f#":"asc"`)}},
	"PUT /{db}/_design/{id}/{attachment}":     attachment,
	"PUT /{db}/{id}/{attachment}":             attachment,
	"PUT /{db}/_expiry":                       {{body: within(`{"field":"f",…}`, `"x#":#`)}},
	"POST /{db}/_explain":                     mangos,
	"POST /{db}/_find":                        mangos,
	"POST /{db}/_index":                       slices.Concat(mango(`{"ddoc":"other","index":{"fields":["a"],"partial_filter_selector":`, `}}`), []sample{{body: within(`{"ddoc":"i","index":{"fields":["f…"]}}`, `#","f`)}, {body: within(`{"type":"text","ddoc":"t","index":{"fields":[…]}}`, `{"name":"f#","type":"string"}`)}}),
	"POST /{db}/_index/_bulk_delete":          {{body: within(`{"docids":["_design/x…"]}`, `#","_design/x`)}},
	"POST /{db}/_missing_revs":                revisionLists,
	"POST /{db}/_revs_diff":                   revisionLists,
	"POST /{db}/_purge":                       revisionLists,
	"PUT /{db}/_purged_infos_limit":           {{body: shapes["names"]}},
	"PUT /{db}/_revs_limit":                   {{body: shapes["names"]}},
	"PUT /{db}/_security":                     rules,
	"POST /{db}/_snapshot":                    {{kind: "application/x-ndjson", body: func(n int) string { return strings.Repeat("{}\n", n) }}},
	"POST /{db}/_subscriptions":               follower,
	"PUT /{db}/_subscriptions/{subscription}": follower,
	"PUT /{db}/{id}": {plainDocument, {kind: `multipart/related; boundary="B"`, body: relatedHeaders}, {kind: `multipart/related; boundary="B"`, body: func(n int) string { return strings.Repeat("--B \r\n", n) + relatedHeaders(1) }}, {body: within(`{"_attachments":{…}}`, `"a#":{"data":"YWFh"}`)}, {query: "?new_edits=false", body: func(n int) string {
		return `{"_rev":"` + strconv.Itoa(n) + `-x0","_revisions":{"start":` + strconv.Itoa(n) + `,"ids":["x` + many(`#","x`)(n-1) + `"]}}`
	}}, {kind: `multipart/related; boundary="B"`, body: related}, {body: deep2}},
}

// patches are changes of a document that there is.
var patches = []sample{
	{kind: "application/merge-patch+json", body: within(`{…}`, `"x#":{"y":#}`)},
	{kind: "application/json-patch+json", body: within(`[…]`, `{"op":"add","path":"/x#","value":#}`)},
	{kind: "application/json-patch+json", body: within(`[{"op":"add","path":"/l","value":[]},…]`, `{"op":"add","path":"/l/0","value":#}`)},
}

// deep2 is a document with objects within each other.
func deep2(n int) string { return `{"x":` + deep(n) + `}` }

// filtered are samples of a feed that a selector filters.
func filtered(all []sample) []sample {
	for i := range all {
		all[i].query = "?filter=_selector"
	}
	return all
}

// operation is what the description says of one.
type operation struct {
	RequestBody *struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Properties map[string]json.RawMessage
}

// bodies returns the inputs of all operations that take bodies: their samples, and each of the members that their schemas
// name in every shape. What is in the table alone, or in the description alone, is told.
func bodies(c *client) (all []input, failures []string, err error) {
	text, err := os.ReadFile(root() + "/docs/openapi.json")
	if err != nil {
		return nil, nil, err
	}
	var described struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(text, &described); err != nil {
		return nil, nil, err
	}
	left := maps.Clone(samples)
	for _, path := range slices.Sorted(maps.Keys(described.Paths)) {
		if strings.Contains(path, "/_partition/") || strings.Contains(path, "/_owner/") {
			continue
		}
		for _, method := range []string{"PUT", "POST", "PATCH", "DELETE"} {
			var o operation
			if raw := described.Paths[path][strings.ToLower(method)]; raw == nil || json.Unmarshal(raw, &o) != nil || o.RequestBody == nil {
				continue
			}
			name := method + " " + path
			if samples[name] == nil {
				failures = append(failures, name+" takes a body, and the table has none")
				continue
			}
			delete(left, name)
			var members []string
			for _, content := range o.RequestBody.Content {
				s := content.Schema
				if s.Ref != "" {
					s = described.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
				}
				members = slices.AppendSeq(members, maps.Keys(s.Properties))
			}
			slices.Sort(members)
			inputs, err := inputsOf(c, method, path, members)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, inputs...)
		}
	}
	for name := range left {
		failures = append(failures, name+" is in the table, and there is no such operation with a body")
	}
	return all, failures, nil
}

// design has a function of each kind.
const design = `{"views":{"view":{"map":"function (doc) { emit(doc._id, 1); }"}},"indexes":{"index":{"index":"function (doc) { index('a', doc._id); }"}},
	"nouveau":{"index":{"default_analyzer":"standard","index":"function (doc) { index('string', 'a', doc._id); }"}},"st_indexes":{"index":{"index":"function (doc) { st_index(doc.geometry); }"}},
	"shows":{"path":"function (doc, req) { return 'x'; }"},"updates":{"path":"function (doc, req) { return [null, 'x']; }"},"lists":{"path":"function (head, req) { return 'x'; }"},"rewrites":[{"from":"*","to":"../../d"}]}`

// inputsOf returns the inputs of an operation, in a database of its own.
func inputsOf(c *client, method, path string, members []string) (all []input, err error) {
	db := "g" + strconv.Itoa(c.sent)
	at := strings.NewReplacer("{db}", db, "{id}", "new«n»", "{ddoc}", "x", "{view}", "view", "{index}", "index", "{path}", "path", "{user}", "admin", "{node}", "_local", "{section}", "growth", "{key}", "key",
		"{attachment}", "a«n»", "{subscription}", "s«n»").Replace(path)
	leaves := many(`{"_id":"many","_rev":"1-#"}`)(300)
	setup := []request{{method: "PUT", path: "/" + db + "/d", body: `{}`}}
	if strings.Contains(path, "{ddoc}") {
		setup = append(setup, request{method: "PUT", path: "/" + db + "/_design/x", body: design})
	}
	if method == "PATCH" {
		at = strings.ReplaceAll(at, "new«n»", "patched")
		setup = append(setup, request{method: "PUT", path: at, body: `{}`})
	}
	name := method + " " + path
	for i, s := range samples[name] {
		if s.leaves {
			setup = append(setup, request{method: "POST", path: "/" + db + "/_bulk_docs", body: `{"new_edits":false,"docs":[` + leaves + `]}`})
		}
		r := request{method: method, path: at + s.query}
		if s.kind != "" {
			r.header = []string{"Content-Type", s.kind}
		}
		all = append(all, input{fmt.Sprint(name, s.query, " ", i), 1000, func(n int) request { r.body = s.body(n); return r }})
	}
	for _, shape := range c.shapes {
		of := shapes[shape]
		all = append(all, input{name + " " + shape, 1000, func(n int) request { return request{method: method, path: at, body: of(n)} }})
		for _, m := range members {
			all = append(all, input{name + " " + m + " " + shape, 1000, func(n int) request {
				return request{method: method, path: at, body: `{"` + m + `":` + of(n) + `}`}
			}})
		}
	}
	return all, c.prepare(db, setup)
}

// root is the repository's directory: a test runs in its own.
func root() string {
	if _, err := os.Stat("docs/openapi.json"); err == nil {
		return "."
	}
	return "../.."
}

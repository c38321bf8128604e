package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// secret is what must not be in a log. It is sent wherever clients send something.
const secret = "S3cret"

// proving has what a request may prove by who asks, beside a password and a session, and more.
func proving(more http.Header) http.Header {
	for _, name := range []string{"Proxy-Authorization", "X-Auth-Couchdb-Token", "X-Amz-Security-Token", "X-Api-Key", "X-Other"} {
		more[name] = []string{secret}
	}
	return more
}

// secretive are requests that have it in paths, query strings, bodies, headers and functions, some of which fail.
var secretive = []struct{ method, path, body string }{
	{"PUT", "/db?partitioned=true", ""},
	{"PUT", "/plain", ""},
	{"PUT", "/db/p:" + secret, `{"member":"` + secret + `"}`},
	{"PUT", "/db/p:broken", `{"member":"` + secret + `"`},
	{"PUT", "/db/p:_x" + secret, `{"_` + secret + `":1}`},
	{"GET", "/db/p:" + secret + "?rev=1-" + secret, ""},
	{"PATCH", "/db/p:" + secret, `{"other":"` + secret + `"}`},
	{"DELETE", "/db/p:" + secret + "?rev=" + secret, ""},
	{"PUT", "/db/p:" + secret + "/att" + secret, secret},
	{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:b` + secret + `"},{"_id":"` + secret + `"}]}`},
	{"POST", "/db/_bulk_get", `{"docs":[{"id":"p:` + secret + `"}]}`},
	{"GET", `/db/_all_docs?key="` + secret + `"`, ""},
	{"GET", `/db/_all_docs?startkey="` + secret, ""},
	{"POST", "/db/_find", `{"selector":{"member":"` + secret + `"}}`},
	{"POST", "/db/_find", `{"selector":{"member":{"$regex":"` + secret + `("}}}`},
	{"POST", "/db/_explain", `{"selector":{"member":"` + secret + `"}}`},
	{"POST", "/db/_index", `{"index":{"fields":["member"],"partial_filter_selector":{"a":"` + secret + `"}}}`},
	{"PUT", "/plain/_design/d", `{"validate_doc_update":"function(d){ if (d.bad) throw({forbidden:'` + secret + `'}); if (d.worse) d.x.y.z; }",
		"views":{"v":{"map":"function(d){ throw(new Error('` + secret + `' + d._id)) }"}},"shows":{"s":"function(d){ throw(['error','e','` + secret + `']) }"},
		"filters":{"f":"function(d){ return d['` + secret + `'].x }"}}`},
	{"PUT", "/plain/bad", `{"bad":"` + secret + `"}`},
	{"PUT", "/plain/worse", `{"worse":"` + secret + `"}`},
	{"PUT", "/plain/good", `{"member":"` + secret + `"}`},
	{"GET", `/plain/_design/d/_view/v?key="` + secret + `"`, ""},
	{"GET", "/plain/_design/d/_show/s/good", ""},
	{"GET", "/plain/_changes?filter=d/f", ""},
	{"POST", "/_session", `{"name":"adm","password":"` + secret + `"}`},
	{"PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","type":"user","roles":[],"password":"` + secret + `"}`},
	{"PUT", "/_node/_local/_config/chttpd_auth/secret", `"` + secret + `"`},
	{"PUT", "/_node/_local/_config/admins/bob", `"` + secret + `"`},
	{"POST", "/_replicate", `{"source":"http://u:` + secret + `@127.0.0.1:1/x","target":"plain"}`},
	{"PUT", "/db/_security", `{"members":{"names":["` + secret + `"]}}`},
}

// TestLogHasNoContents sends secrets to servers that log everything, in both forms, and looks for them in what is
// logged, where each request is a line with its name.
func TestLogHasNoContents(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true,
				Config: configured(t, "[log]\nlevel = debug\nslow_query = 1\nformat = "+format+"\n")})
			for i, q := range secretive {
				r.ask(q.method, q.path, q.body, "adm", "pass", proving(http.Header{
					"X-Couch-Request-Id": {fmt.Sprint("named-", i)}, "Cookie": {"AuthSession=" + secret}}))
			}
			r.ask("GET", "/db", "", "adm", secret, nil)
			r.ask("GET", "/db", "", "", "", http.Header{"Authorization": {"Bearer " + secret}})
			for _, operation := range []string{"PutItem", "Query", "ExecuteStatement", secret} {
				r.dynamoDB(operation, `{"TableName":"none","Item":{"id":{"S":"`+secret+`"}},"Statement":"SELECT * FROM none WHERE id='`+secret+`'"}`)
			}
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(r.log.String()), "\n")
			for _, line := range lines {
				if strings.Contains(line, secret) {
					t.Errorf("logged: %s", line)
				}
				if format == "json" && !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
			for i, q := range secretive {
				if !strings.Contains(r.log.String(), fmt.Sprint("named-", i)) {
					t.Errorf("no line about %s %s", q.method, q.path)
				}
			}
		})
	}
}

// dynamoDB asks the DynamoDB API for an operation.
func (r *running) dynamoDB(operation, body string) (int, string, *http.Response) {
	r.t.Helper()
	at := *r
	at.base = r.dynamo
	return at.ask("POST", "/", body, "", "", http.Header{"X-Amz-Target": {"DynamoDB_20120810." + operation}})
}

// TestSlowQueries has every query count as slow: the log says by which index it was answered, and what was read.
func TestSlowQueries(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true, Config: configured(t, "[log]\nslow_query = 1us\nrequests = true\n")})
	for _, q := range []struct{ method, path, body string }{
		{"PUT", "/db?partitioned=true", ""},
		{"PUT", "/db/p:a", `{"member":1}`},
		{"PUT", "/db/p:b", `{"member":2}`},
		{"PUT", "/db/_design/d", `{"options":{"partitioned":false},"views":{"v":{"map":"function(d){ emit(d.member) }"}}}`},
		{"POST", "/db/_find", `{"selector":{"member":2}}`},
		{"POST", "/db/_partition/p/_find", `{"selector":{"member":2},"sort":[{"_id":"desc"}]}`},
		{"GET", "/db/_design/d/_view/v?key=1", ""},
		{"GET", "/db/_partition/p/_all_docs", ""},
		{"GET", "/db/p:a", ""},
	} {
		if status, body, _ := r.ask(q.method, q.path, q.body, "adm", "pass", nil); status > 299 {
			t.Fatal(q.path, status, body)
		}
	}
	r.dynamoDB("CreateTable", `{"TableName":"Music","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`)
	r.dynamoDB("Scan", `{"TableName":"Music"}`)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`database=db user=adm peer=127.0.0.1 index=_all_docs plan="_all_docs: 2 ranges" keys=2 documents=2 rows=1 status=200 ms=`,
		`index=_all_docs plan="_all_docs: 2 ranges from the end" partition=p keys=2 documents=2 rows=1 status=200 ms=`,
		`route=/{db}/_design/{ddoc}/_view/{view} database=db user=adm peer=127.0.0.1 index=_design/d/v keys=0 documents=0 rows=1 status=200 ms=`,
		`index=_all_docs partition=p keys=0 documents=0 rows=2 status=200 ms=`,
		`method=POST route=Scan database=Music user=local peer=127.0.0.1 index=table keys=0 documents=0 rows=0 status=200 ms=`,
		`level=INFO msg=request`, `method=GET route=/{db}/{id} database=db user=adm peer=127.0.0.1 status=200 bytes=`,
	} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no line with %s", want)
		}
	}
	if n := strings.Count(r.log.String(), "slow query"); n != 5 {
		t.Errorf("%d slow queries", n)
	}
	if t.Failed() {
		t.Log(r.log.String())
	}
}

package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAudit lets administrators and others act, and reads the audit log: who did what, from where, with what outcome.
func TestAudit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true, Config: configured(t, "[audit]\nfile = "+file+"\n")})
	for _, q := range []struct{ method, path, body, user string }{
		{"PUT", "/db?partitioned=true", "", "adm"},
		{"PUT", "/db", "", "adm"},
		{"GET", "/db", "", "adm"},
		{"PUT", "/db/p:a", "{}", "adm"},
		{"PUT", "/db/_security", `{"members":{"names":["jan"]}}`, "adm"},
		{"DELETE", "/db/_partition/p", "", "adm"},
		{"PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","type":"user","roles":[],"password":"pass"}`, "adm"},
		{"PUT", "/_node/_local/_config/uuids/max_count", `"5"`, "adm"},
		{"DELETE", "/db", "", "jan"},
		{"DELETE", "/db", "", ""},
		{"DELETE", "/db", "", "adm"},
	} {
		r.ask(q.method, q.path, q.body, q.user, "pass", nil)
	}
	r.dynamoDB("CreateTable", `{"TableName":"Music","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []line
	for _, one := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var l line
		if err := json.Unmarshal([]byte(one), &l); err != nil || l.Time == "" || l.Request == "" {
			t.Fatal(one, err)
		}
		l.Time, l.Request = "", ""
		got = append(got, l)
	}
	at := "127.0.0.1"
	want := []line{
		{"", "adm", at, "PUT", "/{db}", "db", "", 201, ""},
		{"", "adm", at, "PUT", "/{db}", "db", "", 412, ""},
		{"", "adm", at, "PUT", "/{db}/_security", "db", "", 200, ""},
		{"", "adm", at, "DELETE", "/{db}/_partition/{partition}", "db", "p", 202, ""},
		{"", "adm", at, "PUT", "/{db}/{id}", "_users", "org.couchdb.user:jan", 201, ""},
		{"", "adm", at, "PUT", "/_node/{node}/_config/{section}/{key}", "", "_local/uuids/max_count", 200, ""},
		{"", "jan", at, "DELETE", "/{db}", "db", "", 401, ""},
		{"", "adm", at, "DELETE", "/{db}", "db", "", 200, ""},
		{"", "local", at, "POST", "CreateTable", "Music", "", 200, ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r.ask("PUT", "/_node/_local/_config/audit/file", `"`+filepath.Dir(file)+`"`, "adm", "pass", nil) // no file
	r.ask("PUT", "/other", "", "adm", "pass", nil)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.log.String(), "could not be written") || !strings.Contains(r.log.String(), "database=other") {
		t.Error(r.log.String())
	}
}

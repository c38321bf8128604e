package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCheckDynamoDB(t *testing.T) {
	for _, c := range []struct {
		address string
		open    bool
		want    string
	}{
		{"", false, ""},
		{"", true, "--dynamodb-open is how"},
		{"127.0.0.1:8000", false, ""},
		{"127.0.0.1:8000", true, ""},
		{"localhost:0", true, ""},
		{"[::1]:8000", true, ""},
		{"0.0.0.0:8000", false, ""},
		{"0.0.0.0:8000", true, "other machines can reach"},
		{":8000", true, "other machines can reach"},
		{"example.com:8000", true, "other machines can reach"},
		{"127.0.0.1", false, "missing port"},
		{"127.0.0.1:http", false, "is not a port"},
	} {
		got := ""
		if err := CheckDynamoDB(c.address, c.open); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s, %v: %s", c.address, c.open, got)
		}
	}
}

// TestDynamoDB holds that both APIs answer, each at its address, over one store.
func TestDynamoDB(t *testing.T) {
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true})
	ask := func(operation, body string) string {
		t.Helper()
		q, err := http.NewRequest(http.MethodPost, r.dynamo, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.Status + " " + string(text)
	}
	if got := ask("CreateTable", `{"TableName":"Music","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`); !strings.HasPrefix(got, "200") {
		t.Fatal(got)
	}
	if got := ask("ListTables", `{}`); !strings.Contains(got, `["Music"]`) {
		t.Error(got)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// TestOpenDynamoDBRefusesPages holds that an open server refuses what a page of another site sends, in whichever Origin header it is.
func TestOpenDynamoDBRefusesPages(t *testing.T) {
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true})
	for _, c := range []struct {
		origins []string
		status  int
	}{
		{nil, 200},
		{[]string{"http://localhost:8000"}, 200},
		{[]string{"http://evil.example"}, 400},
		{[]string{"null"}, 400},
		{[]string{"", "http://evil.example"}, 400},
		{[]string{"http://localhost", "http://evil.example"}, 400},
		{[]string{"http://evil.example", "http://localhost"}, 400},
	} {
		q, err := http.NewRequest(http.MethodPost, r.dynamo, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		q.Header["Origin"] = c.origins
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != c.status {
			t.Errorf("%q: %s", c.origins, a.Status)
		}
	}
}

// TestDynamoDBForSessions holds that whoever has logged in at CouchDB's API may ask the DynamoDB API
// at the same address, without a listener of its own; as another user he may only read.
func TestDynamoDBForSessions(t *testing.T) {
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass"})
	ask := func(operation, body string, header ...string) (status int, answer string) {
		t.Helper()
		q, err := http.NewRequest(http.MethodPost, r.base+"/_dynamodb", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		for i := 0; i < len(header); i += 2 {
			q.Header.Set(header[i], header[i+1])
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, string(text)
	}
	admin := []string{"Authorization", "Basic YWRtOnBhc3M="}
	asAnn := append([]string{"X-Sectional-As", "ann"}, admin...)
	table := `{"TableName":"music","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`
	insert := `{"Statement":"INSERT INTO music VALUE {'id': 'a'}"}`
	read := `{"Statement":"SELECT * FROM music"}`
	for _, c := range []struct {
		operation, body string
		header          []string
		status          int
		answer          string
	}{
		{"CreateTable", table, nil, 400, "MissingAuthenticationTokenException"},
		{"CreateTable", table, []string{"Authorization", "Basic YWRtOndyb25n"}, 400, "Name or password is incorrect."},
		{"CreateTable", table, admin, 200, "music"},
		{"ExecuteStatement", insert, admin, 200, `{"Items":[]}`},
		{"ExecuteStatement", read, admin, 200, `{"id":{"S":"a"}}`},
		{"ExecuteStatement", read, asAnn, 400, "no user"},
	} {
		if status, answer := ask(c.operation, c.body, c.header...); status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s: %d %s, want %d and %s", c.operation, c.body, status, answer, c.status, c.answer)
		}
	}
	for path, body := range map[string]string{"/_users/org.couchdb.user:ann": `{"name":"ann","type":"user","password":"pw","roles":[]}`, "/music/_security": `{"members":{"names":["ann"]}}`} {
		q, err := http.NewRequest(http.MethodPut, r.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", admin[1])
		q.Header.Set("Content-Type", "application/json")
		if a, err := http.DefaultClient.Do(q); err != nil || a.StatusCode >= 300 {
			t.Fatal(path, a, err)
		}
	}
	if status, answer := ask("ExecuteStatement", read, asAnn...); status != 200 || !strings.Contains(answer, `{"S":"a"}`) {
		t.Error(status, answer)
	}
	for operation, body := range map[string]string{"ExecuteStatement": insert, "DeleteTable": `{"TableName":"music"}`, "BatchWriteItem": `{"RequestItems":{"music":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`} {
		if status, answer := ask(operation, body, asAnn...); status != 400 || !strings.Contains(answer, "AccessDenied") {
			t.Error(operation, status, answer)
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

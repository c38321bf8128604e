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
		{"127.0.0.1:http", false, "is no port"},
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

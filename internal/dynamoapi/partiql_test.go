package dynamoapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// statement is the body of an ExecuteStatement.
func statement(text string) string {
	b, _ := json.Marshal(map[string]string{"Statement": text})
	return string(b)
}

// TestRightsOfStatements: whom rules let into partitions reads and writes those with
// statements, and no others.
func TestRightsOfStatements(t *testing.T) {
	s := newServer(t, false)
	boss, bossSecret := s.newKey(t, "adm", `[]`, nil)
	if got := s.call(boss, bossSecret, "CreateTable", `{"TableName":"ours","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`); !strings.HasPrefix(got, "200 ") {
		t.Fatal(got)
	}
	rules := `{"members":{"roles":["team"]},"partitions":[{"who":{"names":["eve"]},"partition":"Sa!","access":"write"},{"who":{"names":["eve"]},"partition":"Sread!","access":"read"}]}`
	if w := s.Do("PUT", "/ours/_security", rules); w.Code != 200 {
		t.Fatal(w.Body)
	}
	for _, id := range []string{"a", "b", "read"} {
		if got := s.call(boss, bossSecret, "ExecuteStatement", statement(fmt.Sprintf("INSERT INTO ours VALUE {'id': '%s'}", id))); got != `200 {"Items":[]}` {
			t.Fatal(got)
		}
	}
	guest, secret := s.newKey(t, "eve", `[]`, nil)
	for text, want := range map[string]string{
		"SELECT * FROM ours WHERE id = 'a'":                   `200 {"Items":[{"id":{"S":"a"}}]}`,
		"SELECT * FROM ours WHERE id IN ('a', 'read')":        `200 {"Items":[{"id":{"S":"a"}},{"id":{"S":"read"}}]}`,
		"UPDATE ours REMOVE gone WHERE id = 'a'":              `200 {"Items":[]}`,
		"SELECT * FROM ours":                                  "AccessDeniedException",
		"SELECT * FROM ours WHERE id = 'b'":                   "AccessDeniedException",
		"SELECT * FROM ours WHERE id IN ('a', 'b')":           "AccessDeniedException",
		"SELECT * FROM ours WHERE id = 'a' OR id = 'read'":    "AccessDeniedException",
		"INSERT INTO ours VALUE {'id': 'b'}":                  "AccessDeniedException",
		"UPDATE ours SET n = 1 WHERE id = 'b'":                "AccessDeniedException",
		"UPDATE ours SET n = 1 WHERE id = 'read'":             "AccessDeniedException",
		"DELETE FROM ours WHERE id = 'read'":                  "AccessDeniedException",
		"DELETE FROM ours WHERE id = 'b' RETURNING ALL OLD *": "AccessDeniedException",
	} {
		if got := s.call(guest, secret, "ExecuteStatement", statement(text)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	batch := `{"Statements":[` + strings.Join([]string{statement("DELETE FROM ours WHERE id = 'b'"), statement("UPDATE ours SET n = 1 WHERE id = 'read'"), statement("INSERT INTO ours VALUE {'id': 'c'}")}, ",") + `]}`
	if got := s.call(guest, secret, "BatchExecuteStatement", batch); strings.Count(got, `"Code":"AccessDenied"`) != 3 {
		t.Error(got)
	}
	batch = `{"Statements":[` + statement("SELECT * FROM ours WHERE id = 'b'") + "," + statement("SELECT * FROM ours WHERE id = 'read'") + `]}`
	if got := s.call(guest, secret, "BatchExecuteStatement", batch); !strings.Contains(got, `{"Item":{"id":{"S":"read"}},"TableName":"ours"}]`) || strings.Count(got, `"Code":"AccessDenied"`) != 1 {
		t.Error(got)
	}
	if got := s.call(boss, bossSecret, "Scan", `{"TableName":"ours","Select":"COUNT"}`); !strings.Contains(got, `"Count":3`) {
		t.Error(got)
	}
}

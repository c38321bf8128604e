package dynamoapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// statement is the body of an ExecuteStatement.
func statement(text string) string {
	b, _ := json.Marshal(map[string]string{"Statement": text})
	return string(b)
}

// transactStatements is the body of an ExecuteTransaction.
func transactStatements(texts ...string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = statement(text)
	}
	return `{"TransactStatements":[` + strings.Join(list, ",") + `]}`
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
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"SELECT * FROM ours WHERE id = 'a'", "SELECT * FROM ours WHERE id = 'read'"}, `200 {"Responses":[{"Item":{"id":{"S":"a"}}},{"Item":{"id":{"S":"read"}}}]}`},
		{[]string{"SELECT * FROM ours WHERE id = 'a'", "SELECT * FROM ours WHERE id = 'b'"}, "AccessDeniedException"},
		{[]string{"UPDATE ours SET n = 1 WHERE id = 'a'", "EXISTS(SELECT * FROM ours WHERE id = 'read' AND n IS MISSING)"}, `200 {"Responses":[]}`},
		{[]string{"UPDATE ours SET n = 2 WHERE id = 'a'", "EXISTS(SELECT * FROM ours WHERE id = 'b' AND n IS MISSING)"}, "AccessDeniedException"},
		{[]string{"UPDATE ours SET n = 2 WHERE id = 'a'", "UPDATE ours SET n = 1 WHERE id = 'read'"}, "AccessDeniedException"},
		{[]string{"UPDATE ours SET n = 2 WHERE id = 'a'", "INSERT INTO ours VALUE {'id': 'b'}"}, "AccessDeniedException"},
		{[]string{"UPDATE ours SET n = 2 WHERE id = 'a'", "DELETE FROM ours WHERE id = 'b'"}, "AccessDeniedException"},
	} {
		if got := s.call(guest, secret, "ExecuteTransaction", transactStatements(c.texts...)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.texts, got)
		}
	}
	if got := s.call(boss, bossSecret, "ExecuteTransaction", transactStatements("SELECT * FROM ours WHERE id = 'a'")); got != `200 {"Responses":[{"Item":{"id":{"S":"a"},"n":{"N":"1"}}}]}` {
		t.Error(got)
	}
	if got := s.call(boss, bossSecret, "Scan", `{"TableName":"ours","Select":"COUNT"}`); !strings.Contains(got, `"Count":3`) {
		t.Error(got)
	}
}

// TestNextToken: nobody makes a token, and one goes on with what its caller may read, of the
// table that it was given for.
func TestNextToken(t *testing.T) {
	s := newServer(t, false)
	boss, bossSecret := s.newKey(t, "adm", `[]`, nil)
	guest, secret := s.newKey(t, "eve", `[]`, nil)
	const table = `{"TableName":"ours","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"n","AttributeType":"N"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"n","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST"}`
	fill := func() {
		if got := s.call(boss, bossSecret, "CreateTable", table); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
		rules := `{"members":{"roles":["team"]},"partitions":[{"who":{"names":["eve"]},"partition":"Sa!","access":"read"}]}`
		if w := s.Do("PUT", "/ours/_security", rules); w.Code != 200 {
			t.Fatal(w.Body)
		}
		insert := transactStatements("INSERT INTO ours VALUE {'id': 'a', 'n': 1}", "INSERT INTO ours VALUE {'id': 'b', 'n': 1}", "INSERT INTO ours VALUE {'id': 'b', 'n': 2}")
		if got := s.call(boss, bossSecret, "ExecuteTransaction", insert); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
	fill()
	ask := func(token string) string {
		b, _ := json.Marshal(map[string]any{"Statement": "SELECT n FROM ours WHERE id IN ('a', 'b')", "Limit": 2, "NextToken": token})
		return strings.Replace(string(b), `"NextToken":"",`, "", 1)
	}
	var page struct{ NextToken string }
	first := s.call(boss, bossSecret, "ExecuteStatement", ask(""))
	must(t, json.Unmarshal([]byte(strings.TrimPrefix(first, "200 ")), &page))
	if got := s.call(boss, bossSecret, "ExecuteStatement", ask(page.NextToken)); got != `200 {"Items":[{"n":{"N":"2"}}]}` {
		t.Error(got)
	}
	if got := s.call(guest, secret, "ExecuteStatement", ask(page.NextToken)); !strings.Contains(got, "AccessDeniedException") {
		t.Error("another's token:", got)
	}
	token, err := base64.StdEncoding.DecodeString(page.NextToken)
	must(t, err)
	for i := range token {
		forged := slices.Clone(token)
		forged[i] ^= 1
		if got := s.call(boss, bossSecret, "ExecuteStatement", ask(base64.StdEncoding.EncodeToString(forged))); !strings.Contains(got, `"message":"Invalid NextToken"`) {
			t.Errorf("byte %d: %s", i, got)
		}
	}
	if got := s.call(boss, bossSecret, "DeleteTable", `{"TableName":"ours"}`); !strings.HasPrefix(got, "200 ") {
		t.Fatal(got)
	}
	fill()
	if got := s.call(boss, bossSecret, "ExecuteStatement", ask(page.NextToken)); !strings.Contains(got, "NextToken does not match request") {
		t.Error("of a table that was deleted:", got)
	}
}

// TestPagesEndByWork: a page ends when so much was looked at for it, however small the items
// are and if they are there no more, and the next goes on.
func TestPagesEndByWork(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "small")
	const items = 1500
	for i := 0; i < items; i += 25 {
		puts := make([]string, 25)
		for n := range puts {
			puts[n] = fmt.Sprintf(`{"PutRequest":{"Item":{"id":{"S":"%d"}}}}`, i+n)
		}
		s.must(t, "BatchWriteItem", `{"RequestItems":{"small":[`+strings.Join(puts, ",")+`]}}`, nil)
	}
	found, pages := s.pagesOf(t)
	if pages != 2 || found != items {
		t.Errorf("%d items in %d pages", found, pages)
	}
	for i := 0; i < items; i += 25 {
		deletes := make([]string, 25)
		for n := range deletes {
			deletes[n] = fmt.Sprintf(`{"DeleteRequest":{"Key":{"id":{"S":"%d"}}}}`, i+n)
		}
		s.must(t, "BatchWriteItem", `{"RequestItems":{"small":[`+strings.Join(deletes, ",")+`]}}`, nil)
	}
	if found, pages := s.pagesOf(t); pages != 2 || found != 0 {
		t.Errorf("%d items in %d pages, once they are deleted", found, pages)
	}
}

// TestPagesEndByCompared: what comparisons look at within large items counts, too.
func TestPagesEndByCompared(t *testing.T) {
	s := newServer(t, true)
	s.newTables(t, "large")
	list := strings.Repeat(`{"NULL":true},`, 20_000)
	const items = 8
	for i := range items {
		s.must(t, "PutItem", fmt.Sprintf(`{"TableName":"large","Item":{"id":{"S":"%d"},"x":{"L":[%s{"BOOL":true}]}}}`, i, list), nil)
	}
	among := "x IN (" + strings.Repeat(":a,", 99) + ":a)"
	filter := strings.Repeat(among+" OR ", 7) + among
	found, pages := 0, 0
	for start := ""; pages == 0 || start != ""; pages++ {
		var out struct {
			ScannedCount     int
			LastEvaluatedKey json.RawMessage
		}
		s.must(t, "Scan", fmt.Sprintf(`{"TableName":"large","FilterExpression":%q,"ExpressionAttributeValues":{":a":{"L":[]}}%s}`, filter, start), &out)
		found += out.ScannedCount
		start = ""
		if out.LastEvaluatedKey != nil {
			start = `,"ExclusiveStartKey":` + string(out.LastEvaluatedKey)
		}
	}
	if pages != items/4+1 || found != items {
		t.Errorf("%d items in %d pages", found, pages)
	}
}

// pagesOf reads all items of the table small by a long statement.
func (s *server) pagesOf(t *testing.T) (found, pages int) {
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("'%d'", i)
	}
	compared := strings.Repeat("x IN ("+strings.Join(names, ",")+") OR ", 15)
	for token := ""; pages == 0 || token != ""; pages++ {
		var out struct {
			Items     []json.RawMessage
			NextToken string
		}
		body := statement("SELECT id FROM small WHERE " + compared + "x IS MISSING")
		if token != "" {
			body = strings.Replace(body, "{", fmt.Sprintf(`{"NextToken":%q,`, token), 1)
		}
		s.must(t, "ExecuteStatement", body, &out)
		found += len(out.Items)
		token = out.NextToken
	}
	return found, pages
}

package dynamoapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestRightsOverServers has one of two servers over an engine told of changes, and the other
// asked right after: with a key, and about a table, that it remembers.
func TestRightsOverServers(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	shared := kvtest.NewSharing(e, false)
	told, asked := &server{Server: apitest.On(t, shared.Engine())}, &server{Server: apitest.On(t, shared.Engine())}
	id, secret := told.newKey(t, "adm", `[]`, nil)
	const (
		table = `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`
		other = `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"n","AttributeType":"N"}],"KeySchema":[{"AttributeName":"n","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`
		put   = `{"TableName":"tab","Item":{"k":{"S":"a"},"is":{"S":"first"}}}`
		get   = `{"TableName":"tab","Key":{"k":{"S":"a"}}}`
	)
	id2, secret2 := told.newKey(t, "rita", `["crew"]`, nil)
	admin := func(method, target, body string) {
		t.Helper()
		told.OK(method, target, body)
	}
	asks := func(what, id, secret, operation, body, want string) {
		t.Helper()
		if got := asked.call(id, secret, operation, body); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	admin("PUT", "/tab?partitioned=true", "")
	admin("PUT", "/tab/_security", `{"members":{"roles":["crew"]}}`)
	asks("a table by the other API", id2, secret2, "DescribeTable", `{"TableName":"tab"}`, `"TableStatus":"ACTIVE"`)
	admin("PUT", "/tab/_security", `{"members":{"roles":["board"]}}`)
	asks("the security", id2, secret2, "DescribeTable", `{"TableName":"tab"}`, "AccessDeniedException")
	admin("PUT", "/tab/_security", `{"members":{"roles":["crew"]}}`)
	asks("the security again", id2, secret2, "DescribeTable", `{"TableName":"tab"}`, `"TableStatus":"ACTIVE"`)
	admin("PATCH", "/_users/org.couchdb.user:rita", `{"roles":[]}`)
	asks("roles", id2, secret2, "DescribeTable", `{"TableName":"tab"}`, "AccessDeniedException")
	admin("PATCH", "/_users/org.couchdb.user:rita", `{"access_keys":[]}`)
	asks("a key revoked", id2, secret2, "DescribeTable", `{"TableName":"tab"}`, "UnrecognizedClientException")
	admin("DELETE", "/tab", "")
	asks("a table dropped", id, secret, "GetItem", get, "ResourceNotFoundException")
	does := func(operation, body string) {
		t.Helper()
		if got := told.call(id, secret, operation, body); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
	does("CreateTable", table)
	does("PutItem", put)
	asks("a table made", id, secret, "GetItem", get, `"first"`)
	does("DeleteTable", `{"TableName":"tab"}`)
	does("CreateTable", other)
	asks("a table made with other keys", id, secret, "GetItem", get, "ValidationException")
	asks("an item of other keys", id, secret, "PutItem", put, "ValidationException")
	asks("the tables", id, secret, "ListTables", "{}", `"tab"`)
}

// TestRevokedOverServers takes a right away at one server, in several ways, and has each operation that
// looks at what let the caller in by what it reads first ask another right after, which remembers
// it: nothing is shown, and nothing is written.
func TestRevokedOverServers(t *testing.T) {
	const item, key = `{"k":{"S":"a"},"is":{"S":"changed"}}`, `{"k":{"S":"a"}}`
	operations := map[string]string{
		"GetItem": `{"TableName":"tab","Key":` + key + `}`, "DescribeTable": `{"TableName":"tab"}`, "Scan": `{"TableName":"tab"}`,
		"Query":              `{"TableName":"tab","KeyConditionExpression":"k = :k","ExpressionAttributeValues":{":k":{"S":"a"}}}`,
		"BatchGetItem":       `{"RequestItems":{"tab":{"Keys":[` + key + `]}}}`,
		"TransactGetItems":   `{"TransactItems":[{"Get":{"TableName":"tab","Key":` + key + `}}]}`,
		"PutItem":            `{"TableName":"tab","Item":` + item + `,"ReturnValues":"ALL_OLD"}`,
		"UpdateItem":         `{"TableName":"tab","Key":` + key + `,"UpdateExpression":"SET #i = :v","ExpressionAttributeNames":{"#i":"is"},"ExpressionAttributeValues":{":v":{"S":"changed"}},"ReturnValues":"ALL_OLD"}`,
		"DeleteItem":         `{"TableName":"tab","Key":` + key + `,"ReturnValues":"ALL_OLD"}`,
		"BatchWriteItem":     `{"RequestItems":{"tab":[{"PutRequest":{"Item":` + item + `}}]}}`,
		"TransactWriteItems": `{"TransactItems":[{"Put":{"TableName":"tab","Item":` + item + `}}]}`,
	}
	ways := map[string]struct{ method, target, body, want string }{
		"security": {"PUT", "/tab/_security", `{"members":{"roles":["board"]}}`, "AccessDeniedException"},
		"roles":    {"PATCH", "/_users/org.couchdb.user:rita", `{"roles":[]}`, "AccessDeniedException"},
		"key":      {"PATCH", "/_users/org.couchdb.user:rita", `{"access_keys":[]}`, "UnrecognizedClientException"},
		"user":     {"DELETE", "/_users/org.couchdb.user:rita", "", "UnrecognizedClientException"},
		"table":    {"DELETE", "/tab", "", "ResourceNotFoundException"},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for operation, body := range operations {
				e := kvtest.NewModel(kvtest.ModelOptions{})
				shared := kvtest.NewSharing(e, false)
				told, asked := &server{Server: apitest.With(t, apitest.Options{Engine: shared.Engine(), Idle: true})}, &server{Server: apitest.With(t, apitest.Options{Engine: shared.Engine(), Idle: true})}
				adm, admSecret := told.newKey(t, "adm", `[]`, nil)
				id, secret := told.newKey(t, "rita", `["crew"]`, nil)
				for _, made := range [][2]string{{"CreateTable", `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`},
					{"PutItem", `{"TableName":"tab","Item":{"k":{"S":"a"},"is":{"S":"secret"}}}`}} {
					if got := told.call(adm, admSecret, made[0], made[1]); !strings.HasPrefix(got, "200 ") {
						t.Fatal(got)
					}
				}
				told.OK("PUT", "/tab/_security", `{"members":{"roles":["crew"]}}`)
				if got := asked.call(id, secret, "GetItem", operations["GetItem"]); !strings.Contains(got, "secret") {
					t.Fatal(got)
				}
				var header []string
				if way.method == "DELETE" && way.target != "/tab" {
					header = []string{"If-Match", told.Do("HEAD", way.target, "").Header().Get("Etag")}
				}
				told.OK(way.method, way.target, way.body, header...)
				if got := asked.call(id, secret, operation, body); !strings.Contains(got, way.want) || strings.Contains(got, "secret") {
					t.Errorf("%s: %s, want %s", operation, got, way.want)
				}
				if got := told.call(adm, admSecret, "GetItem", operations["GetItem"]); name != "table" && !strings.Contains(got, "secret") {
					t.Errorf("%s has written: %s", operation, got)
				}
			}
		})
	}
}

// TestStreamsOverServers has one server switch a stream off, or on, and another do the opposite
// while it stands still, before each of its transactions in turn: the change log is as the table
// says when both have answered, so no record is missed.
func TestStreamsOverServers(t *testing.T) {
	const update = `{"TableName":"things","StreamSpecification":{"StreamEnabled":%s}}`
	on, off := fmt.Sprintf(update, `true,"StreamViewType":"KEYS_ONLY"`), fmt.Sprintf(update, "false")
	for _, c := range []struct {
		name      string
		had       bool
		one, then string
	}{{"off, on", true, off, on}, {"on, off", false, on, off}} {
		t.Run(c.name, func(t *testing.T) {
			reached := true
			for n := 1; reached; n++ {
				e := kvtest.NewModel(kvtest.ModelOptions{})
				slow := kvtest.NewPausing(e)
				first, second := &server{Server: apitest.With(t, apitest.Options{Engine: kvtest.NewShared(slow), DynamoDBOpen: true})}, &server{Server: apitest.With(t, apitest.Options{Engine: kvtest.NewShared(e), DynamoDBOpen: true})}
				first.newTables(t, "things")
				if c.had {
					first.must(t, "UpdateTable", on, nil)
				}
				reached = false
				slow.PauseBefore(n, func() {
					reached = true
					second.do(t, "UpdateTable", c.then, nil) // refused as long as the other has not begun
				})
				first.must(t, "UpdateTable", c.one, nil)
				slow.PauseBefore(0, nil)
				var described struct {
					Table struct{ LatestStreamArn string }
				}
				db, err := second.Store.Database(t.Context(), "things")
				must(t, err)
				log := db.ChangeLog().Length > 0
				second.must(t, "DescribeTable", `{"TableName":"things"}`, &described)
				if stream := described.Table.LatestStreamArn != ""; stream != log {
					t.Errorf("%d: there is a stream: %v, its log is on: %v", n, stream, log)
				}
			}
		})
	}
}

package dynamoapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/golden"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestTrips holds how many round trips operations take on an engine across a network that others
// may be writing to, signed with a key. Each line is one trip: what it asks for, and the first of its rows.
func TestTrips(t *testing.T) {
	e := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
	s := &server{Server: apitest.With(t, apitest.Options{Engine: kvtest.NewShared(e), Idle: true})}
	id, secret := s.newKey(t, "adm", `[]`, nil)
	ok := func(operation, body string) {
		t.Helper()
		if got := s.call(id, secret, operation, body); !strings.HasPrefix(got, "200 ") {
			t.Fatal(operation, got)
		}
	}
	const item = `{"k":{"S":"%s"},"is":{"S":"it"}}`
	ok("CreateTable", `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`)
	ok("PutItem", `{"TableName":"tab","Item":`+fmt.Sprintf(item, "a")+`}`)
	ok("PutItem", `{"TableName":"tab","Item":`+fmt.Sprintf(item, "b")+`}`)
	var out strings.Builder
	for _, c := range []struct{ operation, body string }{
		{"DescribeEndpoints", `{}`},
		{"DescribeTable", `{"TableName":"tab"}`},
		{"GetItem", `{"TableName":"tab","Key":{"k":{"S":"a"}}}`},
		{"BatchGetItem", `{"RequestItems":{"tab":{"Keys":[{"k":{"S":"a"}},{"k":{"S":"b"}}]}}}`},
		{"Query", `{"TableName":"tab","KeyConditionExpression":"k = :k","ExpressionAttributeValues":{":k":{"S":"a"}}}`},
		{"PutItem", `{"TableName":"tab","Item":` + fmt.Sprintf(item, "c") + `}`},
		{"PutItem", `{"TableName":"tab","Item":` + fmt.Sprintf(item, "a") + `}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"k":{"S":"a"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}`},
		{"DeleteItem", `{"TableName":"tab","Key":{"k":{"S":"b"}}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":` + fmt.Sprintf(item, "d") + `}}]}`},
	} {
		e.Take()
		ok(c.operation, c.body)
		trips := e.Take()
		fmt.Fprintf(&out, "%s: %d\n", c.operation, len(trips))
		for _, trip := range trips {
			fmt.Fprintf(&out, "\t%s %d %s\n", trip.Op, trip.Rows, keyspace.Print(trip.Key))
		}
	}
	golden.File(t, "testdata/trips.txt", out.String())
}

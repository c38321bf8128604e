package dynamoapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/table"
	"github.com/sectional/sectional/internal/testkit/enginetest"
)

// TestLongestKeys: keys of items and of indexes are as long as DynamoDB's may be, also where
// each of their bytes takes two, and are in order however late they differ.
func TestLongestKeys(t *testing.T) {
	e := enginetest.Open(t)
	if e == nil {
		var err error
		e, err = pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
		must(t, err)
	}
	s := newServerOn(t, e)
	s.must(t, "CreateTable", `{"TableName":"long","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"S"},{"AttributeName":"l","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
		"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
		"GlobalSecondaryIndexes":[{"IndexName":"global","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`, nil)
	for _, filler := range []string{"x", `"`, ":"} {
		partition := strings.Repeat(filler, table.MaxPartitionKey)
		var sorts []string
		for n := range 20 {
			sorts = append(sorts, fmt.Sprintf("%s%03d", strings.Repeat(filler, table.MaxSortKey-3), n))
		}
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(sorts)) {
			s.must(t, "PutItem", item(partition, sorts[i], sorts[len(sorts)-1-i]), nil)
		}
		slices.Sort(sorts)
		for _, query := range []struct{ index, hash, sort string }{{"", "p", "s"}, {`"IndexName":"local",`, "p", "l"}, {`"IndexName":"global",`, "g", "l"}} {
			for _, forward := range []bool{true, false} {
				want := slices.Clone(sorts[3:18])
				if !forward {
					slices.Reverse(want)
				}
				got := s.pages(t, fmt.Sprintf(`"TableName":"long",%s"Limit":4,"ScanIndexForward":%v,"KeyConditionExpression":"%s = :p AND %s BETWEEN :a AND :b",
					"ExpressionAttributeValues":{":p":{"S":%q},":a":{"S":%q},":b":{"S":%q}}`, query.index, forward, query.hash, query.sort, partition, sorts[3], sorts[17]), query.sort)
				if !slices.Equal(got, want) {
					t.Errorf("%q %s forward %v: %d items in another order than the %d wanted", filler, query.index, forward, len(got), len(want))
				}
			}
		}
	}
	long := strings.Repeat("x", table.MaxSortKey+1)
	if code, text := s.do(t, "PutItem", item("a", long, "l"), nil); code != http.StatusBadRequest || !strings.Contains(text, "ValidationException") {
		t.Errorf("a sort key that is too long: %d %s", code, text)
	}
}

func item(partition, sort, other string) string {
	return fmt.Sprintf(`{"TableName":"long","Item":{"p":{"S":%q},"g":{"S":%q},"s":{"S":%q},"l":{"S":%q}}}`, partition, partition, sort, other)
}

// pages returns an attribute of all items that a query gives, page by page.
func (s *server) pages(t *testing.T, query, attribute string) (all []string) {
	t.Helper()
	for start := ""; ; {
		var out struct {
			Items            []map[string]struct{ S string }
			LastEvaluatedKey json.RawMessage
		}
		s.must(t, "Query", "{"+start+query+"}", &out)
		for _, i := range out.Items {
			all = append(all, i[attribute].S)
		}
		if out.LastEvaluatedKey == nil {
			return all
		}
		start = `"ExclusiveStartKey":` + string(out.LastEvaluatedKey) + ","
	}
}

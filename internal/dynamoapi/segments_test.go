package dynamoapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestSegments: the segments of a scan have all items once, also while these are changed, and
// about as many each, whether the items share a partition key or have one each.
func TestSegments(t *testing.T) {
	s := newServer(t, true)
	s.must(t, "CreateTable", `{"TableName":"things","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"n","AttributeType":"N"}],
		"KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"n","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST"}`, nil)
	const items, segments = 1000, 4
	put := func(first, x int) {
		var puts []string
		for n := first; n < first+25; n++ {
			id := "shared"
			if n%2 == 0 {
				id = fmt.Sprint("own", n)
			}
			puts = append(puts, fmt.Sprintf(`{"PutRequest":{"Item":{"id":{"S":%q},"n":{"N":"%d"},"x":{"N":"%d"}}}}`, id, n, x))
		}
		s.must(t, "BatchWriteItem", `{"RequestItems":{"things":[`+strings.Join(puts, ",")+`]}}`, nil)
	}
	for n := 0; n < items; n += 25 {
		put(n, 0)
	}
	seen := map[string]int{}
	for segment := range segments {
		count, start := 0, ""
		for page := 0; ; page++ {
			var got struct {
				Items            []struct{ N struct{ N string } }
				LastEvaluatedKey json.RawMessage
			}
			s.must(t, "Scan", fmt.Sprintf(`{"TableName":"things","Segment":%d,"TotalSegments":%d,"Limit":60%s}`, segment, segments, start), &got)
			for _, item := range got.Items {
				seen[item.N.N]++
				count++
			}
			if got.LastEvaluatedKey == nil {
				break
			}
			start = `,"ExclusiveStartKey":` + string(got.LastEvaluatedKey)
			put((segment*300+page*75)%items/25*25, page+1)
		}
		if share := items / segments; count < share*3/4 || count > share*5/4 {
			t.Errorf("segment %d has %d items, a share is %d", segment, count, share)
		}
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("item %s came %d times", n, times)
		}
	}
	if len(seen) != items {
		t.Errorf("%d items of %d", len(seen), items)
	}
}

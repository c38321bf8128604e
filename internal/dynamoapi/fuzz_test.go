package dynamoapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fuzzed are the operations whose requests are more than the name of a table.
var fuzzed = []string{
	"BatchExecuteStatement", "BatchGetItem", "BatchWriteItem", "CreateTable", "DeleteItem", "ExecuteStatement", "ExecuteTransaction", "GetItem", "GetRecords", "GetShardIterator",
	"PutItem", "Query", "Scan", "TransactGetItems", "TransactWriteItems", "UpdateItem", "UpdateTable",
}

// FuzzRequests: whatever is asked for, the answer is an object of JSON, and an error is
// what the request did wrong, not what the server did.
func FuzzRequests(f *testing.F) {
	paths, err := filepath.Glob("testdata/scripts/*.txt")
	must(f, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(f, err)
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			command, _, _ := strings.Cut(paragraph, "\n----")
			for strings.HasPrefix(command, "#") {
				_, command, _ = strings.Cut(command, "\n")
			}
			operation, body, _ := strings.Cut(command, "\n")
			if at := slices.Index(fuzzed, operation); at >= 0 && len(body) < 600 {
				f.Add(uint8(at), body)
			}
		}
	}
	s := newServer(f, true)
	s.must(f, "CreateTable", `{"TableName":"Music","AttributeDefinitions":[{"AttributeName":"artist","AttributeType":"S"},{"AttributeName":"year","AttributeType":"N"},{"AttributeName":"label","AttributeType":"B"}],"KeySchema":[{"AttributeName":"artist","KeyType":"HASH"},{"AttributeName":"year","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST","GlobalSecondaryIndexes":[{"IndexName":"by-label","KeySchema":[{"AttributeName":"label","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`, nil)
	f.Fuzz(func(t *testing.T, at uint8, body string) {
		operation := fuzzed[int(at)%len(fuzzed)]
		w := s.send(request(operation, body))
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable:
		default:
			t.Fatalf("%s %s: %d %s", operation, body, w.Code, w.Body)
		}
		var answer struct {
			Type *string `json:"__type"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || (answer.Type == nil) != (w.Code == http.StatusOK) {
			t.Fatalf("%s %s: %d %s (%v)", operation, body, w.Code, w.Body, err)
		}
	})
}

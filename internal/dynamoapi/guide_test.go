package dynamoapi

import (
	"os"
	"regexp"
	"testing"
)

// TestGuideHasAllOperations: the guide says of each operation whether it is here.
func TestGuideHasAllOperations(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guides/dynamodb.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, list := range [][]action{actions, streamActions} {
		for _, a := range list {
			names = append(names, a.name)
		}
	}
	for name := range unsupportedOperations {
		names = append(names, name)
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^\| ([A-Za-z]+, )*` + name + `(, [A-Za-z]+)* \|`).Match(guide) {
			t.Errorf("%s is in no table of the guide", name)
		}
	}
}

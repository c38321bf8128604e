package packages

import (
	"os"
	"testing"

	"github.com/pb33f/libopenapi"
)

// TestOpenAPI has a library read docs/openapi.json and build its model: references that lead nowhere and members of a wrong
// kind are errors. What is in it is compared with the table of routes where that is.
func TestOpenAPI(t *testing.T) {
	text, err := os.ReadFile(top + "/docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	names, operations := map[string]bool{}, 0
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, o := range item.GetOperations().FromOldest() {
			operations++
			if names[o.OperationId] {
				t.Errorf("%s is the name of two operations", o.OperationId)
			}
			names[o.OperationId] = true
			if o.Summary == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
			if o.Responses == nil || o.Responses.Default == nil {
				t.Errorf("%s %s has no answer for errors", method, path)
			}
		}
	}
	if model.Model.Version != "3.1.0" || operations < 400 {
		t.Errorf("%s: %d operations", model.Model.Version, operations)
	}
}

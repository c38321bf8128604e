package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUnionsGoOn reads a union of indexes page by page, while rows are written
// that would make another index the better one, and a still better one comes.
func TestUnionsGoOn(t *testing.T) {
	w := newWorld(t, false)
	for i := range 4 {
		w.put(fmt.Sprintf(`{"_id":"%d","x":1,"y":1}`, i), fmt.Sprintf(`{"_id":"z%d","z":1}`, i), fmt.Sprintf(`{"_id":"y%d","y":1}`, i))
	}
	for _, name := range []string{"x", "y", "z"} {
		w.index(name, `{"fields":{"`+name+`":"asc"}}`, false)
	}
	w.build()
	const selector = `{"selector":{"$or":[{"x":1,"y":1},{"z":1}]},"limit":1`
	meanwhile := []func(){
		func() {
			for i := range 9 {
				w.put(fmt.Sprintf(`{"_id":"x%d","x":1}`, i))
			}
		},
		func() {
			w.index("xy", `{"fields":{"x":"asc","y":"asc"}}`, false)
			w.build()
		},
	}
	var ids []string
	request := selector + "}"
	for range 9 {
		q, sink, err := w.find("", request)
		if err != nil {
			t.Fatalf("after %q: %v", ids, err)
		}
		ids = append(ids, sink.ids...)
		request = selector + `,"bookmark":"` + q.Bookmark() + `"}`
		if len(meanwhile) > 0 {
			meanwhile[0]()
			meanwhile = meanwhile[1:]
		}
	}
	slices.Sort(ids)
	if got, want := strings.Join(ids, " "), "0 1 2 3 z0 z1 z2 z3"; got != want {
		t.Errorf("pages hold %s, want %s", got, want)
	}
}

package field_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/indextest"
)

func TestSuite(t *testing.T) {
	indextest.Run(t, indextest.Subject{
		Kind:   field.Kind{},
		Engine: pebble,
		Designs: []string{
			`{"language":"query","views":{"a":{"map":{"fields":{"a":"asc"}}}}}`,
			`{"language":"query","views":{"a":{"map":{"fields":{"a":"asc","b":"desc"},"include":["c"]}},"b":{"map":{"fields":{"b":"asc"}}}}}`,
			`{"language":"query","views":{"a":{"map":{"fields":{"a":"asc"},"partial_filter_selector":{"b":{"$gt":2}}}}},"options":{"partitioned":false}}`,
			`{"language":"query","views":{"r":{"map":{"fields":{"a":"asc"},"partial_filter_selector":{"$or":[{"c":{"$regex":"^(x|y)"}},{"b":2}]}}},"s":{"map":{"fields":{"tags.[]":"asc"},"partial_filter_selector":{"c":{"$regex":"x"}}}}}}`,
			`{"language":"query","views":{"tags":{"map":{"fields":{"tags.[]":"asc","a":"asc"}}}}}`,
			`{"language":"query","views":{"deep":{"map":{"fields":{"o.x":"desc","_id":"asc"}}}},"options":{"partitioned":false}}`,
			`{"language":"query","views":{"a":{"map":{"fields":{"a":"asc","b":"desc","c":"asc"},"sparse":false}},"r":{"map":{"fields":{"a":"desc","o.x":"asc"},"include":["b"],"sparse":false,"partial_filter_selector":{"c":{"$regex":"^(x|y)"}}}}}}`,
			`{"language":"query","views":{"tags":{"map":{"fields":{"a":"asc","tags.[]":"desc"},"sparse":false}},"b":{"map":{"fields":{"tags.[]":"asc","b":"asc"},"sparse":false}}}}`,
			`{"language":"javascript","views":{"other":{"map":"function(doc){}"}}}`,
		},
		Body: body,
	})
}

func pebble(t *testing.T) kv.Engine {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// body makes a document that some of the indexes hold.
func body(r *rand.Rand) string {
	value := func() string {
		return []string{`null`, `true`, `1`, `2`, `3`, `"x"`, `"ä"`, `[1,"y"]`, `{"z":1}`}[r.IntN(9)]
	}
	b := `{"n":` + fmt.Sprint(r.IntN(3))
	for _, name := range []string{"a", "b", "c"} {
		if r.IntN(4) > 0 {
			b += fmt.Sprintf(`,%q:%s`, name, value())
		}
	}
	switch r.IntN(4) {
	case 0:
		b += `,"tags":[` + value() + `,` + value() + `,1]`
	case 1:
		b += `,"tags":` + value()
	}
	if r.IntN(2) == 0 {
		b += `,"o":{"x":` + value() + `}`
	}
	return b + `}`
}

package view

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/testkit/indextest"
)

// TestSuite holds views that were kept up to date against views built anew, rows
// and nodes byte for byte. Spans are short, so that few rows make many levels.
func TestSuite(t *testing.T) {
	many := `function(doc){ if (doc.n) for (var i = 0; i < doc.n; i++) emit([doc.k, i % 3], i * doc.f); }`
	views := func(m string, reduces ...string) string {
		text := `{"views":{"m":{"map":"` + m + `"}`
		for i, r := range reduces {
			text += fmt.Sprintf(`,"r%d":{"map":"%s","reduce":"%s"}`, i, m, r)
		}
		return text + `}}`
	}
	indextest.Run(t, indextest.Subject{
		Kind:    &Kind{functions: goFunctions{}, spread: 1},
		Another: func() index.Kind { return &Kind{functions: goFunctions{}, spread: 1} },
		Designs: []string{
			views(many, "_sum", "_stats", "length"),
			views(many, "_top_3", "_approx_count_distinct", "list"),
			views(many, "_count", "_first", "_bottom_20", "throw"),
			views(`function(doc){ emit(doc.k, doc); emit(null); }`, "_last", "_sum"),
			views(`function(doc){ emit(doc._id, doc._conflicts); }`),
			`{"views":{"v":{"map":"function(doc){ emit(doc.k, doc.n); }","reduce":"_sum","options":{"collation":"raw"}}}}`,
			`{"options":{"include_design":true},"views":{"v":{"map":"function(doc){ emit(doc._id, 1); }","reduce":"_sum"}}}`,
			`{"options":{"local_seq":true},"views":{"v":{"map":"function(doc){ emit(doc._local_seq, doc._id); }"}}}`,
			`{"options":{"partitioned":false},"views":{"v":{"map":"function(doc){ emit(doc.k, doc.f); }","reduce":"_sum"}}}`,
			`{"views":{"v":{"map":"function(doc){ emit(doc.k.x.y, 1); emit(doc.k.z, doc.o.p); }","reduce":"_sum"}}}`,
		},
		Body: func(r *rand.Rand) string {
			key := []string{`"a"`, `"B"`, `1`, `[1,"x"]`, `{"x":{"y":2}}`, `null`, `"á"`}[r.IntN(7)]
			return fmt.Sprintf(`{"k":%s,"n":%d,"f":%.1f,"o":{"p":1}}`, key, r.IntN(9), r.Float64())
		},
		Engine:    openEngine,
		Histories: 15,
	})
}

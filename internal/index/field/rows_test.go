package field_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/store"
)

// TestRowsOfElementsBesideLongValues holds that a document's rows take work in
// proportion to its length, not to the product of an array's elements and a long
// value beside it, whichever comes first. Duplicates have no rows of their own, so
// their number is not bounded by that of rows.
func TestRowsOfElementsBesideLongValues(t *testing.T) {
	body := fmt.Appendf(nil, `{"x":%q,"y":[%s1],"z":%q}`, strings.Repeat("x", 100_000), strings.Repeat("1,", 5000), strings.Repeat("z", 100_000))
	rev := &store.Revision{ID: "p:d", Body: body}
	for _, fields := range []string{`"x":"asc","y.[]":"asc"`, `"y.[]":"asc","x":"asc"`, `"x":"asc","y.[]":"desc","z":"asc"`} {
		def, err := field.Kind{}.Open([]byte(`{"fields":{` + fields + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		rows := field.Kind{}.Rows(1, &index.Index{Opened: def})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := rows(nil, rev)
		runtime.ReadMemStats(&after)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %d rows, %v", fields, len(got), err)
		}
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(100*len(body)); used > most {
			t.Errorf("%s: %d bytes for a document of %d, more than %d", fields, used, len(body), most)
		}
	}
}

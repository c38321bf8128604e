package query

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/selector"
)

// TestLongConditions holds that the work for thousands of conditions does not
// grow with the square of their number: what it allocates shows it.
func TestLongConditions(t *testing.T) {
	const n = 4000
	list := func(form string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(parts, ",")
	}
	for name, text := range map[string]string{
		"or":        `{"$or":[` + list(`{"a":%d}`) + `]}`,
		"or ids":    `{"$or":[` + list(`{"_id":"%d"}`) + `]}`,
		"elements":  `{"a":{"$elemMatch":{"$or":[` + list(`{"$eq":%d}`) + `]}}}`,
		"and":       `{"$and":[` + list(`{"a":{"$ne":%d}}`) + `]}`,
		"and other": `{"$and":[` + list(`{"a%d":1}`) + `]}`,
	} {
		s, err := selector.Parse([]byte(text))
		must(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		conjuncts(s)
		runtime.ReadMemStats(&after)
		if per := (after.TotalAlloc - before.TotalAlloc) / n; per > 50_000 {
			t.Errorf("%s: %d bytes for each condition", name, per)
		}
	}
}

package system

import (
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// TestDemoTwice kills the server while it loads the demo, starts it again, and once more: all that is missing comes,
// and nothing comes twice.
func TestDemoTwice(t *testing.T) {
	o := process.Options{Dir: t.TempDir(), Args: []string{"--demo", "--demo-size", "100"}}
	first := process.Start(t, o)
	process.Within(t, time.Minute, "the demo is being loaded", func() bool { return strings.Contains(first.Output(), "cities") })
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	var counts [2]map[string]int
	for i := range counts {
		s := process.Start(t, o)
		process.Within(t, 3*time.Minute, "the demo is loaded", func() bool { return strings.Count(s.Output(), "curl -u") >= 3 })
		counts[i] = map[string]int{}
		c := ask(s)
		for _, database := range []string{"products", "users", "orders", "readings", "fitness", "fitness-by-user", "organisations", "projects", "cities"} {
			var info struct {
				Count int `json:"doc_count"`
			}
			c.must(t, 200, "GET", "/"+database, "", &info)
			counts[i][database] = info.Count
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for database, count := range counts[0] {
		if count == 0 || counts[1][database] != count {
			t.Errorf("%s has %d documents, and %d after another start", database, count, counts[1][database])
		}
	}
	// An index is a document too.
	if counts[0]["readings"] != 1008 || counts[0]["cities"] != 171_075 {
		t.Errorf("%v", counts[0])
	}
	check(t, o.Dir)
}

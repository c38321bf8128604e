package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestTripsOfGroups: over an engine across a network the rows that end a long group are those that begin the next,
// and are brought once.
func TestTripsOfGroups(t *testing.T) {
	remote := kvtest.NewRemote(openEngine(t), nil)
	w := newWorldOver(t, remote, &Kind{functions: goFunctions{}}, false)
	w.define("d", `function(doc){ emit(doc.k, doc.n); }`, "_sum", "")
	const long, each, most = 10, 900, 3 * 10
	var want strings.Builder
	for group := range long {
		var pairs []string
		for n := range each {
			pairs = append(pairs, fmt.Sprintf("%02d%04d", group, n), fmt.Sprintf(`{"k":[%d,%d],"n":1}`, group, n))
		}
		w.put(pairs...)
		fmt.Fprintf(&want, "[%d] %d\n", group, each)
	}
	w.follow()
	remote.Take()
	if got := w.groups("d", "", Range{}, 1, 100); got != want.String() {
		t.Errorf("groups\n%s\nwant\n%s", got, want.String())
	}
	if trips := len(remote.Take()); trips > most {
		t.Errorf("%d round trips, want %d at most", trips, most)
	}
}

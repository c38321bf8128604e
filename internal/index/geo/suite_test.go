package geo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/script/compiled"
	"github.com/sectional/sectional/internal/testkit/indextest"
)

var ctx = context.Background()

// goFunctions runs functions compiled.
type goFunctions struct{}

func (goFunctions) Geometries(_ context.Context, s Script, docs [][]byte) ([]Result, error) {
	m, why := compiled.CompileFor(s.Index, "st_index")
	if m == nil {
		return nil, fmt.Errorf("not compiled: %s", why)
	}
	machine := m.NewMachine()
	all := make([]Result, len(docs))
	for i, doc := range docs {
		rows, err := machine.Run(context.Background(), doc, nil)
		all[i].Err = err
		for _, r := range rows {
			all[i].Geometries = append(all[i].Geometries, r.Key)
		}
	}
	return all, nil
}

func openEngine(t *testing.T) kv.Engine {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	must(t, err)
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// someGeometry makes a geometry, seldom one that is none.
func someGeometry(r *rand.Rand) string {
	x, y := float64(r.IntN(3600))/10-180, float64(r.IntN(1700))/10-85
	switch r.IntN(8) {
	case 0:
		return `{"type":"Point","coordinates":[1]}`
	case 1:
		return fmt.Sprintf(`{"type":"LineString","coordinates":[[%v,%v],[%v,%v]]}`, x, y, x+float64(r.IntN(20))+1, y+1)
	case 2:
		return fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%[1]v,%[2]v],[%[3]v,%[2]v],[%[3]v,%[4]v],[%[1]v,%[2]v]]]}`, x, y, x+float64(r.IntN(20))+1, y+3)
	case 3:
		return fmt.Sprintf(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[%v,%v]},{"type":"MultiPoint","coordinates":[[%v,%v],[0,0]]}]}`, x, y, -x, y)
	}
	return fmt.Sprintf(`{"type":"Point","coordinates":[%v,%v]}`, x, y)
}

func body(r *rand.Rand) string {
	return fmt.Sprintf(`{"geometry":%s,"more":[%s,%s],"n":%d}`, someGeometry(r), someGeometry(r), someGeometry(r), r.IntN(3))
}

// TestSuite holds indexes that were kept up to date against indexes built anew.
func TestSuite(t *testing.T) {
	indextest.Run(t, indextest.Subject{
		Kind: New(goFunctions{}),
		Designs: []string{
			`{"st_indexes":{"a":{"index":"function(doc){ st_index(doc.geometry); }"},"b":{"index":"function(doc){ if (doc.n) for (var i = 0; i < doc.n; i++) st_index(doc.more[i]); }"}}}`,
			`{"st_indexes":{"b":{"index":"function(doc){ st_index(doc.geometry); st_index(doc.geometry); st_index(doc.more[0]) }"}}}`,
			`{"options":{"partitioned":false},"st_indexes":{"a":{"index":"function(doc){ st_index(doc.geometry); }"}}}`,
			`{"st_indexes":{"a":{"index":"function(doc){ if (doc.n == 1) doc.x.y.z; st_index(doc.geometry); }"}}}`,
		},
		Body: body, Engine: openEngine, Histories: 15,
	})
}

// TestFieldsSuite is TestSuite for indexes by a field.
func TestFieldsSuite(t *testing.T) {
	indextest.Run(t, indextest.Subject{
		Kind: Fields{},
		Designs: []string{
			`{"language":"query","st_indexes":{"a":{"index":{"fields":["geometry"]}},"b":{"index":{"fields":["more.1"]}}}}`,
			`{"language":"query","st_indexes":{"b":{"index":{"fields":["geometry"]}}}}`,
			`{"language":"query","options":{"partitioned":false},"st_indexes":{"a":{"index":{"fields":["geometry"]}}}}`,
			`{"language":"query","st_indexes":{"a":{"index":{"fields":[{"geometry":"geo"}],"partial_filter_selector":{"n":{"$gt":0}}}},"b":{"index":{"fields":["more"]}}}}`,
		},
		Body: body, Engine: openEngine, Histories: 15,
	})
}

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/test/process"
)

// testdata/kinds holds the data of a build that knew neither full-text nor geo indexes, with design
// documents that have some. The README there says how to make it.

// unknownKinds are the requests that made it.
func unknownKinds() []question {
	const text = `"indexes":{"words":{"index":"function (doc) { if (doc.text) index('default', doc.text) }"}}`
	const places = `"st_indexes":{"places":{"index":"function (doc) { if (doc.geometry) st_index(doc.geometry) }"}}`
	const field = `{"language":"query","st_indexes":{"places":{"index":{"fields":["geometry"]}}}}`
	story := []question{
		{Method: "PUT", Path: "/_node/_local/_config/sectional/owner_design_docs", Body: `"admins"`},
		{Method: "PUT", Path: "/shop?partitioned=true"},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"docs":[{"_id":"ann:a","text":"red scales","geometry":{"type":"Point","coordinates":[13.4,52.5]}},{"_id":"bob:b","text":"red mixer","geometry":{"type":"Point","coordinates":[2.3,48.9]}}]}`},
		{Method: "PUT", Path: "/shop/_design/all", Body: `{"options":{"partitioned":false},` + text + `,` + places + `}`},
		{Method: "PUT", Path: "/shop/_design/own", Body: `{"views":{"v":{"map":"function (doc) { emit(doc.text) }"}},` + text + `,` + places + `}`},
		{Method: "PUT", Path: "/shop/_design/field", Body: field},
		{Method: "PUT", Path: "/shop/_owner/ann/_design/mine", Body: `{` + text + `,` + places + `}`},
		{Method: "POST", Path: "/shop/_bulk_docs", Body: `{"new_edits":false,"docs":[{"_id":"_design/deleted","_rev":"1-aa",` + text + `}]}`},
		{Method: "DELETE", Path: "/shop/_design/deleted?rev=1-aa"},
	}
	for i := range 5 {
		db := fmt.Sprintf("/u%d", i)
		story = append(story, question{Method: "PUT", Path: db}, question{Method: "PUT", Path: db + "/_design/d", Body: `{` + text + `}`},
			question{Method: "PUT", Path: db + "/x", Body: fmt.Sprintf(`{"text":"number%d"}`, i)})
	}
	return story
}

// TestKindsThatCameLater opens that data: each design document has its indexes, which answer, and
// what was deleted has none. One server asks at once, and another only after the background had its time.
func TestKindsThatCameLater(t *testing.T) {
	if old := os.Getenv("SECTIONAL_OLD_KINDS"); old != "" {
		dir := t.TempDir()
		s := launch(t, process.Options{Binary: old, Dir: dir})
		tell(t, s, unknownKinds())
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		packData(t, dir, filepath.Join("testdata", "kinds", "data.tar.gz"))
		return
	}
	for _, at := range []string{"at once", "later"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			unpackData(t, "testdata/kinds/data.tar.gz", dir)
			s := process.Start(t, process.Options{Dir: dir})
			c := ask(s)
			if at == "later" {
				process.Within(t, time.Minute, "the background has defined the indexes", func() bool {
					return strings.Contains(s.Output(), "have been added")
				})
			}
			for path, want := range map[string]string{
				"/shop/_design/all/_search/words?q=red":                                            `"total_rows":2,`,
				"/shop/_partition/bob/_design/own/_search/words?q=red":                             `"total_rows":1,`,
				"/shop/_owner/ann/_design/mine/_search/words?q=scales":                             `"id":"a"`,
				"/shop/_owner/bob/_design/own/_search/words?q=mixer":                               `"id":"b"`,
				"/shop/_design/all/_geo/places?lat=52.5&lon=13.4&radius=1000":                      `"id":"ann:a"`,
				"/shop/_owner/ann/_design/mine/_geo/places?lat=52.5&lon=13.4&radius=1000":          `"id":"a"`,
				"/shop/_partition/bob/_design/field/_geo/places?lat=48&lon=2&nearest=true&limit=1": `"id":"bob:b"`,
				"/u3/_design/d/_search/words?q=number3":                                            `"id":"x"`,
			} {
				if got := put(t, c, question{Method: "GET", Path: path}); got.Status != 200 || !strings.Contains(got.Answer, want) {
					t.Errorf("%s: %d %s", path, got.Status, got.Answer)
				}
			}
			if got := put(t, c, question{Method: "GET", Path: "/shop/_partition/ann/_design/deleted/_search/words?q=red"}); got.Status != 404 {
				t.Errorf("a deleted design document answers %d %s", got.Status, got.Answer)
			}
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			check(t, dir)
		})
	}
}

package couchapi_test

import (
	"strings"
	"testing"
)

// everywhere is a query that finds all points.
const everywhere = "bbox=-180,-90,180,90"

// TestGeoRights: whom a rule lets into a partition finds what lies in it, and nothing
// else, by functions and by a field, in every form of an answer and in a bookmark.
func TestGeoRights(t *testing.T) {
	w := newOpaqueWorld(t)
	w.do("PUT", "/parts/_design/s", `{"st_indexes":{"i":{"index":"function(doc){ st_index(doc.at); }"}}}`).want(201, "")
	w.do("PUT", "/parts/_design/f", `{"language":"query","st_indexes":{"i":{"index":{"fields":["at"]}}}}`).want(201, "")
	w.do("PUT", "/parts/_design/g", `{"options":{"partitioned":false},"st_indexes":{"i":{"index":"function(doc){ st_index(doc.at); }"}}}`).want(201, "")
	for _, id := range []string{"alice:a", "alice:b", "bob:a", "bob:b", "bob:c"} {
		w.do("PUT", "/parts/"+id, `{"at":{"type":"Point","coordinates":[1,2],"of":"`+id+`"}}`).want(201, "")
	}
	for _, path := range []string{"/parts/_partition/alice/_design/s", "/parts/_owner/alice/_design/s", "/parts/_partition/alice/_design/f", "/parts/_owner/alice/_design/f"} {
		for _, q := range []string{everywhere + "&include_docs=true", everywhere + "&format=geojson", "lat=2&lon=1&nearest=true&include_docs=true", everywhere + "&format=legacy&stale=ok", everywhere + "&skip=1"} {
			got := w.as(readsOne, "GET", path+"/_geo/i?"+q, "").want(200, "").Body
			if !strings.Contains(got, `b"`) || strings.Contains(got, "bob") || strings.Contains(got, `:c"`) {
				t.Errorf("%s: %s", path+"/_geo/i?"+q, got)
			}
		}
		page := w.as(readsOne, "GET", path+"/_geo/i?limit=1&"+everywhere, "").want(200, "").json()["bookmark"].(string)
		next := w.as(readsOne, "GET", path+"/_geo/i?limit=5&"+everywhere+"&bookmark="+page, "").want(200, "").Body
		if strings.Count(next, `"id"`) != 1 || strings.Contains(next, "bob") {
			t.Errorf("%s: behind the first there is %s", path, next)
		}
		// A bookmark of another partition's shows nothing of that.
		elsewhere := strings.Replace(strings.Replace(path, "/alice/", "/bob/", 1), "_owner", "_partition", 1)
		mark := w.do("GET", elsewhere+"/_geo/i?limit=1&"+everywhere, "").want(200, "").json()["bookmark"].(string)
		if got := w.as(readsOne, "GET", path+"/_geo/i?"+everywhere+"&bookmark="+mark, ""); strings.Contains(got.Body, "bob") {
			t.Errorf("%s with another's bookmark: %s", path, got.Body)
		}
	}
	for _, path := range []string{"/parts/_partition/bob/_design/s/_geo/i?", "/parts/_owner/bob/_design/s/_geo/i?", "/parts/_design/s/_geo/i?partition=bob&", "/parts/_partition/bob/_design/f/_geo/i?",
		"/parts/_owner/bob/_design/f/_geo/i?", "/parts/_design/f/_geo/i?partition=bob&", "/parts/_design/g/_geo/i?", "/parts/_design/s/_geo_info/i?", "/parts/_design/g/_geo_info/i?", "/parts/_partition/alice/_design/s/_geo_info/i?"} {
		if got := w.as(readsOne, "GET", path+everywhere, ""); got.Status != 403 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

// TestGeoOfDroppedPartition: what a partition had is not found any more once it is
// dropped, though its rows go later, and a new one of the name finds only its own.
func TestGeoOfDroppedPartition(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_design/s", `{"st_indexes":{"i":{"index":"function(doc){ st_index(doc.at); }"}}}`).want(201, "")
	a.do("PUT", "/db/_design/f", `{"language":"query","st_indexes":{"i":{"index":{"fields":["at"]}}}}`).want(201, "")
	a.do("PUT", "/db/_design/g", `{"autoupdate":false,"options":{"partitioned":false},"st_indexes":{"i":{"index":"function(doc){ st_index(doc.at); }"}}}`).want(201, "")
	const point = `{"at":{"type":"Point","coordinates":[1,2]},"of":"%"}`
	for _, id := range []string{"alice:a", "bob:a"} {
		a.do("PUT", "/db/"+id, strings.Replace(point, "%", "secret of "+id, 1)).want(201, "")
	}
	paths := []string{"/db/_partition/alice/_design/s", "/db/_owner/alice/_design/s", "/db/_partition/alice/_design/f", "/db/_owner/alice/_design/f", "/db/_design/g"}
	look := func(want, not string) {
		t.Helper()
		for _, path := range paths {
			for _, q := range []string{everywhere, "lat=2&lon=1&nearest=true", everywhere + "&stale=ok"} {
				got := a.do("GET", path+"/_geo/i?include_docs=true&"+q, "").want(200, "").Body
				if strings.Contains(got, not) || !strings.Contains(q, "stale") && !strings.Contains(got, want) {
					t.Errorf("%s?%s: %s", path, q, got)
				}
			}
		}
	}
	look("secret of alice:a", "nobody")
	a.do("DELETE", "/db/_partition/alice", "").want(202, "")
	look("rows", "secret of alice:a")
	must(t, a.Store.Sweep(t.Context()))
	a.do("PUT", "/db/alice:b", strings.Replace(point, "%", "new", 1)).want(201, "")
	look(`"new"`, "secret of alice:a")
}

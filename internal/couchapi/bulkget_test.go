package couchapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBulkGetNamesOneDocumentOften: a document of many leaves is not answered over and over because a body names it again. Who
// names revisions gets all of them, and each entry has an answer.
func TestBulkGetNamesOneDocumentOften(t *testing.T) {
	const leaves, entries = 400, 1000
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	var docs, named []string
	for i := range leaves {
		docs = append(docs, fmt.Sprintf(`{"_id":"d","_rev":"1-%032x"}`, i))
		named = append(named, fmt.Sprintf(`{"id":"d","rev":"1-%032x"}`, i))
	}
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`,{"_id":"one","_rev":"1-a"}]}`).want(201, "")
	ask := func(query string, wanted []string) (answered, refused int) {
		t.Helper()
		var got struct {
			Results []struct {
				Docs []struct {
					OK    any
					Error struct{ Error string }
				}
			}
		}
		must(t, json.Unmarshal([]byte(a.do("POST", "/db/_bulk_get"+query, `{"docs":[`+strings.Join(wanted, ",")+`]}`).want(200, "").Body), &got))
		if len(got.Results) != len(wanted) {
			t.Errorf("%d entries have %d answers", len(wanted), len(got.Results))
		}
		for _, r := range got.Results {
			for _, d := range r.Docs {
				switch {
				case d.OK != nil:
					answered++
				case d.Error.Error == "too_many_revisions":
					refused++
				default:
					t.Fatalf("%+v", d)
				}
			}
		}
		return answered, refused
	}
	for _, c := range []struct {
		name, query string
		wanted      []string
		answered    int
		refused     int
	}{
		{"each leaf", "?latest=true&revs=true", named, leaves, 0},
		{"one leaf, often", "", strings.Split(strings.Repeat(`{"id":"one"} `, entries-1)+`{"id":"one"}`, " "), entries, 0},
		{"all leaves, often", "", strings.Split(strings.Repeat(`{"id":"d"} `, entries-1)+`{"id":"d"}`, " "), 27 * leaves, entries - 27},
		{"all leaves, then one", "", append(strings.Split(strings.Repeat(`{"id":"d"} `, entries-1), " ")[:entries-1], `{"id":"one"}`), 27*leaves + 1, entries - 28},
	} {
		if answered, refused := ask(c.query, c.wanted); answered != c.answered || refused != c.refused {
			t.Errorf("%s: %d revisions and %d refusals, want %d and %d", c.name, answered, refused, c.answered, c.refused)
		}
	}
	many := strings.Repeat(`"1-00000000000000000000000000000007",`, 5000) + `"1-00000000000000000000000000000008"`
	if n := strings.Count(a.do("GET", "/db/d?latest=true&open_revs=["+many+"]", "", "Accept", "application/json").want(200, "").Body, `"ok"`); n != 2 {
		t.Errorf("two revisions, one of them named often, are %d", n)
	}
}

// TestKeysNameOneDocumentOften: a list with conflicts does not show a document of many leaves over and over because its keys name it again.
// Without conflicts it does, and documents without conflicts are shown as often as they are named.
func TestKeysNameOneDocumentOften(t *testing.T) {
	const leaves, keys = 400, 1000
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	var docs []string
	for i := range leaves {
		docs = append(docs, fmt.Sprintf(`{"_id":"d","_rev":"1-%032x"}`, i))
	}
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`,{"_id":"one","_rev":"1-a"}]}`).want(201, "")
	for _, c := range []struct {
		query, key string
		shown      int
	}{
		{"?include_docs=true&conflicts=true", `"d"`, 1 + 10_000/(leaves-1) + 1},
		{"?include_docs=true&conflicts=true&descending=true", `"d"`, 1 + 10_000/(leaves-1) + 1},
		{"?include_docs=true&conflicts=true", `"one"`, keys},
		{"?include_docs=true", `"d"`, keys},
		{"?conflicts=true", `"d"`, keys},
	} {
		body := `{"keys":[` + strings.Repeat(c.key+",", keys-1) + c.key + `]}`
		got := a.do("POST", "/db/_all_docs"+c.query, body).want(200, "").Body
		shown, refused := strings.Count(got, `"value":`), strings.Count(got, `{"key":`+c.key+`,"error":"too_many_revisions"}`)
		if shown != c.shown || refused != keys-c.shown {
			t.Errorf("%s %s: %d rows and %d refusals, want %d", c.query, c.key, shown, refused, c.shown)
		}
	}
}

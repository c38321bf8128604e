package couchapi

import (
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestWhoWritesOwnerDesigns writes a design document of a partition in every way
// that a document's name can be given, under each setting and by each caller: who
// may not is refused for that document alone.
func TestWhoWritesOwnerDesigns(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	ways := []asked{
		{"", `PUT /fit/alice:_design%2Fx {}`, 201, ""},
		{"", `PUT /fit/_partition/alice/alice:_design%2Fx {}`, 201, ""},
		{"", `PUT /fit/alice:_design%2Fx?new_edits=false {"_rev":"1-a"}`, 201, ""},
		{"", `POST /fit {"_id":"alice:_design/x"}`, 201, ""},
		{"", `POST /fit/_bulk_docs {"docs":[{"_id":"alice:_design/x"},{"_id":"alice:3"}]}`, 201, `^\[{"id":"alice:_design/x","error":"(forbidden|unauthorized)",[^}]*},{"ok":true`},
		{"", `COPY /fit/alice:1 alice:_design/x`, 201, ""},
		{"", `PUT /fit/alice:_design%2Fx/a hello`, 201, ""},
		{"", `PUT /fit/bob:_design%2Fx {}`, 201, ""},
	}
	const off, noAdmin = "Design documents of partitions are switched off.", "You are not a db or server admin."
	for _, c := range []struct{ setting, who, refusal string }{
		{"none", "", off}, {"none", "boss", off}, {"none", "ann", off}, {"mistyped", "", off},
		{"admins", "", ""}, {"admins", "boss", ""}, {"admins", "ann", noAdmin},
		{"members", "", ""}, {"members", "boss", ""}, {"members", "ann", ""},
	} {
		_, err := a.config.Set(config.Setting{Section: "sectional", Key: "owner_design_docs", Value: c.setting}, false)
		must(t, err)
		for _, q := range ways {
			bulk := q.want
			q.who, q.want = c.who, `"ok":true`
			if c.refusal != "" {
				q.status, q.want = 403, c.refusal
				if bulk != "" {
					q.status, q.want = 201, bulk
				}
			}
			a.ask([]asked{q})
			for _, id := range []string{"alice:3", "alice:_design%2Fx", "bob:_design%2Fx"} {
				if got := a.do("GET", "/fit/"+id, ""); got.Status == 200 {
					if c.refusal != "" && id != "alice:3" {
						t.Errorf("%v: %s stored %s", c, q.request, id)
					}
					a.do("DELETE", "/fit/"+id+"?rev="+got.json()["_rev"].(string), "").want(200, "")
				}
			}
		}
	}
}

// TestOwnerDesignsAreChecked holds design documents of partitions against the same
// rules as those of an ordinary database.
func TestOwnerDesignsAreChecked(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"},
		config.Setting{Section: "sectional", Key: "limits", Value: "cloudant"})
	a.fitnessDB()
	a.do("PUT", "/plain", "").want(201, "")
	a.ask([]asked{
		{"ann", `PUT /fit/alice:_design%2Fx {"views":5}`, 400, "`views` field must have object type"},
		{"ann", `PUT /fit/alice:_design%2Fx {"views":{"v":{}}}`, 400, "must contain map function"},
		{"ann", `PUT /fit/alice:_design%2Fx {"views":{"v":{"map":"function("}}}`, 400, `"compilation_error"`},
		{"ann", `PUT /fit/alice:_design%2Fx {"options":{"partitioned":true}}`, 400, "non-partitioned database"},
		// Cloudant's limits are for partitioned design documents.
		{"ann", `PUT /fit/alice:_design%2Fx {"validate_doc_update":"function(n){ if (n.bad) throw {forbidden: n._id} }"}`, 201, `"rev":"(?P<rev>[^"]*)"`},
		{"ann", `PUT /fit/alice:bad {"bad":true}`, 403, `"reason":"bad"`},
		{"ann", `PUT /fit/bob:bad {"bad":true}`, 201, ``},
		// What was stored before the setting was switched off goes on working, and
		// administrators can delete it.
		{"", `PUT /_node/_local/_config/sectional/owner_design_docs "some"`, 400, "`owner_design_docs` is one of: none, admins, members."},
		{"", `PUT /_node/_local/_config/sectional/owner_design_docs "none"`, 200, ``},
		{"ann", `PUT /fit/alice:bad {"bad":true}`, 403, `"reason":"bad"`},
		{"ann", `DELETE /fit/alice:_design%2Fx?rev=«rev»`, 403, `not a db or server admin`},
		{"boss", `DELETE /fit/alice:_design%2Fx?rev=«rev»`, 200, ``},
		{"ann", `PUT /fit/alice:bad {"bad":true}`, 201, ``},
		// In an ordinary database such a name means nothing.
		{"", `PUT /plain/bob:_design%2Fx {"views":5}`, 201, ``},
	})
}

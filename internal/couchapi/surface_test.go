package couchapi_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/web"
)

// concrete returns an address that a pattern matches.
func concrete(pattern string) string {
	p := strings.NewReplacer("{db}", "plain", "{node}", "_local", "{partition}", "p", "...", "").Replace(pattern)
	if strings.Contains(pattern, "{partition}") {
		p = strings.Replace(p, "plain", "parted", 1)
	}
	return regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(p, "$1")
}

func TestMissingRoutes(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/plain", "").want(201, "")
	a.do("PUT", "/parted?partitioned=true", "").want(201, "")
	text, err := os.ReadFile("../../docs/DIFFERENCES.md")
	must(t, err)
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		if row.Missing == "" {
			continue
		}
		if !regexp.MustCompile(`(?m)^\| \d+ \|.*"` + regexp.QuoteMeta(row.Missing) + `"`).Match(text) {
			t.Errorf("%s: docs/DIFFERENCES.md has no numbered line with %q", row.Pattern, row.Missing)
		}
		for method := range strings.SplitSeq(strings.ReplaceAll(row.Methods, "*", "GET,POST,PUT"), ",") {
			a.do(method, concrete(row.Pattern), "{}").want(501, `{"error":"not_implemented","reason":"`+row.Missing+`"}`)
		}
	}
}

// surface is CouchDB's: every path here must have a row.
var surface = `
/ /_up /_active_tasks /_all_dbs /_dbs_info /_db_updates /_membership /_cluster_setup /_replicate
/_scheduler/jobs /_scheduler/jobs/j /_scheduler/docs /_scheduler/docs/_replicator /_scheduler/docs/_replicator/d
/_session /_uuids /_utils /_utils/index.html /favicon.ico /_node/_local /_node/_local/_config /_node/_local/_config/s
/_node/_local/_config/s/k /_node/_local/_config/_reload /_node/_local/_stats /_node/_local/_stats/couchdb
/_node/_local/_prometheus /_node/_local/_system /_node/_local/_versions /_node/_local/_smoosh/status /_node/_local/_restart
/_search_analyze /_nouveau_analyze /_reshard /_reshard/state /_reshard/jobs /_reshard/jobs/j /_reshard/jobs/j/state
/_reload_query_servers
/d /d/_all_docs /d/_all_docs/queries /d/_design_docs /d/_design_docs/queries /d/_local_docs /d/_local_docs/queries
/d/_bulk_docs /d/_bulk_get /d/_find /d/_explain /d/_index /d/_index/_design/x/json/n /d/_index/_bulk_delete /d/_changes
/d/_compact /d/_compact/x /d/_view_cleanup /d/_search_cleanup /d/_nouveau_cleanup /d/_ensure_full_commit /d/_security
/d/_revs_limit /d/_purge /d/_purged_infos /d/_purged_infos_limit /d/_missing_revs /d/_revs_diff /d/_shards /d/_shards/x
/d/_sync_shards /d/_partition/p /d/_partition/p/_all_docs /d/_partition/p/_find /d/_partition/p/_explain
/d/_partition/p/_design/x/_view/v /d/_partition/p/_design/x/_search/i /d/_auto_purge /d/_time_seq /d/_temp_view
/d/x /d/x/att /d/x/att/more /d/_local/l /d/_design/x /d/_design/x/att /d/_design/x/_info /d/_design/x/_view/v
/d/_design/x/_view/v/queries /d/_design/x/_search/i /d/_design/x/_search_info/i /d/_design/x/_search_disk_size/i
/d/_design/x/_nouveau/i /d/_design/x/_nouveau_info/i /d/_design/x/_show/f /d/_design/x/_show/f/y /d/_design/x/_list/f/v
/d/_design/x/_update/f /d/_design/x/_update/f/y /d/_design/x/_rewrite/a/b /d/_design/x/_geo/i
/d/_partitions /d/_partition/p/_changes /d/_partition/_session /d/_partition/p/_session
/_scheduler/jobs/j/failures /_scheduler/docs/x/_replicator/d
`

func TestSurface(t *testing.T) {
	root := couchhttp.NewTable(couchapi.AllRoutes(), couchhttp.Classes{})
	for target := range strings.FieldsSeq(surface) {
		p := splitPath(target)
		var args [web.MaxArgs]string
		n := root.Find(&p, &args)
		if n == nil {
			t.Errorf("%s has no row", target)
			continue
		}
		// A path of the API must not fall to the row of documents.
		for seg := range strings.SplitSeq(n.Rows[0].Pattern, "/") {
			if last := target[strings.LastIndexByte(target, '/')+1:]; strings.HasPrefix(last, "_") && seg == "{id}" {
				t.Errorf("%s falls to %s", target, n.Rows[0].Pattern)
			}
		}
	}
}

func TestRoutesAreWhole(t *testing.T) {
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		if (row.Run == nil) == (row.Missing == "") {
			t.Errorf("%s %s: a row has a handler or a reason", row.Methods, row.Pattern)
		}
		if strings.HasPrefix(row.Pattern, "/{db}") && row.Rights == couchhttp.Anyone && !strings.HasSuffix(row.Pattern, "/_session") {
			t.Errorf("%s %s: a database's page asks for no right", row.Methods, row.Pattern)
		}
		if strings.Contains(row.Methods, "HEAD") {
			t.Errorf("%s %s: GET serves HEAD", row.Methods, row.Pattern)
		}
	}
}

func TestNumbersOfDifferencesAreUnique(t *testing.T) {
	text, err := os.ReadFile("../../docs/DIFFERENCES.md")
	must(t, err)
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(string(text), -1) {
		if seen[m[1]] {
			t.Errorf("number %s is given twice", m[1])
		}
		seen[m[1]] = true
	}
}

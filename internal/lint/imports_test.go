package lint

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers gives each package its layer. An import goes strictly to a lower one.
func layers() map[string]int {
	return map[string]int{
		"embed":                       14,
		"cmd/sectional":               14,
		"internal/server":             13,
		"internal/assembly":           12,
		"internal/couchapi":           11,
		"internal/dynamoapi":          11,
		"internal/couchapi/legacy":    10,
		"internal/demo":               8,
		"internal/query":              7,
		"internal/transfer":           7,
		"internal/operate":            0,
		"internal/manual":             0,
		"internal/index/mapjs":        6,
		"internal/index/text/find":    2,
		"internal/index/text":         6,
		"internal/index/text/textjs":  7,
		"internal/index/text/mango":   3,
		"internal/index/text/segment": 1,
		"internal/index/geo":          6,
		"internal/index/geo/geojs":    7,
		"internal/index/secondary":    6,
		"internal/index/view":         6,
		"internal/replicate":          6,
		"internal/index/view/viewjs":  7,
		"internal/index/field":        6,
		"internal/admission":          5,
		"internal/index":              5,
		"internal/peers":              5,
		"internal/subscribe":          5,
		"internal/peruser":            5,
		"internal/web":                5,
		"internal/auth":               4,
		"internal/changes":            4,
		"internal/snapshot":           4,
		"internal/store":              3,
		"internal/couchwire":          2,
		"internal/jobs":               2,
		"internal/kv/pebblekv":        2,
		"internal/kv/pgkv":            2,
		"internal/kv/kvcopy":          2,
		"internal/script":             2,
		"internal/selector":           2,
		"internal/attribute":          2,
		"internal/attribute/expr":     3,
		"internal/attribute/partiql":  4,
		"internal/lucene":             0,
		"internal/analyze":            0,
		"internal/config":             1,
		"internal/backup":             1,
		"internal/document":           1,
		"internal/keyspace":           1,
		"internal/kv":                 1,
		"internal/script/compiled":    1,
		"internal/dberr":              0,
		"internal/geometry":           1,
		"internal/jsonscan":           0,
		"internal/docfile":            4,
		"internal/jsonstream":         1,
		"internal/couchclient":        1,
		"internal/migrate":            7,
		"internal/packed":             0,
		"internal/deflate":            0,
		"docs":                        0,
		"internal/dashboard":          1,
		"internal/partitionkey":       2,
		"internal/lint":               0,
		"internal/tracing":            0,
		"internal/machine":            0,
		"internal/outgoing":           0,
		"internal/progress":           0,
		"internal/script/syntax":      0,
		"internal/slots":              0,
		"internal/worktime":           0,
		"internal/regex":              0,
		"internal/sigv4":              0,
		"internal/table":              3,

		"internal/couchapi/admin":     9,
		"internal/couchapi/documents": 9,
		"internal/couchapi/lists":     9,
		"internal/couchapi/couchhttp": 8,
		"internal/replicate/schedule": 7,
		"internal/replicate/spec":     4,

		"internal/certificates": 2,
	}
}

// testkit has what several packages' tests use. It may import everything, and nothing but tests imports it.
const testkit = "internal/testkit/"

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		directory := s.directory()
		if strings.HasPrefix(directory, testkit) || !strings.HasPrefix(directory, "internal/") && !strings.HasPrefix(directory, "cmd/") && directory != "embed" && directory != "docs" {
			continue
		}
		seen[directory] = true
		layer, ok := layers()[directory]
		if !ok {
			t.Errorf("%s has no layer", directory)
			continue
		}
		for _, path := range s.imports(t) {
			imported, ours := strings.CutPrefix(path, module+"/")
			if !ours || s.test() {
				continue // a test may use what is beside or above it
			}
			if strings.HasPrefix(imported, testkit) {
				t.Errorf("%s imports %s, which is for tests", s.path, imported)
			} else if below, ok := layers()[imported]; !ok || below >= layer {
				t.Errorf("%s (layer %d) imports %s (layer %d)", s.path, layer, imported, below)
			}
		}
	}
	for directory := range layers() {
		if !seen[directory] {
			t.Errorf("%s has a layer and no files", directory)
		}
	}
}

// narrow are packages that only some may import.
func narrow() map[string][]string {
	return map[string][]string{
		// replicate, transfer, subscribe and certificates: their clients. outgoing: dates in headers. tracing: its collector.
		"net/http": {"internal/certificates", "internal/peers", "internal/outgoing", "internal/tracing", "internal/web", "internal/couchapi", "internal/couchapi/couchhttp", "internal/couchapi/documents", "internal/couchapi/lists",
			"internal/couchapi/admin", "internal/couchapi/legacy", "internal/dynamoapi", "internal/operate", "internal/server", "internal/replicate", "internal/replicate/schedule", "internal/transfer", "internal/couchclient", "internal/migrate", "internal/subscribe"},
		module + "/internal/kv": {"internal/store", "internal/jobs", "internal/assembly", "internal/server", "internal/kv/pebblekv", "internal/kv/pgkv", "internal/kv/kvcopy",
			"internal/index", "internal/subscribe", "internal/index/field", "internal/index/view", "internal/index/text", "internal/index/geo", "internal/index/secondary"},
		module + "/internal/kv/pebblekv":   {"internal/server"},
		module + "/internal/kv/pgkv":       {"internal/server"},
		"github.com/jackc/pgx/v5":          {"internal/kv/pgkv", "bench/model"},
		"github.com/cockroachdb/pebble/v2": {"internal/kv/pebblekv", "bench"},
	}
}

func TestNarrowImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || strings.HasPrefix(s.directory(), "test/") || strings.HasPrefix(s.directory(), testkit) {
			continue
		}
		for _, path := range s.imports(t) {
			allowed, ok := narrow()[path]
			if path == "net/http" && strings.HasPrefix(s.directory(), "bench") {
				continue // the bare handler, which is what the server is measured beside, and a client
			}
			if ok && !slices.Contains(allowed, s.directory()) {
				t.Errorf("%s imports %s, which only %v may", s.path, path, allowed)
			}
		}
	}
}

// TestDependencies asks for a word on every module that the code imports, somewhere in the decisions.
func TestDependencies(t *testing.T) {
	var decisions strings.Builder
	walk(t, func(path string) {
		if strings.HasPrefix(path, "docs/decisions/") {
			decisions.WriteString(text(t, path))
		}
	})
	required := regexp.MustCompile(`(?m)^\t?(?:require )?([a-z0-9.]+\.[a-z]+/\S+) v\S+`).FindAllStringSubmatch(text(t, "go.mod"), -1)
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, path := range s.imports(t) {
			for _, m := range required {
				if path == m[1] || strings.HasPrefix(path, m[1]+"/") {
					used[m[1]] = true
				}
			}
		}
	}
	for path := range used {
		if !strings.Contains(decisions.String(), path) {
			t.Errorf("docs/decisions says nothing about %s", path)
		}
	}
}

func TestPackageNames(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "types", "shared", "manager"}
	for _, s := range sources(t) {
		if slices.Contains(forbidden, filepath.Base(s.directory())) {
			t.Errorf("%s: a package named %s has no subject", s.path, filepath.Base(s.directory()))
		}
	}
}

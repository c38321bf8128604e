package server

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/certificates"
	"github.com/sectional/sectional/internal/kv/pgkv"
	"github.com/sectional/sectional/internal/web"
)

// metricRow is a row of docs/metrics.md: name, type, unit, labels, meaning, when to worry.
var metricRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_*]+)` \\| (counter|gauge|histogram|summary|untyped) \\| ([^|]+) \\| ([^|]*) \\| ([^|]+) \\| ([^|]+) \\|$")

// TestMetricsPage holds docs/metrics.md against the metrics of servers with either engine:
// each has a row of its type, and no row is about one that there is not.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, met := map[string]string{}, map[string]bool{}
	for _, m := range metricRow.FindAllStringSubmatch(string(page), -1) {
		if rows[m[1]] != "" {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = m[2]
	}
	if lines := strings.Count(string(page), "\n| `"); lines != len(rows) {
		t.Errorf("%d rows, of which %d have all columns", lines, len(rows))
	}
	for name, kind := range metricTypes(t) {
		row := name
		if strings.HasPrefix(name, "go_memstats_") {
			row, kind = "go_memstats_*", rows["go_memstats_*"]
		}
		met[row] = true
		if rows[row] != kind {
			t.Errorf("docs/metrics.md says %q of %s, which is a %s", rows[row], name, kind)
		}
	}
	for name := range rows {
		if !met[name] {
			t.Errorf("docs/metrics.md has %s, which there is not", name)
		}
	}
}

// metricTypes returns the types of all metrics, by name.
func metricTypes(t *testing.T) map[string]string {
	t.Helper()
	o := Options{Data: t.TempDir(), User: "adm", Password: "pass"}
	r := start(t, o)
	for range 2 { // the first is counted when it has been answered
		if status, body := r.get("/_node/_local/_prometheus", "adm", "pass"); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	_, text := r.get("/_node/_local/_prometheus", "adm", "pass")
	types, backedUp := map[string]string{}, &control{}
	backedUp.counts.backup.Store(1)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		types[m[1]] = m[2]
	}
	for _, g := range slices.Concat(sharedGauges(pgkv.Metrics{}, ""), certificateGauges(certificates.Numbers{Ends: time.Now()}), tracingGauges(0, 0, 0),
		backedUp.gauges(), []web.Gauge{web.Level("replications_last_success_seconds", "", 0)}) {
		if types["sectional_"+g.Name] = "gauge"; g.Counter {
			types["sectional_"+g.Name] = "counter"
		}
	}
	return types
}

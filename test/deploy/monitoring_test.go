package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// alerts is what Prometheus reads of a file of rules.
type alerts struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// board is what the test looks at of a Grafana dashboard.
type board struct {
	Title, UID    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Query string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ RefID, Expr string }
	}
}

// TestAlerts: the rules are what Prometheus understands, and about metrics that there are.
func TestAlerts(t *testing.T) {
	var file alerts
	decoded(t, "prometheus/alerts.yaml", func(text []byte) error { return yaml.UnmarshalStrict(text, &file) })
	known, seen := metricNames(t), map[string]bool{}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			if seen[r.Alert] || r.Labels["severity"] != "warning" && r.Labels["severity"] != "critical" || r.Annotations["summary"] == "" {
				t.Errorf("%s: there twice, or without severity or summary", r.Alert)
			}
			seen[r.Alert] = true
			checkExpression(t, known, r.Alert, r.Expr)
			if r.For != "" && !regexp.MustCompile(`^[1-9][0-9]*[smh]$`).MatchString(r.For) {
				t.Errorf("%s: for %s", r.Alert, r.For)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d rules", len(seen))
	}
}

// TestGrafana: the dashboard asks for metrics that there are, and no panel lies over another.
func TestGrafana(t *testing.T) {
	var b board
	decoded(t, "grafana/sectional.json", func(text []byte) error { return json.Unmarshal(text, &b) })
	known, ids, asked := metricNames(t), map[int]bool{}, 0
	taken := map[[2]int]string{}
	for _, p := range b.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies over %q, or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, q := range p.Targets {
			asked++
			checkExpression(t, known, p.Title, strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(q.Expr))
		}
	}
	if b.UID == "" || b.SchemaVersion == 0 || len(b.Templating.List) != 2 || asked < 20 {
		t.Errorf("%q, version %d, %d variables, %d queries", b.UID, b.SchemaVersion, len(b.Templating.List), asked)
	}
}

func decoded(t *testing.T, name string, decode func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := decode(text); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// metricNames are those that docs/metrics.md has, which a test of the server holds, with the
// series that histograms have, and Prometheus's own.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"up": true}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| (\\w+)").FindAllStringSubmatch(string(page), -1) {
		if known[m[1]] = true; m[2] == "histogram" {
			known[m[1]+"_bucket"], known[m[1]+"_sum"], known[m[1]+"_count"] = true, true, true
		}
	}
	return known
}

// checkExpression parses an expression, and looks up what it is about.
func checkExpression(t *testing.T, known map[string]bool, where, text string) {
	t.Helper()
	expr, err := parser.ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %s: %v", where, text, err)
		return
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && !known[s.Name] {
			t.Errorf("%s: there is no metric %q", where, s.Name)
		}
		return nil
	})
}

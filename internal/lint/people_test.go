package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// TestPrintedForPeople holds that commands print texts of others by progress.Fprintf, which escapes what a terminal would act on.
func TestPrintedForPeople(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if d := s.directory(); s.test() || !strings.HasSuffix(d, "cmd/sectional") && !strings.HasSuffix(d, "internal/transfer") && !strings.HasSuffix(d, "internal/migrate") {
			continue
		}
		seen++
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, is := n.(*ast.SelectorExpr); is && f.Sel.Name == "Fprintf" {
				if of, is := f.X.(*ast.Ident); is && of.Name == "fmt" {
					t.Errorf("%s:%d prints by fmt.Fprintf: use progress.Fprintf", s.path, s.line(n.Pos()))
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("there are no sources")
	}
}

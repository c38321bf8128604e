package golden

import (
	"strings"
	"testing"
)

// TestScript holds that commands stay and outputs are those of now.
func TestScript(t *testing.T) {
	got := script("# a comment\n\nsay a\nb\n----\nold\n\nsay c\n\nnothing\n----\nold\n\n", func(command string) string {
		what, _ := strings.CutPrefix(command, "say ")
		if what == command {
			return ""
		}
		return strings.ToUpper(what) + "\n"
	})
	if want := "# a comment\n\nsay a\nb\n----\nA\nB\n\nsay c\n----\nC\n\nnothing\n"; got != want {
		t.Errorf("the script becomes\n%s", got)
	}
}

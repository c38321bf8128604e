// Package long is run by a test, as a long step runs a package.
package long

import (
	"os"
	"testing"
)

func TestIsLong(t *testing.T) {
	if os.Getenv("SECTIONAL_LONG") != "1" {
		t.Error("not told")
	}
}

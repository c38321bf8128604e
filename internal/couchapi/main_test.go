package couchapi

import (
	"os"
	"testing"

	"github.com/sectional/sectional/internal/script"
)

// TestMain lets the test binary be a child that runs design functions.
func TestMain(m *testing.M) {
	script.ServeIfChild()
	os.Exit(m.Run())
}

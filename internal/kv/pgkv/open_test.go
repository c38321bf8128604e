package pgkv

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

// TestNoDatabase: who names a database that is not there is told to create it.
func TestNoDatabase(t *testing.T) {
	url := strings.Replace(postgres.Cluster(t).URL(), "/sectional?", "/missing?", 1)
	_, err := Open(t.Context(), Options{URL: url, Unsafe: true, Logger: slog.New(slog.DiscardHandler)})
	if !dberr.Is(err, dberr.Invalid) || !strings.Contains(err.Error(), "createdb") {
		t.Errorf("%v", err)
	}
}

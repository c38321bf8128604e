package couchapi

import (
	"context"
	"errors"
	"testing"

	"github.com/sectional/sectional/internal/script/compiled"
)

// ending is a context that ends when it has been looked at so many times.
type ending struct {
	context.Context
	checks int
}

func (c *ending) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

// TestMapFilterEndsWithItsContext: a compiled map that is a filter runs in the process, and
// ends when the client has left, within a document too.
func TestMapFilterEndsWithItsContext(t *testing.T) {
	program, why := compiled.Compile(`function(doc){ while (doc.n) {} emit(1) }`)
	if program == nil {
		t.Fatal(why)
	}
	m := mapFilter{program: program}
	for _, docs := range [][][]byte{{[]byte(`{"n":1}`)}, {[]byte(`{}`), []byte(`{}`)}} {
		if passed, err := m.ask(&ending{context.Background(), 1}, docs); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", docs, passed, err)
		}
	}
}

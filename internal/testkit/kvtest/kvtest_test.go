package kvtest

import (
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

func TestModel(t *testing.T) {
	Run(t, func(_ *testing.T, now func() time.Time) kv.Engine { return NewModel(ModelOptions{Now: now}) })
}

package couchhttp

import (
	"testing"
)

func TestSequenceTakesANewPrefix(t *testing.T) {
	var m uuidMaker
	prefixes := map[string]bool{}
	for range 20000 {
		prefixes[m.sequence()[:26]] = true
	}
	if len(prefixes) < 2 || len(prefixes) > 6 {
		t.Errorf("%d prefixes over 20,000 ids of steps of 2,048 within 2^24", len(prefixes))
	}
}

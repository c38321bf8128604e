package dynamoapi

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// TestCanonicalNames compares with what net/http makes of names.
func TestCanonicalNames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	names := []string{"", "x-amz-date", "X-AMZ-TARGET", "host", "etag", "a-", "-a", "--", "a_b", "a b", "ä", "x-amz-content-sha256",
		strings.Repeat("a", maxPlainHeader), strings.Repeat("a", maxPlainHeader+1)}
	for range 5000 {
		name := make([]byte, r.IntN(8))
		for i := range name {
			name[i] = "abzABZ019--_ !"[r.IntN(14)]
		}
		names = append(names, string(name))
	}
	taken := 0
	for _, name := range names {
		if got, ok := appendCanonical(nil, name); ok {
			if taken++; string(got) != http.CanonicalHeaderKey(name) {
				t.Errorf("%q: %q", name, got)
			}
		}
	}
	if taken < 100 {
		t.Errorf("%d of %d names were taken", taken, len(names))
	}
}

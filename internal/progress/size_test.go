package progress

import "testing"

// TestSizes writes bytes for people.
func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_940: "999.9 kB", 999_960: "1.0 MB", 1_500_000_000: "1.5 GB", 2e18: "2000.0 PB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

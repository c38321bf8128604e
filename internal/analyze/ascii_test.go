package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestASCIIIsAsAll cuts random texts of ASCII characters both ways.
func TestASCIIIsAsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, r.IntN(12))
		for i := range text {
			if text[i] = "aZ19__..'',;:: -\r\n\t\x00"[r.IntN(20)]; r.IntN(8) == 0 {
				text[i] = byte(r.IntN(128))
			}
		}
		if diff := cmp.Diff(allWords(text), asciiWords(text)); diff != "" {
			t.Fatalf("%q\n%s", text, diff)
		}
	}
}

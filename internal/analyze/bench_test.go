package analyze

import (
	"strings"
	"testing"
)

// sample is a text of 60 words.
var sample = []byte(strings.Repeat("The Quick brown foxes jumped over twelve lazy dogs of München ", 5) + strings.Repeat("and walked on ", 3))

func BenchmarkAnalyze(b *testing.B) {
	for _, name := range []string{"standard", "english", "german", "cjk", "keyword"} {
		a, err := New([]byte(`"` + name + `"`))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				a.For("x").Analyze(sample)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		if _, err := New([]byte(`"german"`)); err != nil {
			b.Fatal(err)
		}
	}
}

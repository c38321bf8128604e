package jsonstream

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// TestValuesInPieces reads strings of any length, with escapes anywhere, in
// pieces of any size: each value has to come out as it went in.
func TestValuesInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 15))
	var want []string
	for n := range 300 {
		var text strings.Builder
		for text.Len() < n*n/30 {
			text.WriteString(strings.Repeat("x", random.IntN(80)*random.IntN(80)))
			text.WriteString([]string{`"`, `\`, `\"`, `\\`, "}", "]", ",", "é", "\n"}[random.IntN(9)])
		}
		quoted, err := json.Marshal(map[string]any{text.String(): []string{text.String(), "a"}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(quoted))
	}
	all := "[" + strings.Join(want, " , ") + "]"
	for name, v := range map[string]*Values{
		"whole":  New(strings.NewReader(all)),
		"bytes":  New(iotest.OneByteReader(strings.NewReader(all))),
		"halves": New(iotest.HalfReader(strings.NewReader(all))),
	} {
		v.buf = v.buf[:100+random.IntN(100)]
		got := 0
		err := v.Array(func(value []byte) error {
			if got < len(want) && string(value) != want[got] {
				t.Fatalf("%s: value %d is %.200s, want %.200s", name, got, value, want[got])
			}
			got++
			return nil
		})
		if err != nil || got != len(want) {
			t.Errorf("%s: %d values of %d, %v", name, got, len(want), err)
		}
	}
}

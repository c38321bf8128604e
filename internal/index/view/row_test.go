package view

import (
	"fmt"
	"testing"
)

// TestRowBytes holds the bytes of the values as stores have them.
func TestRowBytes(t *testing.T) {
	r := stored{key: []byte("key"), number: 300, value: []byte("value")}
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{packRow([]byte("[1]"), []byte("null")), "01035b315d6e756c6c"},
		{packBack([]stored{r}), "01036b6579ac02cd42404d52ad55ccfa9aca4adc828aa5"},
		{node{count: 300, state: []byte{1, 2}}.pack(), "01ac020102"},
	} {
		if got := fmt.Sprintf("%x", c.got); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}

package kv

import (
	"bytes"
	"testing"
)

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ prefix, end string }{
		{"a", "b"}, {"ab", "ac"}, {"a\xff", "b"}, {"a\xff\xff", "b"}, {"a\x00", "a\x01"},
	} {
		prefix := []byte(c.prefix)
		if got := PrefixEnd(prefix); string(got) != c.end {
			t.Errorf("PrefixEnd(%q) = %q, want %q", c.prefix, got, c.end)
		}
		if string(prefix) != c.prefix {
			t.Errorf("PrefixEnd changed its argument %q to %q", c.prefix, prefix)
		}
	}
	for _, prefix := range []string{"", "\xff", "\xff\xff"} {
		if got := PrefixEnd([]byte(prefix)); got != nil {
			t.Errorf("PrefixEnd(%q) = %q, want none", prefix, got)
		}
	}
}

// FuzzPrefix holds a prefix's range against the definition of a prefix.
func FuzzPrefix(f *testing.F) {
	f.Add([]byte("a"), []byte("ab"))
	f.Add([]byte("a\xff"), []byte("b"))
	f.Add([]byte("\xff"), []byte("\xff\xff"))
	f.Fuzz(func(t *testing.T, prefix, key []byte) {
		r := Prefix(prefix)
		within := r.Contains(key)
		if want := bytes.HasPrefix(key, prefix); within != want {
			t.Errorf("key %q within Prefix(%q): %v, want %v", key, prefix, within, want)
		}
	})
}

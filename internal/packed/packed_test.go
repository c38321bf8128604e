package packed_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/sectional/sectional/internal/packed"
)

// everything writes a part of each kind.
func everything(c byte, b bool, n uint64, s string, f float64) []byte {
	var w packed.Writer
	w.Byte(c)
	w.Flag(b)
	w.Uint(n)
	w.Text(s)
	w.Bytes([]byte(s))
	w.Float(f)
	w.Texts([]string{s, ""})
	w.List([][]byte{[]byte(s)})
	w.Raw([]byte(s))
	return w
}

func TestParts(t *testing.T) {
	value := everything(1, true, 300, "text", 1.5)
	for _, n := range []uint64{0, 1, 127, 128, math.MaxUint64} {
		r := packed.Read(everything(2, false, n, "", 0))
		if r.Byte() != 2 || r.Flag() || r.Uint() != n || r.Err() != nil {
			t.Errorf("%d came back otherwise", n)
		}
	}
	r, version := packed.ReadUpTo(value, 1)
	if version != 1 || !r.Flag() || r.UpTo(300) != 300 || r.Text() != "text" || string(r.Bytes()) != "text" || r.Float() != 1.5 ||
		!slices.Equal(r.Texts(), []string{"text", ""}) || len(r.List()) != 1 || r.Done() == nil ||
		string(r.Rest()) != "text" || string(r.Take(4)) != "text" || r.Done() != nil {
		t.Errorf("what was written came back otherwise: %v, rest %q", r.Err(), r.Rest())
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string
		read  func(r *packed.Reader)
	}{
		{"no byte", "", func(r *packed.Reader) { r.Byte() }},
		{"no number", "", func(r *packed.Reader) { r.Uint() }},
		{"half a number", "\x80", func(r *packed.Reader) { r.Uint() }},
		{"a long form", "\x81\x00", func(r *packed.Reader) { r.Uint() }},
		{"a number of 65 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", func(r *packed.Reader) { r.Uint() }},
		{"beyond the limit", "\x05", func(r *packed.Reader) { r.UpTo(4) }},
		{"a flag of 2", "\x02", func(r *packed.Reader) { r.Flag() }},
		{"a short text", "\x05text", func(r *packed.Reader) { _ = r.Text() }},
		{"a length of 2^64", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", func(r *packed.Reader) { r.Bytes() }},
		{"a list of more than is there", "\x03\x01", func(r *packed.Reader) { r.List() }},
		{"half a float", "1234567", func(r *packed.Reader) { r.Float() }},
	} {
		r := packed.Read([]byte(c.value))
		c.read(&r)
		if !r.Failed() || r.Err() == nil || r.Done() == nil || len(r.Rest()) > 0 || r.Uint() != 0 || r.Bytes() != nil {
			t.Errorf("%s: taken", c.name)
		}
	}
	for _, value := range []string{"", "\x00", "\x03", "\xff"} {
		if r, _ := packed.ReadUpTo([]byte(value), 2); !r.Failed() {
			t.Errorf("the version of %q: taken as up to 2", value)
		}
		if r := packed.ReadVersion([]byte(value), 2); !r.Failed() {
			t.Errorf("the version of %q: taken as 2", value)
		}
	}
}

// FuzzReader reads any bytes: what is taken is what a Writer writes for it.
func FuzzReader(f *testing.F) {
	f.Add(everything(1, true, 300, "text", 1.5))
	f.Add([]byte{1, 1, 0x80})
	f.Fuzz(func(t *testing.T, value []byte) {
		r := packed.Read(value)
		var w packed.Writer
		w.Byte(r.Byte())
		w.Flag(r.Flag())
		w.Uint(r.Uint())
		w.Text(r.Text())
		w.Bytes(r.Bytes())
		w.Float(r.Float())
		w.Texts(r.Texts())
		w.List(r.List())
		if r.Failed() {
			return
		}
		w.Raw(r.Rest())
		if !bytes.Equal(w, value) {
			t.Errorf("%x was taken as %x", value, []byte(w))
		}
	})
}

package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkEditHead is what the store does with a head for an ordinary edit.
func BenchmarkEditHead(b *testing.B) {
	for _, ancestors := range []int{1, 5, 20, 40, 1000} {
		b.Run(fmt.Sprint(ancestors), func(b *testing.B) {
			path := line(ancestors)
			var tree Tree
			tree.Merge(path, Node{Rev: path[0], External: 1000, Active: 1100})
			tree.Spill()
			head := tree.AppendBinary(nil)
			next := Node{Rev: Rev{Gen: uint32(ancestors + 1), Hash: strings.Repeat("x", 16)}, External: 1000, Active: 1100}
			dst := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				tree, _, err := DecodeTree(head)
				if err != nil {
					b.Fatal(err)
				}
				parent, err := tree.Parent(path[0], false)
				if err != nil {
					b.Fatal(err)
				}
				tree.Add(parent, next)
				tree.Stem(1000)
				tree.Spill()
				dst = tree.AppendBinary(dst[:0])
			}
		})
	}
}

func BenchmarkDecodeTree(b *testing.B) {
	path := line(5)
	var tree Tree
	tree.Merge(path, Node{Rev: path[0], External: 1000, Active: 1100})
	head := tree.AppendBinary(nil)
	b.ReportAllocs()
	for b.Loop() {
		tree, _, _ := DecodeTree(head)
		tree.Winner()
	}
}

func BenchmarkMergeLongPath(b *testing.B) {
	path := line(1000)
	b.ReportAllocs()
	for b.Loop() {
		var tree Tree
		tree.Merge(path, Node{Rev: path[0]})
	}
}

func BenchmarkNewRev(b *testing.B) {
	body := []byte(benchBodies["flat"])
	parent := line(3)[0]
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		NewRev(parent, false, body, nil)
	}
}

// benchBodies are documents of about a kilobyte.
var benchBodies = map[string]string{
	"text": `{"_id":"p:0001","_rev":"3-0123456789abcdef0123456789abcdef","value":"` + strings.Repeat("lorem ipsum dolor ", 50) + `"}`,
	"flat": `{"_id":"p:0001","_rev":"3-0123456789abcdef0123456789abcdef"` + flat() + `}`,
	"deep": `{"_id":"p:0001","items":[` + strings.Repeat(`{"sku":"AB-12","price":12.5,"tags":["x","y"],"ok":true},`, 17) + `{}]}`,
	"wide": `{"_id":"p:0001","name":"` + strings.Repeat("größe日本語 ", 50) + `"}`,
	"pretty": strings.NewReplacer(":", ": ", ",", ",\n    ", "{", "{\n    ", "}", "\n}").Replace(
		`{"_id":"p0001"` + flat() + `}`),
}

func flat() string {
	var b strings.Builder
	for i := range 22 {
		fmt.Fprintf(&b, `,"member%d":"some value %d","n%d":%d`, i, i*i, i, i*1001)
	}
	return b.String()
}

func BenchmarkSplit(b *testing.B) {
	for name, body := range benchBodies {
		raw := []byte(body)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Split(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSplitByTokenizer is the least that Split would cost on a general
// tokenizer: validation and compaction, without taking anything out.
func BenchmarkSplitByTokenizer(b *testing.B) {
	for name, body := range benchBodies {
		raw := []byte(body)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				v := jsontext.Value(bytes.Clone(raw))
				if err := v.Format(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMergePatch(b *testing.B) {
	body, patch := []byte(benchBodies["flat"]), []byte(`{"member3":"x","n4":null,"new":{"a":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mergePatch(body, patch, false); err != nil {
			b.Fatal(err)
		}
	}
}

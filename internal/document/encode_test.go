package document

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sectional/sectional/internal/dberr"
)

func TestEncodeBytes(t *testing.T) {
	aa := strings.Repeat("\xaa", 16)
	tests := []struct {
		name string
		tree *Tree
		want string
	}{
		{"empty", grown(), "\x01\x00\x00"},
		{"one leaf", grown("7-" + strings.Repeat("aa", 16)), "\x01\x01\x00" + "\x0a\x07" + aa + "\x00\x00"},
		{"a path", grown("2-" + strings.Repeat("aa", 16) + " 1-b"), "\x01\x02\x00" + "\x0c\x01\x01b" + "\x02" + aa + "\x00\x00"},
		{"a branch", grown("2-b 1-a", "2-c 1-a!"), "\x01\x03\x00" + "\x0c\x01\x01a" + "\x06\x01b\x00\x00" + "\x17\x02\x01c\x00\x00"},
		{"a tombstone inside", grown("1-a!", "2-b 1-a"), "\x01\x02\x00" + "\x0d\x01\x01a" + "\x06\x01b\x00\x00"},
	}
	for _, tt := range tests {
		if got := string(tt.tree.AppendBinary(nil)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	sized := Tree{}
	sized.Add(Rev{}, Node{Rev: Rev{1, "a"}, External: 300, Active: 1})
	if got, want := string(sized.AppendBinary([]byte("x"))), "x\x01\x01\x00\x0e\x01\x01a\xac\x02\x01"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// damage lists heads that AppendBinary never writes.
var damage = map[string]string{
	"nothing":                         "",
	"version":                         "\x02\x00\x00",
	"no count":                        "\x01",
	"no unloaded":                     "\x01\x00",
	"long count":                      "\x01\x80\x00\x00",
	"large count":                     "\x01\xff\xff\xff\xff\x07\x00",
	"count past the end":              "\x01\x01\x00",
	"chunks without a head":           "\x01\x00\x01",
	"unknown flag":                    "\x01\x01\x00\x2e\x01\x01a\x00\x00",
	"root and branch":                 "\x01\x01\x00\x1e\x01\x01a\x00\x00",
	"parent before the first":         "\x01\x01\x00\x06\x01a\x00\x00",
	"no sizes":                        "\x01\x01\x00\x0e\x01\x01a\x00",
	"hash past the end":               "\x01\x01\x00\x0a\x01abc",
	"length of an ordinary hash":      "\x01\x01\x00\x0e\x01\x10" + "0123456789abcdef\x00\x00",
	"long hash":                       "\x01\x01\x00\x0e\x01\x80\x02" + strings.Repeat("a", 256) + "\x00\x00",
	"an inner node without children":  "\x01\x01\x00\x0c\x01\x01a",
	"a leaf with a child":             "\x01\x02\x00\x0e\x01\x01a\x00\x00\x06\x01b\x00\x00",
	"out of order":                    "\x01\x02\x00\x0e\x01\x01b\x00\x00\x0e\x01\x01a\x00\x00",
	"twice":                           "\x01\x02\x00\x0e\x01\x01a\x00\x00\x0e\x01\x01a\x00\x00",
	"branch of the revision before":   "\x01\x02\x00\x0c\x01\x01a\x16\x01\x01b\x00\x00",
	"branch of itself":                "\x01\x02\x00\x0c\x01\x01a\x16\x00\x01b\x00\x00",
	"generation out of range":         "\x01\x01\x00\x0e\x80\x80\x80\x80\x08\x01a\x00\x00",
	"chunks under a short trunk":      "\x01\x01\x01\x0e\x20\x01a\x00\x00",
	"chunks under an odd generation":  "\x01\x01\x01\x0e\x21\x01a\x00\x00",
	"more in chunks than generations": "\x01\x01\x40\x0e\x20\x01a\x00\x00",
}

func TestDecodeRefusesDamage(t *testing.T) {
	for name, head := range damage {
		if tree, _, err := DecodeTree([]byte(head)); !dberr.Is(err, dberr.Internal) || !tree.Empty() {
			t.Errorf("%s: %v, %v", name, tree, err)
		}
	}
}

func TestDecodeKeepsNothingOfItsInput(t *testing.T) {
	head := grown("2-b 1-a", "2-c 1-a").AppendBinary(nil)
	tree, _, err := DecodeTree(head)
	if err != nil {
		t.Fatal(err)
	}
	clear(head)
	if diff := cmp.Diff("2-c 2-b", leaves(&tree)); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecodeTree(f *testing.F) {
	for _, head := range damage {
		f.Add([]byte(head))
	}
	for seed := range uint64(8) {
		h := newHistory(seed, int(1+seed*30))
		var tree Tree
		for _, n := range h.nodes {
			tree.Merge(h.path(n), n.Node)
		}
		tree.Spill()
		f.Add(tree.AppendBinary(nil))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tree, rest, err := DecodeTree(src)
		if err != nil {
			if !dberr.Is(err, dberr.Internal) {
				t.Fatal(err)
			}
			return
		}
		if again := tree.AppendBinary(nil); !bytes.Equal(append(again, rest...), src) {
			t.Fatalf("%x comes back as %x", src, again)
		}
		exercise(&tree)
		again, rest, err := DecodeTree(tree.AppendBinary(nil))
		if err != nil || len(rest) > 0 || modelOf(&again).String() != modelOf(&tree).String() {
			t.Fatalf("a changed tree does not decode: %v", err)
		}
	})
}

// exercise runs everything that can be done to a tree of any shape.
func exercise(t *Tree) {
	for _, n := range t.Leaves() {
		t.Path(n.Rev)
		t.LeavesFrom(n.Rev)
		if child := (Rev{n.Rev.Gen + 1, "x"}); child.Gen <= maxGen {
			t.Merge([]Rev{child, n.Rev}, Node{Rev: child})
		}
	}
	if p, err := t.Parent(t.Winner().Rev, false); err == nil && !p.IsZero() {
		t.Add(p, Node{Rev: NewRev(p, false, nil, nil)})
	}
	t.Stem(20)
	t.Purge([]Rev{t.Winner().Rev})
	t.Spill()
	t.ChunkGens()
}

package document

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sectional/sectional/internal/dberr"
)

// line returns a straight history from generation 1 to n, newest first.
func line(n int) []Rev {
	var path []Rev
	for g := n; g > 0; g-- {
		path = append(path, Rev{Gen: uint32(g), Hash: fmt.Sprintf("%016d", g)})
	}
	return path
}

// shelved returns a spilled straight history of n revisions.
func shelved(t *testing.T, n int) *shelf {
	s := newShelf(t)
	path := line(n)
	s.merge(path, Node{Rev: path[0]})
	return s
}

// TestLinearEdits edits a document a thousand times, every seventh time as a
// tombstone, and counts what is written.
func TestLinearEdits(t *testing.T) {
	const edits, limit = 1000, 700
	s := newShelf(t)
	path := line(edits)
	slices.Reverse(path)
	chunks := 0
	for i, r := range path {
		tree := s.open()
		var parent Rev
		if i > 0 {
			parent = path[i-1]
		}
		tree.Add(parent, Node{Rev: r, Deleted: i%7 == 0, External: uint64(i), Active: 5})
		tree.Stem(limit)
		rows := tree.Spill()
		chunks += len(rows)
		for _, c := range rows {
			s.rows[c.Gen] = c.Data
		}
		if len(tree.nodes) >= chunkSize+chunkMargin || len(rows) > 1 {
			t.Fatalf("edit %d leaves %d revisions in the head and writes %d chunks", i, len(tree.nodes), len(rows))
		}
		if kept := min(i+1, limit); len(tree.nodes)+tree.Unloaded() != kept {
			t.Fatalf("edit %d: %d loaded, %d in chunks, %d wanted", i, len(tree.nodes), tree.Unloaded(), kept)
		}
		s.save(tree)
	}
	if want := edits/chunkSize - 1; chunks < want || chunks > want+1 {
		t.Errorf("%d edits wrote %d chunks", edits, chunks)
	}
	gens := s.open().ChunkGens()
	if first, last := gens[0], gens[len(gens)-1]; first != 288 || last != 928 {
		t.Errorf("chunks from %d to %d", first, last)
	}
	whole := s.whole()
	for i, r := range path {
		n, _, ok := whole.Node(r)
		if ok != (i >= edits-limit) || ok && n.Deleted != (i%7 == 0) {
			t.Errorf("revision %v is there: %v, deleted: %v", r, ok, n.Deleted)
		}
	}
}

func TestMergeIntoPartlyLoaded(t *testing.T) {
	path := line(100) // 1 … 63 lie in chunks, 64 … 100 are loaded
	at := func(gen int) []Rev { return path[100-gen:] }
	with := func(hash string, gen int, below []Rev) []Rev {
		return append([]Rev{{Gen: uint32(gen), Hash: hash}}, below...)
	}
	tests := []struct {
		name string
		path []Rev
		want Outcome
	}{
		{"the leaf", path, Known},
		{"the leaf, a short path", path[:3], Known},
		{"a loaded ancestor", at(70), Known},
		{"the oldest loaded one", at(64), Known},
		{"one in a chunk", at(63), Older},
		{"one that was never there, in a chunk's generation", with("x", 20, nil), Older},
		{"a child of the leaf", with("x", 101, path), Extended},
		{"a child of the leaf, a short path", with("x", 101, path[:1]), Extended},
		{"a branch near the leaf", with("x", 99, at(98)), Branched},
		{"the deepest branch that needs no chunk", with("x", 80, at(79)), Branched},
		{"one deeper", with("x", 79, at(78)), Older},
		{"a branch from the oldest loaded one", with("x", 65, at(64)), Older},
		{"a branch from a chunk", with("x", 64, at(63)), Older},
		{"a root of its own, new", with("x", 200, nil), Branched},
		{"a root of its own, old", with("x", 79, nil), Older},
		{"a path that starts before the tree", append(slices.Clone(path), Rev{Gen: 0, Hash: "x"}), Older},
	}
	for _, tt := range tests {
		s := shelved(t, 100)
		tree := s.open()
		before := tree.AppendBinary(nil)
		got := tree.Merge(tt.path, Node{Rev: tt.path[0]})
		if got != tt.want {
			t.Errorf("%s: outcome %d, want %d", tt.name, got, tt.want)
		}
		if (got == Older || got == Known) && !bytes.Equal(before, tree.AppendBinary(nil)) {
			t.Errorf("%s: the tree has changed", tt.name)
		}
		if got == Older && s.merge(tt.path, Node{Rev: tt.path[0]}) == Older {
			t.Errorf("%s: still unclear with all chunks", tt.name)
		}
	}
}

func TestPartlyLoaded(t *testing.T) {
	s := shelved(t, 100)
	tree := s.open()
	if tree.Unloaded() != 63 || len(tree.nodes) != 37 {
		t.Fatalf("%d loaded, %d not", len(tree.nodes), tree.Unloaded())
	}
	if diff := cmp.Diff([]uint32{0, 32}, tree.ChunkGens()); diff != "" {
		t.Error(diff)
	}
	path := line(100)
	if got, complete := tree.Path(path[0]); complete || !slices.Equal(got, path[:37]) {
		t.Errorf("the path has %d revisions, complete %v", len(got), complete)
	}
	if got, complete := tree.Path(Rev{Gen: 5, Hash: "x"}); complete || got != nil {
		t.Errorf("a path that may lie in a chunk: %v, %v", got, complete)
	}
	for gen, want := range map[uint32]bool{0: true, 1: false, 63: false, 64: true, 101: true} {
		if got := tree.Covers([]Rev{{Gen: gen, Hash: "x"}}); got != want {
			t.Errorf("generation %d: covered %v", gen, got)
		}
	}
	if missing, _ := tree.Missing([]Rev{{Gen: 101, Hash: "x"}, path[0]}); len(missing) != 1 {
		t.Errorf("missing: %v", missing)
	}
	defer func() {
		if recover() == nil {
			t.Error("Missing answers without the chunks")
		}
	}()
	tree.Missing([]Rev{{Gen: 20, Hash: "x"}})
}

func TestPurgeDropsChunks(t *testing.T) {
	s := shelved(t, 100)
	tree := s.open()
	tree.Purge(line(100)[:1])
	s.save(tree)
	if !tree.Empty() || len(s.rows) != 0 {
		t.Errorf("empty %v, %d chunks", tree.Empty(), len(s.rows))
	}
	if diff := cmp.Diff((&Tree{}).AppendBinary(nil), s.head); diff != "" {
		t.Error(diff)
	}
}

// TestStemThroughChunks lowers the limit step by step.
func TestStemThroughChunks(t *testing.T) {
	s := shelved(t, 200)
	for limit := 199; limit > 0; limit-- {
		tree := s.open()
		tree.Stem(limit)
		if got := len(tree.nodes) + tree.Unloaded(); got != limit {
			t.Fatalf("limit %d keeps %d", limit, got)
		}
		s.save(tree)
		path, complete := s.whole().Path(line(200)[0])
		if !complete || !slices.Equal(path, line(200)[:limit]) {
			t.Fatalf("limit %d: the path has %d revisions", limit, len(path))
		}
	}
}

func TestLoadRefusesDamage(t *testing.T) {
	s := shelved(t, 100)
	good := []Chunk{{0, s.rows[0]}, {32, s.rows[32]}}
	cut := func(c Chunk, n int) Chunk { return Chunk{c.Gen, c.Data[:n]} }
	tests := map[string][]Chunk{
		"none":         nil,
		"one":          good[:1],
		"order":        {good[1], good[0]},
		"twice":        {good[0], good[0]},
		"wrong name":   {good[0], {64, good[1].Data}},
		"swapped data": {{0, good[1].Data}, {32, good[0].Data}},
		"cut":          {good[0], cut(good[1], 100)},
		"empty":        {good[0], cut(good[1], 0)},
		"too long":     {good[0], {32, append(slices.Clone(good[1].Data), 0)}},
		"version":      {good[0], {32, append([]byte{9}, good[1].Data[1:]...)}},
		"flags":        {good[0], {32, append(append(slices.Clone(good[1].Data[:2]), 0x80), good[1].Data[3:]...)}},
	}
	for name, chunks := range tests {
		tree := s.open()
		if err := tree.Load(chunks); !dberr.Is(err, dberr.Internal) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(tree.AppendBinary(nil), s.head) {
			t.Errorf("%s: the tree has changed", name)
		}
	}
	tree := s.open()
	if err := tree.Load(good); err != nil || tree.Unloaded() != 0 {
		t.Errorf("the right chunks: %v", err)
	}
	if err := tree.Load(nil); err != nil {
		t.Errorf("a whole tree needs nothing: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	full := line(100)
	var tree Tree
	tree.Merge(full, Node{Rev: full[0]})
	for _, c := range tree.Spill() {
		f.Add(c.Data)
	}
	head := tree.AppendBinary(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, _, err := DecodeTree(head)
		if err != nil {
			t.Fatal(err)
		}
		if tree.Load([]Chunk{{0, data}, {32, data}}) == nil {
			t.Fatal("one chunk fits two places")
		}
		tree, _, _ = DecodeTree(head)
		tree.Stem(50)
		if tree.Load([]Chunk{{32, data}}) != nil {
			return
		}
		again, rest, err := DecodeTree(tree.AppendBinary(nil))
		if err != nil || len(rest) > 0 || modelOf(&again).String() != modelOf(&tree).String() {
			t.Fatalf("%v: a loaded tree has no encoding", err)
		}
	})
}

package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sectional/sectional/internal/dberr"
)

// grown makes a tree from paths such as "3-c 2-b 1-a"; an exclamation mark says
// that the newest revision is a tombstone.
func grown(paths ...string) *Tree {
	var t Tree
	for _, p := range paths {
		merge(&t, p)
	}
	return &t
}

func merge(t *Tree, text string) Outcome {
	text, deleted := strings.CutSuffix(text, "!")
	path := revs(text)
	return t.Merge(path, Node{Rev: path[0], Deleted: deleted})
}

func revs(text string) (list []Rev) {
	for _, s := range strings.Fields(text) {
		list = append(list, rev(s))
	}
	return list
}

func names(list []Rev) string {
	var words []string
	for _, r := range list {
		words = append(words, r.String())
	}
	return strings.Join(words, " ")
}

// leaves prints leaves, winner first, with exclamation marks.
func leaves(t *Tree) string {
	var words []string
	for _, n := range t.Leaves() {
		words = append(words, n.Rev.String()+strings.Repeat("!", int(flag(n.Deleted))))
	}
	return strings.Join(words, " ")
}

func TestLeaves(t *testing.T) {
	tests := []struct {
		name  string
		paths []string
		want  string
	}{
		{"never written", nil, ""},
		{"the higher hash wins", []string{"1-b", "1-a"}, "1-b 1-a"},
		{"order of hashes", []string{"1-0f", "1-10", "1-9f", "1-a0", "1-f0"}, "1-f0 1-a0 1-9f 1-10 1-0f"},
		{"the longer branch wins", []string{"1-f", "2-1 1-0"}, "2-1 1-f"},
		{"ten is more than nine", []string{"9-f", "10-a"}, "10-a 9-f"},
		{"a deleted branch loses", []string{"1-a", "5-f 4-e 3-d 2-c 1-b!"}, "1-a 5-f!"},
		{"the longest tombstone wins", []string{"1-f!", "2-1 1-2!"}, "2-1! 1-f!"},
		{"deleting the winner brings the loser up", []string{"1-b", "1-a", "2-x 1-b!"}, "1-a 2-x!"},
		{"a losing branch grows and wins", []string{"1-b", "1-a", "2-a2 1-a"}, "2-a2 1-b"},
		{"resolving", []string{"2-a", "2-b", "2-c", "3-x 2-a!", "3-y 2-b!"}, "2-c 3-y! 3-x!"},
		{"disjoint histories", []string{"2-b 1-a", "3-3 2-2 1-1"}, "3-3 2-b"},
		{"a history is merged", []string{"3-c 2-b 1-a", "5-e 4-d 3-c", "4-9 3-c"}, "5-e 4-9"},
		{"two roots are joined", []string{"2-b 1-a", "4-d 3-c", "4-d 3-c 2-b"}, "4-d"},
	}
	for _, tt := range tests {
		tree := grown(tt.paths...)
		if got := leaves(tree); got != tt.want {
			t.Errorf("%s: leaves %q, want %q", tt.name, got, tt.want)
		}
		if tree.Empty() != (tt.want == "") || tree.Empty() != (tree.Winner() == Node{}) {
			t.Errorf("%s: empty %v, winner %v", tt.name, tree.Empty(), tree.Winner())
		}
	}
}

func TestParent(t *testing.T) {
	const conflict = "conflict: Document update conflict."
	tests := []struct {
		name    string
		tree    *Tree
		want    string // what was read; "" for nothing
		deleted bool
		parent  string
		err     string
	}{
		{"first write", grown(), "", false, "", ""},
		{"a tombstone at once", grown(), "", true, "", ""},
		{"a revision of what was never written", grown(), "1-a", false, "", conflict},
		{"without a revision over a live winner", grown("1-a"), "", false, "", conflict},
		{"deletion without a revision", grown("1-a"), "", true, "", conflict},
		{"the winner", grown("1-b", "1-a"), "1-b", false, "1-b", ""},
		{"a losing leaf", grown("1-b", "1-a"), "1-a", false, "1-a", ""},
		{"deleting a losing leaf", grown("1-b", "1-a"), "1-a", true, "1-a", ""},
		{"an inner revision", grown("3-c 2-b 1-a"), "1-a", false, "", conflict},
		{"deleting an inner revision", grown("3-c 2-b 1-a"), "2-b", true, "", conflict},
		{"an unknown revision", grown("2-b 1-a"), "2-c", false, "", conflict},
		{"no hash", grown("2-b 1-a"), "2-", false, "", conflict},
		{"generation nought", grown("2-b 1-a"), "0-0", false, "", conflict},
		{"anew over a tombstone", grown("1-a!"), "", false, "1-a", ""},
		{"anew over the winning tombstone", grown("1-b!", "1-a!"), "", false, "1-b", ""},
		{"naming the tombstone", grown("2-b 1-a!"), "2-b", false, "", conflict},
		{"naming the revision before the tombstone", grown("2-b 1-a!"), "1-a", false, "", conflict},
		{"deleting again", grown("2-b 1-a!"), "", true, "", conflict},
		{"deleting the tombstone", grown("2-b 1-a!"), "2-b", true, "", conflict},
		{"anew beside a tombstone", grown("1-b", "1-a", "2-x 1-b!"), "", false, "", conflict},
		{"the live leaf beside a tombstone", grown("1-b", "1-a", "2-x 1-b!"), "1-a", false, "1-a", ""},
		{"the tombstone beside a live leaf", grown("1-b", "1-a", "2-x 1-b!"), "2-x", false, "2-x", ""},
		{"the last generation", grown("2147483647-a"), "2147483647-a", false, "", "bad_request: Revision generation is too high"},
	}
	for _, tt := range tests {
		var want, parent Rev
		if tt.want != "" {
			want = rev(tt.want)
		}
		if tt.parent != "" {
			parent = rev(tt.parent)
		}
		got, err := tt.tree.Parent(want, tt.deleted)
		if got != parent || refused(err) != tt.err {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
		if tt.err == conflict && !dberr.Is(err, dberr.Conflict) {
			t.Errorf("%s: the error is of another kind: %v", tt.name, err)
		}
	}
}

func TestAdd(t *testing.T) {
	var tree Tree
	tree.Add(Rev{}, Node{Rev: rev("1-a"), External: 10, Active: 20})
	tree.Add(rev("1-a"), Node{Rev: rev("2-b"), Deleted: true, External: 1, Active: 2})
	tree.Add(rev("2-b"), Node{Rev: rev("3-c"), External: 3, Active: 4})
	merge(&tree, "3-x 2-b")
	tree.Add(rev("3-c"), Node{Rev: rev("4-a"), External: 5})
	tree.Add(rev("3-x"), Node{Rev: rev("4-B"), External: 6}) // goes before 4-a
	want := []modelNode{
		{Node{Rev: rev("1-a")}, Rev{}},
		{Node{Rev: rev("2-b"), Deleted: true}, rev("1-a")},
		{Node{Rev: rev("3-c")}, rev("2-b")},
		{Node{Rev: rev("3-x")}, rev("2-b")},
		{Node{Rev: rev("4-B"), External: 6}, rev("3-x")},
		{Node{Rev: rev("4-a"), External: 5}, rev("3-c")},
	}
	m := model{}
	for _, n := range want {
		m[n.Rev] = &n
	}
	if diff := cmp.Diff(m.String(), modelOf(&tree).String()); diff != "" {
		t.Error(diff)
	}
}

// TestAddWhatAReplicaBrought adds a revision that is there as a root of its
// own, which anybody can arrange, for hashes are deterministic.
func TestAddWhatAReplicaBrought(t *testing.T) {
	tree := grown("1-a", "2-b")
	tree.Add(rev("1-a"), Node{Rev: rev("2-b")})
	if got := leaves(tree); got != "2-b" {
		t.Errorf("leaves %q", got)
	}
	if path, _ := tree.Path(rev("2-b")); names(path) != "2-b 1-a" {
		t.Errorf("path %q", names(path))
	}
}

func TestAddPanicsOffLeaves(t *testing.T) {
	for _, tt := range []struct{ parent, child string }{{"1-a", "2-x"}, {"1-z", "2-x"}, {"2-b", "4-x"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was added to %s", tt.child, tt.parent)
				}
			}()
			grown("2-b 1-a").Add(rev(tt.parent), Node{Rev: rev(tt.child)})
		}()
	}
}

func TestMergeOutcome(t *testing.T) {
	tests := []struct {
		name  string
		tree  *Tree
		path  string
		want  Outcome
		after string
	}{
		{"first", grown(), "4-a", Branched, "4-a"},
		{"again", grown("4-a"), "4-a", Known, "4-a"},
		{"a conflict", grown("4-a"), "4-b", Branched, "4-b 4-a"},
		{"an ancestor by name", grown("3-c 2-b 1-a"), "2-b 1-a", Known, "3-c"},
		{"an ancestor that is a tombstone", grown("3-c 2-b 1-a"), "2-b 1-a!", Filled, "3-c"},
		{"a leaf is what it was first", grown("2-b 1-a"), "2-b 1-a!", Known, "2-b"},
		{"continues a leaf", grown("1-a"), "2-b 1-a", Extended, "2-b"},
		{"continues a leaf from afar", grown("1-a"), "4-d 3-c 2-b 1-a", Extended, "4-d"},
		{"branches off", grown("3-c 2-b 1-a"), "3-x 2-b", Branched, "3-x 3-c"},
		{"older ancestors", grown("3-c 2-b"), "3-c 2-b 1-a", Filled, "3-c"},
		{"the parent of a root", grown("3-c", "2-b"), "3-c 2-b", Filled, "3-c"},
		{"a shorter path", grown("3-c 2-b 1-a"), "3-c 2-b", Known, "3-c"},
		{"contradicts", grown("3-c 2-b 1-a"), "4-d 3-c 2-x 1-y", Extended, "4-d"},
		{"a gap", grown("1-a"), "4-d 3-c 1-a", Branched, "4-d 1-a"},
		{"a stemmed ancestor", stemmed(3, "6-f 5-e 4-d 3-c 2-b 1-a"), "3-c 2-b 1-a", Branched, "6-f 3-c"},
	}
	for _, tt := range tests {
		if got := merge(tt.tree, tt.path); got != tt.want || leaves(tt.tree) != tt.after {
			t.Errorf("%s: outcome %d, leaves %q", tt.name, got, leaves(tt.tree))
		}
	}
}

func stemmed(limit int, paths ...string) *Tree {
	t := grown(paths...)
	t.Stem(limit)
	return t
}

func TestStem(t *testing.T) {
	tests := []struct {
		name  string
		tree  *Tree
		limit int
		gone  string
		paths string
	}{
		{"short", grown("2-b 1-a"), 2, "", "2-b 1-a"},
		{"one falls off", grown("3-c 2-b 1-a"), 2, "1-a", "3-c 2-b"},
		{"a long history", grown("6-f 5-e 4-d 3-c 2-b 1-a"), 3, "1-a 2-b 3-c", "6-f 5-e 4-d"},
		{"only leaves", grown("3-c 2-b 1-a", "2-x 1-a"), 1, "1-a 2-b", "3-c; 2-x"},
		{"nought counts as one", grown("2-b 1-a"), 0, "1-a", "2-b"},
		{"branches part", grown("6-f 5-e 4-d 3-c 2-b 1-a", "3-x 2-b"), 3, "3-c", "6-f 5-e 4-d; 3-x 2-b 1-a"},
		{"tombstones have paths too", grown("4-d 3-c 2-b 1-a!", "2-x 1-a"), 2, "2-b", "2-x 1-a; 4-d 3-c"},
		{"nothing", grown(), 1, "", ""},
	}
	for _, tt := range tests {
		gone := tt.tree.Stem(tt.limit)
		var paths []string
		for _, n := range tt.tree.Leaves() {
			p, complete := tt.tree.Path(n.Rev)
			if !complete {
				t.Errorf("%s: a path is not complete", tt.name)
			}
			paths = append(paths, names(p))
		}
		if got := strings.Join(paths, "; "); names(gone) != tt.gone || got != tt.paths {
			t.Errorf("%s: gone %q, paths %q", tt.name, names(gone), got)
		}
	}
}

func TestPurge(t *testing.T) {
	tests := []struct {
		name                 string
		tree                 *Tree
		revs, purged, leaves string
	}{
		{"the only revision", grown("1-a"), "1-a", "1-a", ""},
		{"one branch", grown("1-b", "1-a"), "1-b", "1-b", "1-a"},
		{"an unknown one", grown("1-a"), "1-b", "", "1-a"},
		{"a leaf and an unknown one", grown("1-a"), "1-a 1-c", "1-a", ""},
		{"an inner one", grown("3-c 2-b 1-a"), "1-a", "", "3-c"},
		{"inner ones go with the leaf", grown("3-c 2-b 1-a"), "2-b 3-c 1-a", "3-c", ""},
		{"a common ancestor stays", grown("3-c 2-b 1-a", "2-x 1-a"), "3-c", "3-c", "2-x"},
		{"in the order given, once", grown("2-b 1-a", "2-c 1-a", "2-d 1-a"), "2-b 2-d 2-b", "2-b 2-d", "2-c"},
		{"a tombstone", grown("2-b 1-a!"), "2-b", "2-b", ""},
		{"nothing", grown("1-a"), "", "", "1-a"},
	}
	for _, tt := range tests {
		if got := names(tt.tree.Purge(revs(tt.revs))); got != tt.purged || leaves(tt.tree) != tt.leaves {
			t.Errorf("%s: purged %q, leaves %q", tt.name, got, leaves(tt.tree))
		}
		if tt.leaves == "" && !tt.tree.Empty() {
			t.Errorf("%s: the tree is not empty", tt.name)
		}
	}
}

func TestMissing(t *testing.T) {
	linear := grown("3-c 2-b 1-a")
	many := grown("1-a", "3-c", "5-e!")
	tests := []struct {
		name                     string
		tree                     *Tree
		revs, missing, ancestors string
	}{
		{"a leaf", linear, "3-c", "", ""},
		{"inner ones", linear, "1-a 2-b", "", ""},
		{"a child", linear, "3-c 4-a", "4-a", "3-c"},
		{"one below the leaf", linear, "2-a", "2-a", ""},
		{"nothing", linear, "", "", ""},
		{"never written", grown(), "1-a", "1-a", ""},
		{"leaves of lower generation", many, "4-9", "4-9", "3-c 1-a"},
		{"tombstones come last", many, "6-9", "6-9", "3-c 1-a 5-e"},
		{"none is lower", many, "1-9", "1-9", ""},
		{"the highest counts", many, "4-9 2-8", "2-8 4-9", "3-c 1-a"},
		{"twice", many, "4-9 4-9", "4-9", "3-c 1-a"},
		{"stemmed", stemmed(3, "6-f 5-e 4-d 3-c 2-b 1-a"), "6-f 3-c 1-a", "1-a 3-c", ""},
	}
	for _, tt := range tests {
		missing, ancestors := tt.tree.Missing(revs(tt.revs))
		if names(missing) != tt.missing || names(ancestors) != tt.ancestors {
			t.Errorf("%s: missing %q, possible ancestors %q", tt.name, names(missing), names(ancestors))
		}
	}
}

func TestLeavesFrom(t *testing.T) {
	tree := grown("2-a 1-0", "3-c 2-b 1-0", "1-x")
	for r, want := range map[string]string{
		"1-0": "3-c 2-a", "2-b": "3-c", "2-a": "2-a", "3-c": "3-c", "1-x": "1-x", "1-y": "",
	} {
		var got []Rev
		for _, n := range tree.LeavesFrom(rev(r)) {
			got = append(got, n.Rev)
		}
		if names(got) != want {
			t.Errorf("the latest of %s: %q, want %q", r, names(got), want)
		}
	}
}

func TestNode(t *testing.T) {
	tree := grown("2-b 1-a", "3-c 2-b!")
	for _, tt := range []struct {
		rev               string
		deleted, leaf, ok bool
	}{{"1-a", false, false, true}, {"3-c", true, true, true}, {"2-x", false, false, false}, {"4-d", false, false, false}} {
		n, leaf, ok := tree.Node(rev(tt.rev))
		if n.Deleted != tt.deleted || leaf != tt.leaf || ok != tt.ok || ok && n.Rev != rev(tt.rev) {
			t.Errorf("%s: %v, leaf %v, %v", tt.rev, n, leaf, ok)
		}
	}
}

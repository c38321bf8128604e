package selector

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline prints a tree as a planner sees it.
func outline(n *Node, depth int, out *strings.Builder) {
	out.WriteString(strings.Repeat(" ", depth) + n.Op.String())
	if n.Path != nil {
		out.WriteString(" " + strings.Join(n.Path.Segments(), "|"))
	}
	if n.Arg != nil {
		out.WriteString(" " + string(n.Arg))
	}
	out.WriteString("\n")
	for _, k := range n.Kids {
		outline(k, depth+1, out)
	}
}

func TestTree(t *testing.T) {
	s, err := Parse([]byte(`{"a":{"b\\.c":{"$gt":1}},"$or":[{"l.0":{"$in":["x",2]}},{"$text":"t"}],"e":{"$elemMatch":{"p":1,"$exists":true}},"r":{"$not":{"$regex":"z"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	outline(s.Root(), 0, &got)
	want := `$and
 $gt a|b.c 1
 $or
  $in l|0 ["x",2]
  $text {"$text":"t"}
 $elemMatch e
  $and
   $eq p 1
   $exists  true
 $not r
  $regex "z"
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"a": true, "l": true, "e": true, "r": true, "p": false, "_attachments": false} {
		if got := s.Uses(name); got != want {
			t.Errorf("Uses(%q) = %v", name, got)
		}
	}
}

func TestUses(t *testing.T) {
	for sel, want := range map[string]bool{`{}`: false, `{"a":1}`: false, `{"_rev":{"$gt":"1"}}`: true, `{"$or":[{"a":1},{"$and":[1]}]}`: true} {
		s, err := Parse([]byte(sel))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Uses("_rev"); got != want {
			t.Errorf("%s uses _rev: %v, want %v", sel, got, want)
		}
	}
	f, err := ParseFields([]byte(`["_attachments.x","a"]`))
	if err != nil || !f.Uses("_attachments") || !f.Uses("a") || f.Uses("_rev") || f.All() {
		t.Errorf("fields: %+v, %v", f, err)
	}
	if f, err = ParseFields([]byte(`[]`)); err != nil || !f.Uses("_rev") || !f.All() {
		t.Errorf("no fields: %+v, %v", f, err)
	}
}

func TestMatchInParallel(t *testing.T) {
	s, err := Parse([]byte(`{"_id":"a","n":{"$gt":3},"s":{"$gte":"é"},"r":{"$regex":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	hit := &Doc{ID: "a", Body: []byte(`{"s":"f","n":4,"r":"axb"}`)}
	miss := &Doc{ID: "a", Body: []byte(`{"s":"ê","n":4,"r":"ab"}`)}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 500 {
				if !matches(t, s, hit) || matches(t, s, miss) {
					t.Error("an answer changed")
					return
				}
			}
		})
	}
	group.Wait()
}

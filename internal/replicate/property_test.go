package replicate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/replicate"
)

// op is one thing that happens to a group of databases.
type op struct {
	kind     string
	on, to   int // databases
	document int
	n        int // makes it differ from others
}

func (o op) String() string {
	return fmt.Sprintf("{%q, %d, %d, %d, %d}", o.kind, o.on, o.to, o.document, o.n)
}

var kinds = []string{"edit", "edit", "edit", "edit", "branch", "delete", "attach", "attach more", "replicate", "replicate", "replicate alone", "replicate broken"}

// makeOps makes a random history for three databases.
func makeOps(seed uint64, count int) []op {
	random := rand.New(rand.NewPCG(seed, 7))
	ops := make([]op, count)
	for i := range ops {
		on := random.IntN(3)
		ops[i] = op{kinds[random.IntN(len(kinds))], on, (on + 1 + random.IntN(2)) % 3, random.IntN(4), i}
	}
	return ops
}

// group is three databases, or partitions, that replicate with each other.
type group struct {
	*world
	members []string
}

// groups are who may meet. All ids are those of one partition, so that each may
// be a member.
var groups = [][]string{{"a", "b", "c"}, {"a", "p/_partition/p", "c"}, {"p/_partition/p", "b", "q/_partition/p"}}

// newGroup makes the members. Beside a partition there is another whose document
// is nobody else's business.
func newGroup(t *testing.T, members []string) *group {
	g := &group{newWorld(t), members}
	g.OK("PUT", "/c", "")
	for _, name := range []string{"p", "q"} {
		g.OK("PUT", "/"+name+"?partitioned=true", "")
		g.OK("PUT", "/"+name+"/other:document", "{}")
	}
	return g
}

// play runs a history, lets everything meet, and tells what is wrong then: ""
// for nothing.
func play(t *testing.T, members []string, ops []op) string {
	w := newGroup(t, members)
	written := map[string]bool{} // "id rev"
	for _, o := range ops {
		w.play(o, written)
	}
	for range 2 {
		for i := range members {
			w.meet(i, (i+1)%3, op{})
		}
	}
	a := w.tree(members[0])
	if a["other:document"] != nil {
		return "a document of another partition came along"
	}
	for _, other := range members[1:] {
		if diff := cmp.Diff(a, w.tree(other)); diff != "" {
			return fmt.Sprintf("%s and %s differ:\n%s", members[0], other, diff)
		}
	}
	return lostOf(t, a, written)
}

// leaf is what tree has of one leaf, as far as histories go.
type leaf struct {
	OK struct {
		Revisions struct {
			Start int
			IDs   []string
		} `json:"_revisions"`
	}
}

// knows tells whether a revision stands in the leaf's history.
func (l leaf) knows(rev string) bool {
	for i, hash := range l.OK.Revisions.IDs {
		if fmt.Sprintf("%d-%s", l.OK.Revisions.Start-i, hash) == rev {
			return true
		}
	}
	return false
}

// lostOf finds a revision that was written and is in no history any more.
func lostOf(t *testing.T, tree map[string]any, written map[string]bool) string {
	for key := range written {
		id, rev, _ := strings.Cut(key, " ")
		document, ok := tree[id].([]any)
		if !ok {
			return "lost: " + key
		}
		raw, err := json.Marshal(document[0])
		must(t, err)
		var leaves []leaf
		must(t, json.Unmarshal(raw, &leaves))
		if !slices.ContainsFunc(leaves, func(l leaf) bool { return l.knows(rev) }) {
			return "lost: " + key
		}
	}
	return ""
}

// play lets one thing happen.
func (w *group) play(o op, written map[string]bool) {
	id := fmt.Sprintf("p:doc%d", o.document)
	path := "/" + w.members[o.on] + "/" + id
	tag := w.Do("HEAD", path, "").Header().Get("Etag")
	rev := strings.Trim(tag, `"`)
	header := []string{"Content-Type", "application/json"}
	if rev != "" {
		header = append(header, "If-Match", rev)
	}
	var answer string
	switch {
	case o.kind == "edit":
		answer = w.OK("PUT", path, fmt.Sprintf(`{"n":%d}`, o.n), header...)
	case o.kind == "delete" && rev != "":
		answer = w.OK("DELETE", path, "", header...)
	case strings.HasPrefix(o.kind, "attach"):
		header[1] = "text/plain"
		answer = w.OK("PUT", path+"/"+strings.TrimPrefix(o.kind, "attach ")+".txt", strings.Repeat(fmt.Sprint(o.n, " "), o.n*200), header...)
	case o.kind == "branch":
		// A revision that grew from another of the same generation, as if it had
		// been written elsewhere.
		made := fmt.Sprintf("2-%032x", o.n)
		w.OK("POST", "/"+w.members[o.on]+"/_bulk_docs", fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":%q,"n":%d,"_revisions":{"start":2,"ids":["%032x","%032x"]}}]}`,
			id, o.n, o.n, o.document))
		answer = fmt.Sprintf(`{"rev":%q}`, made)
	case strings.HasPrefix(o.kind, "replicate"):
		w.meet(o.on, o.to, o)
	}
	var made struct{ Rev string }
	if answer != "" {
		must(w.t, json.Unmarshal([]byte(answer), &made))
		written[id+" "+made.Rev] = true
	}
}

// meet replicates from one database to another.
func (w *group) meet(from, to int, o op) {
	task := &replicate.Task{ID: fmt.Sprintf("from%dto%d", from, to), Source: w.at(w.members[from]), Target: w.at(w.members[to]), Batch: 1 + o.n%3}
	task.NoBulkGet = o.kind == "replicate alone"
	if o.kind == "replicate broken" {
		// Whatever does not get through now gets through later.
		task.Source.Retries, task.Target.Retries = -1, -1
		f := &faulty{next: task.Target.Transport, fault: []fault{lost, gone, halved}[o.n%3], at: int64(1 + o.n/2%8), ever: o.n%5 == 0}
		if o.n%2 == 0 {
			f.next, task.Source.Transport = task.Source.Transport, f
		} else {
			task.Target.Transport = f
		}
		_, _ = task.Run(w.t.Context())
		return
	}
	w.run(task)
}

// TestEverybodyComesToTheSame replicates among three databases or partitions in any
// order,
// under random edits, with runs that break off.
func TestEverybodyComesToTheSame(t *testing.T) {
	count := 9
	if testing.Short() {
		count = 3
	}
	for seed := range uint64(count) {
		ops := makeOps(seed, 60)
		members := groups[seed%3]
		wrong := play(t, members, ops)
		if wrong == "" {
			continue
		}
		ops, wrong = shrink(t, members, ops, wrong)
		for _, o := range ops {
			t.Log(o)
		}
		t.Fatalf("seed %d, %v: %s", seed, members, wrong)
	}
}

// shrink leaves out what is not needed for something to be wrong.
func shrink(t *testing.T, members []string, ops []op, wrong string) ([]op, string) {
	for size := len(ops) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(ops); {
			fewer := slices.Concat(ops[:i], ops[i+size:])
			if now := play(t, members, fewer); now != "" {
				ops, wrong = fewer, now
			} else {
				i += size
			}
		}
	}
	return ops, wrong
}

package replicate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// op is one thing that happens to a group of members.
type op struct {
	kind     string
	on, to   int // members
	document int
	n        int // makes it differ from others
}

func (o op) String() string {
	return fmt.Sprintf("{%q, %d, %d, %d, %d}", o.kind, o.on, o.to, o.document, o.n)
}

// theme is who may meet, and what may happen to them.
type theme struct {
	name    string
	kinds   []string
	members []member
	// aging says that servers 0 and 1 drop old tombstones. Then everybody but
	// old members meets before they get old, and it is the live documents that
	// are equal in the end.
	aging bool
	// several is how many servers each endpoint's server is, over one engine, to which
	// requests are dealt out; 0: one.
	several int
}

var (
	edits     = []string{"edit", "edit", "edit", "edit", "branch", "delete", "attach", "attach more", "replicate", "replicate", "replicate alone", "replicate broken"}
	expiry    = slices.Concat(edits, []string{"edit expiring", "edit expiring", "edit expiring", "expiry on", "expiry off", "time", "sweep", "sweep"})
	drops     = slices.Concat(edits, []string{"drop", "tombstones", "tombstones", "remake", "sweep", "replicate", "replicate"})
	allOfIt   = slices.Concat(expiry, drops)
	withAging = []string{"edit", "edit", "edit", "edit expiring", "delete", "delete", "attach", "replicate", "replicate", "replicate", "replicate broken",
		"age", "time", "sweep"}
)

var themes = []theme{
	{name: "databases", kinds: edits, members: []member{ordinary(0, "a", "p:"), ordinary(0, "b", "p:"), ordinary(0, "c", "p:")}},
	{name: "a partition", kinds: edits, members: []member{ordinary(0, "a", "p:"), part(0, "p", "p"), ordinary(0, "c", "p:")}},
	{name: "partitions", kinds: edits, members: []member{part(0, "p", "p"), whole(0, "w", "p"), part(0, "q", "p")}},
	{name: "tenants", kinds: edits, members: []member{tenant(0, "p", "x"), tenant(0, "p", "y"), ordinary(0, "b", "")}},
	{name: "both endpoints", kinds: allOfIt, members: []member{ordinary(0, "a", ""), tenant(0, "p", "x"), part(0, "p", "x"), ordinary(1, "c", "x:")}},
	{name: "expiry", kinds: expiry, members: []member{ordinary(0, "a", "p:"), part(1, "p", "p"), whole(0, "w", "p")}},
	{name: "tenants' expiry", kinds: expiry, members: []member{tenant(0, "p", "x"), ordinary(1, "b", ""), tenant(0, "p", "y")}},
	{name: "drops", kinds: drops, members: []member{part(0, "p", "p"), ordinary(0, "a", "p:"), whole(0, "w", "p")}},
	{name: "tenants' drops", kinds: allOfIt, members: []member{tenant(0, "p", "x"), tenant(0, "p", "y"), ordinary(0, "b", "")}},
	{name: "aging", kinds: withAging, aging: true, members: []member{ordinary(0, "a", ""), tenant(1, "p", "x"), ordinary(2, "c", ""),
		{location: location{2, "old", ""}, old: true}}},
}

// makeOps makes a random history.
func (th *theme) makeOps(seed uint64, count int) []op {
	random := rand.New(rand.NewPCG(seed, 7))
	links := links(th.members)
	ops := make([]op, count)
	for i := range ops {
		o := op{kind: th.kinds[random.IntN(len(th.kinds))], document: random.IntN(4), n: i}
		link := links[random.IntN(len(links))]
		if o.on, o.to = link[0], link[1]; !strings.HasPrefix(o.kind, "replicate") {
			for o.to, o.on = 0, random.IntN(len(th.members)); th.members[o.on].old; {
				o.on--
			}
		}
		ops[i] = o
	}
	return ops
}

// play runs a history, lets everything meet, and reports what is wrong then: ""
// for nothing.
func play(t *testing.T, th *theme, turn int, ops []op) string {
	g := newGroup(t, th)
	for _, o := range ops {
		if g.play(o); g.wrong != "" {
			return g.wrong
		}
	}
	g.sweepAll()
	if slices.Contains(th.kinds, "edit expiring") {
		for _, m := range g.members {
			g.expires(m, !m.old)
		}
		g.sweepAll()
	}
	g.meetAll(turn)
	if g.aging {
		g.sweepAll() // of what met, something may be due
		g.afterAging()
		g.quiet()
		return g.wrong
	}
	tree := g.same()
	g.quiet()
	if g.wrong == "" {
		g.discard(tree)
	}
	if g.wrong == "" && slices.Contains(th.kinds, "edit expiring") {
		g.allExpire(turn)
	}
	return g.wrong
}

// quiet finds something that a member would be sent although it lacks nothing.
func (g *group) quiet() {
	for _, link := range links(g.members) {
		if g.members[link[1]].old {
			continue
		}
		task := &replicate.Task{ID: "quiet", Source: g.at(link[0]), Target: g.at(link[1]), NoCheckpoints: true}
		result, err := task.Run(g.t.Context())
		must(g.t, err)
		if n := result.Stats.MissingFound; n > 0 && g.wrong == "" {
			g.wrong = fmt.Sprintf("%v: %d revisions are missing when everybody has everything", link, n)
		}
	}
}

// same holds the trees of the members against each other and returns one.
func (g *group) same() map[string]any {
	a := g.tree(0)
	for i := range g.members[1:] {
		if diff := cmp.Diff(a, g.tree(i+1)); diff != "" && g.wrong == "" {
			g.wrong = fmt.Sprintf("%s and %s differ:\n%s", g.members[0].path(), g.members[i+1].path(), diff)
		}
	}
	return a
}

// discard finds a revision that was written and is in no history any more.
func (g *group) discard(tree map[string]any) {
	there := known(tree)
	for key := range g.written {
		if !there[key] {
			g.wrong = "lost: " + key
		}
	}
}

// allExpire lets everything expire that ever will. The members come to the same
// by themselves: the tombstones that they make are equal.
func (g *group) allExpire(turn int) {
	g.now += 5 * time.Hour
	g.sweepAll()
	before := g.same()
	for id, doc := range before {
		for _, leaf := range leavesOf(doc) {
			if leaf["expires"] != nil && g.wrong == "" {
				g.wrong = fmt.Sprintf("%s has not expired: %v", id, leaf)
			}
		}
	}
	g.meetAll(turn)
	if diff := cmp.Diff(before, g.tree(0)); diff != "" && g.wrong == "" {
		g.wrong = "what has expired is replicated otherwise:\n" + diff
	}
}

// play lets one thing happen.
func (g *group) play(o op) {
	m := g.members[o.on]
	switch o.kind {
	case "drop", "tombstones", "remake":
		g.drop(o)
	case "expiry on", "expiry off":
		g.expires(m, o.kind == "expiry on")
	case "time":
		g.now += time.Duration(1+o.n%5) * 10 * time.Minute
	case "sweep":
		g.sweep(m.server)
	case "age":
		g.age(o)
	default:
		if strings.HasPrefix(o.kind, "replicate") {
			g.meet(o.on, o.to, o)
		} else {
			g.edit(o)
		}
	}
}

// edit writes a document as a client does.
func (g *group) edit(o op) {
	m, w := g.members[o.on], g.servers[g.members[o.on].server]
	doc := fmt.Sprintf("doc%d", o.document)
	path := "/" + m.path() + "/" + m.ids + doc
	rev := strings.Trim(w.Do("HEAD", path, "").Header().Get("Etag"), `"`)
	header := []string{"Content-Type", "application/json"}
	if rev != "" {
		header = append(header, "If-Match", rev)
	}
	over := g.written[doc+" "+rev]
	made := &writing{}
	switch {
	case o.kind == "edit":
		g.wrote(o, doc, made, over, w.Do("PUT", path, fmt.Sprintf(`{"n":%d}`, o.n), header...))
	case o.kind == "edit expiring":
		made.expires = true
		at := g.began.Add(g.now + time.Duration(o.n%4)*40*time.Minute + 30*time.Second)
		g.wrote(o, doc, made, over, w.Do("PUT", path, fmt.Sprintf(`{"n":%d,"expires":%d}`, o.n, at.Unix()), header...))
	case o.kind == "delete" && rev != "":
		made.deleted = true
		g.wrote(o, doc, made, over, w.Do("DELETE", path, "", header...))
	case strings.HasPrefix(o.kind, "attach"):
		made.expires = over != nil && over.expires
		header[1] = "text/plain"
		g.wrote(o, doc, made, over, w.Do("PUT", path+"/"+strings.TrimPrefix(o.kind, "attach ")+".txt", strings.Repeat(fmt.Sprint(o.n, " "), o.n*200), header...))
	case o.kind == "branch":
		// A revision that grew from another of the same generation, as if it had
		// been written elsewhere.
		answer := w.Do("POST", "/"+m.path()+"/_bulk_docs", fmt.Sprintf(`{"new_edits":false,"docs":[{"_id":%q,"n":%d,"_revisions":{"start":2,"ids":["%032x","%032x"]}}]}`,
			m.ids+doc, o.n, o.n, o.document))
		if strings.TrimSpace(answer.Body.String()) == "[]" {
			g.written[fmt.Sprintf("%s 2-%032x", doc, o.n)] = made
		} else if answer.Code != http.StatusServiceUnavailable || !g.dropping[m.location] {
			g.t.Fatalf("%s: %d %s", o, answer.Code, answer.Body)
		}
	}
}

// wrote notes what became of a write; a partition that is being dropped takes
// none.
func (g *group) wrote(o op, doc string, made, over *writing, answer interface {
	Result() *http.Response
}) {
	a := answer.Result()
	if a.StatusCode == http.StatusConflict && g.dropping[g.members[o.on].location] {
		return
	}
	var told struct{ Rev string }
	if err := json.NewDecoder(a.Body).Decode(&told); err != nil || a.StatusCode > 299 {
		g.t.Fatalf("%s: %s %v", o, a.Status, err)
	}
	if over != nil {
		over.over = true
	}
	if g.written[doc+" "+told.Rev] == nil { // else somebody else wrote the same
		g.written[doc+" "+told.Rev] = made
	}
}

// drop drops a partition, with tombstones or without, or a database and makes it
// again. What only the member knew is lost without tombstones; all else comes
// back from the others. But of a partition that was dropped within a database
// nothing comes back at the endpoint of the whole: that is a purge, of which its
// checkpoints do not know.
func (g *group) drop(o op) {
	m := g.members[o.on]
	if o.kind == "remake" != (m.endpoint == "" && o.kind != "tombstones") || o.kind == "tombstones" && m.partition == "" {
		return
	}
	if o.kind == "remake" || o.kind == "drop" && !g.dropping[m.location] {
		elsewhere := map[string]bool{}
		for i, n := range g.members {
			if n.location != m.location {
				maps.Copy(elsewhere, known(g.tree(i)))
			}
		}
		maps.DeleteFunc(g.written, func(key string, _ *writing) bool { return !elsewhere[key] })
	}
	w := g.servers[m.server]
	switch o.kind {
	case "remake":
		w.OK("DELETE", "/"+m.database, "")
		delete(g.dropping, m.location)
		g.make(m)
		return
	case "tombstones":
		if answer := w.Do("DELETE", m.below()+"?tombstones=true", ""); answer.Code != http.StatusAccepted {
			if answer.Code != http.StatusNotFound {
				g.t.Fatalf("%s: %d %s", o, answer.Code, answer.Body)
			}
			return
		}
	case "drop":
		if answer := w.Do("DELETE", "/"+m.path(), ""); answer.Code != http.StatusAccepted {
			if answer.Code != http.StatusNotFound {
				g.t.Fatalf("%s: %d %s", o, answer.Code, answer.Body)
			}
			return
		}
	}
	g.dropping[m.location] = true
}

// age lets everybody meet and then so much time go by that the tombstones there
// are get dropped.
func (g *group) age(o op) {
	g.meetAll(o.n)
	g.noReturn()
	for i, m := range g.members {
		if g.inner[m.location] == nil {
			g.inner[m.location] = map[string]bool{}
		}
		for id, doc := range g.tree(i) {
			for _, leaf := range leavesOf(doc) {
				for _, rev := range pathOf(leaf)[1:] {
					g.inner[m.location][id+" "+rev] = true
				}
			}
		}
	}
	for range 2 {
		g.now += 31 * 24 * time.Hour
		g.sweepAll()
	}
}

// noReturn finds a revision that a member once had others over, and which is a
// leaf there again.
func (g *group) noReturn() {
	for i, m := range g.members {
		for id, doc := range g.tree(i) {
			for _, leaf := range leavesOf(doc) {
				if rev := pathOf(leaf)[0]; g.inner[m.location][id+" "+rev] {
					g.wrong = fmt.Sprintf("%s %s came back at %s", id, rev, m.path())
				}
			}
		}
	}
}

// afterAging looks at the end of a history in which tombstones were dropped:
// nothing came back, what is there is there everywhere, and what nobody deleted
// is there.
func (g *group) afterAging() {
	g.noReturn()
	var first map[string]any
	for i, m := range g.members {
		if m.old {
			continue
		}
		now := live(g.tree(i))
		if first == nil {
			first = now
		}
		if diff := cmp.Diff(first, now); diff != "" && g.wrong == "" {
			g.wrong = fmt.Sprintf("%s and %s differ:\n%s", g.members[0].path(), m.path(), diff)
		}
	}
	lives := map[string]bool{}
	for id, doc := range first {
		for _, leaf := range leavesOf(doc) {
			if key := fmt.Sprint(id, " ", leaf["_rev"]); leaf["_deleted"] == nil {
				lives[key] = true
				if made := g.written[key]; made == nil || made.deleted || made.over {
					g.wrong = key + " is there"
				}
			}
		}
	}
	for key, made := range g.written {
		if !made.deleted && !made.over && !made.expires && !lives[key] {
			g.wrong = "lost: " + key
		}
	}
}

// histories is how many histories of a theme are played.
func (th *theme) histories() int {
	if testrun.IsLong() {
		return 5
	}
	return 1
}

// TestEverybodyComesToTheSame replicates among databases, partitions and tenants'
// endpoints in any order, under random edits, with runs that break off, with
// documents that expire, with partitions and databases that are dropped and made
// again, and with tombstones that get old.
func TestEverybodyComesToTheSame(t *testing.T) {
	for i := range themes {
		th := &themes[i]
		t.Run(th.name, func(t *testing.T) {
			for seed := range th.histories() {
				ops := th.makeOps(uint64(seed), 60)
				wrong := play(t, th, seed, ops)
				if wrong == "" {
					continue
				}
				ops, wrong = shrink(t, th, seed, ops, wrong)
				for _, o := range ops {
					t.Log(o)
				}
				t.Fatalf("seed %d: %s", seed, wrong)
			}
		})
	}
}

// TestSeveralServersComeToTheSame is that with endpoints that are each several servers over one
// engine: each request of a replication is answered by any of them, and replications move to
// another server in the middle.
func TestSeveralServersComeToTheSame(t *testing.T) {
	seed := 0
	if testrun.IsLong() {
		seed = int(time.Now().UnixNano() % 1e9)
	}
	few, length := themes, 60
	if testing.Short() {
		few, length = themes[:1], 30
	}
	for i, th := range few {
		th.several = 2 + i%2
		th.kinds = slices.Concat(th.kinds, []string{"replicate moved", "replicate moved"})
		t.Run(th.name, func(t *testing.T) {
			t.Parallel()
			ops := th.makeOps(uint64(seed), length)
			if wrong := play(t, &th, seed, ops); wrong != "" {
				t.Fatalf("seed %d: %s", seed, wrong)
			}
		})
	}
}

// shrink leaves out what is not needed for something to be wrong.
func shrink(t *testing.T, th *theme, turn int, ops []op, wrong string) ([]op, string) {
	for size := len(ops) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(ops); {
			fewer := slices.Concat(ops[:i], ops[i+size:])
			if now := play(t, th, turn, fewer); now != "" {
				ops, wrong = fewer, now
			} else {
				i += size
			}
		}
	}
	return ops, wrong
}

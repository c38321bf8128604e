package replicate_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/enginetest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// location is where documents lie: a database, or a partition of it. Two endpoints may
// lead to one location.
type location struct {
	server    int
	database  string
	partition string // "" for an ordinary database
}

// member is one of those who replicate with each other: a location by one of its
// endpoints.
type member struct {
	location
	endpoint string // "", "_partition" or "_owner"
	ids      string // what its ids begin with
	old      bool   // it takes no part when everybody meets, and nobody edits there
}

// ordinary is a database whose ids begin with ids.
func ordinary(server int, name, ids string) member {
	return member{location: location{server, name, ""}, ids: ids}
}

// whole is a partitioned database all of whose documents are in one partition.
func whole(server int, name, partition string) member {
	return member{location: location{server, name, partition}, ids: partition + ":"}
}

// part is a partition at its endpoint.
func part(server int, database, partition string) member {
	return member{location: location{server, database, partition}, endpoint: "_partition", ids: partition + ":"}
}

// tenant is a partition as a database of its own.
func tenant(server int, database, partition string) member {
	return member{location: location{server, database, partition}, endpoint: "_owner"}
}

// path is that of the member's database, as its clients have it.
func (m member) path() string {
	if m.endpoint == "" {
		return m.database
	}
	return m.database + "/" + m.endpoint + "/" + m.partition
}

// below is the path below which the location has settings of its own.
func (m member) below() string {
	if m.partition == "" {
		return "/" + m.database
	}
	return "/" + m.database + "/_partition/" + m.partition
}

// links returns which members may replicate with which: from and to, for all whose
// ids are the same.
func links(members []member) (all [][2]int) {
	for i, m := range members {
		for j, n := range members {
			if m.location != n.location && m.ids == n.ids {
				all = append(all, [2]int{i, j})
			}
		}
	}
	return all
}

// group is the members of a theme at work.
type group struct {
	*theme
	t        *testing.T
	servers  []*world
	began    time.Time
	now      time.Duration     // since it began
	clocks   []time.Duration   // what it is by each server's clock, which moves when the server sweeps
	dropping map[location]bool // partitions whose drop is under way
	written  map[string]*writing
	inner    map[location]map[string]bool // revisions over which the location had others when tombstones got old, as "id rev"
	wrong    string                       // what was found on the way
}

// writing is what is known of a revision that somebody wrote.
type writing struct{ deleted, over, expires bool }

// newGroup makes the members. Beside a partition there is another with documents
// of the same names, which are nobody else's business.
func newGroup(t *testing.T, th *theme) *group {
	g := &group{theme: th, t: t, began: time.Now(), dropping: map[location]bool{}, written: map[string]*writing{}, inner: map[location]map[string]bool{}}
	for _, m := range th.members {
		for m.server >= len(g.servers) {
			g.servers = append(g.servers, &world{th.serve(t), t})
			g.clocks = append(g.clocks, 0)
		}
		g.make(m)
	}
	return g
}

// serve makes the server of an endpoint.
func (th *theme) serve(t *testing.T) *apitest.Server {
	if th.several > 0 {
		e := enginetest.Open(t)
		if e == nil {
			e = kvtest.NewModel(kvtest.ModelOptions{})
		}
		return apitest.With(t, apitest.Options{Engine: e, Servers: th.several})
	}
	return apitest.New(t)
}

// make makes a member's database, if it is not there.
func (g *group) make(m member) {
	w, target := g.servers[m.server], "/"+m.database
	if m.partition != "" {
		target += "?partitioned=true"
	}
	if w.Do("PUT", target, "").Code == http.StatusPreconditionFailed {
		return
	}
	if m.endpoint != "" {
		w.OK("PUT", "/"+m.database+"/other:doc1", `{"foreign":true}`)
	}
	if g.aging && m.server < 2 {
		w.OK("PUT", "/"+m.database+"/_auto_purge", `{"deleted_document_ttl":"30_days"}`)
	}
	if g.aging && !m.old {
		g.expires(m, true)
	}
}

// expires sets or removes the setting of expiry of a location.
func (g *group) expires(m member, on bool) {
	body := `{"field":"expires"}`
	if !on {
		body = "null"
	}
	w := g.servers[m.server].Do("PUT", m.below()+"/_expiry", body)
	if w.Code != http.StatusOK && !(w.Code == http.StatusConflict && g.dropping[m.location]) {
		g.t.Fatalf("expiry of %s: %d %s", m.path(), w.Code, w.Body)
	}
}

// at is a member as an endpoint.
func (g *group) at(i int) replicate.Address {
	return g.servers[g.members[i].server].at(g.members[i].path())
}

// meet replicates from one member to another.
func (g *group) meet(from, to int, o op) {
	task := &replicate.Task{ID: fmt.Sprintf("from%dto%d", from, to), Source: g.at(from), Target: g.at(to), Batch: 1 + o.n%3}
	task.NoBulkGet = o.kind == "replicate alone"
	task.SnapshotFrom, task.SnapshotBytes = int64(1+o.n%2*1000), 1
	if o.kind == "replicate broken" {
		// Whatever does not get through now gets through later.
		task.Source.Retries, task.Target.Retries = -1, -1
		f := &faulty{next: task.Target.Transport, fault: []fault{dropAnswer, gone, halved}[o.n%3], at: int64(1 + o.n/2%8), ever: o.n%5 == 0}
		if o.n%2 == 0 {
			f.next, task.Source.Transport = task.Source.Transport, f
		} else {
			task.Target.Transport = f
		}
		_, _ = task.Run(g.t.Context())
		return
	}
	if o.kind == "replicate moved" {
		defer g.pauses(*task, o)()
	}
	if g.dropping[g.members[from].location] || g.dropping[g.members[to].location] {
		// It may fail, and is run again when the drop is done.
		task.Source.Retries, task.Target.Retries = -1, -1
		_, _ = task.Run(g.t.Context())
		return
	}
	task.Failed = func(f replicate.Failure) {
		g.wrong = fmt.Sprintf("%d to %d: %s %s failed: %d %s %s", from, to, f.ID, f.Rev, f.Status, f.Code, f.Reason)
	}
	if _, err := task.Run(g.t.Context()); err != nil {
		g.wrong = fmt.Sprintf("%d to %d: %v", from, to, err)
	}
}

// pauses runs a task at a server that stands still in the middle, from one of its requests on: its lease ends, and another
// server runs the task. The function that it returns lets it wake and go on with what it believes, to its end.
func (g *group) pauses(task replicate.Task, o op) (wakes func()) {
	still, awake, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	stops := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		once.Do(func() { close(still) })
		<-awake
		return next.RoundTrip(r)
	}
	f := &faulty{next: task.Target.Transport, fault: stops, at: int64(1 + o.n%9), ever: true}
	if o.n%2 == 0 {
		f.next, task.Source.Transport = task.Source.Transport, f
	} else {
		task.Target.Transport = f
	}
	task.Source.Retries, task.Target.Retries = -1, -1
	go func() {
		defer close(ended)
		_, _ = task.Run(g.t.Context()) // whatever it comes to: the other has done it
	}()
	select {
	case <-still:
	case <-ended:
	}
	return func() {
		close(awake)
		<-ended
	}
}

// meetAll lets everything get to everybody: along the members and back.
func (g *group) meetAll(turn int) {
	var order []int
	for i, m := range g.members {
		if !m.old {
			order = append(order, i)
		}
	}
	linked := links(g.members)
	if len(linked) == len(g.members)*(len(g.members)-1) {
		order = slices.Concat(order[turn%len(order):], order[:turn%len(order)])
	}
	step := func(from, to int) {
		if slices.Contains(linked, [2]int{from, to}) {
			g.meet(from, to, op{n: turn})
		}
	}
	for i := range order[1:] {
		step(order[i], order[i+1])
	}
	for i := len(order) - 1; i > 0; i-- {
		step(order[i], order[i-1])
	}
}

// sweep lets a server's clock come up to the time and the server do what is due
// by it.
func (g *group) sweep(server int) {
	w := g.servers[server]
	to := func(now time.Duration) {
		w.Later(now - g.clocks[server])
		g.clocks[server] = now
		must(g.t, w.Store.Sweep(g.t.Context()))
	}
	if g.now-g.clocks[server] > 50*time.Minute { // a clock that leaps is believed when it has stayed so
		to(g.now)
		g.now += 11 * time.Minute
	}
	to(g.now)
	for p := range g.dropping {
		if p.server == server {
			delete(g.dropping, p)
		}
	}
}

func (g *group) sweepAll() {
	for server := range g.servers {
		g.sweep(server)
	}
}

// tree is what a member has, under ids without what they begin with.
func (g *group) tree(i int) map[string]any {
	m := g.members[i]
	all := map[string]any{}
	for id, doc := range g.servers[m.server].tree(m.path()) {
		short, ok := strings.CutPrefix(id, m.ids)
		if !ok {
			g.wrong = fmt.Sprintf("%s has %s", m.path(), id)
			continue
		}
		for _, leaf := range leavesOf(doc) {
			leaf["_id"] = short
		}
		all[short] = doc
	}
	return all
}

// leavesOf returns the leaves of a document of a tree.
func leavesOf(doc any) (leaves []map[string]any) {
	for _, leaf := range doc.([]any)[0].([]any) {
		if ok, found := leaf.(map[string]any)["ok"].(map[string]any); found {
			leaves = append(leaves, ok)
		}
	}
	return leaves
}

// pathOf returns a leaf and its ancestors, newest first.
func pathOf(leaf map[string]any) (revs []string) {
	history := leaf["_revisions"].(map[string]any)
	for i, hash := range history["ids"].([]any) {
		revs = append(revs, fmt.Sprintf("%d-%s", int(history["start"].(float64))-i, hash))
	}
	return revs
}

// known returns all revisions of a tree as "id rev".
func known(tree map[string]any) map[string]bool {
	all := map[string]bool{}
	for id, doc := range tree {
		for _, leaf := range leavesOf(doc) {
			for _, rev := range pathOf(leaf) {
				all[id+" "+rev] = true
			}
		}
	}
	return all
}

// live returns the documents that are there, without their histories, which
// members that dropped old tombstones do not have.
func live(tree map[string]any) map[string]any {
	all := map[string]any{}
	for id, doc := range tree {
		leaves := leavesOf(doc)
		for _, leaf := range leaves {
			delete(leaf, "_revisions")
		}
		if !slices.ContainsFunc(leaves, func(leaf map[string]any) bool { return leaf["_deleted"] == nil }) {
			continue
		}
		all[id] = doc
	}
	return all
}

package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// measuring is an engine that notes its largest entries, by kind; heads apart from the
// documents' other rows.
type measuring struct {
	kv.Engine
	mu      sync.Mutex
	largest map[string]int
}

func (e *measuring) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error { return fn(measuringTxn{tx, e}) }, locked...)
}

type measuringTxn struct {
	kv.Txn
	e *measuring
}

func (t measuringTxn) Put(key, value []byte) error {
	t.e.mu.Lock()
	defer t.e.mu.Unlock()
	kind := "other"
	for _, s := range keyspace.Spaces {
		if _, parts, err := s.Decode(key); err == nil {
			if kind = s.Name; s == &keyspace.Doc && parts[1].Num() == keyspace.SubHead {
				kind = "head"
			}
			break
		}
	}
	t.e.largest[kind] = max(t.e.largest[kind], len(key)+len(value))
	return t.Txn.Put(key, value)
}

// TestLargestRows: a document with thousands of leaves or long branches, long definitions,
// a long _security, local documents as long as they may be, thousands of attachments with long
// names and commits of hundreds of long ids make no entry of more than 1 MB, and no head of more
// than 64 KB.
func TestLargestRows(t *testing.T) {
	testrun.Sequential(t)
	e := &measuring{Engine: kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Key: 24 << 10, Value: 8 << 20, Txn: 64 << 20, Age: 1 << 40}}), largest: map[string]int{}}
	w := openWorld(t, e, Options{})
	defer w.closeAll()
	d := w.create("db", true)
	var edits []document.Edit
	for i := range 3000 { // leaves
		edits = append(edits, replicated(t, "p:wide", `{"n":1}`, fmt.Sprintf("2-%032x", i), fmt.Sprintf("1-%032x", i)))
	}
	for n := range 12 { // trees that just find room in the head, and those that just do not
		for i := range 50 * n {
			edits = append(edits, replicated(t, fmt.Sprintf("p:%d", n), `{}`, fmt.Sprintf("2-%032x", i), fmt.Sprintf("1-%032x", i)))
		}
	}
	for i := range 20 { // branches as long as they may be
		revs := make([]string, defaultRevsLimit)
		for gen := range revs {
			revs[gen] = fmt.Sprintf("%d-%032x", len(revs)-gen, i<<20+gen)
		}
		edits = append(edits, replicated(t, "p:long", `{"n":1}`, revs...))
	}
	const definition = 1<<20 - 1000
	edits = append(edits, edit(t, "_design/long", "", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", definition))))
	named := edit(t, "p:named", "", `{}`)
	for i := range 3000 {
		named.Attachments = append(named.Attachments, document.Attachment{Name: fmt.Sprint(strings.Repeat("n", 1000), i), ContentType: "text/plain", Data: []byte("x")})
	}
	edits = append(edits, named)
	w.mustWriteAll(d, edits)
	var long []document.Edit
	for i := range 200 {
		long = append(long, edit(t, fmt.Sprint("p:", strings.Repeat("i", 8000), i), "", `{}`))
	}
	for i, r := range w.mustWriteAll(d, long) { // a row of superseded revisions names them all
		long[i].Parent = r.Rev
	}
	w.mustWriteAll(d, long)
	if _, err := d.Whole().PutLocal(ctx, "_local/long", 0, fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 8_000_000-20))); err != nil {
		t.Fatal(err)
	}
	if err := d.SetSecurity(ctx, fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("x", definition))); err != nil {
		t.Fatal(err)
	}
	w.check()
	for kind, size := range e.largest {
		most := 1 << 20
		if kind == "head" {
			most = 64 << 10
		}
		t.Logf("%s: %d", kind, size)
		if size > most {
			t.Errorf("an entry of %s has %d bytes, more than %d", kind, size, most)
		}
	}
	if e.largest["head"] < treePiece/2 || e.largest["doc"] < treePiece || e.largest["row-piece"] < longestRow {
		t.Errorf("nothing large was written: %v", e.largest)
	}
}

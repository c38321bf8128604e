package index_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

func put(t *testing.T, d *store.Database, id, body string) document.Rev {
	t.Helper()
	rs, err := d.Whole().Write(ctx, []document.Edit{{ID: document.ID(id), Body: []byte(body)}}, store.WriteOptions{})
	if err = errors.Join(err, rs[0].Err); err != nil {
		t.Fatal(err)
	}
	return rs[0].Rev
}

// partitioned makes a store with a partitioned database, which ends with the test.
func partitioned(t *testing.T, x *index.Indexes) (*store.Store, *store.Database) {
	t.Helper()
	s := openStore(t, openEngine(t), x)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := s.Create(ctx, "db", store.Creation{Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

// rowsOf prints the rows of a tenant's index byN.
func rowsOf(t *testing.T, d *store.Database, p document.Partition) (rows []string) {
	t.Helper()
	err := d.Whole().View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r.As(d.Tenant(p)))
		if err != nil {
			return err
		}
		n := s.Lookup("_design/d", field.KindName, "byN")
		if n == nil {
			return nil
		}
		if n.Index.State != index.Readable || n.Index.Tenant != p {
			t.Errorf("the index of %s is %s and of %q", p, n.Index.State, n.Index.Tenant)
		}
		for _, prefix := range n.Index.Kind.Prefixes(d.Number(), n.Index.Number) {
			err = kv.Each(r.Snapshot(), kv.Prefix(prefix), func(key, _ []byte) error {
				_, parts, err := keyspace.FieldRow.Decode(key)
				rows = append(rows, parts[3].String())
				return err
			})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestTenantsIndexes holds a tenant's index to its partition: what it has before
// and after its build, what others' documents and indexes are to it, and that it
// goes with its design document and with its partition.
func TestTenantsIndexes(t *testing.T) {
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true})
	s, d := partitioned(t, x)
	want := func(p document.Partition, ids ...string) {
		t.Helper()
		if err := errors.Join(x.Run(ctx, d), s.Check(ctx)); err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, d, p); strings.Join(got, " ") != strings.Join(ids, " ") {
			t.Errorf("the index of %s holds %q, not %q", p, got, ids)
		}
	}
	put(t, d, "alice:1", `{"n":1}`)
	put(t, d, "bob:2", `{"n":2}`)
	put(t, d, "alice:_design/d", design)
	put(t, d, "alice:workout:3", `{"n":3}`)
	put(t, d, "bob:4", `{"n":4}`)
	want("alice", "1", "workout:3")
	want("bob")
	if d.Indexes() != nil {
		t.Error("the database has indexes of its own")
	}
	put(t, d, "bob:_design/d", design)
	put(t, d, "_design/d", design)
	want("bob", "2", "4")
	want("alice", "1", "workout:3")
	if n := named(t, d, "byN"); n.Tenant != "" {
		t.Errorf("the database's index is %s's", n.Tenant)
	}
	put(t, d, "alice:_design/other", `{}`)
	if err := d.DropPartition(ctx, "alice", false); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	put(t, d, "alice:5", `{"n":5}`)
	want("alice")
	want("bob", "2", "4")
	put(t, d, "alice:_design/d", design)
	want("alice", "5")
	var tenants []document.Partition
	err := d.Whole().View(ctx, func(r *store.Reader) error {
		all, err := index.Namespaces(r)
		for _, ns := range all {
			tenants = append(tenants, ns.Tenant())
		}
		return err
	})
	if got := fmt.Sprint(tenants); err != nil || got != "[ alice bob]" {
		t.Errorf("the namespaces are %s (%v)", got, err)
	}
}

// TestTenantsRemembered asks many tenants' definitions, more than are remembered:
// writes to each go on keeping its index.
func TestTenantsRemembered(t *testing.T) {
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true})
	s, d := partitioned(t, x)
	const tenants = 1500
	for _, id := range []string{"_design/d", "1", "2"} {
		edits := make([]document.Edit, tenants)
		for i := range edits {
			edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p%d:%s", i, id)), Body: []byte(`{"n":1}`)}
			if id == "_design/d" {
				edits[i].Body = []byte(design)
			}
		}
		rs, err := d.Whole().Write(ctx, edits, store.WriteOptions{})
		for _, r := range rs {
			err = errors.Join(err, r.Err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(x.Run(ctx, d), s.Check(ctx)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []document.Partition{"p0", "p700", "p1499"} {
		if got := rowsOf(t, d, p); len(got) != 2 {
			t.Errorf("the index of %s holds %q", p, got)
		}
	}
}

// TestPurgeBesideTenantsBuild purges documents between the reading and the writing
// of a page of a tenant's build: they do not come into the index. What others
// write meanwhile, however much, does not concern it.
func TestPurgeBesideTenantsBuild(t *testing.T) {
	k := &counting{}
	x := index.New(index.Options{Kinds: []index.Kind{k}, Idle: true})
	s, d := partitioned(t, x)
	const documents = 1200
	var ps []store.Purging
	for n := range documents {
		id := fmt.Sprintf("alice:%04d", n)
		ps = append(ps, store.Purging{ID: document.ID(id), Revs: []document.Rev{put(t, d, id, `{"n":1}`)}})
	}
	put(t, d, "alice:_design/d", design)
	k.stop = func(built int64) {
		var err error
		switch built {
		case 1:
			_, err = d.Purge(ctx, ps[:3])
		case 2: // more than are noted
			_, err = d.Purge(ctx, ps[3:1100])
		case 3:
			put(t, d, "alice:1100x", `{"n":2}`)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(x.Run(ctx, d), s.Check(ctx)); err != nil {
		t.Error(err)
	}
	if n := len(rowsOf(t, d, "alice")); n != documents-1100+1 {
		t.Errorf("the index has %d rows", n)
	}
}

// TestTenantsTasksAreLetGo defines an index for each of many tenants and asks for it:
// nothing of a tenant's index stays in memory that nobody uses, and at no time do
// more than a few builds wait.
func TestTenantsTasksAreLetGo(t *testing.T) {
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}})
	s := openStore(t, openEngine(t), x)
	defer s.Close()
	defer x.Close()
	if err := x.Start(ctx, s); err != nil {
		t.Fatal(err)
	}
	d, err := s.Create(ctx, "db", store.Creation{Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	const tenants = 300
	for i := range tenants {
		put(t, d, fmt.Sprintf("p%d:1", i), `{"n":1}`)
		put(t, d, fmt.Sprintf("p%d:_design/d", i), design)
		if _, building := x.Tasks(d); building > 8 {
			t.Fatalf("%d builds are under way", building)
		}
	}
	for i := range tenants {
		p := document.Partition(fmt.Sprint("p", i))
		err := d.Whole().View(ctx, func(r *store.Reader) error {
			set, err := index.Of(r.As(d.Tenant(p)))
			if err == nil {
				err = x.Await(ctx, d, set.Lookup("_design/d", field.KindName, "byN").Index)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if rows := rowsOf(t, d, p); len(rows) != 1 {
			t.Fatalf("%s has the rows %q", p, rows)
		}
	}
	x.Close() // waits for the builds under way
	if remembered, building := x.Tasks(d); remembered != 0 || building != 0 {
		t.Errorf("%d tasks are remembered, %d builds under way", remembered, building)
	}
}

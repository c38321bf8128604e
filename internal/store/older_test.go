package store

import (
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/packed"
)

// TestJobsOfOlderData takes a store back to format 7, with a drop under way: the drop
// goes on, and what no writer put into the queue then is found.
func TestJobsOfOlderData(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	w := openWorld(t, e, Options{})
	d := w.create("db", true)
	w.aging(d, "1_day")
	w.mustWrite(d, document.Edit{ID: "p:dead", Parent: rev(t, w.put(d, "p:dead", "", `{}`)), Deleted: true})
	w.put(d, "p:aged", "", w.expiresIn(time.Hour, ""))
	w.put(d, "q:a", "", `{}`)
	if err := d.DropPartition(ctx, "q", false); err != nil {
		t.Fatal(err)
	}
	err := e.Update(ctx, func(tx kv.Txn) error {
		for _, space := range []keyspace.Space{keyspace.Job, keyspace.JobDue} {
			err := kv.Each(tx, kv.Prefix(space.Key(0)), func(key, _ []byte) error { return tx.Delete(append([]byte(nil), key...)) })
			if err != nil {
				return err
			}
		}
		old := packed.Writer{}
		old.Byte(1)
		old.Uint(uint64(w.now.UnixMilli()))
		old.Text("")
		store := packed.Writer{}
		store.Byte(7)
		store.Text(w.UUID())
		for _, row := range []struct{ key, value []byte }{{d.job(jobPartition, "q", w.now).ID.Key(), old}, {metaKey("store"), store}} {
			if err := tx.Put(row.key, row.value); err != nil {
				return err
			}
		}
		return tx.Delete(metaKey(metaAge))
	})
	if err != nil {
		t.Fatal(err)
	}
	now := w.now
	w.Store.Close()
	w = openWorld(t, e, Options{})
	w.now = now
	t.Cleanup(w.closeAll)
	if list, err := w.Working(ctx); err != nil || len(list) != 1 || list[0].Kind != WorkDrop || list[0].Database != "db" {
		t.Errorf("under way: %+v, %v", list, err)
	}
	w.check()
	w.pass(48 * time.Hour)
	w.check()
	d = w.database("db")
	for id, want := range map[string]string{"p:dead": "not_found: missing", "p:aged": "not_found: missing", "q:a": "not_found: missing"} {
		if got := w.get(d, id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	err = e.View(ctx, func(v kv.Snapshot) error {
		return kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
			j, err := jobs.Decode(key, value)
			t.Errorf("left: %s of %s, due %v", j.Kind, j.Database, j.Due)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// day is a period for which the logs of these tests keep their entries.
var day = Period{Text: "24_hours", Length: 24 * time.Hour}

// logOf returns the entries that a scope shows after a position, as lines, and the last position.
func logOf(t *testing.T, s Scope, after LogPosition) (lines string, last LogPosition) {
	t.Helper()
	var b strings.Builder
	err := s.View(ctx, func(r *Reader) error {
		for e, err := range r.Log(after) {
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%d %s%s %d: %s -> %s\n", e.At.Seq, e.Partition, strings.TrimPrefix(string(e.ID), string(e.Partition)), e.Cause, short(e.Old), short(e.New))
			last = e.At
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), last
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func short(r *Revision) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprint(r.Rev.Gen, map[bool]string{true: "x"}[r.Deleted], string(r.Body))
}

// first is where a log begins.
func first(t *testing.T, d *Database) (p LogPosition) {
	t.Helper()
	if err := d.Whole().View(ctx, func(r *Reader) (err error) {
		p, _, err = r.LogBounds()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestChangeLog(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	old := w.mustWrite(d, document.Edit{ID: "p:before", Body: []byte(`{"n":0}`)})
	check(t, d.SetChangeLog(ctx, day))
	begin := first(t, d)
	// Two edits of one document in one commit, and another's between them.
	_, one := writing(t, d, document.Edit{ID: "p:a", Body: []byte(`{"n":1}`)})
	for _, err := range together(d, one, func(g *group) error {
		s, err := g.doc("p:a")
		if err != nil {
			return err
		}
		return g.tombstone(s, s.tree.Winner().Rev, ByWriter)
	}) {
		check(t, err)
	}
	w.mustWrite(d, document.Edit{ID: "p:before", Parent: rev(t, old), Body: []byte(`{"n":2}`)})
	w.mustWrite(d, document.Edit{ID: "q:c", Path: []document.Rev{{Gen: 2, Hash: "bb"}}, Body: []byte(`{"n":3}`)})
	w.mustWrite(d, document.Edit{ID: "q:c", Path: []document.Rev{{Gen: 2, Hash: "aa"}}, Body: []byte(`{"n":4}`)}) // it does not win
	check(t, d.Whole().SetExpiry(ctx, Expiry{Own: true, Field: "at"}))
	w.mustWrite(d, document.Edit{ID: "q:e", Body: fmt.Appendf(nil, `{"at":%d}`, w.now.Add(time.Hour).Unix())})
	w.now = w.now.Add(90 * time.Minute)
	w.sweep()
	w.now = w.now.Add(clockHold)
	w.sweep()
	expired := fmt.Sprintf(`1{"at":%d}`, historyStart.Add(time.Hour).Unix())
	all, last := logOf(t, d.Whole(), begin)
	if len(strings.Split(all, "\n")) != 8 || !strings.HasSuffix(all, ` -> 2x{}`+"\n") {
		t.Errorf("%s: %s", expired, all)
	}
	want := `2 p:a 0: - -> 1{"n":1}
3 p:a 0: 1{"n":1} -> 2x{}
4 p:before 0: 1{"n":0} -> 2{"n":2}
`
	if diff := cmp.Diff(want, all[:min(len(want), len(all))]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(all, `6 q:c 0: 2{"n":3} -> 2{"n":3}`) || !strings.Contains(all, "8 q:e 1: 1{") {
		t.Errorf("a branch that does not win, or the expiry: %s", all)
	}
	// Scopes see their own, tenants by their ids.
	for _, s := range []Scope{d.Within("p"), d.Within("p").Restrict()} {
		if got, _ := logOf(t, s, begin); got != want {
			t.Errorf("partition: %s", got)
		}
	}
	if got, _ := logOf(t, d.Tenant("p"), begin); got != strings.ReplaceAll(want, "p:", "p") {
		t.Errorf("tenant: %s", got)
	}
	// Purges and drops leave entries that name what is not there any more.
	_, err := d.Purge(ctx, []Purging{{ID: "q:c", Revs: []document.Rev{{Gen: 2, Hash: "bb"}}}})
	check(t, err)
	check(t, d.DropPartition(ctx, "p", false))
	check(t, d.DropPartition(ctx, "q", true))
	w.sweep()
	got, _ := logOf(t, d.Whole(), last)
	if diff := cmp.Diff("9 q:c 3: 2 -> 2{\"n\":4}\n9 p 4: - -> -\n10 q:c 2: 2{\"n\":4} -> 3x{}\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all, _ := logOf(t, d.Whole(), begin); !strings.HasPrefix(all, "2 p:a 0: - -> 1\n3 p:a 0: 1 -> 2x\n") {
		t.Errorf("after a drop: %s", all)
	}
	w.check()
}

func TestChangeLogKeepsBodies(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	check(t, d.SetChangeLog(ctx, day))
	check(t, d.SetDeletedTTL(ctx, Period{Text: "1_min", Length: time.Minute}))
	begin := first(t, d)
	r := w.mustWrite(d, document.Edit{ID: "a", Body: []byte(`{"n":1}`)})
	r = w.mustWrite(d, document.Edit{ID: "a", Parent: rev(t, r), Body: []byte(`{"n":2}`)})
	w.mustWrite(d, document.Edit{ID: "a", Parent: rev(t, r), Deleted: true, Body: []byte(`{}`)})
	want, _ := logOf(t, d.Whole(), begin)
	later := func(by time.Duration) {
		for range 3 { // a leap of the clock is waited for, and things get old one after the other
			w.now = w.now.Add(by / 3)
			w.sweep()
			w.now = w.now.Add(clockHold)
			w.sweep()
		}
	}
	later(3 * time.Hour)
	check(t, d.Compact(ctx))
	if got, _ := logOf(t, d.Whole(), begin); got != want {
		t.Errorf("after a while:\n%swant\n%s", got, want)
	}
	w.check()
	later(30 * time.Hour)
	w.sweep()
	err := d.Whole().View(ctx, func(r *Reader) error {
		for _, err := range r.Log(begin) {
			return err
		}
		return nil
	})
	if !dberr.Is(err, dberr.NotFound) || !strings.Contains(err.Error(), "trimmed") {
		t.Errorf("from a place that was trimmed: %v", err)
	}
	if got, _ := logOf(t, d.Whole(), first(t, d)); got != "" {
		t.Errorf("old entries stay: %s", got)
	}
	w.check()
	if rows := rows(t, w.Store.engine, databaseRange(d), showKey); strings.Contains(rows, "/doc") || strings.Contains(rows, "superseded") {
		t.Errorf("bodies stay:\n%s", rows)
	}
}

func TestChangeLogIsSwitched(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	if err := d.SetChangeLog(ctx, Period{Text: "infinity"}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("without end: %v", err)
	}
	off := func() {
		t.Helper()
		err := d.Whole().View(ctx, func(r *Reader) error {
			_, _, err := r.LogBounds()
			return err
		})
		if !dberr.Is(err, dberr.NotFound) || d.ChangeLog() != (Period{}) {
			t.Errorf("off: %v, %v", err, d.ChangeLog())
		}
	}
	off()
	check(t, d.SetChangeLog(ctx, day))
	before := first(t, d)
	w.mustWrite(d, document.Edit{ID: "a", Body: []byte(`{}`)})
	check(t, d.SetChangeLog(ctx, Period{}))
	off()
	w.mustWrite(d, document.Edit{ID: "b", Body: []byte(`{}`)})
	check(t, d.SetChangeLog(ctx, day))
	if now := first(t, d); !before.before(now) || d.ChangeLog() != day {
		t.Errorf("it begins at %v, before at %v", now, before)
	}
	w.mustWrite(d, document.Edit{ID: "c", Body: []byte(`{}`)})
	if got, _ := logOf(t, d.Whole(), first(t, d)); got != "3 c 0: - -> 1{}\n" {
		t.Errorf("anew: %s", got)
	}
	w.check()
	w.now = w.now.Add(time.Minute)
	w.sweep()
	if rows := rows(t, w.Store.engine, databaseRange(d), showKey); strings.Count(rows, "/change-log") != 1 {
		t.Errorf("entries from before stay:\n%s", rows)
	}
}

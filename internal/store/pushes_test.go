package store

import (
	"context"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
)

// TestTakenBackForgetsPushes: of what was taken back the checkpoints of who pushed there are gone, since such a client may have gone
// on pushing where it had moved, in the same session; those of who pulls are there.
func TestTakenBackForgetsPushes(t *testing.T) {
	for what, away := range map[string]func(from, to kv.Engine) error{
		"a database": func(from, to kv.Engine) error {
			if err := copyDatabase(from, to, "db", false); err != nil {
				return err
			}
			return TakeBack(ctx, from, kvcopy.Settled, "db")
		},
		"everything": func(from, to kv.Engine) error {
			c, err := PrepareStoreCopy(ctx, from, to, func([]byte) bool { return false })
			if err != nil {
				return err
			}
			through := func(ctx context.Context, fn func(kv.Txn) error) error { return from.Update(ctx, fn) }
			if err := c.Leave(ctx, through, "elsewhere"); err != nil {
				return err
			}
			return TakeBackAll(ctx, from, kvcopy.Settled)
		},
	} {
		from, to := ofModel(t, "db", 2), ofModel(t, "", 0)
		w := openWorld(t, from, Options{})
		d, err := w.Database(ctx, "db")
		if err != nil {
			t.Fatal(err)
		}
		for id, seq := range map[document.ID]string{"_local/push": "7", "_local/pull": `"` + d.Whole().FormatSeq(1) + `"`} {
			body := `{"session_id":"s","last_seq":` + seq + `,"history":[{"session_id":"s","last_seq":` + seq + `}]}`
			if _, err := d.Whole().PutLocal(ctx, id, 0, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := away(from, to); err != nil {
			t.Fatal(what, err)
		}
		w = openWorld(t, from, Options{})
		defer w.Close()
		if d, err = w.Database(ctx, "db"); err != nil {
			t.Fatal(err)
		}
		err = d.Whole().View(ctx, func(r *Reader) error {
			if _, err := r.Local("_local/push"); !dberr.Is(err, dberr.NotFound) {
				t.Errorf("%s: the checkpoint of who pushed: %v", what, err)
			}
			_, err := r.Local("_local/pull")
			return err
		})
		if err != nil {
			t.Errorf("%s: the checkpoint of who pulls: %v", what, err)
		}
	}
}

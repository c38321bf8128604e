package pebblekv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// workload is a fixed list of writing calls. A crash or failure during it must
// leave the state after some number of them.
type workload struct {
	calls  []call
	states []string // states[i] is what is stored after i calls
}

type call func(context.Context, kv.Engine) error

// newWorkload makes n calls: transactions of several rows of which one is a
// feed entry that moves, discards, and a large transaction now and then.
func newWorkload(t testing.TB, n int) *workload {
	w := &workload{}
	for i := range n {
		switch {
		case i%17 == 16:
			w.calls = append(w.calls, discardCall(i))
		case i%23 == 22:
			w.calls = append(w.calls, transaction(i, 150<<10))
		default:
			w.calls = append(w.calls, transaction(i, 700))
		}
	}
	model := kvtest.NewModel(kvtest.ModelOptions{})
	w.states = append(w.states, dump(t, model))
	for _, c := range w.calls {
		if err := c(context.Background(), model); err != nil {
			t.Fatal(err)
		}
		w.states = append(w.states, dump(t, model))
	}
	return w
}

// transaction edits one of twenty documents: its head and body, its feed entry,
// which is deleted once and put anew, and a counter.
func transaction(i, size int) call {
	return func(ctx context.Context, e kv.Engine) error {
		return e.Update(ctx, func(t kv.Txn) error {
			doc := i % 20
			head := fmt.Appendf(nil, "doc%02d/head", doc)
			if old, err := t.GetForUpdate(head); err == nil {
				if err := t.DeleteOnce(old); err != nil {
					return err
				}
			}
			feed := fmt.Appendf(nil, "feed%05d", i)
			value := bytes.Repeat([]byte{byte('a' + i%26)}, min(size, 64<<10))
			for left := size; left > 0; left -= len(value) {
				if err := t.Put(fmt.Appendf(nil, "doc%02d/body%08d", doc, left), value); err != nil {
					return err
				}
			}
			for _, row := range [][2][]byte{{head, feed}, {feed, head}, {[]byte("last"), fmt.Append(nil, i)}} {
				if err := t.Put(row[0], row[1]); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// discardCall drops the bodies of one document.
func discardCall(i int) call {
	return func(ctx context.Context, e kv.Engine) error {
		return e.Discard(ctx, kv.Prefix(fmt.Appendf(nil, "doc%02d/body", i%20)))
	}
}

// between reports whether what is stored is the state after some number of
// calls from first to last.
func (w *workload) between(stored string, first, last int) bool {
	return slices.Contains(w.states[first:min(last+1, len(w.states))], stored)
}

// dump writes down everything that a view sees, long values by their length.
func dump(t testing.TB, e kv.Engine) string {
	t.Helper()
	out, err := dumped(e)
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return out
}

// dumped is dump where reading may fail.
func dumped(e kv.Engine) (string, error) {
	var out strings.Builder
	err := e.View(context.Background(), func(s kv.Snapshot) error {
		out.Reset()
		it, err := s.Iterate(kv.Range{}, kv.IterOptions{})
		if err != nil {
			return err
		}
		defer it.Close()
		for it.Next() {
			value, err := it.Value()
			if err != nil {
				return err
			}
			if len(value) > 100 {
				value = fmt.Appendf(nil, "%c*%d", value[0], len(value))
			}
			fmt.Fprintf(&out, "%s=%s\n", it.Key(), value)
		}
		return it.Err()
	})
	return out.String(), err
}

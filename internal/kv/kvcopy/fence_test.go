package kvcopy

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
)

// TestFenceGivesUp: a transaction that does not end holds a fence up only as long as a writer
// waits at one, and holds up nobody else; a later fence waits for it again.
func TestFenceGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Watch(kvtest.NewModel(kvtest.ModelOptions{}))
		defer w.Close()
		put := func(key string) error {
			return w.Update(context.Background(), func(tx kv.Txn) error { return tx.Put([]byte(key), []byte("x")) })
		}
		tracking, err := w.Track(context.Background(), kv.Prefix([]byte("in")))
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		var work sync.WaitGroup
		work.Go(func() {
			err := w.Update(context.Background(), func(tx kv.Txn) error {
				err := tx.Put([]byte("in/slow"), []byte("x"))
				<-release
				return err
			})
			if err != nil {
				t.Errorf("what began before the fence: %v", err)
			}
		})
		synctest.Wait()
		work.Go(func() {
			synctest.Wait()
			if err := put("out"); err != nil {
				t.Errorf("a writer elsewhere, while the fence waits: %v", err)
			}
		})
		if err := tracking.Fence(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the fence: %v", err)
		}
		if err := errors.Join(tracking.Lower(context.Background()), put("in/after")); err != nil {
			t.Fatalf("a writer after the fence was given up: %v", err)
		}
		fenced := make(chan error)
		go func() { fenced <- tracking.Fence(context.Background()) }()
		synctest.Wait()
		select {
		case err := <-fenced:
			t.Errorf("the second fence did not wait: %v", err)
		default:
		}
		close(release)
		if err := <-fenced; err != nil {
			t.Errorf("the second fence: %v", err)
		}
		work.Wait()
		keys, _, err := tracking.Written(context.Background())
		if err := errors.Join(err, tracking.End()); err != nil || len(keys) != 2 {
			t.Errorf("%q, %v", keys, err)
		}
	})
}

// falling has its fence fall while the last that was written is brought, as one does whose session is ended: somebody writes.
type falling struct {
	*Watched
	kv.Tracking
	up, fell, told bool
	write          func()
}

func (f *falling) Track(ctx context.Context, r kv.Range) (_ kv.Tracking, err error) {
	f.Tracking, err = f.Watched.Track(ctx, r)
	return f, err
}

func (f *falling) Fence(ctx context.Context) error {
	if f.fell && !f.told {
		f.told = true
		return context.DeadlineExceeded
	}
	f.up = true
	return f.Tracking.Fence(ctx)
}

func (f *falling) Written(ctx context.Context) ([][]byte, []kv.Range, error) {
	keys, discarded, err := f.Tracking.Written(ctx)
	if f.up && !f.fell {
		f.fell = true
		err = errors.Join(err, f.Tracking.Lower(ctx))
		f.write()
	}
	return keys, discarded, err
}

// TestFenceFalls: what is written after a fence fell is copied too.
func TestFenceFalls(t *testing.T) {
	from, to := Watch(model(t, kv.Limits{})), model(t, kv.Limits{})
	fill(t, from, 50)
	f := &falling{Watched: from, write: func() { put(t, from, "late", []byte("x")) }}
	o := everything(f, to)
	sum, err := Copy(t.Context(), f, to, o)
	if err != nil || !f.fell || sum.Rows == 0 {
		t.Fatal(sum, err, f.fell)
	}
	sameRows(t, rowsOf(t, from), rowsOf(t, to))
}

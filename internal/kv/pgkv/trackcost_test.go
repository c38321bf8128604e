package pgkv

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pgkv/pgtest"
)

// TestCostOfTracking prints what writers pay beside a copy, in turns of one run: commits of eight rows, as that of a document
// is, without a copy, while their rows are noted, and while those of another database are. It measures, so it runs when it
// is asked to.
func TestCostOfTracking(t *testing.T) {
	if os.Getenv("SECTIONAL_LONG") == "" {
		t.Skip("SECTIONAL_LONG is not set")
	}
	pgtest.Need(t)
	c, err := pgtest.Start(pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	e := open(t, Options{URL: c.URL(), Schema: "cost"})
	defer e.Close()
	var n atomic.Int64
	value := make([]byte, 300)
	commit := func(rows int) error {
		id := n.Add(1)
		return e.Update(context.Background(), func(tx kv.Txn) error {
			head := fmt.Appendf(nil, "db/head/%d", id%8)
			if _, err := number(tx.GetForUpdate(head)); err != nil {
				return err
			}
			for i := range rows - 1 {
				if err := tx.Put(fmt.Appendf(nil, "db/%d/%d", id, i), value); err != nil {
					return err
				}
			}
			return tx.Put(head, fmt.Append(nil, id))
		}, fmt.Appendf(nil, "db/head/%d", id%8))
	}
	rate := func(rows int) float64 {
		var work sync.WaitGroup
		var done atomic.Int64
		began := time.Now()
		for range 8 {
			work.Go(func() {
				for time.Since(began) < time.Second {
					if err := commit(rows); err != nil {
						t.Error(err)
						return
					}
					done.Add(1)
				}
			})
		}
		work.Wait()
		return float64(done.Load()) / time.Since(began).Seconds()
	}
	for _, rows := range []int{8, 500} {
		rate(rows)
		var sums [3]float64
		for range 5 {
			for way, r := range []kv.Range{{}, kv.Prefix([]byte("db")), kv.Prefix([]byte("elsewhere"))} {
				var tr kv.Tracking
				if way > 0 {
					if tr, err = e.Track(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				sums[way] += rate(rows) / 5
				if tr != nil {
					if err := tr.End(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		t.Logf("commits of %d rows: %.0f/s, %.2f of that while they are noted, %.2f while others are", rows, sums[0], sums[1]/sums[0], sums[2]/sums[0])
	}
}

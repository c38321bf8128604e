package kvtest

import (
	"context"
	"testing"

	"github.com/sectional/sectional/internal/kv"
)

// recordingTB notes whether a test was failed.
type recordingTB struct {
	testing.TB
	failures int
}

func (t *recordingTB) Errorf(string, ...any) { t.failures++ }

// TestShortLocks: an entry of more than 1 MB and a range that is read while a head is locked
// fail a test, and nothing else does.
func TestShortLocks(t *testing.T) {
	head := []byte("head")
	for name, c := range map[string]struct {
		fn    func(tx kv.Txn) error
		fails bool
	}{
		"an entry of 1 MB": {fn: func(tx kv.Txn) error { return tx.Put([]byte("a"), make([]byte, largestEntry-1)) }},
		"one of more":      {fn: func(tx kv.Txn) error { return tx.Put([]byte("a"), make([]byte, largestEntry)) }, fails: true},
		"a range":          {fn: func(tx kv.Txn) error { return kv.Each(tx, kv.Range{}, func(_, _ []byte) error { return nil }) }},
		"a range behind a head": {fn: func(tx kv.Txn) error {
			if _, err := tx.GetManyForUpdate([][]byte{head}); err != nil {
				return err
			}
			return kv.Each(tx, kv.Range{}, func(_, _ []byte) error { return nil })
		}, fails: true},
	} {
		told := &recordingTB{TB: t}
		e := NewShortLocks(told, NewModel(ModelOptions{Limits: kv.Limits{Key: 100, Value: 2 << 20, Txn: 4 << 20}}), func(key []byte) bool { return string(key) == string(head) })
		if err := e.Update(context.Background(), c.fn); err != nil {
			t.Fatal(err)
		}
		if told.failures > 0 != c.fails {
			t.Errorf("%s: the test was failed %d times", name, told.failures)
		}
	}
}

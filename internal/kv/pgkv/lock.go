package pgkv

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/sectional/sectional/internal/kv"
)

// locks are the keys that are locked in this process. Of those who want the same key here one
// waits in PostgreSQL, with a connection; the others wait for it without.
type locks struct{ kv.Locks }

// lock locks keys within the process and returns the numbers under which PostgreSQL locks them, as
// an array in ascending order, nil for none.
func (e *Engine) lock(ctx context.Context, keys [][]byte) (numbers []byte, unlock func(), err error) {
	if len(keys) == 0 {
		return nil, func() {}, nil
	}
	sums := make([]int64, len(keys))
	for i, key := range keys {
		sum := sha256.Sum256(append([]byte(e.o.Schema+"\x00"), key...))
		sums[i] = int64(binary.BigEndian.Uint64(sum[:]))
	}
	slices.Sort(sums)
	names := make([][]byte, 0, len(sums))
	for _, sum := range slices.Compact(sums) {
		names = append(names, int8Of(sum))
	}
	if unlock, err = e.locks.Lock(ctx, names); err != nil {
		return nil, nil, err
	}
	return array(oidInt8, names), unlock, nil
}

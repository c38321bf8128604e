package text

import (
	"errors"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
)

// Sweep removes files of segments that are not there any more, because their index or
// database was dropped: merges remove their own. It reads a row for each index that has
// files. The error is the engine's.
func (k *Kind) Sweep(v kv.Snapshot) error {
	if k.cache.dir == "" {
		return nil
	}
	for of, keys := range k.cache.files() {
		m, err := of.readManifest(v.Get)
		if err != nil && !errors.As(err, new(*index.Damaged)) {
			return err
		}
		for _, key := range keys {
			if at := m.find(key.segment); at < 0 || of.key(&m.segments[at]) != key {
				k.cache.forget(key)
			}
		}
	}
	return nil
}

// files returns the segments that have files, by index, with those that the cache lost
// sight of.
func (c *cache) files() map[rows][]cacheKey {
	c.adopt(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[rows][]cacheKey{}
	for e := c.used.Front(); e != nil; e = e.Next() {
		if o := e.Value.(*cached); o.file {
			of := rows{db: o.key.db, index: o.key.index}
			all[of] = append(all[of], o.key)
		}
	}
	return all
}

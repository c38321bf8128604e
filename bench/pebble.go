package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// The ceilings under HTTP: the same engine library with nothing of ours above it.

// openRaw opens Pebble with settings as the server's, so that the ratio speaks of our layers and not of the settings.
func openRaw(dir string, readOnly bool) (*pebble.DB, error) {
	o := &pebble.Options{
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		CacheSize:                   96 << 20,
		MemTableSize:                20 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       20,
		L0StopWritesThreshold:       48,
		LBaseMaxBytes:               256 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
		WALBytesPerSync:             512 << 10,
		Logger:                      silent{},
		ReadOnly:                    readOnly,
	}
	for i := range o.Levels {
		o.Levels[i].BlockSize = 8 << 10
		o.Levels[i].IndexBlockSize = 64 << 10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	return pebble.Open(dir, o)
}

// silent keeps Pebble's notes about its log out of the tables; what goes wrong comes back as an error.
type silent struct{}

// Infof drops the message.
func (silent) Infof(string, ...any) {}

// Errorf drops the message.
func (silent) Errorf(string, ...any) {}

// Fatalf ends the benchmark.
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// row is one key with its value.
type row struct{ key, value []byte }

// storedRows reads every row that a stopped server has left in its data directory.
func storedRows(dir string) (rows []row, err error) {
	db, err := openRaw(dir, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	i, err := db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for i.First(); i.Valid(); i.Next() {
		rows = append(rows, row{slices.Clone(i.Key()), slices.Clone(i.Value())})
	}
	return rows, i.Error()
}

// rawBulk writes the rows in synced batches from as many goroutines as the server has clients. Batch n holds the n-th
// part of each space (the key's first byte), which is how a server that gets documents in order of their ids writes.
func rawBulk(dir string, rows []row, batches int) (r result, err error) {
	spaces := map[byte][]row{}
	for _, r := range rows {
		spaces[r.key[0]] = append(spaces[r.key[0]], r)
	}
	db, err := openRaw(dir, false)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return atOnce(batches, func(n int) error { return rawBatch(db, spaces, n, batches) })
}

// atOnce commits so many batches from as many goroutines as the server has clients, and reports how long they took.
func atOnce(batches int, commit func(n int) error) (result, error) {
	var next atomic.Int64
	failures := make([]error, connections)
	var group sync.WaitGroup
	start := time.Now()
	for worker := range connections {
		group.Go(func() {
			for failures[worker] == nil {
				n := int(next.Add(1)) - 1
				if n >= batches {
					return
				}
				failures[worker] = commit(n)
			}
		})
	}
	group.Wait()
	return result{int64(batches), time.Since(start)}, errors.Join(failures...)
}

func rawBatch(db *pebble.DB, spaces map[byte][]row, n, batches int) error {
	b := db.NewBatch()
	for _, rows := range spaces {
		for _, r := range rows[len(rows)*n/batches : len(rows)*(n+1)/batches] {
			if err := b.Set(r.key, r.value, nil); err != nil {
				return err
			}
		}
	}
	return b.Commit(pebble.Sync)
}

// feedRows is the smallest form of a feed with documents: a row per change that names a document, and the documents.
func feedRows(documents int) []row {
	rows := make([]row, 0, 2*documents)
	order := rand.New(rand.NewPCG(1, 2)).Perm(documents)
	for sequence, number := range order {
		id := documentID(number)
		rows = append(rows,
			row{binary.BigEndian.AppendUint64([]byte{'f'}, uint64(sequence)), []byte(id)},
			row{append([]byte{'d'}, id...), document(number, "")})
	}
	return rows
}

// rawFeed scans a feed in pages and fetches each page's documents in the order of their keys.
func rawFeed(dir string, documents int) (r result, err error) {
	db, err := openRaw(dir, false)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := storeRows(db, feedRows(documents)); err != nil {
		return result{}, err
	}
	start := time.Now()
	count, err := scanFeed(db)
	return result{int64(count), time.Since(start)}, err
}

// storeRows fills a fresh database and compacts it, as the server's has been when its feed is measured.
func storeRows(db *pebble.DB, rows []row) error {
	for part := range slices.Chunk(rows, 1000) {
		b := db.NewBatch()
		for _, r := range part {
			if err := b.Set(r.key, r.value, nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return err
		}
	}
	return errors.Join(db.Flush(), db.Compact(context.Background(), []byte{0}, []byte{0xff}, true))
}

// scanFeed walks the feed in pages of 500.
func scanFeed(db *pebble.DB) (count int, err error) {
	feed, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{'f'}, UpperBound: []byte{'g'}})
	if err != nil {
		return 0, err
	}
	documents, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{'d'}, UpperBound: []byte{'e'}})
	if err != nil {
		return 0, errors.Join(err, feed.Close())
	}
	defer func() { err = errors.Join(err, feed.Close(), documents.Close()) }()
	var page [][]byte
	fetch := func() error {
		slices.SortFunc(page, slices.Compare)
		for _, key := range page {
			if !documents.SeekGE(key) || !slices.Equal(documents.Key(), key) {
				return fmt.Errorf("the document %q is not there", key)
			}
			sink(documents.Value())
			count++
		}
		page = page[:0]
		return documents.Error()
	}
	for feed.First(); feed.Valid(); feed.Next() {
		page = append(page, append([]byte{'d'}, feed.Value()...))
		if len(page) == 500 {
			if err := fetch(); err != nil {
				return count, err
			}
		}
	}
	return count, errors.Join(feed.Error(), fetch())
}

// sink reads the bytes as a writer to a socket would, so that the scan has to bring them.
func sink(value []byte) {
	var sum byte
	for _, b := range value {
		sum ^= b
	}
	if sum == 0 && len(value) == 0 {
		panic("a document without bytes")
	}
}

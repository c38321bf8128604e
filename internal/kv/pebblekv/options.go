package pebblekv

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
)

// The limits. A key holds document ids and values beside its prefix: that of an index of a
// table has a partition, two values and an id, 16 KB where all of them are as long as
// DynamoDB's may be. Larger keys would also fill whole blocks of a table's index. A value need never exceed a
// body chunk (64 KB) by much; 8 MiB leaves room for wide heads and still keeps
// one row far below a memtable. A transaction is held in memory three times
// over while it commits (overlay, batch, memtable). Five minutes are what
// TiKV's and PostgreSQL's usual settings leave to a snapshot; here an old one
// only costs disk, but nobody shall come to rely on that.
const (
	maxKey   = 24 << 10
	maxValue = 8 << 20
	maxTxn   = 64 << 20
	maxAge   = 5 * time.Minute
	// maxResting is how many snapshots may stay open while nothing is read from them.
	maxResting = 256
)

// Options say where and how to open an engine. Everything but Dir may be left
// zero.
type Options struct {
	Dir           string           // the data directory; made if it does not exist
	FS            vfs.FS           // nil: the disk
	CacheBytes    int64            // block cache; 0: 96 MiB (48 without cgo), filled as blocks are read
	MemTableBytes int              // one memtable; 0: 20 MiB, less on a disk under 1.3 GB
	MemTableMost  int              // most for one whose size is not said; 0: 20 MiB
	OpenFiles     int              // tables that are kept open; 0: 1000
	Age           time.Duration    // limit for snapshots and transactions; 0: 5 minutes
	Now           func() time.Time // clock for ages; nil: time.Now
	Logger        *slog.Logger     // nil: slog.Default
	ReadOnly      bool             // change nothing in the directory; writes fail

	pause func(time.Duration, <-chan struct{}) // for tests: waits, or until the channel is closed
	tune  func(*pebble.Options)                // for measurements: changes the settings
	bulk  int                                  // for tests: bytes from which on a transaction becomes tables; 0: bulkBytes
}

// How many tables may lie over each other in level 0, and how many memtables there
// may be, until Pebble makes all writes wait; and how many there are while it keeps
// up with a load (pressure.go).
const (
	sublevelsLow, sublevelsMost = 24, 48
	memTablesLow, memTablesMost = 3, 4
)

// Exists reports whether a directory has an engine's data, be it damaged; it changes nothing there. Errors: those of reading it.
func Exists(dir string) (bool, error) {
	names, err := vfs.Default.List(dir)
	if err != nil {
		return false, err
	}
	if countTables(names) > 0 || len(logsIn(names)) > 0 {
		return true, nil
	}
	found, err := pebble.Peek(dir, vfs.Default)
	return err == nil && found.Exists, err
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCache
	}
	if o.OpenFiles == 0 {
		o.OpenFiles = 1000
	}
	if o.Age == 0 {
		o.Age = maxAge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.pause == nil {
		o.pause = wait
	}
	return o
}

// DefaultMemTable is the size of a memtable on a large disk.
const DefaultMemTable = 20 << 20

// fitDisk makes memtables small on a small disk: each has a log for which as much
// room is taken at once, and becomes a table of that size. The directory is there.
func (o *Options) fitDisk() {
	if o.MemTableBytes != 0 {
		return
	}
	o.MemTableBytes = DefaultMemTable
	if o.MemTableMost != 0 {
		o.MemTableBytes = min(o.MemTableBytes, o.MemTableMost)
	}
	if usage, err := o.FS.GetDiskUsage(o.Dir); err == nil {
		o.MemTableBytes = max(1<<20, min(o.MemTableBytes, int(usage.TotalBytes/64)))
	}
}

// wait waits for a time, or until the channel is closed.
func wait(d time.Duration, end <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-end:
	}
}

func (o Options) limits() kv.Limits {
	return kv.Limits{Key: maxKey, Value: maxValue, Txn: maxTxn, Age: o.Age, Idle: maxResting}
}

// pebble returns the settings. The reasons and figures are in
// docs/decisions/0001-pebble-settings.md.
func (o Options) pebble(fs vfs.FS, lock *pebble.Lock, listen *pebble.EventListener) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		Lock:                        lock,
		Logger:                      logger{o.Logger},
		EventListener:               listen,
		Cleaner:                     cleaner{},
		ReadOnly:                    o.ReadOnly,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		CacheSize:                   o.CacheBytes,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: memTablesMost,
		MaxManifestFileSize:         4 << 20, // which is read twice at each start, with its copy
		L0CompactionThreshold:       20,      // of twice the tables that lie over each other
		L0StopWritesThreshold:       sublevelsMost,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                o.OpenFiles,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
		FlushDelayDeleteRange:       10 * time.Second,
		WALBytesPerSync:             512 << 10,
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 64 << 10
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	if o.tune != nil {
		o.tune(p)
	}
	return p
}

// logger hands Pebble's messages to slog.
type logger struct{ log *slog.Logger }

// Infof implements pebble.Logger.
func (l logger) Infof(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }

// Errorf implements pebble.Logger.
func (l logger) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }

// fatal is what Pebble can't go on after.
type fatal struct{ message string }

// Error implements error.
func (f fatal) Error() string { return f.message }

// Fatalf implements pebble.Logger, which must not return. What a disk can do
// wrong to an open engine is caught by failStop, so that here are left broken
// invariants of Pebble's, and failures during Open, which recovers from them.
func (l logger) Fatalf(format string, args ...any) {
	f := fatal{fmt.Sprintf(format, args...)}
	l.log.Error(f.message)
	panic(f)
}

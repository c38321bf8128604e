package pebblekv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Salvaged is what Salvage has found.
type Salvaged struct {
	Rows   int      // that were written
	Tables int      // that were read, if only in part
	Logs   int      // likewise
	Lost   []string // what could not be read, a sentence each
	// Inferred says that no manifest could be read, so that it is not known which tables and logs are in use.
	Inferred bool
}

// Salvage reads what can be read of a directory, whatever is damaged there, and writes the rows into the
// engine to, which is empty. Nothing in the directory is changed, which no process may have open.
//
// It reads the tables of the newest version of which a record can be read, in the manifest or in its copy, and the logs
// that are not in tables then; or all there are where no version can be read. Of each key it takes what has the
// highest sequence number: a value, or a deletion, of the key or of a range. Where a block of a table
// can't be read, what the table has before and behind is taken, and of its keys there older values or none.
//
// progress is told of the rows so far. Errors: those of to, Unavailable if another process has the directory, and Internal if there
// is nothing to read.
func Salvage(ctx context.Context, dir string, to kv.Engine, progress func(rows int)) (Salvaged, error) {
	s := &salvage{fs: vfs.Default, dir: dir}
	return s.run(ctx, to, progress)
}

// salvage is a directory that is being read.
type salvage struct {
	fs      vfs.FS
	dir     string
	found   Salvaged
	sources []source
	ranges  []deletedRange
}

func (s *salvage) run(ctx context.Context, to kv.Engine, progress func(rows int)) (Salvaged, error) {
	o := Options{Dir: s.dir, FS: s.fs, ReadOnly: true}
	lock, err := o.lock()
	if err != nil {
		return s.found, err
	}
	if err := s.find(); err != nil {
		return s.found, errors.Join(err, lock.Close())
	}
	return s.found, errors.Join(s.write(ctx, to, progress), lock.Close())
}

func (s *salvage) lost(format string, args ...any) {
	s.found.Lost = append(s.found.Lost, fmt.Sprintf(format, args...))
}

// find finds the tables and logs to be read.
func (s *salvage) find() error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return openError(s.dir, err)
	}
	v, known := s.version(names)
	if s.found.Inferred {
		for _, name := range names {
			if n, ok := fileNumber(name, ".sst"); ok {
				v.tables[tablePlace{number: n}] = table{file: n}
			}
		}
	}
	for _, t := range v.tables {
		s.addTable(t)
	}
	logs := logsIn(names)
	for number, name := range logs {
		if number >= v.minLog {
			s.addLog(number, name)
		}
	}
	if len(s.sources) == 0 && len(s.found.Lost) == 0 {
		return dberr.New(dberr.Internal, "", "There are no tables and no logs in "+s.dir+".")
	}
	s.missingLogs(logs, known, v.minLog)
	return nil
}

// missingLogs says which logs are known and not there. The newest may be known to nobody, as where there is no copy; but without any
// log it is missing.
func (s *salvage) missingLogs(logs map[uint64]string, known map[uint64]knownLog, minLog uint64) {
	missing := false
	for _, number := range slices.Sorted(maps.Keys(known)) {
		if _, there := logs[number]; number >= minLog && !there {
			s.lost("The log %06d is missing, of which %d bytes were written at least.", number, known[number].length)
			missing = true
		}
	}
	if len(logs) == 0 && !missing {
		s.lost("There is no log, and a server always has one: what was written last is missing.")
	}
}

// version returns the version to which most of the manifest that is used, or of its copy, leads, and the logs that are known
// by the copy.
func (s *salvage) version(names []string) (version, map[uint64]knownLog) {
	manifests := s.manifests(names)
	for i, name := range manifests {
		data, err := readAll(s.fs, s.fs.PathJoin(s.dir, name))
		v, _, _ := readManifest(data)
		second, errCopy := readAll(s.fs, s.fs.PathJoin(s.dir, copyOf(name)))
		copied := readCopy(second)
		w, _, _ := readManifest(copied.manifest)
		if w.end > v.end {
			s.lost("%s can be read up to its byte %d of %d alone; its copy has the rest.", name, v.end, len(data))
			v = w
		} else if errCopy != nil && int64(len(data)) > v.end {
			s.lost("%s can be read up to its byte %d of %d alone, and it has no copy.", name, v.end, len(data))
		} else if errCopy == nil && copied.damaged && int64(len(data)) > v.end {
			s.lost("%s can be read up to its byte %d of %d alone, and its copy is damaged too.", name, v.end, len(data))
		}
		if err := errors.Join(err, errCopy); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.lost("%s or its copy: %v", name, err)
		}
		if v.end > 0 {
			if i > 0 {
				s.lost("%s can't be read; the manifest before it can.", manifests[0])
			}
			if early := i > 0 || copied.damaged && int64(len(data)) > v.end; early && !v.isIn(names) {
				break // later versions have replaced what this one has
			}
			return v, copied.logs
		}
	}
	s.found.Inferred = true
	s.lost("No manifest can be read that fits the tables: all tables and logs are taken, also those that compactions have replaced.")
	return version{tables: map[tablePlace]table{}}, nil
}

// isIn reports whether all tables of a version are among the names of files.
func (v version) isIn(names []string) bool {
	for _, t := range v.tables {
		if !slices.Contains(names, tableName(t.file)) {
			return false
		}
	}
	return true
}

// manifests returns the names of manifests, the one that is used first, then the newest first. Of one
// of which there is the copy alone the name is there too.
func (s *salvage) manifests(names []string) (found []string) {
	used := ""
	if about, err := pebble.Peek(s.dir, s.fs); err == nil && about.Exists {
		used = s.fs.PathBase(about.ManifestFilename)
	}
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, copyPrefix); ok && !strings.Contains(text, ".") {
			name = manifestPrefix + text
		}
		if strings.HasPrefix(name, manifestPrefix) {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if (a == used) != (b == used) {
			return map[bool]int{true: -1, false: 1}[a == used]
		}
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
	})
	return slices.Compact(found)
}

// entry is a value or a deletion of a key.
type salvagedEntry struct {
	key      []byte
	value    []byte
	sequence uint64
	put      bool
}

// deletedRange is a range of keys whose entries of lower sequence numbers are deleted.
type deletedRange struct {
	start, end []byte
	sequence   uint64
}

// source yields entries in the order of their keys, the newest of a key first.
type source struct {
	first []byte // no key is less
	age   uint64 // of two entries with one sequence number that of the source with the higher age is the newer
	open  func() (entries, error)
}

// entries is a source that is being read. next returns nil at the end.
type entries interface {
	next() *salvagedEntry
	close()
}

// addLog reads a log, which is held in memory.
func (s *salvage) addLog(number uint64, name string) {
	s.found.Logs++
	data, err := readAll(s.fs, s.fs.PathJoin(s.dir, name))
	if err != nil {
		s.lost("The log %s can't be read: %v", name, err)
		return
	}
	var all []salvagedEntry
	read := readLog(data, number, func(batch []byte) { all = append(all, s.batch(name, batch)...) })
	if !read.closed {
		s.lost("The log %s does not end as at a clean stop: %d bytes were read, %d ignored, and the last sequence number in it is %d.", name, read.end, int64(len(data))-read.end, read.last)
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, compareEntries)
	s.sources = append(s.sources, source{first: all[0].key, age: number, open: func() (entries, error) { return &listed{all}, nil }})
}

func compareEntries(a, b salvagedEntry) int {
	return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(b.sequence, a.sequence))
}

// batch returns the entries of a batch of a log. Tables that a batch takes in become sources.
func (s *salvage) batch(log string, batch []byte) (out []salvagedEntry) {
	h, _ := batchrepr.ReadHeader(batch)
	r := batchrepr.Read(batch)
	for sequence := uint64(h.SeqNum); ; sequence++ {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			s.lost("A batch of the log %s ends early: %v", log, err)
		}
		if !ok {
			return out
		}
		switch kind {
		case pebble.InternalKeyKindSet:
			out = append(out, salvagedEntry{key, value, sequence, true})
		case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete, pebble.InternalKeyKindDeleteSized:
			out = append(out, salvagedEntry{key: key, sequence: sequence})
		case pebble.InternalKeyKindRangeDelete:
			s.ranges = append(s.ranges, deletedRange{key, value, sequence})
		case pebble.InternalKeyKindIngestSST:
			f := fields{rest: key}
			s.addTable(table{file: f.number(), lowest: sequence, highest: sequence})
		case pebble.InternalKeyKindLogData:
			sequence-- // it has none
		default:
			s.lost("A batch of the log %s has an entry of the kind %d, which is not known.", log, kind)
		}
	}
}

package pebblekv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
)

// damage is what is wrong with the files of a data directory.
type damage struct{ what string }

// Error implements error.
func (d damage) Error() string { return d.what }

func damaged(format string, args ...any) error { return damage{fmt.Sprintf(format, args...)} }

// damagedError is the error of opening a directory whose files are damaged. It names the ways out.
func damagedError(dir string, cause error) error {
	return &dberr.Error{Op: "pebblekv.Open", Kind: dberr.Internal, Cause: cause,
		Reason: "The data directory " + dir + " is damaged. Restore a backup with `sectional restore`, or rebuild from what can be read with `sectional salvage " + dir + " NEW-DIRECTORY`."}
}

// filesError is the error of opening a directory that is there, be its files damaged or not to be read or written.
func filesError(dir string, err error) error {
	d := damage{}
	// Pebble has no error of its own for a table of another size than the manifest says.
	if errors.As(err, &d) || pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "object size mismatch") {
		return damagedError(dir, err)
	}
	return openError(dir, err)
}

// ReadError returns the error of reading an engine on a directory, with the ways out where it is that of a damaged file.
func ReadError(dir string, err error) error {
	if pebble.IsCorruptionError(err) {
		return damagedError(dir, err)
	}
	return err
}

// found is what was found in a directory before Pebble opens it.
type found struct {
	manifest string // its name; "" where there is no database yet
	content  copied // the manifest up to the end of its last whole record, and what is known of logs
}

// look looks whether the files of a directory are what the engine has left there, and reads alone. It
// does not read tables, whose blocks have checksums that are compared when they are read, and whose
// sizes Pebble compares with the manifest. Errors: damage, and those of reading.
func look(fsys vfs.FS, dir string, log *slog.Logger) (found, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return found{}, err
	}
	about, err := pebble.Peek(dir, fsys)
	if err != nil {
		return found{}, damaged("%v", err)
	}
	logs := logsIn(names)
	if !about.Exists {
		if tables := countTables(names); tables > 0 || len(logs) > 0 {
			return found{}, damaged("%d tables and %d logs are there, but it is not said which manifest tells what is in them", tables, len(logs))
		}
		return found{}, nil
	}
	f := found{manifest: fsys.PathBase(about.ManifestFilename)}
	v, err := f.read(fsys, dir)
	if err != nil {
		return f, err
	}
	if len(logs) == 0 && about.FormatMajorVersion != pebble.FormatDefault {
		return f, damaged("there is no log, and a server always has one")
	}
	return f, f.lookAtLogs(fsys, dir, logs, v, log)
}

// read reads the manifest and its copy.
func (f *found) read(fsys vfs.FS, dir string) (version, error) {
	manifest, err := readAll(fsys, fsys.PathJoin(dir, f.manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return version{}, damaged("the manifest %s is missing", f.manifest)
	}
	if err != nil {
		return version{}, err
	}
	v, clean, err := readManifest(manifest)
	if err != nil {
		return v, damaged("%s: %v", f.manifest, err)
	}
	copied, err := readAll(fsys, fsys.PathJoin(dir, copyOf(f.manifest)))
	switch {
	case errors.Is(err, fs.ErrNotExist): // as in a backup
		if !clean {
			return v, damaged("%s can be read up to its byte %d of %d alone", f.manifest, v.end, len(manifest))
		}
	case err != nil:
		return v, err
	}
	f.content = readCopy(copied)
	if whole := manifest[:v.end]; !bytes.HasPrefix(whole, f.content.manifest) {
		return v, damaged("%s can be read up to its byte %d of %d, and %s has %d bytes of it", f.manifest, v.end, len(manifest), copyOf(f.manifest), len(f.content.manifest))
	}
	if err == nil && !clean && f.content.damaged {
		return v, damaged("%s can be read up to its byte %d of %d alone, and %s is damaged too", f.manifest, v.end, len(manifest), copyOf(f.manifest))
	}
	f.content.manifest = manifest[:v.end]
	return v, nil
}

// logsIn returns the names of logs by their numbers.
func logsIn(names []string) map[uint64]string {
	logs := map[uint64]string{}
	for _, name := range names {
		if number, ok := logNumber(name); ok {
			logs[number] = name
		}
	}
	return logs
}

func countTables(names []string) (n int) {
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			n++
		}
	}
	return n
}

// lookAtLogs compares the logs that are not in tables yet with what is known of them. Pebble itself refuses those that
// are not the newest and can't be read; but not, for one, a log that was cut between two records.
func (f *found) lookAtLogs(fsys vfs.FS, dir string, logs map[uint64]string, v version, log *slog.Logger) error {
	for number, known := range f.content.logs {
		if number < v.minLog {
			delete(f.content.logs, number)
			continue
		}
		name, there := logs[number]
		if !there {
			return damaged("the log %06d is missing", number)
		}
		info, err := fsys.Stat(fsys.PathJoin(dir, name))
		if err != nil {
			return err
		}
		if info.Size() < known.length {
			return damaged("the log %s has %d bytes of %d", name, info.Size(), known.length)
		}
	}
	newest, any := uint64(0), false
	for number := range logs {
		if number >= v.minLog {
			newest, any = max(newest, number), true
		}
	}
	if !any {
		return nil
	}
	data, err := readAll(fsys, fsys.PathJoin(dir, logs[newest]))
	if err != nil {
		return err
	}
	read := readLog(data, newest, nil)
	known := f.content.logs[newest]
	switch {
	case read.closed:
		return nil
	case known.closed || read.damaged || read.end < known.length:
		return damaged("the log %s can be read up to its byte %d of %d alone", logs[newest], read.end, len(data))
	}
	log.Warn("the newest log does not end as at a clean stop: what was written after its last whole record, if anything, is lost",
		"log", logs[newest], "read_bytes", read.end, "ignored_bytes", int64(len(data))-read.end, "last_sequence", max(read.last, v.lastSequence))
	return nil
}

// readOfLog is what was read of a log.
type readOfLog struct {
	end     int64  // bytes of its whole records
	last    uint64 // the last sequence number in it
	closed  bool   // it ends as Pebble closes one
	damaged bool   // more was synced than can be read
}

// readLog reads the records of a log and gives each to use, if there is one.
func readLog(data []byte, number uint64, use func(batch []byte)) (l readOfLog) {
	r := newLogReader(record.NewReader, bytes.NewReader(data), number)
	for {
		next, err := r.Next()
		var batch []byte
		if err == nil {
			batch, err = io.ReadAll(next)
		}
		if err != nil {
			l.closed = err == io.EOF && r.Offset() < int64(len(data)) // there is the mark of the end
			l.damaged = err != io.EOF && promised(data, l.end, number)
			return l
		}
		l.end = r.Offset()
		if h, ok := batchrepr.ReadHeader(batch); ok && h.Count > 0 {
			l.last = max(l.last, uint64(h.SeqNum)+uint64(h.Count)-1)
			if use != nil {
				use(batch)
			}
		}
	}
}

// newLogReader makes a reader of records, whose package has a type for numbers of files that has no name outside.
func newLogReader[N ~uint64](of func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return of(r, N(number))
}

// The header of a chunk of a log: checksum, length, kind, the log's number, and up to where the log was
// synced when the chunk was written.
const (
	chunkLength = 4
	chunkKind   = 6
	chunkLog    = 7
	chunkSynced = 11
	chunkHeader = 19

	firstSyncedKind, lastSyncedKind = 9, 12

	logBlock = 32 << 10 // no chunk goes over the end of a block
)

// promised reports whether a chunk after one that can't be read, or the promise in it, says that more of the log was synced.
// Pebble looks at the following blocks alone. Chunks are found by the lengths of those before them, and behind a header that
// can't be read at the beginning of the next block.
func promised(data []byte, unread int64, number uint64) bool {
	for at := unread; ; {
		if left := logBlock - at%logBlock; left < chunkHeader {
			at += left
		}
		if at+chunkHeader > int64(len(data)) {
			return false
		}
		c := data[at:]
		end := chunkHeader + int64(binary.LittleEndian.Uint16(c[chunkLength:]))
		if c[chunkKind] < firstSyncedKind || c[chunkKind] > lastSyncedKind || binary.LittleEndian.Uint32(c[chunkLog:]) != uint32(number) || end > int64(len(c)) {
			at += logBlock - at%logBlock
			continue
		}
		if binary.LittleEndian.Uint32(c) == chunkChecksum(c[chunkKind:end]) {
			begins := c[chunkKind] == firstSyncedKind || c[chunkKind] == firstSyncedKind+1
			p, ok := promiseOf(c[chunkHeader:end])
			if binary.LittleEndian.Uint64(c[chunkSynced:]) > uint64(unread) || begins && ok && p.number == number && p.bytes > unread {
				return true
			}
		}
		at += end
	}
}

// chunkChecksum is Pebble's checksum of a chunk.
func chunkChecksum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

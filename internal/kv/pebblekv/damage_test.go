package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// files are the files of a data directory, by their names.
type files map[string][]byte

// filesIn reads the files of the directory "data".
func filesIn(t testing.TB, fs vfs.FS) files {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	found := files{}
	for _, name := range names {
		path := fs.PathJoin("data", name)
		info, err := fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue
		}
		f, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		found[name] = data
	}
	return found
}

// disk returns a file system that has the files in the directory "data".
func (f files) disk(t testing.TB) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range f {
		file, err := fs.Create(fs.PathJoin("data", name), vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = file.Write(bytes.Clone(data)) // which changes it under the race detector
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// with returns the files with another content of one of them.
func (f files) with(name string, data []byte) files {
	other := maps.Clone(f)
	other[name] = data
	return other
}

// aged makes a store with tables in two levels, manifests that were replaced, a range
// that was discarded, tables that were taken in and rows that are in the log alone, and
// returns its files as a clean stop and as a power cut leave them, and its rows. replaced are tables that
// compactions have replaced.
func aged(t *testing.T) (stopped, killed, replaced files, rows string) {
	t.Helper()
	mem := crashfs.New()
	e := open(t, Options{FS: mem, tune: small, bulk: 8 << 10})
	write := func(from, to int, value string) {
		for i := from; i < to; i++ {
			update(t, e, func(tx kv.Txn) error {
				if i%7 == 3 {
					return tx.Delete(fmt.Appendf(nil, "row%03d", i))
				}
				return tx.Put(fmt.Appendf(nil, "row%03d", i), []byte(strings.Repeat(value, 40)))
			})
		}
	}
	write(0, 100, "first")
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	replaced = filesIn(t, mem.CrashClone(vfs.CrashCloneCfg{})) // Pebble removes files of the disk itself at any time
	if err := e.Compact(context.Background(), kv.Range{}); err != nil {
		t.Fatal(err)
	}
	write(50, 120, "again")
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	update(t, e, func(tx kv.Txn) error {
		for i := range 60 {
			if err := tx.Put(fmt.Appendf(nil, "bulk%03d", i), []byte(strings.Repeat("table", 40))); err != nil {
				return err
			}
		}
		return nil
	})
	if err := e.Discard(context.Background(), kv.Range{Start: []byte("row000"), End: []byte("row020")}); err != nil {
		t.Fatal(err)
	}
	write(10, 12, "later")
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	write(110, 140, "newest")
	rows = dump(t, e)
	killed = filesIn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	stopped = filesIn(t, mem)
	for name := range replaced {
		if _, there := stopped[name]; there || !isTable(name) {
			delete(replaced, name)
		}
	}
	return stopped, killed, replaced, rows
}

// damages yields the files with one of them changed: a bit turned or the rest cut off at
// every kilobyte and near the end, in every nth place.
func damages(f files, n int) func(yield func(what string, damaged files) bool) {
	return func(yield func(string, files) bool) {
		count := 0
		for _, name := range slices.Sorted(maps.Keys(f)) {
			data := f[name]
			places := []int{}
			for at := 0; at < len(data); at += 1 << 10 {
				places = append(places, at)
			}
			for _, back := range []int{20, 5, 1} {
				if at := len(data) - back; at > 0 {
					places = append(places, at)
				}
			}
			for _, at := range places {
				count++
				if count%n != 0 && !vital(name) {
					continue
				}
				turned := bytes.Clone(data)
				turned[at] ^= 4
				if !yield(fmt.Sprintf("%s with a bit turned at %d of %d", name, at, len(data)), f.with(name, turned)) ||
					!yield(fmt.Sprintf("%s cut at %d of %d", name, at, len(data)), f.with(name, data[:at:at])) {
					return
				}
			}
		}
	}
}

// TestDamagedFiles turns a bit of each file of a store and cuts each, at every kilobyte: the engine then
// has all rows or says what is wrong, be it opened to read or to write. To read it changes nothing on the disk.
func TestDamagedFiles(t *testing.T) {
	testrun.Sequential(t)
	stopped, killed, _, rows := aged(t)
	n := everyNth(5)
	for what, damaged := range damages(stopped, n) {
		checkDamaged(t, "after a clean stop, "+what, damaged, func(found string) bool { return found == rows })
	}
	newest := newestLog(killed)
	for what, damaged := range damages(killed, n) {
		right := func(found string) bool { return found == rows }
		if strings.HasPrefix(what, newest) { // which may be what the power cut left
			right = func(found string) bool { return strings.Contains(found, "row109=") }
		}
		checkDamaged(t, "after a power cut, "+what, damaged, right)
	}
}

// everyNth is n, and 1 in long runs.
func everyNth(n int) int {
	if testrun.IsLong() {
		return 1
	}
	return n
}

// newestLog returns the name of the log with the highest number.
func newestLog(f files) string {
	newest := ""
	for name := range f {
		if strings.HasSuffix(name, ".log") {
			newest = max(newest, name)
		}
	}
	return newest
}

// checkDamaged opens the files to read and to write.
func checkDamaged(t *testing.T, what string, damaged files, right func(rows string) bool) {
	t.Helper()
	for _, readOnly := range []bool{true, false} {
		fs := damaged.disk(t)
		found, err := lookAt(fs, readOnly)
		if err == nil && !right(found) {
			t.Errorf("%s, read only %v: no error, and %d bytes of rows:\n%.200s", what, readOnly, len(found), found)
		}
		if err != nil && len(err.Error()) < 40 {
			t.Errorf("%s, read only %v: %v", what, readOnly, err)
		}
		if after := filesIn(t, fs); readOnly && !maps.EqualFunc(damaged, after, bytes.Equal) {
			t.Errorf("%s: reading changed the directory", what)
		}
	}
}

// lookAt opens an engine and returns all rows.
func lookAt(fs vfs.FS, readOnly bool) (rows string, err error) {
	e, err := Open(quiet(Options{Dir: "data", FS: fs, tune: small, ReadOnly: readOnly, CacheBytes: 1 << 20}))
	if err != nil {
		return "", err
	}
	defer e.Close()
	return dumped(e)
}

// TestEndOfNewestLog has the log of the engine say how much of the newest log was not read, and nothing after a
// clean stop.
func TestEndOfNewestLog(t *testing.T) {
	stopped, killed, _, _ := aged(t)
	newest := newestLog(killed)
	size, first := len(killed[newest]), firstRecord(t, killed[newest])
	for _, c := range []struct {
		what string
		f    files
		want string
	}{
		{"a clean stop", stopped, ""},
		{"a power cut", killed, fmt.Sprintf("read_bytes=%d ignored_bytes=0", size)},
		{"a log that was cut", killed.with(newest, killed[newest][:size-3]), "ignored_bytes="},
		{"a log that was cut after its first record", killed.with(newest, killed[newest][:first]), fmt.Sprintf("read_bytes=%d ignored_bytes=0", first)},
	} {
		var out bytes.Buffer
		o := quiet(Options{Dir: "data", FS: c.f.disk(t), tune: small})
		o.Logger = slog.New(slog.NewTextHandler(&out, nil))
		e, err := Open(o)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		e.Close()
		told := strings.Contains(out.String(), "newest log")
		if told != (c.want != "") || !strings.Contains(out.String(), c.want) || told && !strings.Contains(out.String(), "last_sequence=") {
			t.Errorf("%s: the log has\n%s", c.what, &out)
		}
	}
}

// TestAcknowledgedRecordsAreNotSkipped turns a bit in records of several blocks in the newest log of a server that was
// killed. What comes after such a record was acknowledged after it, so the log is damaged, and is not one whose end was lost.
func TestAcknowledgedRecordsAreNotSkipped(t *testing.T) {
	mem := crashfs.New()
	e := open(t, Options{FS: mem})
	defer e.Close()
	for i := range 6 {
		update(t, e, func(tx kv.Txn) error {
			for j := range 40 {
				if err := tx.Put(fmt.Appendf(nil, "%d-%02d", i, j), []byte(strings.Repeat("value", 1000))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	killed := filesIn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	newest := newestLog(killed)
	log := killed[newest]
	last := 0
	number, _ := logNumber(newest)
	readLog(log, number, func(batch []byte) { last = len(batch) })
	if len(log) < 2*last {
		t.Fatalf("the newest log has %d bytes, and its last record %d", len(log), last)
	}
	for at := chunkLength; at < len(log)-last-1000; at += 9000 {
		turned := bytes.Clone(log)
		turned[at] ^= 4
		e, err := Open(quiet(Options{Dir: "data", FS: killed.with(newest, turned).disk(t)}))
		if err == nil {
			e.Close()
			t.Errorf("a bit turned at %d of %d: the engine opens", at, len(log))
		}
	}
}

// firstRecord returns where the first record of a log ends.
func firstRecord(t *testing.T, log []byte) int {
	t.Helper()
	end := chunkHeader + int(binary.LittleEndian.Uint16(log[chunkLength:]))
	if end >= len(log) {
		t.Fatalf("the log has one record, of %d bytes", end)
	}
	return end
}

// salvageOf salvages files into a new engine, and returns its rows.
func salvageOf(t *testing.T, f files) (Salvaged, string) {
	t.Helper()
	fs := f.disk(t)
	to := open(t, Options{FS: vfs.NewMem(), CacheBytes: 1 << 20})
	defer to.Close()
	s := &salvage{fs: fs, dir: "data"}
	found, err := s.run(context.Background(), to, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(f, filesIn(t, fs), bytes.Equal) {
		t.Error("salvaging changed the directory")
	}
	rows := dump(t, to)
	if n := strings.Count(rows, "\n"); n != found.Rows {
		t.Errorf("%d rows are told, %d are there", found.Rows, n)
	}
	return found, rows
}

// TestSalvage salvages stores of which a file is damaged. All rows are there again, but for those of which it is said
// that they can't be read.
func TestSalvage(t *testing.T) {
	testrun.Sequential(t)
	stopped, _, replaced, rows := aged(t)
	if found, salvaged := salvageOf(t, stopped); salvaged != rows || len(found.Lost) > 0 || found.Inferred || found.Tables < 3 || found.Logs != 1 {
		t.Errorf("of a sound store: %+v\n%s", found, salvaged)
	}
	if len(replaced) == 0 {
		t.Error("no table was replaced")
	}
	beside := maps.Clone(stopped)
	maps.Copy(beside, replaced)
	if _, salvaged := salvageOf(t, beside); salvaged != rows {
		t.Errorf("with tables that were replaced:\n%s", salvaged)
	}
	had := map[string]bool{}
	for line := range strings.Lines(rows) {
		had[line] = true
	}
	parts := 0
	for what, damaged := range damages(stopped, everyNth(7)) {
		found, salvaged := salvageOf(t, damaged)
		inTable := isTable(strings.Fields(what)[0])
		switch {
		case salvaged == rows:
		case strings.HasPrefix(what, manifestPrefix) || strings.HasPrefix(what, copyPrefix) || len(found.Lost) == 0:
			t.Errorf("%s: %+v\n%s", what, found, salvaged)
		case inTable && found.Rows > 0:
			parts++
		}
	}
	if parts == 0 {
		t.Error("of no store with a damaged table a part was salvaged")
	}
}

// TestSalvageWithoutManifest salvages a store of which neither a manifest nor a copy of one can be read.
func TestSalvageWithoutManifest(t *testing.T) {
	stopped, _, _, rows := aged(t)
	for name := range stopped {
		if strings.HasPrefix(name, manifestPrefix) || strings.HasPrefix(name, copyPrefix) {
			stopped[name] = nil
		}
	}
	found, salvaged := salvageOf(t, stopped)
	if !found.Inferred || len(found.Lost) == 0 || salvaged != rows {
		t.Errorf("%+v\n%s", found, salvaged)
	}
}

// TestMissingFiles removes each file of a store: the engine has all rows then, or says what is wrong.
func TestMissingFiles(t *testing.T) {
	testrun.Sequential(t)
	stopped, killed, _, rows := aged(t)
	for _, f := range []files{stopped, killed} {
		for name := range f {
			without := maps.Clone(f)
			delete(without, name)
			checkDamaged(t, "without "+name, without, func(found string) bool { return found == rows })
		}
	}
}

// TestSalvageWithoutAFile salvages stores of which a file is missing: all rows are there again, or it is said what is not.
func TestSalvageWithoutAFile(t *testing.T) {
	stopped, killed, _, rows := aged(t)
	for _, f := range []files{stopped, killed} {
		for name := range f {
			without := maps.Clone(f)
			delete(without, name)
			found, salvaged := salvageOf(t, without)
			if salvaged != rows && len(found.Lost) == 0 {
				t.Errorf("without %s: %d rows of %d, and nothing is said to be lost", name, found.Rows, strings.Count(rows, "\n"))
			}
		}
	}
}

// TestDamagedManifestAndCopy turns a bit of the manifest and one of its copy: the engine has all rows then, or says what is wrong.
func TestDamagedManifestAndCopy(t *testing.T) {
	stopped, killed, _, rows := aged(t)
	turned := func(f files, name string, at int) files {
		b := bytes.Clone(f[name])
		b[at] ^= 4
		return f.with(name, b)
	}
	for _, f := range []files{stopped, killed} {
		about, err := pebble.Peek("data", f.disk(t))
		if err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Base(about.ManifestFilename)
		size, copySize := len(f[manifest]), len(f[copyOf(manifest)])
		for _, at := range []int{20, size / 2, 3 * size / 4, size - 20} {
			for _, copyAt := range []int{9, copySize / 3, copySize / 2, 3 * copySize / 4, copySize - 40} {
				damaged := turned(turned(f, manifest, at), copyOf(manifest), copyAt)
				checkDamaged(t, fmt.Sprintf("%s turned at %d of %d, its copy at %d of %d", manifest, at, size, copyAt, copySize), damaged, func(found string) bool { return found == rows })
				found, salvaged := salvageOf(t, damaged)
				if salvaged != rows && len(found.Lost) == 0 {
					t.Errorf("%s turned at %d of %d, its copy at %d of %d: salvaging loses rows without a word", manifest, at, size, copyAt, copySize)
				}
				for line := range strings.Lines(rows) {
					if !strings.Contains(salvaged, line) && slices.ContainsFunc(found.Lost, func(lost string) bool {
						return strings.Contains(lost, "no such file") || strings.Contains(lost, "not exist")
					}) {
						t.Errorf("%s turned at %d of %d, its copy at %d of %d: salvaging looks for tables that are gone, and misses %.20s: %q", manifest, at, size, copyAt, copySize, line, found.Lost)
						break
					}
				}
			}
		}
	}
}

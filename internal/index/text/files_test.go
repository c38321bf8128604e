package text

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blevesearch/mmap-go"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/lucene"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// filed is a world whose segments are all in files, with some documents. want is what the
// index answers.
func filed(t *testing.T, o Options) (w *world, want string) {
	t.Helper()
	o.Files = t.TempDir()
	if o.FilesLimit == 0 {
		o.FilesLimit = 1 << 20
	}
	w = newWorld(t, testKind(o))
	w.kind.mergeCount = 100
	t.Cleanup(func() { released(t, w.kind) })
	for _, word := range []string{"first", "second", "third"} {
		w.put("q:"+word, `{"t":"`+word+` s","sn":7,"f":"facet"}`)
		w.many(0, 40, word)
		w.follow()
	}
	return w, w.all()
}

// released fails the test if somebody still holds a segment.
func released(t *testing.T, k *Kind) {
	t.Helper()
	k.cache.mu.Lock()
	defer k.cache.mu.Unlock()
	for e := k.cache.used.Front(); e != nil; e = e.Next() {
		if o := e.Value.(*cached); o.holders != 0 {
			t.Errorf("segment %v is held %d times", o.key, o.holders)
		}
	}
	if k.cache.pinned != 0 {
		t.Errorf("%d bytes are held", k.cache.pinned)
	}
}

// files returns the names of the files of a kind.
func (w *world) files() (names []string) {
	w.Helper()
	entries, err := os.ReadDir(w.kind.cache.dir)
	must(w, err)
	for _, e := range entries {
		names = append(names, filepath.Join(w.kind.cache.dir, e.Name()))
	}
	return names
}

// restart makes the cache a new one over the same directory.
func (w *world) restart() { w.kind.cache = newCache(w.kind.cache.cacheOptions) }

// TestFilesAreWrittenAgain damages files in every way, while they are mapped and between
// two processes: what is answered stays the same, and the files are good again.
func TestFilesAreWrittenAgain(t *testing.T) {
	testrun.Sequential(t)
	rewrite := func(change func([]byte) []byte) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			then := time.Now().Add(time.Hour) // clocks of file systems are coarse
			return errors.Join(os.WriteFile(path, change(b), 0o600), os.Chtimes(path, then, then))
		}
	}
	for name, damage := range map[string]func(path string) error{
		"flipped":   rewrite(func(b []byte) []byte { b[len(b)/3] ^= 4; return b }),
		"checksum":  rewrite(func(b []byte) []byte { b[len(b)-1] ^= 4; return b }),
		"longer":    rewrite(func(b []byte) []byte { return append(b, 0) }),
		"truncated": func(path string) error { return os.Truncate(path, 1000) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"deleted":   os.Remove,
		"directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"all gone":  func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		for _, restart := range []bool{false, true} {
			w, want := filed(t, Options{})
			for _, path := range w.files() {
				must(t, damage(path))
			}
			if restart {
				w.restart()
			}
			for range 2 {
				if diff := cmp.Diff(want, w.all()); diff != "" {
					t.Fatalf("%s: %s", name, diff)
				}
			}
			w.manifest() // which checks
			if name == "directory" {
				continue // in memory as long as it is there
			}
			w.restart()
			for _, path := range w.files() {
				key, ok := parseName(filepath.Base(path))
				s := openFile(path, key)
				if must(t, s.err); !ok {
					t.Fatalf("%s: there is %s", name, path)
				}
				must(t, s.mapping.Unmap())
			}
		}
	}
}

// TestFilesCutWhileRead truncates the files that a reader has mapped: it is told, and the
// next one finds everything.
func TestFilesCutWhileRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is mapped can't be cut there")
	}
	w, want := filed(t, Options{})
	query, err := lucene.Parse("t:word*", lucene.Options{})
	must(t, err)
	err = w.view(func(_ *store.Reader, _ *index.Index, r *segment.Reader) error {
		for _, path := range w.files() {
			must(t, os.Truncate(path, 0))
		}
		_, err := find.Run(ctx, r, &find.Request{Query: query, Analyzers: atSpaces{}, Limit: 1000})
		return err
	})
	if !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("a query of what is gone: %v", err)
	}
	if diff := cmp.Diff(want, w.all()); diff != "" {
		t.Fatal(diff)
	}
}

// TestFilesCutWhileOpened sums a file that is cut then.
func TestFilesCutWhileOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is mapped can't be cut there")
	}
	made, err := segment.Build([]segment.Document{{ID: "a", Fields: []segment.Field{{Name: "t", Text: strings.Repeat("x", 100_000), Store: true, Facet: true}}}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, made, 0o600))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	must(t, err)
	must(t, os.Truncate(path, 100))
	if _, err := segment.Open(mapped); err == nil {
		t.Fatal("what is cut opens")
	}
	must(t, mapped.Unmap())
}

// TestResultOutlivesIndex closes the reader and takes the file away before the result is
// looked at, under memory that can't be read then.
func TestResultOutlivesIndex(t *testing.T) {
	w, _ := filed(t, Options{})
	query, err := lucene.Parse("t:first OR t:third OR q*", lucene.Options{DefaultField: "t"})
	must(t, err)
	var plain, grouped *find.Result
	must(t, w.view(func(_ *store.Reader, _ *index.Index, r *segment.Reader) (err error) {
		sort := []find.Order{{By: find.Texts, Field: "t"}, {By: find.Numbers, Field: "n"}}
		if plain, err = find.Run(ctx, r, &find.Request{Query: query, Analyzers: atSpaces{}, Limit: 50, Sort: sort, Counts: []string{"f"}, Marks: true,
			Highlight: &find.Highlighting{Fields: []string{"sn"}, Number: 1}}); err != nil {
			return err
		}
		grouped, err = find.Run(ctx, r, &find.Request{Query: query, Analyzers: atSpaces{}, Limit: 5, Group: &find.Grouping{Field: "t", Limit: 9}})
		return err
	}))
	w.kind.cache.mu.Lock()
	w.kind.cache.limit = 0
	w.kind.cache.trim() // unmaps all
	if w.kind.cache.mapped != 0 {
		t.Errorf("%d files are mapped", w.kind.cache.mapped)
	}
	w.kind.cache.mu.Unlock()
	if len(plain.Rows) == 0 || len(grouped.Groups) == 0 || len(plain.Counts[0].Counts) != 1 {
		t.Fatalf("%+v, %+v", plain, grouped)
	}
	if text := cmp.Diff(plain, grouped); !strings.Contains(text, "q:third") { // reads every byte
		t.Fatal(text)
	}
}

// TestNoRoomForFiles searches where no file can be written: in memory, as long as that
// does, and then not at all. Nothing is left lying about.
func TestNoRoomForFiles(t *testing.T) {
	for name, take := range map[string]func(w *world){
		"disk": func(w *world) { w.kind.cache.room = func() int64 { return 1000 } },
		"directory": func(w *world) {
			w.kind.cache.dir = filepath.Join(w.kind.cache.dir, "file", "below")
			must(w, os.WriteFile(filepath.Dir(w.kind.cache.dir), nil, 0o600))
		},
	} {
		w, want := filed(t, Options{})
		must(t, os.RemoveAll(w.kind.cache.dir))
		must(t, os.Mkdir(w.kind.cache.dir, 0o700))
		take(w)
		w.restart()
		if diff := cmp.Diff(want, w.all()); diff != "" {
			t.Fatalf("%s: %s", name, diff)
		}
		if name == "disk" && len(w.files()) > 0 {
			t.Fatalf("%s: there are %v", name, w.files())
		}
		w.kind.cache.limit = 2000
		w.restart()
		if err := w.view(func(*store.Reader, *index.Index, *segment.Reader) error { return nil }); !dberr.Is(err, dberr.Unavailable) {
			t.Fatalf("%s: with little memory: %v", name, err)
		}
		released(t, w.kind)
	}
}

// full is a disk that is full after some bytes.
type full struct {
	io.Writer
	left int
}

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return f.Writer.Write(b)
}

// TestUnfinishedFiles: what was being written when a process ended is removed by the next.
// What cannot be written is not left.
func TestUnfinishedFiles(t *testing.T) {
	w, want := filed(t, Options{})
	dir := w.kind.cache.dir
	left := filepath.Join(dir, unfinished+"1")
	must(t, os.WriteFile(left, []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	w.restart()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err != nil {
		t.Fatal("a file of others is gone")
	}
	if diff := cmp.Diff(want, w.all()); diff != "" {
		t.Fatal(diff)
	}
	failed := errors.New("failed")
	key := cacheKey{bytes: 10}
	err := w.kind.cache.write(w.kind.cache.path(key), key, func(to io.Writer) error {
		_, err := (&full{to, 5}).Write([]byte("123456"))
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) || len(w.files()) != 4 {
		t.Fatalf("%v, %v", err, w.files())
	}
}

// TestFilesAreBounded has fewer files than segments, of which a search needs all.
func TestFilesAreBounded(t *testing.T) {
	w, want := filed(t, Options{FilesLimit: 6000})
	for range 3 {
		if diff := cmp.Diff(want, w.all()); diff != "" {
			t.Fatal(diff)
		}
		if n := len(w.files()); n == 0 || n >= 3 {
			t.Fatalf("%d files", n)
		}
	}
	bytes := int64(0)
	for _, path := range w.files() {
		i, err := os.Stat(path)
		must(t, err)
		bytes += i.Size()
	}
	if bytes != w.kind.cache.disk || bytes > 6000 {
		t.Fatalf("%d bytes, %d are counted", bytes, w.kind.cache.disk)
	}
}

// TestFilesGo: merges, and dropping an index, leave no files.
func TestFilesGo(t *testing.T) {
	w, want := filed(t, Options{})
	if n := len(w.files()); n != 3 {
		t.Fatalf("%d files", n)
	}
	w.kind.mergeCount = 2
	w.follow()
	if diff := cmp.Diff(want, w.all()); diff != "" {
		t.Fatal(diff)
	}
	if n := len(w.files()); n != len(w.manifest().segments) {
		t.Fatalf("%d files", n)
	}
	sweep := func() int {
		must(t, w.db.Whole().View(ctx, func(r *store.Reader) error { return w.kind.Sweep(r.Snapshot()) }))
		return len(w.files())
	}
	if n := sweep(); n == 0 {
		t.Fatal("files of what is there are gone")
	}
	at := rowsOf(w.db, w.index().Number)
	must(t, w.db.Commit(ctx, func(tx kv.Txn) error { return tx.Delete(at.manifest()) }))
	w.restart() // it knows the files by their names
	if n := sweep(); n != 0 || w.kind.cache.disk != 0 {
		t.Fatalf("%d files, %d bytes", n, w.kind.cache.disk)
	}
}

// TestDamagedBehindFiles flips a chunk in the store: files hide that from searches, check
// finds it, and without the file it is found and told.
func TestDamagedBehindFiles(t *testing.T) {
	w, want := filed(t, Options{})
	at, number := rowsOf(w.db, w.index().Number), w.manifest().segments[0].number
	must(t, w.db.Commit(ctx, func(tx kv.Txn) error {
		value, err := tx.Get(at.chunk(number, 0))
		if err != nil {
			return err
		}
		value[len(value)/2] ^= 1
		return tx.Put(at.chunk(number, 0), value)
	}))
	if diff := cmp.Diff(want, w.all()); diff != "" {
		t.Fatal(diff)
	}
	if found := w.check(); len(found) != 1 {
		t.Fatalf("check finds %v", found)
	}
	for _, path := range w.files() {
		must(t, os.Remove(path))
	}
	err := w.view(func(*store.Reader, *index.Index, *segment.Reader) error { return nil })
	if !errors.As(err, new(*index.Damaged)) {
		t.Fatal(err)
	}
	if n := len(w.files()); n != 0 {
		t.Fatalf("%d files of damaged rows", n)
	}
}

// TestManyReaders has many read while files are damaged, removed and evicted, and segments
// are merged: each gets the right answer or is told to ask again.
func TestManyReaders(t *testing.T) {
	w, want := filed(t, Options{FilesLimit: 6000, Cache: 30_000})
	x := w.index()
	ctx, cancel := context.WithCancel(ctx)
	var readers, others sync.WaitGroup
	others.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			entries, _ := os.ReadDir(w.kind.cache.dir)
			for _, e := range entries {
				path := filepath.Join(w.kind.cache.dir, e.Name())
				if b, err := os.ReadFile(path); i%3 == 0 && err == nil && len(b) > 0 {
					b[i%len(b)] ^= 1
					_ = os.WriteFile(path+".other", b, 0o600)
					_ = os.Rename(path+".other", path) // as a disk does that lost what was written
				} else {
					_ = os.Remove(path)
				}
			}
		}
	})
	for range 4 {
		readers.Go(func() {
			for range 30 {
				err := w.db.Whole().View(ctx, func(r *store.Reader) error {
					got, err := answers(w.kind, r, x)
					if err == nil && got != want {
						return errors.New(cmp.Diff(want, got))
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Go(func() {
		w.kind.mergeCount = 2
		w.follow()
	})
	readers.Wait()
	cancel()
	others.Wait()
	if got := w.all(); got != want {
		t.Fatal(cmp.Diff(want, got))
	}
}

func TestNamesOfFiles(t *testing.T) {
	c := &cache{}
	key := cacheKey{1, 2, 3, 1 << 40, 0xff}
	if got, ok := parseName(c.path(key)); !ok || got != key {
		t.Fatalf("%s is %v", c.path(key), got)
	}
	if _, ok := parseName("other"); ok {
		t.Fatal("any name will do")
	}
}

// TestReadChecks has the bytes of segments summed in pieces.
func TestReadChecks(t *testing.T) {
	made, err := segment.Build([]segment.Document{{ID: "a"}})
	must(t, err)
	sum := uint32(made[len(made)-4])<<24 | uint32(made[len(made)-3])<<16 | uint32(made[len(made)-2])<<8 | uint32(made[len(made)-1])
	for _, piece := range []int{1, 3, 5, len(made)} {
		var to bytes.Buffer
		c := &checking{to: &to, left: uint64(len(made) - 4)}
		for at := 0; at < len(made); at += piece {
			_, err := c.Write(made[at:min(at+piece, len(made))])
			must(t, err)
		}
		if !c.good(sum) || c.good(sum+1) || !bytes.Equal(to.Bytes(), made) {
			t.Fatalf("in pieces of %d", piece)
		}
		_, _ = c.Write([]byte{1})
		if c.good(sum) {
			t.Fatal("one byte more")
		}
	}
}

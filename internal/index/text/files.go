package text

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/blevesearch/mmap-go"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// The files of the cache are copies of segments, which the store has. They are lost
// freely: a file that is not what the manifest says, by its length and its checksum, is
// written again from the store. A file has the name of its segment once all of it is on
// disk. Only one process uses the directory; what others do to a file that is mapped is
// noticed before the next reader by its time, and a reader that meets the end of a file
// which became shorter gets an error (segment.Reader.Do).

// smallestFile is how long a segment is that has a file: smaller ones are in memory.
const smallestFile = 256 << 10

// reading writes the bytes of a segment, of which it says whether they are what they
// should be: segment.ErrDamaged.
type reading func(to io.Writer) error

// opening is what came of opening a segment.
type opening struct {
	segment *segment.Segment
	mapping mmap.MMap
	stamp   stamp
	file    bool
	err     error
}

// stamp is when a file was changed, and how long it was then.
type stamp struct {
	at    time.Time
	bytes int64
}

func (c *cache) path(key cacheKey) string {
	return filepath.Join(c.dir, fmt.Sprintf("%d-%d-%d-%d-%08x", key.db, key.index, key.segment, key.bytes, key.checksum))
}

// unfinished is how the names of files begin that are being written.
const unfinished = "new-"

// parseName reads the name of a file.
func parseName(name string) (key cacheKey, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d-%d-%08x", &key.db, &key.index, &key.segment, &key.bytes, &key.checksum)
	return key, err == nil && n == 5
}

// adopt takes in the files that the cache does not know: those that a process before has
// left, or that were suspect. Names say all that is to be known: no file is opened. At the
// start what was not finished is removed.
func (c *cache) adopt(start bool) {
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.log.Error("the cache of full-text indexes can't be read", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range entries {
		if start && strings.HasPrefix(e.Name(), unfinished) {
			_ = os.Remove(filepath.Join(c.dir, e.Name()))
			continue
		}
		key, ok := parseName(e.Name())
		if !ok || c.by[key] != nil || filepath.Base(c.path(key)) != e.Name() {
			continue
		}
		o := &cached{key: key}
		c.insert(o)
		c.countFile(o, true)
	}
	c.trim()
}

// remove removes the file of a segment.
func (c *cache) remove(key cacheKey) {
	if err := os.Remove(c.path(key)); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.log.Error("a file of the cache of full-text indexes can't be removed", "error", err)
	}
}

// lookEvery is how often it is looked whether a file that is mapped changed: each look gives
// up the processor, of which the search of a partition needs little else.
const lookEvery = time.Second

// changed reports whether a file that is mapped is another than it was then.
func (c *cache) changed(o *cached) bool {
	at := time.Now().UnixNano()
	if at-o.looked.Load() < int64(c.lookEvery) {
		return false
	}
	o.looked.Store(at)
	now, err := stampOf(os.Stat(c.path(o.key)))
	return err != nil || now != o.stamp
}

func stampOf(i os.FileInfo, err error) (stamp, error) {
	if err != nil {
		return stamp{}, err
	}
	return stamp{i.ModTime(), i.Size()}, nil
}

// open opens a segment: from its file, which is written if it is not there or not good, or
// in memory, if it is small or no file can be written.
func (c *cache) open(key cacheKey, must bool, read reading) (s opening) {
	small := key.bytes < c.smallest
	if small || c.dir == "" {
		s = c.openInMemory(key, must, read)
		if c.dir == "" || !errors.Is(s.err, errMemory) {
			return s
		}
	}
	path := c.path(key)
	if s = openFile(path, key); s.err == nil {
		return s
	}
	if !errors.Is(s.err, os.ErrNotExist) {
		c.log.Warn("a file of the cache of full-text indexes is damaged and will be written again", "file", path, "error", s.err)
	}
	err := c.write(path, key, read)
	if err == nil {
		if s = openFile(path, key); s.err == nil {
			return s
		}
		err = s.err
	}
	if read := (*readError)(nil); errors.As(err, &read) {
		return opening{err: read.error}
	}
	c.log.Warn("a segment of a full-text index has no file and is in memory", "file", path, "error", err)
	s = c.openInMemory(key, must, read)
	_, err = os.Stat(path)
	s.file = err == nil
	return s
}

// openInMemory opens a segment that is read into memory.
func (c *cache) openInMemory(key cacheKey, must bool, read reading) (s opening) {
	c.mu.Lock()
	full := c.pinned+int(key.bytes) > c.limit
	c.mu.Unlock()
	if full && !must {
		return opening{err: errMemory}
	}
	b := memory{make([]byte, 0, key.bytes)}
	if s.err = read(&b); s.err == nil {
		s.segment, s.err = segment.Open(b.bytes)
	}
	return s
}

// memory is an io.Writer.
type memory struct{ bytes []byte }

func (m *memory) Write(b []byte) (int, error) {
	m.bytes = append(m.bytes, b...)
	return len(b), nil
}

// openFile maps a file and opens what is in it, if that is the segment.
func openFile(path string, key cacheKey) (s opening) {
	f, err := os.Open(path)
	if err != nil {
		return opening{err: err}
	}
	defer f.Close()
	if s.stamp, err = stampOf(f.Stat()); err != nil {
		return opening{err: err}
	}
	if s.stamp.bytes != int64(key.bytes) {
		return opening{err: segment.ErrDamaged}
	}
	if s.mapping, err = mmap.Map(f, mmap.RDONLY, 0); err != nil {
		return opening{err: err}
	}
	if s.segment, err = segment.Open(s.mapping); err == nil && s.segment.Checksum() != key.checksum {
		err = segment.ErrDamaged
	}
	if err != nil {
		return opening{err: errors.Join(err, s.mapping.Unmap())}
	}
	s.file = true
	return s
}

var errNoRoom = errors.New("text: too little room on the disk")

// roomShare is which part of the free room a file may take: what is written is worth less
// than what the room is for.
const roomShare = 4

// write writes the file of a segment. It has its name when it is on disk. A *readError is
// of the bytes, any other error of the file.
func (c *cache) write(path string, key cacheKey, read reading) (err error) {
	if c.room != nil && int64(key.bytes) > c.room()/roomShare {
		return errNoRoom
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, unfinished+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	to := &fileWriter{f: f}
	if err = read(to); err != nil && to.failed == nil {
		err = &readError{err}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// readError is an error of what is to be written into a file.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// fileWriter tells errors of the file from those of what is written.
type fileWriter struct {
	f      *os.File
	failed error
}

func (w *fileWriter) Write(b []byte) (n int, err error) {
	n, err = w.f.Write(b)
	w.failed = errors.Join(w.failed, err)
	return n, err
}

// checking passes on bytes and sums all but the last four, which say what the sum is.
type checking struct {
	to   io.Writer
	left uint64 // before those four
	sum  uint32
	last []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c *checking) Write(b []byte) (int, error) {
	n := min(c.left, uint64(len(b)))
	c.sum, c.left = crc32.Update(c.sum, castagnoli, b[:n]), c.left-n
	c.last = append(c.last, b[n:]...)
	return c.to.Write(b)
}

// good reports whether all came, with the sum that was expected.
func (c *checking) good(checksum uint32) bool {
	return c.left == 0 && len(c.last) == 4 && binary.BigEndian.Uint32(c.last) == checksum && c.sum == checksum
}

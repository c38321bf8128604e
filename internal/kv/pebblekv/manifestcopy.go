package pebblekv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The engine keeps a copy of the current manifest beside it, in a file of its own. What
// is appended to the manifest is appended to the copy once the manifest is synced, and
// synced there before Pebble goes on. So nothing that an edit makes obsolete, such as logs
// and the tables that a compaction has read, is removed before both have the edit, and
// after a power cut the manifest has all that the copy has. The copy also says which logs
// there are, and how long they are at least: at the first sync of each, and when Pebble has
// closed it, which is the end of all but the newest of a process that did not end in order.
//
// A manifest that lacks something of its copy is damaged (whole.go). What it has beyond may
// be read or not: nothing was removed for it yet.

// manifestPrefix and copyPrefix begin the names of manifests and of their copies, which end
// with the same number.
const (
	manifestPrefix = "MANIFEST-"
	copyPrefix     = "manifest-copy-"
)

// copyOf is the name of a manifest's copy.
func copyOf(manifest string) string { return copyPrefix + strings.TrimPrefix(manifest, manifestPrefix) }

// A copy consists of frames: checksum, length, kind, content.
const (
	frameHeader = 4 + 4 + 1

	frameManifest byte = 'm' // bytes of the manifest
	frameLog      byte = 'l' // a log
)

// knownLog is what a copy says of a log.
type knownLog struct {
	length int64 // bytes that are on the disk
	closed bool  // there are no more
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a frame to b.
func appendFrame(b []byte, kind byte, content []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = append(append(b, kind), content...)
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

// appendLog appends the frame of a log: its number, its length, and 1 if it was closed.
func appendLog(b []byte, number uint64, log knownLog) []byte {
	closed := byte(0)
	if log.closed {
		closed = 1
	}
	content := binary.AppendUvarint(binary.AppendUvarint(nil, number), uint64(log.length))
	return appendFrame(b, frameLog, append(content, closed))
}

// copied is what a manifest's copy says.
type copied struct {
	manifest []byte
	logs     map[uint64]knownLog // by their numbers
	damaged  bool                // there was more of the manifest, which no power cut has left like this
}

// readCopy reads a copy up to a frame that is not whole. A power cut can leave the last frame like that, be it of
// the manifest or of a log; but while the one is written the manifest is whole, so a copy without one of its
// frames of the manifest is damaged where the manifest is not whole either.
func readCopy(data []byte) copied {
	c := copied{logs: map[uint64]knownLog{}}
	for {
		frame := firstFrame(data)
		if frame == nil {
			c.damaged = len(c.manifest) == 0 || len(data) >= frameHeader && data[frameHeader-1] == frameManifest || hasFrame(data)
			return c
		}
		switch content := frame[frameHeader:]; frame[frameHeader-1] {
		case frameManifest:
			c.manifest = append(c.manifest, content...)
		case frameLog:
			f := fields{rest: content}
			number, length := f.number(), f.number()
			c.logs[number] = knownLog{length: int64(length), closed: f.number() == 1}
		}
		data = data[len(frame):]
	}
}

// firstFrame returns the frame with which data begins, or nil if it is not whole.
func firstFrame(data []byte) []byte {
	if len(data) < frameHeader {
		return nil
	}
	length := binary.LittleEndian.Uint32(data[4:])
	if uint64(length) > uint64(len(data)-frameHeader) {
		return nil
	}
	frame := data[:frameHeader+int(length)]
	if binary.LittleEndian.Uint32(frame) != crc32.Checksum(frame[4:], castagnoli) {
		return nil
	}
	return frame
}

// hasFrame reports whether there is a whole frame anywhere in data.
func hasFrame(data []byte) bool {
	for ; len(data) >= frameHeader; data = data[1:] {
		if kind := data[frameHeader-1]; (kind == frameManifest || kind == frameLog) && firstFrame(data) != nil {
			return true
		}
	}
	return false
}

// manifestCopy writes the copy of the current manifest. The directory's file system has
// what failStop adds to it below.
type manifestCopy struct {
	fs  vfs.FS
	dir string

	mu   sync.Mutex
	of   string // the manifest's name
	file vfs.File
	size int64               // of the file
	logs map[uint64]knownLog // that are there
}

// begin makes a whole new copy of a manifest that is there, in place of the one that a crash may have left
// without its end.
func (m *manifestCopy) begin(manifest string, c copied) error {
	b := appendFrame(nil, frameManifest, c.manifest)
	for _, number := range slices.Sorted(maps.Keys(c.logs)) {
		b = appendLog(b, number, c.logs[number])
	}
	path := m.fs.PathJoin(m.dir, copyOf(manifest))
	if err := m.replace(path, b); err != nil {
		return err
	}
	// A file that is open can't be renamed on each system.
	file, err := m.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	m.of, m.file, m.size, m.logs = manifest, file, int64(len(b)), c.logs
	return nil
}

// replace writes a file that takes the place of the one at the path.
func (m *manifestCopy) replace(path string, content []byte) error {
	unfinished := path + ".new"
	file, err := m.fs.Create(unfinished, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := m.fs.Rename(unfinished, path); err != nil {
		return err
	}
	return m.syncDirectory()
}

// append adds what was synced of a manifest. The first of a new manifest begins its copy.
func (m *manifestCopy) append(manifest string, synced []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := appendFrame(nil, frameManifest, synced)
	if manifest == m.of {
		return m.write(b)
	}
	path := m.fs.PathJoin(m.dir, copyOf(manifest))
	file, err := m.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if m.file != nil {
		_ = m.file.Close() // all of it is synced
	}
	m.of, m.file, m.size = manifest, file, 0
	for number, log := range m.logs {
		b = appendLog(b, number, log)
	}
	if err := m.write(b); err != nil {
		return err
	}
	return m.syncDirectory()
}

// note notes what of a log is on the disk. Other files are of no account.
func (m *manifestCopy) note(name string, log knownLog) error {
	number, ok := logNumber(name)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs == nil {
		m.logs = map[uint64]knownLog{}
	}
	m.logs[number] = log
	return m.write(appendLog(nil, number, log))
}

// removing is told of each file that is about to be removed.
func (m *manifestCopy) removing(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if number, ok := logNumber(name); ok {
		delete(m.logs, number)
	}
	if !strings.HasPrefix(name, manifestPrefix) {
		return nil
	}
	err := m.fs.Remove(m.fs.PathJoin(m.dir, copyOf(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write appends frames and has them on the disk.
func (m *manifestCopy) write(b []byte) error {
	if _, err := m.file.WriteAt(b, m.size); err != nil {
		return err
	}
	m.size += int64(len(b))
	return m.file.Sync()
}

func (m *manifestCopy) syncDirectory() error {
	dir, err := m.fs.OpenDir(m.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// close closes the copy's file.
func (m *manifestCopy) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// logNumber returns the number in the name of a log.
func logNumber(name string) (n uint64, ok bool) { return fileNumber(name, ".log") }

// fileNumber returns the number in a name with such an end.
func fileNumber(name, end string) (n uint64, ok bool) {
	text, ok := strings.CutSuffix(name, end)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// readAll reads a file.
func readAll(fs vfs.FS, path string) ([]byte, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = io.Copy(&b, file)
	return b.Bytes(), errors.Join(err, file.Close())
}

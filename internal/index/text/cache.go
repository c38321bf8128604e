package text

import (
	"container/list"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/mmap-go"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// cache keeps opened segments of all indexes, those used last. Small ones are in memory;
// of others there are files (files.go), which the system maps: what is read of them is
// in memory as long as it has room for that. Segments never change and numbers are never
// used again, so nothing becomes stale.
//
// Whoever gets a segment holds it until he releases it, and as long as it is held its
// bytes stay where they are.
type cache struct {
	cacheOptions
	mu     sync.Mutex
	memory int                        // bytes of what is opened
	pinned int                        // bytes of segments in memory that somebody holds
	mapped int                        // files that are opened
	disk   int64                      // bytes of files
	by     map[cacheKey]*list.Element // of *cached
	used   *list.List                 // the one used last in front
	// loading holds a place for each segment that may be read at a time.
	loading chan struct{}
}

type cacheOptions struct {
	limit     int    // bytes of memory
	dir       string // where files are; "" for none
	diskLimit int64  // bytes of files that nobody holds
	smallest  uint64 // what is smaller is in memory
	lookEvery time.Duration
	room      func() int64 // free bytes of the disk; nil if that is not known
	log       *slog.Logger
}

// cacheKey names a segment. The numbers would do in one store; what was written does in
// several, as tests have.
type cacheKey struct {
	db, index, segment, bytes uint64
	checksum                  uint32
}

func (r rows) key(e *entry) cacheKey { return cacheKey{r.db, r.index, e.number, e.bytes, e.checksum} }

// cached is a segment that the cache knows: opened, being opened, or a file alone. All but
// key is under the cache's lock; what opened it is not changed while somebody holds it.
type cached struct {
	key     cacheKey
	ready   chan struct{} // closed when it is open or could not be opened; nil for a file alone
	segment *segment.Segment
	err     error
	file    bool      // there is one
	mapping mmap.MMap // of it; nil if the segment is in memory
	stamp   stamp     // the file when it was mapped
	looked  atomic.Int64
	memory  int // bytes that count as memory
	holders int
	known   bool // the cache finds it
	gone    bool // the file is to be removed when nobody holds it
}

const (
	// maxLoading is how many segments are read at a time: what is being read is in memory
	// besides the cache's limit.
	maxLoading = 4
	// maxMapped is how many files stay mapped that nobody holds: a process may have
	// about 65,000 mappings.
	maxMapped = 8192
)

func newCache(o cacheOptions) *cache {
	c := &cache{cacheOptions: o, by: map[cacheKey]*list.Element{}, used: list.New(), loading: make(chan struct{}, maxLoading)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.dir != "" {
		c.adopt(true)
	}
	return c
}

// holding is somebody's hold of a segment: segment.Held.
type holding struct {
	c *cache
	o *cached
}

var (
	errOpening = errors.New("text: a segment was not opened")
	// errMemory is of segments that have no room in memory, because others are in use.
	errMemory = errors.New("text: no memory for a segment")
)

// get returns a segment that is held, opened with the bytes that read writes if it is not
// there. One caller opens it, the others wait for that. A failure is not kept: each
// caller's snapshot is another. Who must have it gets it even if more is held in memory
// than the limit allows; others errMemory.
func (c *cache) get(key cacheKey, must bool, read reading) (*segment.Segment, segment.Ref, error) {
	for {
		o, mine := c.find(key)
		if mine {
			return c.load(o, must, read)
		}
		<-o.ready
		h := &holding{c, o}
		switch {
		case o.err != nil:
			h.Release()
		case o.mapping != nil && c.changed(o):
			h.Suspect()
			h.Release()
		default:
			return o.segment, h, nil
		}
	}
}

// find returns a segment, which it holds. It is the caller's to open if mine is true.
func (c *cache) find(key cacheKey) (o *cached, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.by[key]; e != nil {
		c.used.MoveToFront(e)
		o = e.Value.(*cached)
	} else {
		o = &cached{key: key}
		c.insert(o)
	}
	c.hold(o)
	if o.ready == nil {
		o.ready, o.err, mine = make(chan struct{}), errOpening, true
	}
	return o, mine
}

// insert makes the cache know a segment. c.mu is locked.
func (c *cache) insert(o *cached) {
	c.by[o.key], o.known = c.used.PushFront(o), true
}

// hold counts a holder. c.mu is locked.
func (c *cache) hold(o *cached) {
	if o.holders++; o.holders == 1 && o.segment != nil && o.mapping == nil {
		c.pinned += int(o.key.bytes)
	}
}

// load opens a segment, and keeps what it opened.
func (c *cache) load(o *cached, must bool, read reading) (*segment.Segment, segment.Ref, error) {
	var s opening
	defer func() { c.finish(o, &s) }()
	c.loading <- struct{}{}
	defer func() { <-c.loading }()
	s = opening{err: errOpening} // if it panics
	s = c.open(o.key, must, read)
	if s.err != nil {
		return nil, nil, s.err
	}
	return s.segment, &holding{c, o}, nil
}

// finish notes what became of opening a segment, and drops what was not used for longest.
func (c *cache) finish(o *cached, s *opening) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(o.ready)
	o.segment, o.mapping, o.stamp, o.err = s.segment, s.mapping, s.stamp, s.err
	if s.file != o.file {
		c.countFile(o, s.file)
	}
	if o.err != nil {
		c.forgetOpened(o)
		c.release(o)
		return
	}
	if o.memory = o.segment.Memory(); o.mapping == nil {
		o.memory += o.segment.Bytes()
		c.pinned += int(o.key.bytes)
	} else {
		c.mapped++
	}
	c.memory += o.memory
	c.trim()
}

// countFile notes whether a segment has a file. c.mu is locked.
func (c *cache) countFile(o *cached, there bool) {
	if o.file = there; there {
		c.disk += int64(o.key.bytes)
	} else {
		c.disk -= int64(o.key.bytes)
	}
}

// forgetOpened makes the cache forget a segment, so that the next one opens it anew. c.mu
// is locked.
func (c *cache) forgetOpened(o *cached) {
	if o.known {
		c.used.Remove(c.by[o.key])
		delete(c.by, o.key)
		o.known = false
	}
	if o.file {
		c.countFile(o, false)
	}
}

// release gives up one hold. c.mu is locked.
func (c *cache) release(o *cached) {
	if o.holders--; o.holders > 0 {
		return
	}
	if o.segment != nil && o.mapping == nil {
		c.pinned -= int(o.key.bytes)
	}
	if !o.known {
		c.close(o)
	}
	c.trim()
}

// close gives back what an opened segment takes that nobody holds. c.mu is locked.
func (c *cache) close(o *cached) {
	if o.mapping != nil {
		if err := o.mapping.Unmap(); err != nil {
			c.log.Error("a file of a full-text index can't be unmapped", "error", err)
		}
		c.mapped--
	}
	c.memory -= o.memory
	o.segment, o.mapping, o.memory, o.ready = nil, nil, 0, nil
	if o.gone {
		c.remove(o.key)
		o.gone = false
	}
}

// trim drops what nobody holds and was not used for longest, until the limits hold: first
// opened segments, then files. c.mu is locked.
func (c *cache) trim() {
	for e := c.used.Back(); e != nil && (c.memory > c.limit || c.mapped > maxMapped); {
		o := e.Value.(*cached)
		if e = e.Prev(); o.holders > 0 || o.segment == nil {
			continue
		}
		if !o.file {
			c.forgetOpened(o)
		}
		c.close(o)
	}
	for e := c.used.Back(); e != nil && c.disk > c.diskLimit; {
		o := e.Value.(*cached)
		if e = e.Prev(); o.holders == 0 && o.file {
			c.drop(o)
		}
	}
}

// drop forgets a segment and its file, which goes when nobody holds it. c.mu is locked.
func (c *cache) drop(o *cached) {
	o.gone = o.gone || o.file
	c.forgetOpened(o)
	if o.holders == 0 {
		c.close(o)
	}
}

// forget forgets a segment that is not there any more.
func (c *cache) forget(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.by[key]; e != nil {
		if o := e.Value.(*cached); o.ready == nil || o.segment != nil {
			c.drop(o)
		}
	}
}

// Release is segment.Held's.
func (h *holding) Release() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.release(h.o)
}

// Suspect is segment.Held's: the next one opens the segment anew, and looks at its checksum.
func (h *holding) Suspect() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.forgetOpened(h.o)
}

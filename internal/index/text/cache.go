package text

import (
	"container/list"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/kv"
)

// cache keeps opened segments of all indexes, those used last, up to a number of bytes.
// Segments never change and numbers are never used again, so nothing becomes stale.
type cache struct {
	mu    sync.Mutex
	limit int
	bytes int
	by    map[cacheKey]*list.Element // of *opened
	used  *list.List                 // the one used last in front
	// loading holds a place for each segment that may be read from disk at a time.
	loading chan struct{}
}

// cacheKey names a segment. The numbers would do in one store; what was written does in
// several, as tests have.
type cacheKey struct {
	db, index, segment, bytes uint64
	checksum                  uint32
}

func (r rows) key(e *entry) cacheKey { return cacheKey{r.db, r.index, e.number, e.bytes, e.checksum} }

// opened is a segment in the cache, or one that is being opened.
type opened struct {
	key     cacheKey
	ready   chan struct{} // closed when it is open, or could not be
	segment *segment.Segment
	err     error
	bytes   int
}

// mostLoading is how many segments are read at a time: what is being read is in memory
// besides the cache's limit.
const mostLoading = 4

func newCache(limit int) *cache {
	return &cache{limit: limit, by: map[cacheKey]*list.Element{}, used: list.New(), loading: make(chan struct{}, mostLoading)}
}

// get returns a segment, opened by open if it is not there. One caller opens it, the
// others wait for that. A failure is not kept.
func (c *cache) get(key cacheKey, open func() (*segment.Segment, error)) (*segment.Segment, error) {
	c.mu.Lock()
	if e := c.by[key]; e != nil {
		c.used.MoveToFront(e)
		c.mu.Unlock()
		o := e.Value.(*opened)
		<-o.ready
		if o.err == nil {
			return o.segment, nil
		}
		return open() // another caller's snapshot may have been too old
	}
	o := &opened{key: key, ready: make(chan struct{}), err: errOpening}
	c.by[key] = c.used.PushFront(o)
	c.mu.Unlock()
	defer c.settle(o)
	c.loading <- struct{}{}
	defer func() { <-c.loading }()
	o.segment, o.err = open()
	return o.segment, o.err
}

var errOpening = errors.New("text: a segment was not opened")

// settle keeps what was opened, and drops what was not used for longest.
func (c *cache) settle(o *opened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(o.ready)
	if o.err != nil {
		c.drop(o)
		return
	}
	o.bytes = o.segment.Memory()
	c.bytes += o.bytes
	for e := c.used.Back(); e != nil && c.bytes > c.limit; {
		last := e.Value.(*opened)
		e = e.Prev()
		select {
		case <-last.ready:
			c.drop(last)
		default: // being opened
		}
	}
}

// drop forgets a segment. c.mu is locked.
func (c *cache) drop(o *opened) {
	if e := c.by[o.key]; e != nil && e.Value == o {
		c.used.Remove(e)
		delete(c.by, o.key)
		c.bytes -= o.bytes
	}
}

// forget forgets a segment that was merged away.
func (c *cache) forget(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.by[key]; e != nil {
		if o := e.Value.(*opened); o.bytes > 0 {
			c.drop(o)
		}
	}
}

// open opens a segment from its rows, or finds it in the cache.
func (k *Kind) open(at rows, v kv.Snapshot, e *entry) (*segment.Segment, error) {
	s, err := k.cache.get(at.key(e), func() (*segment.Segment, error) {
		b, err := at.read(v, e)
		if err != nil {
			return nil, err
		}
		s, err := segment.Open(b)
		if err == nil && s.Count() != e.docs {
			err = segment.ErrDamaged
		}
		return s, err
	})
	if errors.Is(err, segment.ErrDamaged) {
		err = damaged(err)
	}
	return s, err
}

// damaged is the error of rows that can't be read as they are.
func damaged(err error) error { return &index.Damaged{Err: err} }

// read reads the bytes of a segment and compares their checksum with the manifest's.
func (r rows) read(v kv.Snapshot, e *entry) ([]byte, error) {
	b := make([]byte, 0, e.bytes)
	for at := uint64(0); at < chunks(e.bytes); at += readAtOnce {
		var keys [][]byte
		for i := at; i < min(at+readAtOnce, chunks(e.bytes)); i++ {
			keys = append(keys, r.chunk(e.number, i))
		}
		values, err := v.GetMany(keys)
		if err != nil {
			return nil, err
		}
		for _, chunk := range values {
			b = append(b, chunk...)
		}
	}
	if uint64(len(b)) != e.bytes || len(b) < 4 || binary.BigEndian.Uint32(b[len(b)-4:]) != e.checksum {
		return nil, segment.ErrDamaged
	}
	return b, nil
}

// readAtOnce is how many chunks are fetched together.
const readAtOnce = 16

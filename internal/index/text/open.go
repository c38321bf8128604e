package text

import (
	"errors"
	"io"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/kv"
)

// open opens a segment from its rows, or finds it in the cache. It is held until held is
// released. Who must have it gets it whatever others hold.
func (k *Kind) open(at rows, v kv.Snapshot, e *entry, must bool) (*segment.Segment, segment.Ref, error) {
	s, held, err := k.cache.get(at.key(e), must, func(to io.Writer) error { return at.read(v, e, to) })
	if err == nil && s.Count() != e.docs {
		held.Release()
		err = segment.ErrDamaged
	}
	if errors.Is(err, segment.ErrDamaged) {
		err = damaged(err)
	}
	return s, held, err
}

// damaged is the error of rows that can't be read as they are.
func damaged(err error) error { return &index.Damaged{Err: err} }

// errFile is of a segment whose file changed while it was read. What is begun again finds
// it written anew.
var errFile = dberr.New(dberr.Unavailable, "index_lost", "A file of the index changed while it was read: ask again.")

// failed is what the error of reading a segment means: that its rows are damaged, unless
// it has a file, whose bytes are compared with their checksum again by the next one.
func (k *Kind) failed(held segment.Ref, err error) error {
	if err == nil {
		return nil
	}
	if h, ok := held.(*holding); ok && h.o.mapping != nil {
		held.Suspect()
		return errors.Join(errFile, err)
	}
	return damaged(err)
}

// read writes the bytes of a segment, a megabyte at a time, and compares their checksum
// with the manifest's.
func (r rows) read(v kv.Snapshot, e *entry, to io.Writer) error {
	sum := &checking{to: to, left: e.bytes - min(4, e.bytes)}
	for at := uint64(0); at < chunks(e.bytes); at += readAtOnce {
		var keys [][]byte
		for i := at; i < min(at+readAtOnce, chunks(e.bytes)); i++ {
			keys = append(keys, r.chunk(e.number, i))
		}
		values, err := v.GetMany(keys)
		if err != nil {
			return err
		}
		for _, chunk := range values {
			if _, err := sum.Write(chunk); err != nil {
				return err
			}
		}
	}
	if !sum.good(e.checksum) {
		return segment.ErrDamaged
	}
	return nil
}

// readAtOnce is how many chunks are fetched together.
const readAtOnce = 16

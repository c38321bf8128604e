package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
)

// LongKeys lets an engine whose server takes short keys only have longer ones, in their
// order. A key of more than Stored bytes is stored under that many of its bytes and a hash
// of the rest, and its value begins with the rest. So all long keys with one beginning lie
// beside each other, in the order of their hashes: a run, between the keys before and after
// that beginning. An iterator that comes to a run reads it and gives its rows in the order
// of the whole keys; of a long run it reads as many rows as fit Window, those that come
// next, and reads it again for those after them.
//
// The engine wraps its snapshots and transactions, and discards by Discard.
type LongKeys struct {
	Stored int // bytes of a key that are stored as they are; an engine's keys have LongHash more
	Key    int // the longest key
	Value  int // the largest value; the engine's have Key and LongValue more
	Window int // bytes of a run that an iterator holds; 0: 4 MB
}

// LongHash and LongValue are how much longer stored keys and values may be.
const (
	LongHash  = sha256.Size
	LongValue = binary.MaxVarintLen32
)

const defaultWindow = 4 << 20

// long reports whether a key, or one that is stored, is of a run.
func (l *LongKeys) long(key []byte) bool { return len(key) > l.Stored }

// stored returns the key under which key is stored: key itself, if it is short.
func (l *LongKeys) stored(key []byte) []byte {
	if !l.long(key) {
		return key
	}
	sum := sha256.Sum256(key[l.Stored:])
	return append(key[:l.Stored:l.Stored], sum[:]...)
}

// storedAll is stored for many; it returns keys itself if all are short.
func (l *LongKeys) storedAll(keys [][]byte) [][]byte {
	for i, key := range keys {
		if !l.long(key) {
			continue
		}
		out := append([][]byte{}, keys[:i]...)
		for _, key := range keys[i:] {
			out = append(out, l.stored(key))
		}
		return out
	}
	return keys
}

// pack returns the stored value of a long key.
func (l *LongKeys) pack(key, value []byte) []byte {
	rest := key[l.Stored:]
	b := binary.AppendUvarint(make([]byte, 0, LongValue+len(rest)+len(value)), uint64(len(rest)))
	return append(append(b, rest...), value...)
}

var errLongKey = dberr.New(dberr.Internal, "", "the row of a long key is damaged")

// unpack takes the stored value of a long key apart. It refers to b.
func unpack(b []byte) (rest, value []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errLongKey
	}
	end := size + int(n)
	return b[size:end:end], b[end:], nil
}

// Range returns the stored keys of a range, and those of the runs in which it begins and
// ends.
func (l *LongKeys) Range(r Range) Range {
	if l.long(r.Start) {
		r.Start = runBegin(r.Start[:l.Stored])
	}
	if l.long(r.End) {
		r.End = PrefixEnd(r.End[:l.Stored])
	}
	return r
}

// runBegin and runEnd are before and after all stored keys of a run.
func runBegin(beginning []byte) []byte {
	return append(beginning[:len(beginning):len(beginning)], 0)
}

func runEnd(beginning []byte) []byte {
	return append(beginning[:len(beginning):len(beginning)], beyondHashes[:]...)
}

var beyondHashes = [LongHash + 1]byte(bytes.Repeat([]byte{0xff}, LongHash+1))

// Snapshot returns s with long keys.
func (l *LongKeys) Snapshot(s Snapshot) Snapshot { return &longSnapshot{l, s} }

type longSnapshot struct {
	l *LongKeys
	s Snapshot
}

// Get implements Snapshot.
func (s *longSnapshot) Get(key []byte) ([]byte, error) { return s.get(key, s.s.Get) }

func (s *longSnapshot) get(key []byte, get func([]byte) ([]byte, error)) ([]byte, error) {
	value, err := get(s.l.stored(key))
	if err == nil && s.l.long(key) {
		_, value, err = unpack(value)
	}
	return value, err
}

// GetMany implements Snapshot.
func (s *longSnapshot) GetMany(keys [][]byte) ([][]byte, error) { return s.getMany(keys, s.s.GetMany) }

func (s *longSnapshot) getMany(keys [][]byte, get func([][]byte) ([][]byte, error)) ([][]byte, error) {
	values, err := get(s.l.storedAll(keys))
	if err == nil {
		err = s.l.unpackAll(keys, values)
	}
	return values, err
}

// unpackAll makes the values of keys of stored ones.
func (l *LongKeys) unpackAll(keys, values [][]byte) (err error) {
	for i, key := range keys {
		if err == nil && l.long(key) && values[i] != nil {
			_, values[i], err = unpack(values[i])
		}
	}
	return err
}

// Read implements Snapshot.
func (s *longSnapshot) Read(r Reads) (Found, error) {
	stored := Reads{Keys: s.l.storedAll(r.Keys), ForUpdate: s.l.storedAll(r.ForUpdate), Walks: slices.Clone(r.Walks)}
	for i := range stored.Walks {
		stored.Walks[i].Range = s.l.Range(stored.Walks[i].Range)
	}
	f, err := s.s.Read(stored)
	if err != nil {
		return f, err
	}
	for i, w := range r.Walks {
		f.Walks[i] = newLongIterator(s.l, f.Walks[i], w.Range, w.Reverse)
	}
	return f, errors.Join(s.l.unpackAll(r.Keys, f.Values), s.l.unpackAll(r.ForUpdate, f.ForUpdate))
}

// Iterate implements Snapshot.
func (s *longSnapshot) Iterate(r Range, o IterOptions) (Iterator, error) {
	base, err := s.s.Iterate(s.l.Range(r), o)
	if err != nil {
		return nil, err
	}
	return newLongIterator(s.l, base, r, o.Reverse), nil
}

// Txn returns t with long keys.
func (l *LongKeys) Txn(t Txn) Txn { return &longTxn{longSnapshot{l, t}, t} }

type longTxn struct {
	longSnapshot
	t Txn
}

// GetForUpdate implements Txn.
func (t *longTxn) GetForUpdate(key []byte) ([]byte, error) { return t.get(key, t.t.GetForUpdate) }

// GetManyForUpdate implements Txn.
func (t *longTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	return t.getMany(keys, t.t.GetManyForUpdate)
}

// check refuses keys that are too long.
func (l *LongKeys) check(key []byte) error {
	if len(key) > l.Key {
		return dberr.New(dberr.TooLarge, "", "The key has %d bytes; %d are allowed.", len(key), l.Key)
	}
	return nil
}

// Put implements Txn.
func (t *longTxn) Put(key, value []byte) error {
	if err := t.l.check(key); err != nil {
		return err
	}
	if len(value) > t.l.Value {
		return dberr.New(dberr.TooLarge, "", "The value has %d bytes; %d are allowed.", len(value), t.l.Value)
	}
	if t.l.long(key) {
		value = t.l.pack(key, value)
	}
	return t.t.Put(t.l.stored(key), value)
}

// Delete implements Txn.
func (t *longTxn) Delete(key []byte) error {
	if err := t.l.check(key); err != nil {
		return err
	}
	return t.t.Delete(t.l.stored(key))
}

// DeleteOnce implements Txn.
func (t *longTxn) DeleteOnce(key []byte) error {
	if err := t.l.check(key); err != nil {
		return err
	}
	return t.t.DeleteOnce(t.l.stored(key))
}

// discardRows is how many rows of a run Discard deletes in one transaction.
const discardRows = 200

// Discard is Engine's for e, whose snapshots and transactions have long keys: discard
// removes ranges of stored keys. What a range takes of the runs in which it begins and ends
// is deleted row by row.
func (l *LongKeys) Discard(ctx context.Context, e Engine, r Range, discard func(Range) error) error {
	inner := r
	if l.long(r.Start) {
		inner.Start = PrefixEnd(r.Start[:l.Stored])
		first := Range{Start: r.Start, End: inner.Start}
		if r.End != nil && (inner.Start == nil || bytes.Compare(r.End, inner.Start) < 0) {
			first.End = r.End
		}
		if err := deleteRows(ctx, e, first); err != nil || inner.Start == nil {
			return err
		}
	}
	if l.long(r.End) {
		inner.End = r.End[:l.Stored:l.Stored]
		last := Range{Start: inner.End, End: r.End}
		if bytes.Compare(r.Start, last.Start) > 0 {
			last.Start = r.Start
		}
		if err := deleteRows(ctx, e, last); err != nil {
			return err
		}
	}
	if inner.End != nil && bytes.Compare(inner.Start, inner.End) >= 0 {
		return nil
	}
	return discard(inner)
}

// deleteRows deletes the rows of a range, page by page.
func deleteRows(ctx context.Context, e Engine, r Range) error {
	for more := true; more; {
		err := e.Update(ctx, func(t Txn) error {
			it, err := t.Iterate(r, IterOptions{Want: discardRows})
			if err != nil {
				return err
			}
			defer it.Close()
			n := 0
			for more = false; it.Next(); n++ {
				if n == discardRows {
					more = true
					break
				}
				if err := t.Delete(it.Key()); err != nil {
					return err
				}
			}
			return it.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

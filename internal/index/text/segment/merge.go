package segment

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
)

// Source is a segment of which some documents were replaced.
type Source struct {
	Segment *Segment
	Deleted *roaring.Bitmap // nil for none
	Ref     Ref             // nil if the segment is there for as long as anybody has it
}

// Ref is a segment whose bytes may go once nobody holds it.
type Ref interface {
	// Release says that the segment is not read any more by whom this is of. Once.
	Release()
	// Suspect says that reading it failed as it does with bytes that changed.
	Suspect()
}

// Release releases sources.
func Release(sources []Source) {
	for _, s := range sources {
		if s.Ref != nil {
			s.Ref.Release()
		}
	}
}

// Gone is the new number of a document that Merge left out.
const Gone = ^uint32(0)

// Merge makes one segment of several, without their deleted documents: the documents
// of one after those of the one before. numbers holds for each segment the new number
// of each of its documents, or Gone. made is nil if no document is left.
//
// The library merges into a file: in memory where the system has such, else in directory
// scratch ("" for the system's). ErrFields if there are too many names of fields together.
// It ends with ctx.
func Merge(ctx context.Context, sources []Source, scratch string) (made []byte, numbers [][]uint32, err error) {
	numbers, left := renumber(sources)
	if left == 0 {
		return nil, numbers, nil
	}
	names := map[string]bool{}
	for _, s := range sources {
		for _, name := range s.Segment.zap.Fields() {
			names[name] = true
		}
		for key := range s.Segment.spans {
			if ofVectors(key.kind) {
				names[key.field] = true
			}
		}
	}
	if len(names) > MaxFields {
		return nil, nil, ErrFields
	}
	err = guard("merge", func() error {
		b, err := mergeZap(ctx, sources, scratch)
		if err != nil {
			return err
		}
		columns := columnsBuilder{}
		for i, s := range sources {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := columns.copy(s.Segment, numbers[i]); err != nil {
				return err
			}
		}
		made = seal(b, columns, left)
		return nil
	})
	return made, numbers, err
}

// renumber returns the new numbers of all documents.
func renumber(sources []Source) (numbers [][]uint32, left uint32) {
	for _, s := range sources {
		of := make([]uint32, s.Segment.docs)
		for i := range of {
			if of[i] = Gone; s.Deleted == nil || !s.Deleted.Contains(uint32(i)) {
				of[i] = left
				left++
			}
		}
		numbers = append(numbers, of)
	}
	return numbers, left
}

// mergeZap merges what the library has of segments.
func mergeZap(ctx context.Context, sources []Source, scratch string) ([]byte, error) {
	f, err := scratchFile(scratch)
	if err != nil {
		return nil, err
	}
	defer f.remove()
	segments, drops := make([]scorch.Segment, len(sources)), make([]*roaring.Bitmap, len(sources))
	for i, s := range sources {
		segments[i], drops[i] = s.Segment.zap, s.Deleted
	}
	stop := make(chan struct{})
	defer context.AfterFunc(ctx, func() { close(stop) })()
	if _, _, err := new(zap.ZapPlugin).Merge(segments, drops, f.path, stop, nil); err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	b, err := os.ReadFile(f.path)
	return slices.Clip(b), err
}

// file is a file for the library to write.
type file struct {
	path   string
	remove func()
}

// diskFile makes a file on disk.
func diskFile(scratch string) (file, error) {
	f, err := os.CreateTemp(scratch, "sectional-merge-*")
	if err != nil {
		return file{}, err
	}
	return file{f.Name(), func() { _ = os.Remove(f.Name()) }}, f.Close()
}

// copy adds the columns of a segment whose documents have new numbers.
func (c columnsBuilder) copy(s *Segment, numbers []uint32) error {
	for key := range s.spans {
		if ofVectors(key.kind) {
			if err := c.copyVectors(s, key, numbers); err != nil {
				return err
			}
			continue
		}
		from := s.column(key.field, key.kind)
		to := c.at(key.field, key.kind)
		for doc, number := range numbers {
			if number != Gone {
				from.copyTo(to, uint32(doc), number)
			}
		}
		if len(to.docs) == 0 {
			delete(c, key)
		}
	}
	return nil
}

// copyVectors adds a column of vectors.
func (c columnsBuilder) copyVectors(s *Segment, key columnKey, numbers []uint32) error {
	from, err := s.vectors(key)
	if err != nil {
		return err
	}
	to := c.vectorsAt(key, from.dimensions)
	from.copyTo(to, numbers)
	if len(to.docs) == 0 {
		delete(c, key)
	}
	return nil
}

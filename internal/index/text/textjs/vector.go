package textjs

import (
	"fmt"

	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/jsonscan"
)

// vector makes a field of a call with the option type "vector". Its options are the
// similarity, cosine if there is none, and how many numbers it is to have.
func vector(x *text.Indexed, value []byte, given map[string]any) error {
	x.Boost, x.Similarity = 1, segment.Cosine
	if of := given["similarity"]; of != nil {
		name, _ := of.(string)
		if x.Similarity = segment.SimilarityOf(name); x.Similarity == segment.NoSimilarity {
			return fmt.Errorf("TypeError: similarity must be cosine, dot or euclidean not %v", of)
		}
	}
	if jsonscan.KindOf(value) != jsonscan.Array {
		return fmt.Errorf("TypeError: a vector must be an array not %s", kind(value))
	}
	numbers, err := segment.Numbers(value)
	if err != nil {
		return fmt.Errorf("RangeError: %w", err)
	}
	if wanted, ok := given["dimensions"]; ok && wanted != float64(len(numbers)) {
		return fmt.Errorf("RangeError: a vector has %d numbers, not %v", len(numbers), wanted)
	}
	v, err := segment.Vector(numbers, x.Similarity)
	if err != nil {
		return fmt.Errorf("RangeError: %w", err)
	}
	x.Value = v
	return nil
}

// once refuses a document that gives a vector a name that something else of it has: a name
// is one vector, or what it was without vectors.
func once(fields []text.Indexed) error {
	var names map[string]bool // of vectors
	for i := range fields {
		if _, is := fields[i].Value.([]float32); is {
			if names[fields[i].Name] {
				return twice(fields[i].Name)
			}
			if names == nil {
				names = map[string]bool{}
			}
			names[fields[i].Name] = true
		}
	}
	if names == nil {
		return nil
	}
	for i := range fields {
		if _, is := fields[i].Value.([]float32); !is && names[fields[i].Name] {
			return twice(fields[i].Name)
		}
	}
	return nil
}

func twice(name string) error {
	return fmt.Errorf("TypeError: the vector %q must be the only value of its name", name)
}

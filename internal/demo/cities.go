package demo

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/gzip"
)

// citiesData holds one document a line. It is derived from the GeoNames gazetteer; CITIES.md has the attribution.
//
//go:embed cities.jsonl.gz
var citiesData []byte

// CityCount is the number of documents in the database cities, whatever the demo's size.
const CityCount = 171_075

// CityPartitions is the number of countries, each a partition of cities.
const CityPartitions = 246

// Cities returns the real cities of the world, each as a document with an id of country and number.
func Cities() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r, err := gzip.NewReader(bytes.NewReader(citiesData))
		if err != nil {
			yield(nil, fmt.Errorf("demo: the embedded cities: %w", err))
			return
		}
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadBytes('\n')
			if row := bytes.TrimSpace(line); len(row) > 0 && !yield(row, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("demo: the embedded cities: %w", err))
				return
			}
		}
	}
}

func cities(int) iter.Seq2[[]byte, error] { return Cities() }

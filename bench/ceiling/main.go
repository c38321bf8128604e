// Command ceiling measures what bleve's own index does with documents and queries, without a server in front: the
// bench beside it runs it as a process and compares. It is a module of its own, so that the server's does not need
// what an index of bleve's needs.
//
//	ceiling DIRECTORY DOCUMENTS QUERIES
//
// DOCUMENTS has a document in a line, as type document says, QUERIES a query, as type search. The answer is the JSON
// of type figures. Begin reading at measure.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
)

// document is what is indexed.
type document struct {
	ID        string  `json:"id"`
	Partition string  `json:"partition"`
	Text      string  `json:"text"`
	Kind      string  `json:"kind"`
	Price     float64 `json:"price"`
	Tenth     float64 `json:"tenth"`
}

// search is a query to be measured.
type search struct {
	Name      string `json:"name"`
	Query     string `json:"query"`     // in bleve's language, "" for all documents
	Partition string `json:"partition"` // "" for all
	Counted   bool   `json:"counted"`   // with counts of kinds, sorted by price
}

// figures is the answer.
type figures struct {
	CPU     float64            `json:"cpu"`     // seconds that indexing took
	Answers map[string]float64 `json:"answers"` // milliseconds of each query, the median
	Hits    map[string]uint64  `json:"hits"`
}

// batch is how many documents are indexed at a time, and rounds how often each query is asked.
const (
	batch  = 1000
	rounds = 51
)

func main() {
	f, err := measure(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ceiling:", err)
		os.Exit(1)
	}
}

func measure(args []string) (f figures, err error) {
	if len(args) != 3 {
		return f, errors.New("it takes a directory, documents and queries")
	}
	index, err := bleve.New(filepath.Join(args[0], "bleve"), fields())
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	before := cpu()
	if err := fill(index, args[1]); err != nil {
		return f, err
	}
	if err := rest(); err != nil {
		return f, err
	}
	f = figures{CPU: (cpu() - before).Seconds(), Answers: map[string]float64{}, Hits: map[string]uint64{}}
	return f, lines(args[2], func(line []byte) error {
		var s search
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		f.Answers[s.Name], f.Hits[s.Name], err = s.time(index)
		return err
	})
}

// fields says how documents are indexed: what the server's index of the same documents has.
func fields() mapping.IndexMapping {
	text := func(analyzer string, positions, values bool) *mapping.FieldMapping {
		m := bleve.NewTextFieldMapping()
		m.Analyzer, m.Store, m.IncludeInAll, m.IncludeTermVectors, m.DocValues = analyzer, false, false, positions, values
		return m
	}
	number := bleve.NewNumericFieldMapping()
	number.Store, number.IncludeInAll = false, false
	d := bleve.NewDocumentStaticMapping()
	d.AddFieldMappingsAt("text", text(standard.Name, true, false))
	d.AddFieldMappingsAt("kind", text(keyword.Name, false, true))
	d.AddFieldMappingsAt("partition", text(keyword.Name, false, false))
	d.AddFieldMappingsAt("price", number)
	d.AddFieldMappingsAt("tenth", number)
	m := bleve.NewIndexMapping()
	m.DefaultMapping, m.DefaultField = d, "text"
	return m
}

func fill(index bleve.Index, path string) error {
	b := index.NewBatch()
	err := lines(path, func(line []byte) error {
		var d document
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		if err := b.Index(d.ID, d); err != nil || b.Size() < batch {
			return err
		}
		err := index.Batch(b)
		b.Reset()
		return err
	})
	if err == nil && b.Size() > 0 {
		err = index.Batch(b)
	}
	return err
}

// rest waits until the index has stopped writing and merging in the background.
func rest() error {
	for quiet, last, until := 0, cpu(), time.Now().Add(2*time.Minute); quiet < 3; {
		if time.Now().After(until) {
			return errors.New("the index does not come to rest")
		}
		time.Sleep(250 * time.Millisecond)
		now := cpu()
		if quiet++; now-last > 20*time.Millisecond {
			quiet = 0
		}
		last = now
	}
	return nil
}

// time returns the median time of a search in milliseconds, and how many documents it finds.
func (s search) time(index bleve.Index) (ms float64, hits uint64, err error) {
	var q query.Query = bleve.NewMatchAllQuery()
	if s.Query != "" {
		q = bleve.NewQueryStringQuery(s.Query)
	}
	if s.Partition != "" {
		of := bleve.NewTermQuery(s.Partition)
		of.SetField("partition")
		q = bleve.NewConjunctionQuery(q, of)
	}
	var times []float64
	for range rounds {
		request := bleve.NewSearchRequestOptions(q, 25, 0, false)
		if s.Counted {
			request.AddFacet("kind", bleve.NewFacetRequest("kind", 100))
			request.SortBy([]string{"price", "_id"})
		}
		began := time.Now()
		answer, err := index.Search(request)
		if err != nil {
			return 0, 0, err
		}
		times, hits = append(times, time.Since(began).Seconds()*1000), answer.Total
	}
	slices.Sort(times)
	return times[rounds/2], hits, nil
}

// lines calls fn with each line of a file.
func lines(path string, fn func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	all := bufio.NewScanner(f)
	all.Buffer(nil, 1<<20)
	for err == nil && all.Scan() {
		err = fn(bytes.Clone(all.Bytes()))
	}
	return errors.Join(err, all.Err(), f.Close())
}

// cpu is the processor time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package find

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestLongLists: lists of fields, ranges and values, and tags, are refused that would cost
// much for each document.
func TestLongLists(t *testing.T) {
	r := library(t)
	for name, change := range map[string]func(q *Request, n int){
		"counts":           func(q *Request, n int) { q.Counts = make([]string, n) },
		"ranges":           func(q *Request, n int) { q.Ranges = make([]Ranges, n) },
		"drilldown":        func(q *Request, n int) { q.Drilldown = make([]Values, n) },
		"include_fields":   func(q *Request, n int) { q.Fields = make([]string, n) },
		"highlight_fields": func(q *Request, n int) { q.Highlight = &Highlighting{Fields: make([]string, n)} },
		"buckets":          func(q *Request, n int) { q.Ranges = []Ranges{{"price", buckets(n)}} },
		"values":           func(q *Request, n int) { q.Drilldown = []Values{{"kind", make([]string, n)}} },
		"tags": func(q *Request, n int) {
			q.Highlight = &Highlighting{Fields: []string{"default"}, Post: strings.Repeat("x", n)}
		},
	} {
		for n, refused := range map[int]bool{maxFields: false, maxFields + 1: true} {
			q := request(t, "fox")
			change(q, n)
			if _, err := Run(context.Background(), r, q); dberr.Is(err, dberr.Invalid) != refused || !refused && err != nil {
				t.Errorf("%d %s: %v", n, name, err)
			}
		}
	}
}

func buckets(n int) []Bucket {
	all := make([]Bucket, n)
	for i := range all {
		all[i] = Bucket{Label: fmt.Sprint(i), Range: "[1 TO 2]"}
	}
	return all
}

// TestHeld: answers that would take too much memory are refused, whatever of them it is.
func TestHeld(t *testing.T) {
	testrun.Sequential(t)
	var docs []segment.Document
	for i := range 1000 {
		of := segment.Document{ID: fmt.Sprintf("%04d", i), Fields: []segment.Field{text("default", strings.Repeat("fox ", 40))}}
		for j := range 1200 {
			of.Fields = append(of.Fields, segment.Field{Name: fmt.Sprint("n", j), Number: new(float64), Store: true})
		}
		docs = append(docs, of)
	}
	r := reader(t, "", source(t, docs))
	for name, change := range map[string]func(q *Request){
		"numbers": func(*Request) {},
		"highlights": func(q *Request) {
			q.Fields, q.Highlight = []string{}, &Highlighting{Fields: []string{"default"}, Pre: strings.Repeat("x", maxTag), Post: strings.Repeat("y", maxTag), Number: 1, Size: 1000}
		},
	} {
		q := request(t, "fox")
		change(q)
		for limit, refused := range map[int]bool{10: false, 1000: true} {
			q.Limit = limit
			if _, err := Run(context.Background(), r, q); dberr.Is(err, dberr.Invalid) != refused || !refused && err != nil {
				t.Errorf("%s, %d rows: %v", name, limit, err)
			}
		}
	}
}

// TestHeldRows: what rows are sorted by counts too.
func TestHeldRows(t *testing.T) {
	w := &work{ctx: context.Background(), index: library(t)}
	b, n := w.best(w.sorting(make([]Order, maxOrders)), 1<<30, nil), &term{postings: &postings{}}
	var err error
	for i := 0; err == nil && i < maxBuffered/(valueBytes*maxOrders); i++ {
		err = b.take(n)
	}
	if !dberr.Is(err, dberr.Invalid) {
		t.Errorf("rows without an end: %v", err)
	}
}

// leaving is a context that ends when it has been asked a few times.
type leaving struct {
	context.Context
	left int
}

func (l *leaving) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLeft ends when nobody waits any more, also where nothing is found.
func TestLeft(t *testing.T) {
	var docs []segment.Document
	for i := range 5000 {
		docs = append(docs, segment.Document{ID: fmt.Sprintf("a:%04d", i), Partition: "a", Fields: []segment.Field{text("default", fmt.Sprintf("w%d", i))}})
	}
	docs = append(docs, segment.Document{ID: "b:1", Partition: "b", Fields: []segment.Field{text("default", strings.Repeat("fox dog ", 3000))}})
	r := reader(t, "b", source(t, docs))
	for _, query := range []string{"*1*", "w1*", "w1~2 w2~2 w3~2 w4~2", "[w0 TO w9]", "/.*9/", `"fox cat"~9999`} {
		tree, err := Parse(query, analyzers{})
		if err != nil {
			t.Fatal(err)
		}
		q := &Request{Query: tree, Analyzers: analyzers{}, Limit: 1}
		if query[0] == '"' {
			if q.Query, err = Parse(`fox "fox cat"~9999`, analyzers{}); err != nil {
				t.Fatal(err)
			}
			q.Fields, q.Highlight = []string{}, &Highlighting{Fields: []string{"default"}, Number: 1}
		}
		asked := &leaving{context.Background(), 1 << 30}
		if _, err := Run(asked, r, q); err != nil {
			t.Fatal(query, err)
		}
		times := 1<<30 - asked.left
		if times < 2 {
			t.Errorf("%s: it is asked %d times whether anybody waits", query, times)
		}
		for left := range min(times, 5) {
			if _, err := Run(&leaving{context.Background(), left}, r, q); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: after %d questions: %v", query, left, err)
			}
		}
	}
}

// TestFuzzySteps: to look for terms that are like one takes steps, though none is.
func TestFuzzySteps(t *testing.T) {
	var docs []segment.Document
	for i := range 5000 {
		docs = append(docs, segment.Document{ID: fmt.Sprintf("a:%04d", i), Partition: "a", Fields: []segment.Field{text("default", fmt.Sprintf("w%d", i))}})
	}
	q := &lucene.Fuzzy{Field: "default", Text: "w1234zzzz", Edits: 2, Boost: 1}
	w := &work{ctx: context.Background(), index: reader(t, "", source(t, docs))}
	all, err := w.variants(q)
	if len(all) != 0 || err != nil {
		t.Fatal(all, err)
	}
	if w.steps < 1000 {
		t.Errorf("%d steps", w.steps)
	}
	w.steps = maxSteps + 1 - w.steps // the walk is what is too much
	if _, err := w.variants(q); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("without steps left: %v", err)
	}
}

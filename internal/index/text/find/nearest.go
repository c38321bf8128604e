package find

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// Nearest asks for the documents whose vectors are nearest to one. What is found is a set
// of at most K documents with scores, like that of a query: what is sorted, counted and
// grouped is these.
type Nearest struct {
	Field  string
	Vector []float64
	K      int
	// Filter is a query that a document has to match to be looked at; nil is all.
	Filter lucene.Node
	// Similarity is that of the vectors; NoSimilarity is the one that the field has.
	Similarity segment.Similarity
	// Exact says that all vectors are compared. Otherwise that is so up to exactMost of
	// them, and of more some are passed over that are most probably farther away.
	Exact bool
	// Fusion says how the scores are joined with those of the request's Query, if it has
	// one, and Boost what they count beside them.
	Fusion Fusion
	Boost  float64

	few int // instead of exactMost, if it is not 0
}

// Fusion is a way to join two lists of documents: the K best of each.
type Fusion uint8

// The ways. With both, a document has the sum of what it gets of the two lists, that of
// the nearest times Boost, and nothing of a list that it is not in.
const (
	// ByRank is reciprocal rank fusion: 1/(60+rank), the first has rank 1 (Cormack,
	// Clarke, Büttcher: "Reciprocal rank fusion outperforms Condorcet and individual
	// rank learning methods", SIGIR 2009).
	ByRank Fusion = iota
	// ByScore is the score, scaled so that the least of the list is 0 and the greatest 1;
	// 1 if they are equal.
	ByScore
)

// Bounds of what is asked for.
const (
	// maxNearest is how many documents may be asked for.
	maxNearest = 1000
	// exactMost is up to how many vectors all are compared.
	exactMost = 100_000
	// rankConstant is that of reciprocal rank fusion.
	rankConstant = 60
	// numbersAStep is how many numbers of vectors count as a step.
	numbersAStep = 16
)

// check refuses what can't be asked.
func (n *Nearest) check(q *Request) error {
	switch {
	case n.K < 1:
		return bad("knn: k must be greater than zero")
	case n.K > maxNearest:
		return bad("knn: Value for k is too large, must not exceed %d", maxNearest)
	case q.Highlight != nil && len(q.Highlight.Fields) > 0 && q.Query == nil:
		return bad("`highlight_fields` needs words to mark: `q` beside `knn`")
	}
	if _, err := segment.Vector(n.Vector, n.Similarity); err != nil {
		return bad("knn: %s", err.Error())
	}
	return nil
}

// listed is a document with its score.
type listed struct {
	doc   uint64
	score float64
}

// matching makes the node of what a request asks for.
func (w *work) matching(req *Request) (node, error) {
	if req.Nearest == nil {
		return w.compile(req.Query)
	}
	if w.found == nil {
		found, err := w.fused(req)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, func(a, b listed) int { return cmp.Compare(a.doc, b.doc) })
		w.found = &found
	}
	return &list{docs: *w.found}, nil
}

// fused returns the nearest documents, together with the best of the query if there is
// one.
func (w *work) fused(req *Request) ([]listed, error) {
	near, err := w.nearest(req.Nearest)
	if err != nil || req.Query == nil {
		return near, err
	}
	words, err := w.leading(req.Query, req.Nearest.K)
	if err != nil {
		return nil, err
	}
	counts := ranked
	if req.Nearest.Fusion == ByScore {
		counts = scaled
	}
	scores := map[uint64]float64{}
	for i, count := range counts(words) {
		scores[words[i].doc] = count
	}
	for i, count := range counts(near) {
		scores[near[i].doc] += float64(count * req.Nearest.Boost)
	}
	all := make([]listed, 0, len(scores))
	for doc, score := range scores {
		all = append(all, listed{doc, score})
	}
	return all, w.keep(len(all) * rowBytes)
}

// ranked is what the places of a list count.
func ranked(list []listed) []float64 {
	counts := make([]float64, len(list))
	for i := range list {
		counts[i] = 1 / float64(rankConstant+i+1)
	}
	return counts
}

// scaled is what the scores of a list count, which is in the order of its scores.
func scaled(list []listed) []float64 {
	counts := make([]float64, len(list))
	for i := range list {
		if counts[i] = 1; list[0].score > list[len(list)-1].score {
			counts[i] = (list[i].score - list[len(list)-1].score) / (list[0].score - list[len(list)-1].score)
		}
	}
	return counts
}

// leading returns the first documents of a query by score.
func (w *work) leading(query lucene.Node, n int) (list []listed, err error) {
	scored := w.scored
	w.scored = true
	defer func() { w.scored = scored }()
	first := w.best(w.sorting(nil), n, nil)
	matched, err := w.compile(query)
	if err == nil {
		err = w.walk(matched, first)
	}
	for _, h := range first.sorted() {
		list = append(list, listed{h.doc, h.keys[0].number})
	}
	return list, err
}

// nearest returns the nearest documents, the nearest first.
func (w *work) nearest(n *Nearest) ([]listed, error) {
	of, err := w.similarity(n)
	if err != nil || of == segment.NoSimilarity {
		return nil, err
	}
	vector, err := segment.Vector(n.Vector, of)
	if err != nil {
		return nil, bad("knn: %s", err.Error())
	}
	vectors, err := w.index.Vectors(n.Field, len(vector), of)
	if err != nil {
		return nil, err
	}
	within, err := w.filtered(n.Filter)
	if err != nil {
		return nil, err
	}
	exact := n.Exact || vectors.Count(within) <= cmp.Or(n.few, exactMost)
	c := &closest{k: n.K, ids: w.index.Column("_id")}
	cost := func(numbers int) error { return w.spend(numbers/numbersAStep + 1) }
	if err := vectors.Scan(vectors.Near(vector, exact), within, cost, c.take); err != nil {
		return nil, err
	}
	return c.list(of), w.keep(len(c.all) * rowBytes)
}

// similarity returns the similarity of the vectors that are compared; NoSimilarity if the
// field has none.
func (w *work) similarity(n *Nearest) (of segment.Similarity, err error) {
	shapes, err := w.index.Shapes(n.Field)
	if err != nil || len(shapes) == 0 {
		return segment.NoSimilarity, err
	}
	var names []string
	var others []int
	for shape := range shapes {
		if shape.Dimensions != len(n.Vector) {
			others = append(others, shape.Dimensions)
			continue
		}
		names = append(names, shape.Similarity.String())
		if of = shape.Similarity; of == n.Similarity {
			return of, nil
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return of, bad("knn: `%s` has vectors of %d numbers, not of %d", n.Field, slices.Min(others), len(n.Vector))
	case n.Similarity != segment.NoSimilarity:
		return of, bad("knn: the similarity of `%s` is %s, not %s", n.Field, strings.Join(names, " or "), n.Similarity)
	case len(names) > 1:
		return of, bad("knn: `%s` has vectors with the similarities %s: name one of them", n.Field, strings.Join(names, ", "))
	}
	return of, nil
}

// filtered returns the documents that match a filter; nil for all without one.
func (w *work) filtered(filter lucene.Node) (*segment.Set, error) {
	if filter == nil {
		return nil, nil
	}
	scored, clauses := w.scored, w.clauses
	w.scored, w.clauses = false, 0
	defer func() { w.scored, w.clauses = scored, clauses }()
	n, err := w.compile(filter)
	if err != nil {
		return nil, err
	}
	of := &filtering{w.index.NewSet()}
	return of.docs, w.walk(n, of)
}

// filtering gathers the documents of a filter.
type filtering struct{ docs *segment.Set }

func (f *filtering) take(n node) error {
	f.docs.Add(n.doc())
	return nil
}

// closest are the k closest so far, with the farthest of them on top of the heap. Of those
// that are equally close the ids decide, which stay when the index is merged or built anew.
type closest struct {
	k   int
	ids *segment.Column
	all []listed // score is the closeness
}

// take is what Vectors.Scan calls.
func (c *closest) take(doc uint64, closeness float64) (floor float64, err error) {
	d := listed{doc, closeness}
	switch {
	case len(c.all) < c.k:
		heap.Push(c, d)
	case c.compare(d, c.all[0]) < 0:
		c.all[0] = d
		heap.Fix(c, 0)
	}
	if len(c.all) < c.k {
		return math.Inf(-1), nil
	}
	return c.all[0].score, nil
}

// compare compares two documents by their places.
func (c *closest) compare(a, b listed) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	x, _ := c.ids.Text(a.doc) // every document has one
	y, _ := c.ids.Text(b.doc)
	return strings.Compare(x, y)
}

func (c *closest) Len() int           { return len(c.all) }
func (c *closest) Less(i, j int) bool { return c.compare(c.all[i], c.all[j]) > 0 }
func (c *closest) Swap(i, j int)      { c.all[i], c.all[j] = c.all[j], c.all[i] }
func (c *closest) Push(x any)         { c.all = append(c.all, x.(listed)) }
func (c *closest) Pop() any           { panic("find: nothing is taken from the closest") }

// list returns the documents with their scores, the closest first.
func (c *closest) list(of segment.Similarity) []listed {
	slices.SortFunc(c.all, c.compare)
	for i := range c.all {
		c.all[i].score = of.Score(c.all[i].score)
	}
	return c.all
}

// list is a node of documents whose scores are known, in the order of their numbers.
type list struct {
	docs []listed
	at   int
}

func (l *list) squares() float64           { return 0 }
func (l *list) normalize(float64, float64) {}
func (l *list) score() float64             { return l.docs[l.at].score }
func (l *list) cost() uint64               { return uint64(len(l.docs)) }

func (l *list) doc() uint64 {
	if l.at == len(l.docs) {
		return none
	}
	return l.docs[l.at].doc
}

func (l *list) start() error {
	l.at = 0
	return nil
}

func (l *list) next() error {
	l.at = min(l.at+1, len(l.docs))
	return nil
}

func (l *list) advance(to uint64) error {
	for l.doc() < to {
		l.at++
	}
	return nil
}

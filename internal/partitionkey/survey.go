package partitionkey

import (
	"cmp"
	"math"
	"slices"

	"github.com/sectional/sectional/internal/document"
)

// Survey counts how documents would lie in the partitions of a template. It takes a sample, each document with the same
// probability, and tells of the whole. The zero value is not used: begin with NewSurvey.
type Survey struct {
	by       Template
	groups   map[document.Partition]*group
	docs     int
	bytes    int64
	unfit    int
	examples []Unfit
	order    []drawn
}

// group is what a partition would hold of the sample.
type group struct {
	name  document.Partition
	docs  int
	bytes int64
}

// drawn is when a document of the sample was written last, and its partition.
type drawn struct {
	seq uint64
	of  *group
}

// Unfit is a document that has no partition by the template, and why.
type Unfit struct {
	ID  string
	Why string
}

// shownExamples is how many documents without a partition a report names.
const shownExamples = 5

// NewSurvey begins a survey of the partitions that a template gives.
func NewSurvey(by Template) *Survey {
	return &Survey{by: by, groups: map[document.Partition]*group{}}
}

// Add counts a document: its id, its body, which is a valid JSON object, the bytes it takes, and the sequence of its last
// write.
func (s *Survey) Add(id string, body []byte, size int, seq uint64) {
	p, why := s.by.Partition(id, body)
	if why != "" {
		s.AddUnfit(id, why)
		return
	}
	s.AddTo(p, size, seq)
}

// AddUnfit counts a document that has no partition, and why.
func (s *Survey) AddUnfit(id, why string) {
	s.unfit++
	if len(s.examples) < shownExamples {
		s.examples = append(s.examples, Unfit{shown(id), why})
	}
}

// AddTo counts a document that is known to belong to a partition: the bytes it takes, and the sequence of its last write.
func (s *Survey) AddTo(p document.Partition, size int, seq uint64) {
	g := s.groups[p]
	if g == nil {
		g = &group{name: p}
		s.groups[p] = g
	}
	g.docs++
	g.bytes += int64(size)
	s.docs++
	s.bytes += int64(size)
	s.order = append(s.order, drawn{seq, g})
}

// Report is what a survey found.
type Report struct {
	Sampled    int     // documents looked at
	Unfit      int     // of them, those without a partition
	Partitions int     // different partitions in the sample
	Estimated  float64 // about how many there are in the whole
	Effective  float64 // how many partitions of equal size would be as even
	Largest    []Share // the largest of the sample, in falling order
	Histogram  []Bar   // partitions by the documents that they would hold
	Examples   []Unfit
	Warnings   []Warning
}

// Share is a partition and its part of the whole.
type Share struct {
	Partition document.Partition
	Documents float64 // about how many of the whole
	Bytes     float64
	Part      float64 // of all documents
}

// Bar is the partitions that would hold from From to To documents, and what part of all documents lies in them.
type Bar struct {
	From, To   float64
	Partitions int
	Part       float64
}

const (
	shownLargest = 20
	maxBars      = 40
)

// Report tells of the whole, which has so many documents.
func (s *Survey) Report(documents uint64) Report {
	r := Report{Sampled: s.docs + s.unfit, Unfit: s.unfit, Partitions: len(s.groups), Examples: s.examples}
	groups := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.docs, a.docs), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name))
	})
	times := 0.0 // how many documents each of the sample stands for
	if r.Sampled > 0 {
		times = float64(documents) / float64(r.Sampled)
	}
	for _, g := range groups[:min(len(groups), shownLargest)] {
		r.Largest = append(r.Largest, Share{g.name, float64(g.docs) * times, float64(g.bytes) * times, float64(g.docs) / float64(s.docs)})
	}
	r.Estimated = estimate(groups, s.docs, documents)
	r.Effective = min(effective(groups, s.docs), r.Estimated)
	r.Histogram = histogram(groups, s.docs, times)
	r.Warnings = s.warnings(&r, documents)
	return r
}

// estimate returns about how many partitions there are, by how many the sample has of one and of two documents (the
// estimator that A. Chao gave for numbers of species, 1984, in its form without bias), and no more than there are
// documents.
func estimate(groups []*group, sampled int, documents uint64) float64 {
	if uint64(sampled) >= documents {
		return float64(len(groups))
	}
	once, twice := 0.0, 0.0
	for _, g := range groups {
		switch g.docs {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	return min(float64(len(groups))+once*(once-1)/(2*(twice+1)), float64(documents))
}

// effective returns how many partitions of equal size would bring two documents together as often (the inverse of
// Simpson's index, in its form for samples). Where no two documents of the sample lie together it is infinite.
func effective(groups []*group, sampled int) float64 {
	together := 0.0
	for _, g := range groups {
		together += float64(g.docs) * float64(g.docs-1)
	}
	if together == 0 {
		return math.Inf(1)
	}
	return float64(sampled) * float64(sampled-1) / together
}

// histogram counts partitions by their documents, in bars of which each begins at twice what the one before does.
func histogram(groups []*group, sampled int, times float64) []Bar {
	bars := make([]Bar, 0, maxBars)
	for _, g := range slices.Backward(groups) {
		size := float64(g.docs) * times
		for len(bars) == 0 || size >= bars[len(bars)-1].To {
			from := 1.0
			if len(bars) > 0 {
				from = bars[len(bars)-1].To
			} else if size >= 2 {
				from = math.Exp2(math.Floor(math.Log2(size)))
			}
			bars = append(bars, Bar{From: from, To: 2 * from})
		}
		last := &bars[len(bars)-1]
		last.Partitions++
		last.Part += float64(g.docs) / float64(sampled)
	}
	return bars
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// vectorSets are the vectors that are searched: of a number of clusters, and so spread
// round their centres, which are spread by 1 in each dimension.
var vectorSets = []struct {
	count, dimensions, clusters int
	spread                      float64
}{
	{200_000, 128, 500, 0.5},
	{120_000, 384, 300, 0.5},
	{200_000, 128, 1, 1}, // no clusters: all are about as far away, which is the worst for codes
}

// vectors measures searches for the ten nearest, without a server: by codes beside by
// comparing all, and how many of the nearest codes miss.
func (b *bench) vectors(ctx context.Context) error {
	for _, set := range vectorSets {
		if b.few < 10_000 {
			set.count, set.clusters = set.count/50, max(set.clusters/50, 1)
		}
		r := rand.New(rand.NewPCG(31, uint64(set.dimensions)))
		near := clustered(r, set.clusters, set.dimensions, set.spread)
		over, err := shelf(ctx, set.count, near)
		if err != nil {
			return err
		}
		var asked [][]float64
		for range 100 {
			asked = append(asked, near())
		}
		name := fmt.Sprintf("%d × %d in %d clusters", set.count, set.dimensions, set.clusters)
		err = b.nearest(ctx, name, over, asked, set.clusters > 1)
		if closed := over.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clustered returns what makes vectors round centres.
func clustered(r *rand.Rand, clusters, dimensions int, spread float64) func() []float64 {
	centres := make([]float64, clusters*dimensions)
	if clusters > 1 {
		for i := range centres {
			centres[i] = r.NormFloat64()
		}
	}
	return func() []float64 {
		v := make([]float64, dimensions)
		copy(v, centres[r.IntN(clusters)*dimensions:])
		for i := range v {
			v[i] += spread * r.NormFloat64()
		}
		return v
	}
}

// shelf makes an index of vectors, in segments of about the size that merging makes.
func shelf(ctx context.Context, count int, near func() []float64) (*segment.Reader, error) {
	const most = 20_000
	var sources []segment.Source
	for from := 0; from < count; from += most {
		docs := make([]segment.Document, 0, most)
		for i := from; i < min(from+most, count); i++ {
			v, err := segment.Vector(near(), segment.Cosine)
			if err != nil {
				return nil, err
			}
			docs = append(docs, segment.Document{ID: fmt.Sprintf("%07d", i), Fields: []segment.Field{{Name: "v", Vector: v, Similarity: segment.Cosine}}})
		}
		made, err := segment.Build(docs)
		if err != nil {
			return nil, err
		}
		s, err := segment.Open(made)
		if err != nil {
			return nil, err
		}
		sources = append(sources, segment.Source{Segment: s})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return segment.NewReader(sources, "")
}

// nearest notes the rates of searches by codes and by comparing all, and what the former
// miss.
func (b *bench) nearest(ctx context.Context, name string, over *segment.Reader, asked [][]float64, clustered bool) error {
	f := figure{name: "ten nearest of " + name, unit: "requests/s", ceiling: "all compared"}
	if clustered {
		f.goal = 2
	}
	missed := 0
	for range b.repetitions {
		var found [2][]map[string]bool
		var rates [2]float64
		for i, exact := range []bool{false, true} {
			began := time.Now()
			for _, v := range asked {
				result, err := find.Run(ctx, over, &find.Request{Nearest: &find.Nearest{Field: "v", Vector: v, K: 10, Exact: exact}, Limit: 10, Fields: []string{}})
				if err != nil {
					return err
				}
				ids := map[string]bool{}
				for _, row := range result.Rows {
					ids[row.ID] = true
				}
				found[i] = append(found[i], ids)
			}
			rates[i] = float64(len(asked)) / time.Since(began).Seconds()
		}
		f.add(rates[0], rates[1], 0)
		missed = 0
		for i := range asked {
			for id := range found[1][i] {
				if !found[0][i][id] {
					missed++
				}
			}
		}
	}
	b.report.figures = append(b.report.figures, f)
	b.report.resources = append(b.report.resources, resource{name: "missed of the ten nearest of " + name, amount: float64(missed) * 10 / float64(len(asked)), unit: "%", max: 5})
	return nil
}

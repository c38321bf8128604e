package admin

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/partitionkey"
	"github.com/sectional/sectional/internal/store"
)

// The documents that advice looks at: without a number, at most, and for how long.
const (
	defaultSample = 1000
	maxSample     = 10000
	adviceTime    = 3 * time.Second
	advicePage    = 100 // sequences tried in one snapshot
	adviceTries   = 20  // sequences tried for each document wanted, since some have no document any more
)

// adviceQuery is what GET /{db}/_partition_advice takes.
type adviceQuery struct {
	by     string
	sample int
}

var adviceParams = couchhttp.Params[adviceQuery]{
	"by":     couchhttp.TextParam(func(q *adviceQuery) *string { return &q.by }),
	"sample": couchhttp.CountParam(func(q *adviceQuery) *int { return &q.sample }),
}

// PartitionAdvice answers GET /{db}/_partition_advice: how the database's documents would lie in the partitions of a key.
func PartitionAdvice(r *couchhttp.Request) error {
	q := adviceQuery{sample: defaultSample}
	if err := adviceParams.Read(r.Query, &q); err != nil {
		return err
	}
	if q.sample < 1 || q.sample > maxSample {
		return couchhttp.QueryError("`sample` must be from 1 to %d", maxSample)
	}
	by, err := partitionkey.Parse(q.by)
	if err != nil {
		return err
	}
	survey := partitionkey.NewSurvey(by)
	documents, err := draw(r.Ctx(), r.Scope, q.sample, func(v *store.Revision, seq store.Seq) {
		survey.Add(string(v.ID), v.Body, len(v.Body), uint64(seq))
	})
	if err != nil {
		return err
	}
	report := survey.Report(documents)
	return r.Marshal(http.StatusOK, adviceOf(by, documents, &report))
}

// draw hands each up to so many documents of a scope, without design documents, each document with the same probability:
// those whose last changes are at sequences taken at random. It ends after adviceTime, and returns how many documents
// there are.
func draw(ctx context.Context, s store.Scope, wanted int, each func(*store.Revision, store.Seq)) (documents uint64, err error) {
	t, err := s.Totals(ctx)
	if err != nil {
		return 0, err
	}
	end := time.Now().Add(adviceTime)
	for tries := sequences(t.Seq, wanted*adviceTries); len(tries) > 0 && wanted > 0 && time.Now().Before(end); {
		page := tries[:min(advicePage, len(tries))]
		tries = tries[len(page):]
		err := s.View(ctx, func(v *store.Reader) error {
			for _, seq := range page {
				found, err := at(v, s, seq)
				if err != nil {
					return err
				}
				if found != nil {
					each(found, seq)
					wanted--
				}
				if wanted == 0 || time.Now().After(end) { // large documents take their time
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return t.Docs, nil
}

// sequences returns some sequences up to the last one in random order: all of them, if there are no more than that.
func sequences(last store.Seq, most int) []store.Seq {
	if uint64(last) > uint64(most) {
		some := make([]store.Seq, most)
		for i := range some {
			some[i] = store.Seq(rand.Uint64N(uint64(last))) + 1
		}
		return some
	}
	all := make([]store.Seq, last)
	for i, n := range rand.Perm(len(all)) {
		all[i] = store.Seq(n) + 1
	}
	return all
}

// at returns the document whose last change has a sequence, nil if there is none: it was changed again since, or deleted.
func at(v *store.Reader, s store.Scope, seq store.Seq) (*store.Revision, error) {
	for c, err := range v.ChangesBefore(seq-1, seq+1) {
		if err != nil || c.Seq != seq || c.Deleted || s.Designs(c.ID) {
			return nil, err
		}
		return v.Winner(c.ID)
	}
	return nil, nil
}

// advice is the answer.
type advice struct {
	By         string          `json:"by"`
	Documents  uint64          `json:"documents"`
	Sampled    int             `json:"sampled"`
	Partitions int             `json:"sampled_partitions"`
	Estimated  float64         `json:"estimated_partitions"`
	Effective  float64         `json:"effective_partitions"`
	Unfit      int             `json:"unfit"`
	Examples   []adviceUnfit   `json:"unfit_examples"`
	Largest    []adviceShare   `json:"largest"`
	Histogram  []adviceBar     `json:"histogram"`
	Warnings   []adviceWarning `json:"warnings"`
}

type adviceUnfit struct {
	ID  string `json:"id"`
	Why string `json:"reason"`
}

type adviceShare struct {
	Partition string  `json:"partition"`
	Documents float64 `json:"documents"`
	Bytes     float64 `json:"bytes"`
	Part      float64 `json:"part"`
}

type adviceBar struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Partitions int     `json:"partitions"`
	Part       float64 `json:"part"`
}

type adviceWarning struct {
	Code string `json:"code"`
	Text string `json:"reason"`
}

func adviceOf(by partitionkey.Template, documents uint64, r *partitionkey.Report) advice {
	a := advice{By: by.String(), Documents: documents, Sampled: r.Sampled, Partitions: r.Partitions, Estimated: r.Estimated, Effective: r.Effective, Unfit: r.Unfit,
		Examples: []adviceUnfit{}, Largest: []adviceShare{}, Histogram: []adviceBar{}, Warnings: []adviceWarning{}}
	for _, e := range r.Examples {
		a.Examples = append(a.Examples, adviceUnfit(e))
	}
	for _, l := range r.Largest {
		a.Largest = append(a.Largest, adviceShare{string(l.Partition), l.Documents, l.Bytes, l.Part})
	}
	for _, b := range r.Histogram {
		a.Histogram = append(a.Histogram, adviceBar(b))
	}
	for _, w := range r.Warnings {
		a.Warnings = append(a.Warnings, adviceWarning(w))
	}
	return a
}

package find

import (
	"context"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// Bounds of what a query may cost beside its context.
const (
	// maxClauses is how many terms a query may come to have, as in Lucene. Terms that
	// prefixes, patterns and ranges expand to do not count: they are one set.
	maxClauses = 1024
	// maxSteps is how many postings a query may look at: at 20 to 40 ns each these are
	// five to ten seconds of a processor.
	maxSteps = 1 << 28
	// maxBuffered is about how many bytes an answer may have: all of it is held before its
	// beginning is sent.
	maxBuffered = 64 << 20
	// stride is how many steps go by between two looks at the context.
	stride = 4096
)

// work is what goes on for one query: what it reads, and what it may still cost.
type work struct {
	ctx       context.Context
	index     *segment.Reader
	analyzers Analyzers
	scored    bool                // scores are asked for
	docs      uint64              // in the index
	nouveau   bool                // what is asked is what Nouveau understands
	locale    string              // of numbers in Nouveau's queries
	fields    map[string]*fieldOf // what is known of fields in Nouveau's queries
	clauses   int
	steps     int
	buffered  int       // bytes of the answer
	found     *[]listed // what Nearest found; nil before
}

// step counts a step, and reports whether the query has to end.
func (w *work) step() error { return w.spend(1) }

// spend counts steps.
func (w *work) spend(n int) error {
	before := w.steps
	w.steps += n
	if before/stride == w.steps/stride {
		return nil
	}
	if w.steps > maxSteps {
		return dberr.New(dberr.Invalid, "bad_request", "Query takes too many steps.")
	}
	return w.ctx.Err()
}

// clause counts a clause. Whether anybody waits still is looked at for each: what one
// finds nothing by, such as a pattern, may take long without a step.
func (w *work) clause() error {
	if w.clauses++; w.clauses > maxClauses {
		return dberr.New(dberr.Invalid, "bad_request", "maxClauseCount is set to %d", maxClauses)
	}
	return w.ctx.Err()
}

// About what an answer takes in memory beside its texts.
const (
	rowBytes   = 128
	valueBytes = 64
)

// keep counts bytes of the answer.
func (w *work) keep(bytes int) error {
	if w.buffered += bytes; w.buffered > maxBuffered {
		return dberr.New(dberr.Invalid, "bad_request", "The answer has more than %d bytes: ask for fewer rows, fields or counts", maxBuffered)
	}
	return nil
}

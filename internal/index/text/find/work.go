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
	// maxSteps is how many postings a query may look at.
	maxSteps = 1 << 31
	// maxStored is how many bytes of stored texts the rows of an answer may have: they
	// are all held before the first is sent.
	maxStored = 64 << 20
	// stride is how many steps go by between two looks at the context.
	stride = 4096
)

// work is what goes on for one query: what it reads, and what it may still cost.
type work struct {
	ctx       context.Context
	index     *segment.Reader
	analyzers Analyzers
	scored    bool   // scores are asked for
	docs      uint64 // in the index
	clauses   int
	steps     int
	stored    int // bytes of the rows
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

// clause counts a clause.
func (w *work) clause() error {
	if w.clauses++; w.clauses > maxClauses {
		return dberr.New(dberr.Invalid, "bad_request", "maxClauseCount is set to %d", maxClauses)
	}
	return nil
}

// keep counts what is stored of a row.
func (w *work) keep(bytes int) error {
	if w.stored += bytes; w.stored > maxStored {
		return dberr.New(dberr.Invalid, "bad_request", "The stored fields of the rows have more than %d bytes: ask for fewer rows or fields", maxStored)
	}
	return nil
}

package script

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/packed"
)

// Row is what one call of emit gave: JSON each.
type Row struct {
	Key, Value []byte
	More, Rest []byte // the third and fourth argument, of a realm whose functions emit by another name; nil for others
}

// Mapped is what one map function gave for one document: its rows, or why there are none.
type Mapped struct {
	Rows []Row
	Err  error // what the function threw, or the limit that it met; a *dberr.Error
}

// Map runs the realm's map functions over documents (JSON). It returns, for each document, what each function returned. A function
// that fails for a document has no rows for it; everything else goes on. But when Hopeless documents had to be stopped, the call
// ends with a *GivenUp. The rows share memory.
func (p *Pool) Map(ctx context.Context, realm Realm, docs [][]byte) ([][]Mapped, error) {
	width := len(realm.Functions)
	if width == 0 || len(docs) == 0 {
		return make([][]Mapped, len(docs)), nil
	}
	outcomes, hopeless, err := p.run(ctx, &job{op: opMap, flavour: flavourMap, realm: realm, width: width, inputs: docs})
	if err != nil {
		return nil, err
	}
	if hopeless {
		return nil, givenUp(outcomes)
	}
	cells := make([]Mapped, len(outcomes))
	results := make([][]Mapped, len(docs))
	for i, o := range outcomes {
		cells[i] = mapped(o)
	}
	for i := range results {
		results[i] = cells[i*width : (i+1)*width : (i+1)*width]
	}
	return results, nil
}

// GivenUp says that a map function had to be stopped for Hopeless documents, so that the others were not tried.
type GivenUp struct {
	Err error // the last of the failures, a *dberr.Error
}

// Error returns the failure's text.
func (g *GivenUp) Error() string { return g.Err.Error() }

// Unwrap returns the failure.
func (g *GivenUp) Unwrap() error { return g.Err }

// givenUp makes the error of a job that was given up: what comes last was not tried, and got the last failure.
func givenUp(outcomes []outcome) *GivenUp {
	return &GivenUp{outcomes[len(outcomes)-1].failure.err()}
}

func mapped(o outcome) Mapped {
	if o.failure != nil {
		return Mapped{Err: o.failure.err()}
	}
	c := packed.Read(o.data)
	n := c.Uint()
	if n == 0 {
		return Mapped{}
	}
	rows := make([]Row, 0, min(n, uint64(len(o.data))))
	for ; n > 0 && !c.Failed(); n-- {
		row := Row{Key: c.Bytes(), Value: c.Bytes()}
		if c.Flag() {
			row.More, row.Rest = c.Bytes(), c.Bytes()
		}
		rows = append(rows, row)
	}
	return Mapped{Rows: rows}
}

// ViewFilter runs the realm's first map function over documents and reports for each whether it emitted anything. A failure is an error.
func (p *Pool) ViewFilter(ctx context.Context, realm Realm, docs [][]byte) ([]bool, error) {
	return p.verdicts(ctx, &job{op: opViewFilter, flavour: flavourMap, realm: realm, inputs: docs})
}

// Reduction is the value of a reduce function for one group, or why there is none. In CouchDB such a group has the value null.
type Reduction struct {
	Value []byte // JSON
	Err   error  // what the function threw, or the limit that it met; a *dberr.Error
}

// Group is a set of rows to be reduced to one value.
type Group struct {
	Keys   []byte // JSON: an array of [key, id]
	Values []byte // JSON: an array of as many values
}

// Reduce runs the realm's reduce function of an index over groups of rows.
func (p *Pool) Reduce(ctx context.Context, realm Realm, function int, groups []Group) ([]Reduction, error) {
	inputs := make([][]byte, len(groups))
	for i, g := range groups {
		f := make(packed.Writer, 0, len(g.Keys)+len(g.Values)+16)
		f.Bytes(g.Keys)
		f.Bytes(g.Values)
		inputs[i] = f
	}
	return p.reductions(ctx, &job{op: opReduce, flavour: flavourReduce, realm: realm, index: function, inputs: inputs})
}

// Rereduce runs the same function over values that it gave before: each of values is a JSON array of them.
func (p *Pool) Rereduce(ctx context.Context, realm Realm, function int, values [][]byte) ([]Reduction, error) {
	return p.reductions(ctx, &job{op: opRereduce, flavour: flavourReduce, realm: realm, index: function, inputs: values})
}

func (p *Pool) reductions(ctx context.Context, j *job) ([]Reduction, error) {
	if len(j.inputs) == 0 {
		return nil, nil
	}
	j.width = 1
	outcomes, _, err := p.run(ctx, j)
	if err != nil {
		return nil, err
	}
	reductions := make([]Reduction, len(outcomes))
	for i, o := range outcomes {
		if o.failure != nil {
			reductions[i].Err = o.failure.err()
		} else {
			reductions[i].Value = o.data
		}
	}
	return reductions, nil
}

// verdicts runs a filter; the first failure counts for all.
func (p *Pool) verdicts(ctx context.Context, j *job) ([]bool, error) {
	if len(j.inputs) == 0 {
		return nil, nil
	}
	j.width, j.strict = 1, true
	who := filterOf(ctx, j)
	if err := p.quarantined.refused(who, time.Now()); err != nil {
		return nil, err
	}
	outcomes, _, err := p.run(ctx, j)
	if err != nil {
		return nil, err
	}
	passed := make([]bool, len(outcomes))
	for i, o := range outcomes {
		if o.failure != nil {
			err := o.failure.err()
			if o.failure.limit.stops() {
				p.quarantined.stopped(who, err, time.Now())
			}
			return nil, err
		}
		passed[i] = len(o.data) > 0
	}
	return passed, nil
}

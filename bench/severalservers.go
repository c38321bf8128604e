package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/test/process"
)

// Two servers over one PostgreSQL, beside one of them with the same connections. Everything shares the machine's
// processors, so that a second server brings none.

// several measures writes by two servers: into one database, and into eight at once.
func (o *overPostgres) several(ctx context.Context) (err error) {
	second, err := o.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Kill()) }()
	for _, f := range []struct {
		figure
		databases int
	}{
		{figure{name: "PostgreSQL: PUT into one database by two servers", goal: 1}, 1},
		{figure{name: "PostgreSQL: PUT into eight databases by two servers", goal: 1.2}, 8},
	} {
		if err := o.byTwo(ctx, second, f.figure, f.databases); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// byTwo has new documents written into so many databases by one server and by two, in turns.
func (o *overPostgres) byTwo(ctx context.Context, second *process.Server, f figure, databases int) error {
	f.unit, f.ceiling = "requests/s", "one server"
	for n := range databases {
		if _, err := ask(o.server.Address, "PUT", fmt.Sprintf("/several%d-%d?partitioned=true", databases, n), nil); err != nil {
			return err
		}
	}
	for repetition := range o.repetitions {
		var rates [2]float64
		for i, others := range [][]string{nil, {second.Address}} {
			// Of one database's connections each server has half.
			requests := o.shared(databases, fmt.Sprintf("new%d-%d", repetition, i))
			r, _, err := o.metered(ctx, o.server, func() (result, error) {
				return drive(load{address: o.server.Address, others: others, workers: connections, limit: o.duration / 2, request: requests})
			})
			if err != nil {
				return err
			}
			rates[i] = r.rate()
		}
		f.add(rates[1], rates[0], 0)
	}
	o.report.figures = append(o.report.figures, f)
	return nil
}

// shared makes PUTs of new documents: each pair of neighbouring connections writes into one database.
func (o *overPostgres) shared(databases int, name string) func(worker, turn int) []byte {
	requests := make([][]byte, int(o.duration.Seconds()*12_500))
	for n := range requests {
		worker := n % connections
		requests[n] = call("PUT", fmt.Sprintf("/several%d-%d/%s-%d:%08d", databases, worker/2%databases, name, n%1000, n), document(n, ""))
	}
	return dealt(requests)
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/testkit/process"
)

// Two servers over one PostgreSQL, beside one of them with the same connections. Everything shares the machine's
// processors, so that a second server brings none. Few writers of a database wait for one commit after another, by two
// servers twice as often as by one; of many writers it shows what a document costs. So both are measured.

// several measures writes by two servers: into one database, and into eight at once.
func (o *overPostgres) several(ctx context.Context) (err error) {
	second, err := o.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Kill()) }()
	for _, f := range []struct {
		figure
		writers
	}{
		{figure{name: "PostgreSQL: PUT into one database by two servers", goal: 1}, writers{databases: 1, clients: connections}},
		{figure{name: "PostgreSQL: PUT into eight databases by two servers", goal: 1.2}, writers{databases: 8, clients: connections}},
		{figure{name: "PostgreSQL: the same, each database's writes at one server"}, writers{databases: 8, clients: connections, apart: true}},
		{figure{name: "PostgreSQL: PUT into one database by two servers, 128 clients"}, writers{databases: 1, clients: 128}},
		{figure{name: "PostgreSQL: PUT into eight databases by two servers, 128 clients"}, writers{databases: 8, clients: 128}},
	} {
		if err := o.byTwo(ctx, second, f.figure, f.writers); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// writers are clients that write new documents, each into one of some databases. With two servers every second client
// asks the second.
type writers struct {
	databases, clients int
	apart              bool // all clients of a database ask the same server
}

func (w writers) database(n int) string {
	return fmt.Sprintf("/several-%d-%t-%d-%d", w.clients, w.apart, w.databases, n)
}

// byTwo has the writers write by one server and by two, in turns.
func (o *overPostgres) byTwo(ctx context.Context, second *process.Server, f figure, w writers) error {
	f.unit, f.ceiling = "requests/s", "one server"
	for n := range w.databases {
		if _, err := ask(o.server.Address, "PUT", w.database(n)+"?partitioned=true", nil); err != nil {
			return err
		}
	}
	for repetition := range o.repetitions {
		var rates [2]float64
		for i, others := range [][]string{nil, {second.Address}} {
			requests := o.shared(w, fmt.Sprintf("new%d-%d", repetition, i))
			r, _, err := o.metered(ctx, o.server, func() (result, error) {
				return drive(load{address: o.server.Address, others: others, workers: w.clients, limit: o.duration / 2, request: requests})
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

// shared makes the writers' requests.
func (o *overPostgres) shared(w writers, name string) func(worker, turn int) []byte {
	requests := make([][]byte, int(o.duration.Seconds()*12_500))
	for n := range requests {
		database := n % w.clients / 2 % w.databases // neighbours, of whom each server has one
		if w.apart {
			database = n % w.clients % w.databases
		}
		requests[n] = call("PUT", fmt.Sprintf("%s/%s-%d:%08d", w.database(database), name, n%1000, n), document(n, ""))
	}
	return dealtTo(requests, w.clients)
}

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// What the forecasts suppose.
const (
	serverCores   = 4
	postgresCores = 32
	readers       = 22 // of 32 connections
	perServer     = 64 // clients that wait at each server
)

var (
	serverCounts = []int{3, 30, 300}
	trips        = []float64{0.5, 1, 5} // ms
)

// printer writes tables and remembers the first failure.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

func (p *printer) head(cells ...string) {
	p.row(cells...)
	p.line("|%s", strings.Repeat("---|", len(cells)))
}

// about writes a number with two digits that count.
func about(x float64) string {
	if x <= 0 {
		return "0"
	}
	if x < 10 {
		return fmt.Sprintf("%.2g", x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return thousands(math.Round(x/unit) * unit)
}

func thousands(x float64) string {
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// print writes all tables.
func print(w io.Writer, in inputs) error {
	p := &printer{w: w}
	p.inputs(in)
	p.line("")
	p.forecasts(in)
	p.line("")
	p.lanes(in)
	p.line("")
	p.standing(in)
	p.line("")
	p.checks(in)
	return p.err
}

func (p *printer) inputs(in inputs) {
	p.line("Measured on %s, %s:\n", in.Machine, in.When)
	p.head("request", "round trips", "µs of the server", "µs of PostgreSQL")
	for _, k := range in.Kinds {
		p.row(k.Name, fmt.Sprintf("%.1f", k.Trips), fmt.Sprintf("%.0f", k.Server), fmt.Sprintf("%.0f", k.Postgres))
	}
	p.line("")
	p.head("beside them", "")
	p.row("a commit waits for the disk", fmt.Sprintf("%.0f µs", in.Flush))
	p.row("one more document in a commit: PostgreSQL, server", fmt.Sprintf("%.0f µs, %.0f µs", in.Document, in.Loaded))
	p.row("a server that nobody asks: round trips and commits in a second", fmt.Sprintf("%.1f, %.1f", in.Idle.Trips, in.Idle.Commits))
	p.row("a message of a change: to send it, and to deliver it to one server, at PostgreSQL", fmt.Sprintf("%.0f µs, %.1f µs", in.Notify, in.Deliver))
	p.row("memory of a connection at PostgreSQL", fmt.Sprintf("%.1f MB", in.Backend))
}

func (p *printer) forecasts(in inputs) {
	p.line("Requests in a second, with %d cores for each server, %d for PostgreSQL, and %d clients that wait at each server:\n", serverCores, postgresCores, perServer)
	p.head("servers", "round trip", "`GET`", "`_find` of 25", "feed of 100", "`PUT` into 1,000 databases", "`PUT` into one")
	for _, n := range serverCounts {
		for _, trip := range trips {
			s := site{servers: n, cores: serverCores, postgres: postgresCores, trip: trip * 1000, connections: readers, clients: n * perServer}
			cells := []string{fmt.Sprint(n), fmt.Sprintf("%g ms", trip)}
			for _, name := range []string{"GET", "_find", "_changes"} {
				cells = append(cells, about(in.reads(in.of(name), s)))
			}
			for _, s.databases = range []int{1000, 1} {
				cells = append(cells, about(in.writes(s)))
			}
			p.row(cells...)
		}
	}
}

// lanes says what one database does: one writer alone, and as many as there is use for.
func (p *printer) lanes(in inputs) {
	p.line("One database, whatever the number of servers:\n")
	p.head("round trip", "commits/s by one server", "commits/s by several", "`PUT`/s of one client", "of 100 clients, one server", "of 100 clients, three servers", "documents/s in bulks of 500, 4 at once")
	for _, trip := range trips {
		s := site{servers: 1, cores: serverCores, postgres: postgresCores, trip: trip * 1000, databases: 1, clients: 1}
		cells := []string{fmt.Sprintf("%g ms", trip), about(1e6 / in.lane(s, 1, 1)), about(1e6 / in.lane(s, 2, 1)), about(in.writes(s))}
		s.clients = 100
		cells = append(cells, about(in.writes(s)))
		s.servers = 3
		cells = append(cells, about(in.writes(s)), about(1000/in.lane(s, 1, 1000)*1e6))
		p.row(cells...)
	}
}

func (p *printer) standing(in inputs) {
	p.line("What servers ask of PostgreSQL beside requests:\n")
	p.head("servers", "idle: trips/s", "commits/s", "cores", "connections at 32 each", "their memory", "each, of 1,000 in all", "cores for news of 1,000 databases/s")
	for _, n := range serverCounts {
		s := in.standing(n, 32)
		p.row(fmt.Sprint(n), about(s.trips), about(s.commits), about(s.cores), thousands(float64(s.connections)), about(s.memory)+" GB", fmt.Sprint(s.each), about(s.fanOut))
	}
}

// Of the machine of the checks, whose two processors everything shares: what is left for each of the two, and what the
// proxy itself takes, in µs.
const (
	checkCores = 1
	proxyTrip  = 150
)

// expected is what the model says of a check on a machine that is slower than the inputs by a factor.
func (in inputs) expected(c check, slower float64) float64 {
	kinds := make([]kind, len(in.Kinds))
	for i, k := range in.Kinds {
		kinds[i] = kind{k.Name, k.Trips, k.Server * slower, k.Postgres * slower}
	}
	then := inputs{Kinds: kinds, Flush: in.Flush * slower, Document: in.Document * slower, Loaded: in.Loaded * slower}
	s := site{servers: c.Servers, cores: checkCores / float64(c.Servers), postgres: checkCores, trip: c.Delay*1000 + proxyTrip*slower, connections: readers, clients: c.Clients, databases: 1}
	if c.Kind == "PUT" {
		return then.writes(s)
	}
	return then.reads(then.of(c.Kind), s)
}

// slower is the factor at which the model says what was measured.
func (in inputs) slower(c check) float64 {
	least, most := 0.01, 1000.0
	for range 60 {
		if middle := math.Sqrt(least * most); in.expected(c, middle) > c.Rate {
			least = middle
		} else {
			most = middle
		}
	}
	return math.Sqrt(least * most)
}

// base is the delay whose measurement says how slow the machine is; without one the proxy does not sleep, which takes
// longer than it should where processors are wanted by others.
const base = 0.5

// checks prints what was measured beside what the model says.
func (p *printer) checks(in inputs) {
	p.line("What a slower network does, on this machine, in requests a second:\n")
	p.head("", "no delay, measured", "0.5 ms, measured", "slower than its work by", "1 ms: model", "measured", "5 ms: model", "measured")
	var cells []string
	slower := 1.0
	for i, c := range in.Checks {
		switch {
		case c.Delay == 0:
			cells = []string{c.What, about(c.Rate)}
		case c.Delay == base:
			slower = in.slower(c)
			cells = append(cells, about(c.Rate), fmt.Sprintf("%.1f×", slower))
		default:
			cells = append(cells, about(in.expected(c, slower)), about(c.Rate))
		}
		if i == len(in.Checks)-1 || in.Checks[i+1].Delay == 0 {
			p.row(cells...)
		}
	}
}

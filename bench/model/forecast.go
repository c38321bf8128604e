package main

import "math"

// kind is what a request costs when it is alone.
type kind struct {
	Name     string
	Trips    float64 // round trips to PostgreSQL, one after the other
	Server   float64 // µs of a server's processor
	Postgres float64 // µs of PostgreSQL's processors
}

// inputs are what was measured.
type inputs struct {
	When, Machine string
	Kinds         []kind
	Flush         float64 // µs that a commit waits for the disk of PostgreSQL
	Document      float64 // µs of PostgreSQL's processors for one more document in a commit
	Loaded        float64 // µs of a server's processor for it
	Idle          idle
	Notify        float64 // µs of PostgreSQL's processors to send one message
	Deliver       float64 // and to deliver it to one server
	Backend       float64 // MB of memory of a connection's process at PostgreSQL
	Checks        []check
}

// idle is what a server without requests asks of PostgreSQL, in a second.
type idle struct {
	Trips   float64
	Commits float64
}

// check is a measurement beside what the model says of it.
type check struct {
	What    string
	Kind    string
	Servers int
	Clients int
	Delay   float64 // ms that are added to each round trip
	Rate    float64 // requests in a second, measured
}

// site is what a forecast is about.
type site struct {
	servers     int
	cores       float64 // of a server
	postgres    float64 // cores of PostgreSQL
	trip        float64 // µs of a round trip
	connections int     // of a server, for reads
	databases   int     // that are written to
	clients     int     // that wait for an answer each
}

// of returns a kind of request.
func (in inputs) of(name string) kind {
	for _, k := range in.Kinds {
		if k.Name == name {
			return k
		}
	}
	return kind{}
}

// reads returns how many requests of a kind are answered in a second: by exact mean value analysis of a closed network.
// Trips are a delay; the processors of all servers, those of PostgreSQL and the connections are stations. A station of m
// places is one that is m times as fast and a delay for the rest, so that a request alone takes what it takes.
func (in inputs) reads(k kind, s site) float64 {
	places := []struct{ demand, many float64 }{
		{k.Server, float64(s.servers) * s.cores},
		{k.Postgres, s.postgres},
	}
	delay := k.Trips * s.trip
	demands := make([]float64, len(places))
	for i, p := range places {
		demands[i] = p.demand / p.many
		delay += p.demand - demands[i]
	}
	rate := closed(demands, delay, s.clients)
	// A connection is held for the trips and for what PostgreSQL does.
	held := k.Trips*s.trip + k.Postgres
	return min(rate, float64(s.servers*s.connections)/held*1e6)
}

// closed is exact mean value analysis: requests in a second of clients that go through stations, with times in µs.
func closed(demands []float64, delay float64, clients int) (rate float64) {
	queue := make([]float64, len(demands))
	for n := 1; n <= clients; n++ {
		total := delay
		times := make([]float64, len(demands))
		for i, d := range demands {
			times[i] = d * (1 + queue[i])
			total += times[i]
		}
		rate = float64(n) / total
		for i := range queue {
			queue[i] = rate * times[i]
		}
	}
	return rate * 1e6
}

// lane is how long a database's lane head is locked for a commit of n documents, in µs. One server has the lock from
// before it asks for its rows until the answer to the commit. Where several want it, the next one's request waits at
// PostgreSQL itself, so that a trip less lies between two commits.
func (in inputs) lane(s site, writers int, n float64) float64 {
	trips := 2.0
	if writers > 1 {
		trips = 1
	}
	put := in.of("PUT")
	// What PostgreSQL does for a PUT alone is the look at rights, the read of the rows and the commit.
	return trips*s.trip + put.Postgres*2/3 + (n-1)*in.Document + in.Flush
}

// writes returns how many documents are written in a second by PUTs of clients who wait. A server commits what has
// gathered while the commit before was under way: alone with a database, it has half of the clients in one commit and
// the others in the next; of several servers each has all of its own clients in its turn.
func (in inputs) writes(s site) float64 {
	put := in.of("PUT")
	perDatabase := max(float64(s.clients)/float64(s.databases), 1)
	writers := 1 // servers that write to one database
	if perDatabase > 1 {
		writers = min(s.servers, int(perDatabase))
	}
	group := max(perDatabase/float64(max(writers, 2)), 1)
	hold := in.lane(s, writers, group)
	// A client alone waits for the look at rights and the server too.
	alone := (put.Trips-2)*s.trip + put.Postgres/3 + put.Server
	lanes := float64(s.databases) * group / hold * 1e6
	latency := float64(s.clients) / (in.lane(s, 1, 1) + alone) * 1e6
	if perDatabase > 1 {
		latency = math.Inf(1)
	}
	// The processors: what a commit costs is shared by its group.
	postgres := (put.Postgres-in.Document)/group + in.Document
	server := (put.Server-in.Loaded)/group + in.Loaded
	if group > 1 {
		postgres += put.Postgres / 3 * (1 - 1/group) // each request looks at its rights
		server = put.Server
	}
	rest := float64(s.clients) / (alone + hold) * 1e6
	return min(lanes, latency, rest*2, s.postgres/postgres*1e6, float64(s.servers)*s.cores/server*1e6)
}

// standing is what PostgreSQL is asked by servers that nobody asks, and what the news of a write cost.
type standing struct {
	trips, commits, cores float64 // in a second
	connections           int     // with the default
	memory                float64 // GB of PostgreSQL for these
	each                  int     // connections of a server that fit into a thousand
	fanOut                float64 // cores of PostgreSQL for the messages of a thousand changed databases in a second
}

// beside is how many connections a server has beside [engine] connections: to listen, and to ask whether PostgreSQL
// answers.
const beside = 2

func (in inputs) standing(servers, connections int) standing {
	n := float64(servers)
	all := servers * (connections + beside)
	get := in.of("GET") // its trips are as small as those of idle servers
	// Messages go out at most each 5 ms, many at a time; each is delivered to every server.
	return standing{
		trips: n * in.Idle.Trips, commits: n * in.Idle.Commits, cores: n * in.Idle.Trips * get.Postgres / get.Trips / 1e6,
		connections: all, memory: float64(all) * in.Backend / 1024, each: 1000/servers - beside,
		fanOut: 1000 * (in.Notify + n*in.Deliver) / 1e6,
	}
}

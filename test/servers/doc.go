// Package servers tests several processes of the server over one PostgreSQL, behind a load balancer, as those meet them
// who run more than one: each test has a database of its own in a private cluster, and processes that it kills, pauses
// and starts again. It owns the processes and the balancer too, which command three makes one program of, so that tests
// written for one server run against several. Begin reading at Launch; tests begin with start.
package servers

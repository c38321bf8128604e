package main

import (
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPage holds that docs/scaling.md has the tables that the program prints from the recorded inputs.
func TestPage(t *testing.T) {
	in, err := read(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := print(&out, in); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scaling.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- printed by go run ./bench/model -->\n")
	tables, _, _ := strings.Cut(rest, "<!-- end -->")
	if strings.TrimSpace(tables) != strings.TrimSpace(out.String()) {
		t.Errorf("go run ./bench/model prints\n%s", out.String())
	}
	if len(in.Kinds) != len(kindNames) || len(in.Checks) == 0 {
		t.Errorf("%d kinds, %d checks are recorded", len(in.Kinds), len(in.Checks))
	}
}

// example are inputs with which results can be computed by hand.
var example = inputs{Kinds: []kind{{Name: "GET", Trips: 2, Server: 100, Postgres: 100}, {Name: "PUT", Trips: 3, Server: 100, Postgres: 300}}, Flush: 800, Document: 0, Loaded: 0}

// TestBounds holds what is known of the model without it: of a client alone, of many, and of a database.
func TestBounds(t *testing.T) {
	s := site{servers: 1, cores: 1, postgres: 1, trip: 1000, connections: 1000, databases: 1, clients: 1}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > want/100 {
			t.Errorf("%s: %.1f, not %.1f", what, got, want)
		}
	}
	near("a client alone", example.reads(example.of("GET"), s), 1e6/2200)
	s.clients = 1000
	near("many, by the processors", example.reads(example.of("GET"), s), 10_000)
	s.connections = 2
	near("many, by the connections", example.reads(example.of("GET"), s), 2/2100e-6)
	near("commits by one server", 1e6/example.lane(s, 1, 1), 1e6/3000.0)
	near("by several", 1e6/example.lane(s, 2, 1), 1e6/2000.0)
	s.clients = 1
	near("a writer alone", example.writes(s), 1e6/(3000+1000+100+100))
	s.servers, s.postgres, s.clients = 10, 1000, 100
	near("many writers of a database, ten servers", example.writes(s), 10/2000e-6)
	s.servers, s.clients = 1, 10
	near("ten of one server, two groups", example.writes(s), 5/3000e-6)
}

// TestMoreIsNotLess: more servers, more cores and shorter trips never make less of what the model says of reads.
func TestMoreIsNotLess(t *testing.T) {
	base := site{servers: 3, cores: 2, postgres: 4, trip: 1000, connections: 22, databases: 10, clients: 100}
	before := example.reads(example.of("GET"), base)
	for name, change := range map[string]func(*site){
		"servers": func(s *site) { s.servers++ }, "cores": func(s *site) { s.cores++ }, "PostgreSQL": func(s *site) { s.postgres++ },
		"trips": func(s *site) { s.trip /= 2 }, "connections": func(s *site) { s.connections++ },
	} {
		s := base
		change(&s)
		if after := example.reads(example.of("GET"), s); after < before*0.999 {
			t.Errorf("%s: %.0f after %.0f", name, after, before)
		}
	}
}

// TestSlowly: what goes through the proxy arrives in order, and not before its time.
func TestSlowly(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		text := make([]byte, 100)
		for {
			n, err := conn.Read(text)
			if err != nil {
				return
			}
			if _, err := conn.Write(text[:n]); err != nil {
				return
			}
		}
	}()
	p, err := newSlowly(socket, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"one", "two", "three"} {
		began := time.Now()
		if _, err := conn.Write([]byte(word)); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 100)
		n, err := conn.Read(text)
		if err != nil || string(text[:n]) != word {
			t.Fatalf("%q, %v", text[:n], err)
		}
		if took := time.Since(began); took < 20*time.Millisecond {
			t.Errorf("a round trip took %s", took)
		}
	}
	conn.Close()
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

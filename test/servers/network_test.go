package servers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// network is servers that have a network namespace each, with two links to this one: by the first clients reach it, by
// the second it reaches PostgreSQL. Either can be cut in either direction, silently, as a switch that fails does.
type network struct {
	t    *testing.T
	name string // what all names begin with
	base string // what all addresses begin with
}

// link is one of the two.
type link int

const (
	toClients  link = 0
	toPostgres link = 1
)

// connect makes a network for the length of a test. It is nil where this process may not, or has not what it takes.
func connect(t *testing.T, servers int) *network {
	t.Helper()
	n := &network{t, fmt.Sprintf("s%d", os.Getpid()%1_000_000), fmt.Sprintf("198.18.%d.", os.Getpid()%250)}
	if out, err := exec.Command("ip", "netns", "add", n.space(0)).CombinedOutput(); err != nil {
		t.Run("Cut", func(t *testing.T) { t.Skipf("NOT TESTED: no network namespaces here: %v %s", err, out) })
		return nil
	}
	for i := range servers {
		if i > 0 {
			n.ip("netns", "add", n.space(i))
		}
		t.Cleanup(func() { n.ip("netns", "del", n.space(i)) })
		for _, l := range []link{toClients, toPostgres} {
			t.Cleanup(func() { n.ip("link", "del", n.end(i, l)) })
			n.ip("link", "add", n.end(i, l), "type", "veth", "peer", "name", n.far(l), "netns", n.space(i))
			n.ip("addr", "add", n.here(i, l)+"/30", "dev", n.end(i, l))
			n.ip("link", "set", n.end(i, l), "up")
			n.there(i, "addr", "add", n.address(i, l)+"/30", "dev", n.far(l))
			n.there(i, "link", "set", n.far(l), "up")
		}
		n.there(i, "link", "set", "lo", "up")
		n.there(i, "route", "add", n.postgres(), "via", n.here(i, toPostgres))
	}
	n.ip("addr", "add", n.postgres()+"/32", "dev", n.end(0, toPostgres))
	return n
}

// The names and addresses: of a namespace, of a link's ends, and of PostgreSQL.
func (n *network) space(i int) string           { return fmt.Sprintf("%s-%d", n.name, i) }
func (n *network) end(i int, l link) string     { return fmt.Sprintf("%s-%d%d", n.name, i, l) }
func (n *network) far(l link) string            { return fmt.Sprintf("link%d", l) }
func (n *network) here(i int, l link) string    { return fmt.Sprintf("%s%d", n.base, 8*i+4*int(l)+1) }
func (n *network) address(i int, l link) string { return fmt.Sprintf("%s%d", n.base, 8*i+4*int(l)+2) }
func (n *network) postgres() string             { return n.base + "254" }

// ip runs the command of that name.
func (n *network) ip(arguments ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		n.t.Errorf("ip %s: %v %s", strings.Join(arguments, " "), err, out)
	}
}

// there runs it in the namespace of a server.
func (n *network) there(i int, arguments ...string) {
	n.t.Helper()
	n.ip(append([]string{"-n", n.space(i)}, arguments...)...)
}

// place says where a server runs.
func (n *network) place(i int) Place {
	return Place{Couch: n.address(i, toClients) + ":5984", Dynamo: n.address(i, toClients) + ":8000",
		Under: []string{"ip", "netns", "exec", n.space(i)}}
}

// nobody is an address of a network card that nobody has.
const nobody = "02:00:00:00:00:99"

// cut has what goes to a server over a link, or comes from it, be lost.
func (n *network) cut(i int, l link, to, from bool) {
	n.t.Helper()
	if to {
		n.ip("neigh", "replace", n.address(i, l), "lladdr", nobody, "dev", n.end(i, l), "nud", "permanent")
	}
	if from {
		n.there(i, "neigh", "replace", n.here(i, l), "lladdr", nobody, "dev", n.far(l), "nud", "permanent")
	}
}

// mend undoes cut.
func (n *network) mend(i int, l link, to, from bool) {
	n.t.Helper()
	if to {
		n.ip("neigh", "del", n.address(i, l), "dev", n.end(i, l))
	}
	if from {
		n.there(i, "neigh", "del", n.here(i, l), "dev", n.far(l))
	}
}

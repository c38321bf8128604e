package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// site is everything that compose.yaml starts.
type site struct {
	primary, standby *database
	servers          []*process.Server
	options          []process.Options
	base, dynamo     string    // of the balancer
	balancer         *exec.Cmd // the last one that was started
}

// requiredBalancer is the variable of the environment that makes tests fail, not pass over, where HAProxy is missing.
const requiredBalancer = "SECTIONAL_HAPROXY_REQUIRED"

// launch starts all of it for the length of a test.
func launch(t *testing.T) *site {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		if os.Getenv(requiredBalancer) != "" {
			t.Fatal(err)
		}
		t.Skip("NOT TESTED: HAProxy is not installed (apt-get install haproxy)")
	}
	s := &site{}
	s.primary, s.standby = pair(t)
	s.serve(t)
	s.balance(t, haproxy)
	return s
}

// serve starts the servers with the arguments and variables of compose.yaml, side by side.
func (s *site) serve(t *testing.T) {
	t.Helper()
	p := mustCompose(t)
	names := servers(p)
	s.servers, s.options = make([]*process.Server, len(names)), make([]process.Options, len(names))
	var group sync.WaitGroup
	failures := make([]error, len(names))
	for i, name := range names {
		service := p.Services[name]
		o := process.Options{Binary: process.Binary(), Dir: filepath.Join(t.TempDir(), "data"), Anonymous: true, Listen: freeAddress(t)}
		for _, a := range service.Command[1:] {
			switch option, _, _ := strings.Cut(a, "="); option {
			case "--data", "--listen":
			case "--dynamodb":
				o.Args = append(o.Args, option+"="+freeAddress(t))
			case "--config":
				o.Args = append(o.Args, option+"="+filepath.Join(files, "sectional.ini"))
			case "--postgres":
				o.Args = append(o.Args, option+"="+shared(service.Command, s.primary, s.standby))
			default:
				o.Args = append(o.Args, a)
			}
		}
		for key, value := range service.Environment {
			o.Env = append(o.Env, key+"="+*value)
		}
		o.Env = append(o.Env, "SECTIONAL_TEST_FSYNC_OFF=1")
		s.options[i] = o
		group.Go(func() { s.servers[i], failures[i] = process.Launch(t.Context(), o) })
	}
	group.Wait()
	t.Cleanup(func() { s.end(t) })
	for _, err := range failures {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// end kills what runs.
func (s *site) end(t *testing.T) {
	for i, server := range s.servers {
		if server == nil {
			continue
		}
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("server %d printed:\n%s", i, server.Output())
		}
	}
}

// option returns the value of an argument of a server.
func (s *site) option(i int, name string) string {
	for _, a := range s.options[i].Args {
		if value, ok := strings.CutPrefix(a, name+"="); ok {
			return value
		}
	}
	return ""
}

// balance starts HAProxy with its file, and with further variables of the environment.
func (s *site) balance(t *testing.T, haproxy string, variables ...string) {
	t.Helper()
	couch, dynamo := freeAddress(t), freeAddress(t)
	s.base, s.dynamo = "http://"+couch, "http://"+dynamo
	balancer := exec.Command(haproxy, "-db", "-f", filepath.Join(files, "haproxy.cfg"))
	balancer.Env = append(append(os.Environ(), "MAXCONN=1000", "COUCHDB="+couch, "DYNAMODB="+dynamo), variables...)
	for i, name := range []string{"ONE", "TWO", "THREE"} {
		balancer.Env = append(balancer.Env, name+"="+s.servers[i].Address, name+"_DYNAMODB="+s.option(i, "--dynamodb"))
	}
	s.balancer = balancer
	var output process.Output
	balancer.Stdout, balancer.Stderr = &output, &output
	if err := balancer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = balancer.Process.Kill() // it may have ended
		_ = balancer.Wait()
		if t.Failed() {
			t.Logf("the balancer printed:\n%s", output.String())
		}
	})
	c := s.client("")
	process.Within(t, time.Minute, "the balancer answers", func() bool {
		a, err := c.do(t.Context(), "GET", "/_up", nil)
		return err == nil && a.status == 200
	})
}

// restart ends a server in good order, as a container's stop does, and starts it again where it was.
func (s *site) restart(t *testing.T, i int) {
	t.Helper()
	if err := s.servers[i].Interrupt(); err != nil {
		t.Fatal(err)
	}
	if code, err := s.servers[i].Wait(30 * time.Second); err != nil || code != 0 {
		t.Fatalf("server %d: code %d, %v", i, code, err)
	}
	var err error
	if s.servers[i], err = process.Launch(t.Context(), s.options[i]); err != nil {
		t.Fatal(err)
	}
	s.backInTurn(t, i)
}

// backInTurn waits until the balancer sends requests to a server, whose name answers tell.
func (s *site) backInTurn(t *testing.T, i int) {
	t.Helper()
	c := s.client("")
	own, err := newClient(s.servers[i].Base, "").do(t.Context(), "GET", "/_node/_local", nil)
	if err != nil {
		t.Fatal(err)
	}
	process.Within(t, time.Minute, "the balancer sends requests to the server again", func() bool {
		a, err := c.do(t.Context(), "GET", "/_node/_local", nil)
		return err == nil && string(a.body) == string(own.body)
	})
}

// check ends the servers and has all data read.
func (s *site) check(t *testing.T) {
	t.Helper()
	for i, server := range s.servers {
		if err := server.Kill(); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
	}
	cmd := exec.Command(process.Binary(), "check", "--engine=postgres", "--postgres="+s.option(0, "--postgres"))
	cmd.Env = append(os.Environ(), s.options[0].Env...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "is sound") {
		t.Errorf("%v\n%s", err, out)
	}
}

// stopBalancer tells the balancer to end as its container's stop does.
func (s *site) stopBalancer(t *testing.T) {
	t.Helper()
	signals := map[string]syscall.Signal{"SIGUSR1": syscall.SIGUSR1}
	signal, ok := signals[mustCompose(t).Services["balancer"].StopSignal]
	if !ok {
		t.Fatal("the balancer is not told to end by SIGUSR1")
	}
	if err := s.balancer.Process.Signal(signal); err != nil {
		t.Fatal(fmt.Errorf("the balancer: %w", err))
	}
}

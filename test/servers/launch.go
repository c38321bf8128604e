package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// Options say what to start.
type Options struct {
	Binary   string
	Dir      string // for the data directories of the servers
	Postgres string // the URL of the database that they share
	Count    int
	Listen   string   // where the balancer listens; a free port of the loopback interface where empty
	Dynamo   string   // where the balancer of the DynamoDB API listens; there is none where empty
	Args     []string // further arguments of `serve`
	// Place says where a server listens, and under what it runs; nil: at the loopback interface.
	Place func(i int) Place
	// Die has the servers end with the thread that starts them.
	Die bool
}

// Place is where a server runs.
type Place struct {
	Couch, Dynamo string   // addresses; a free port of the loopback interface where empty
	Under         []string // process.Options.Under
}

// Servers are processes that share a database, behind balancers.
type Servers struct {
	*Balancer           // of CouchDB's API
	Dynamo    *Balancer // of the DynamoDB API; nil for none
	o         Options
	all       []*process.Server
	options   []process.Options
}

var dynamoListens = regexp.MustCompile(`The DynamoDB API listens on (\S+)`)

// Launch starts servers side by side and returns when all answer.
func Launch(ctx context.Context, o Options) (s *Servers, err error) {
	s = &Servers{o: o, all: make([]*process.Server, o.Count), options: make([]process.Options, o.Count)}
	for i := range s.options {
		if s.options[i], err = s.prepare(i); err != nil {
			return nil, err
		}
		// The thread that starts them is this one.
		if s.all[i], err = process.Spawn(s.options[i]); err != nil {
			return nil, errors.Join(err, s.Kill())
		}
		s.options[i].Listen = s.all[i].Address
	}
	failures := make([]error, o.Count)
	var group sync.WaitGroup
	for i, p := range s.all {
		group.Go(func() {
			if failures[i] = p.Ready(ctx); failures[i] == nil && o.Dynamo != "" {
				failures[i] = dynamoReady(ctx, p)
			}
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	if err := s.balance(); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// dynamoReady waits until a server that answers has also said where its DynamoDB API listens.
func dynamoReady(ctx context.Context, p *process.Server) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !dynamoListens.MatchString(p.Output()) {
		select {
		case <-ctx.Done():
			return errors.New("not every server serves the DynamoDB API")
		case <-tick.C:
		}
	}
	return nil
}

// prepare makes a data directory and says how a server is started over it.
func (s *Servers) prepare(i int) (process.Options, error) {
	var place Place
	if s.o.Place != nil {
		place = s.o.Place(i)
	}
	dir, err := os.MkdirTemp(s.o.Dir, "server")
	args := append([]string{"--engine", "postgres", "--postgres", s.o.Postgres}, s.o.Args...)
	if s.o.Dynamo != "" {
		// A server that is started again listens where it did.
		if place.Dynamo == "" {
			address, failure := process.FreeAddress()
			place.Dynamo, err = address, errors.Join(err, failure)
		}
		args = append(args, "--dynamodb", place.Dynamo)
	}
	// The cluster is a test's, and has fsync off.
	env := []string{"SECTIONAL_TEST_FSYNC_OFF=1"}
	return process.Options{Binary: s.o.Binary, Dir: filepath.Join(dir, "data"), Listen: place.Couch, Under: place.Under,
		Args: args, Env: env, Die: s.o.Die}, err
}

// balance starts the balancers.
func (s *Servers) balance() (err error) {
	if s.o.Listen == "" {
		s.o.Listen = "127.0.0.1:0"
	}
	var couch, health, dynamo []string
	for _, p := range s.all {
		couch, health = append(couch, p.Base), append(health, p.Base+"/_up")
		if found := dynamoListens.FindStringSubmatch(p.Output()); found != nil {
			dynamo = append(dynamo, found[1])
		}
	}
	if s.Balancer, err = NewBalancer(s.o.Listen, couch, health); err != nil || s.o.Dynamo == "" {
		return err
	}
	if len(dynamo) != len(couch) {
		return errors.New("not every server serves the DynamoDB API")
	}
	s.Dynamo, err = NewBalancer(s.o.Dynamo, dynamo, health)
	return err
}

// Server returns one of the processes.
func (s *Servers) Server(i int) *process.Server { return s.all[i] }

// Restart starts a server again that has ended, at its address and over its data directory.
func (s *Servers) Restart(ctx context.Context, i int) (err error) {
	s.all[i], err = process.Launch(ctx, s.options[i])
	return err
}

// Pause has a server stand still.
func (s *Servers) Pause(i int) error { return syscall.Kill(s.all[i].PID, syscall.SIGSTOP) }

// Continue has a server that stands still go on.
func (s *Servers) Continue(i int) error { return syscall.Kill(s.all[i].PID, syscall.SIGCONT) }

// Kill ends everything at once.
func (s *Servers) Kill() (err error) {
	for _, b := range []*Balancer{s.Balancer, s.Dynamo} {
		if b != nil {
			err = errors.Join(err, b.Close())
		}
	}
	for _, p := range s.all {
		if p != nil {
			err = errors.Join(err, p.Kill())
		}
	}
	return err
}

// Stop ends the servers in good order, side by side.
func (s *Servers) Stop() error {
	failures := make([]error, len(s.all))
	var group sync.WaitGroup
	for i, p := range s.all {
		group.Go(func() { failures[i] = p.Stop() })
	}
	group.Wait()
	return errors.Join(failures...)
}

// Outputs is what the servers printed.
func (s *Servers) Outputs() (text string) {
	for i, p := range s.all {
		if p != nil {
			text += fmt.Sprintf("server %d printed:\n%s\n", i, p.Output())
		}
	}
	return text
}

// patience is how long a test waits for what must come true.
const patience = 60 * time.Second

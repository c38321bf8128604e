package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// quiet is how long an idle server is watched.
const quiet = time.Minute

// withViews is which share of the idle databases has a view.
const withViews = 50

// idleDatabases makes many databases with something to sweep in ten minutes, and a view in some of them, starts the server
// anew, and measures the start, and what they cost while nobody asks for them. Then it drops many partitions at once.
func (b *bench) idleDatabases(ctx context.Context) (err error) {
	s, data, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	var create, fill, change, define [][]byte
	for n := range b.scale.databases {
		create = append(create, call("PUT", fmt.Sprintf("/idle%06d", n), nil))
		fill = append(fill, call("PUT", fmt.Sprintf("/idle%06d/a", n), []byte(`{"n":1}`)))
		change = append(change, call("PATCH", fmt.Sprintf("/idle%06d/a", n), []byte(`{"n":2}`)))
		if n%withViews == 0 {
			define = append(define, call("PUT", fmt.Sprintf("/idle%06d/_design/d", n), []byte(`{"views":{"v":{"map":"function(doc){emit(doc.n)}"}}}`)))
		}
	}
	for _, requests := range [][][]byte{create, fill, define, change} {
		if _, err := drive(load{address: s.Address, workers: connections, request: dealt(requests)}); err != nil {
			return err
		}
	}
	if err := s.Stop(); err != nil {
		return err
	}
	began := time.Now()
	if s, err = process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data}); err != nil {
		return err
	}
	b.report.resources = append(b.report.resources, resource{fmt.Sprintf("start with %d idle databases", b.scale.databases), time.Since(began).Seconds(), "s", 3})
	if err := settle(ctx, s); err != nil {
		return err
	}
	before, err := s.CPU()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(quiet):
	}
	after, err := s.CPU()
	if err != nil {
		return err
	}
	b.report.resources = append(b.report.resources, resource{fmt.Sprintf("processor time in %v with %d idle databases", quiet, b.scale.databases),
		float64((after - before).Milliseconds()), "ms", 300})
	if err := b.memory(s, fmt.Sprintf("memory with %d idle databases", b.scale.databases), 100); err != nil {
		return err
	}
	if err := b.held(s); err != nil {
		return err
	}
	return b.drops(ctx, s)
}

// held reports the goroutines and open files that the server has with idle databases.
func (b *bench) held(s *process.Server) error {
	running, err := goroutines(s)
	if err != nil {
		return err
	}
	files, err := s.OpenFiles()
	b.report.resources = append(b.report.resources,
		resource{fmt.Sprintf("goroutines with %d idle databases", b.scale.databases), float64(running), "", 100},
		resource{fmt.Sprintf("open files with %d idle databases", b.scale.databases), float64(files), "", 100})
	return err
}

// goroutines returns how many goroutines a server has.
func goroutines(s *process.Server) (int, error) {
	raw, err := ask(s.Address, "GET", "/_node/_local/_system", nil)
	if err != nil {
		return 0, err
	}
	var system struct {
		Goroutines int `json:"process_count"`
	}
	return system.Goroutines, json.Unmarshal(raw, &system)
}

// drops makes a database of as many partitions, drops all at once, and waits until nothing of them is left.
func (b *bench) drops(ctx context.Context, s *process.Server) error {
	if _, err := b.fill(s, "drops", max(1, b.scale.drops/500), func(n int) []byte {
		return fmt.Appendf(nil, `{"_id":"p%06d:a","n":%d}`, n, n)
	}); err != nil {
		return err
	}
	var requests [][]byte
	for n := range b.scale.drops {
		requests = append(requests, call("DELETE", fmt.Sprintf("/drops/_partition/p%06d", n), nil))
	}
	start := time.Now()
	if _, err := drive(load{address: s.Address, workers: connections, request: dealt(requests)}); err != nil {
		return err
	}
	asked := time.Since(start)
	for {
		tasks, err := ask(s.Address, "GET", "/_active_tasks", nil)
		if err != nil {
			return err
		}
		if !bytes.Contains(tasks, []byte("partition_drop")) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	b.report.resources = append(b.report.resources,
		resource{fmt.Sprintf("asking for %d drops of partitions", b.scale.drops), asked.Seconds(), "s", 60},
		resource{fmt.Sprintf("until %d partitions are dropped", b.scale.drops), time.Since(start).Seconds(), "s", 60})
	return nil
}

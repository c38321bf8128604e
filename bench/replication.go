package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/process"
)

// replicatedBytes is the length of a document that is replicated, with its id.
const replicatedBytes = 800

// replicated makes the n-th document that is replicated.
func replicated(n int) []byte {
	d := withID(n)
	return append(d[:replicatedBytes-2], `"}`...)
}

// replication carries documents from one server to another, again and again into a new database.
func (b *bench) replication(ctx context.Context) (err error) {
	source, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Kill()) }()
	target, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Kill()) }()
	if _, err := b.fill(source, "source", b.documents/500, replicated); err != nil {
		return err
	}
	if err := settle(ctx, source); err != nil {
		return err
	}
	f := figure{name: fmt.Sprintf("replication between two servers, %d documents of %d bytes", b.documents, replicatedBytes), unit: "documents/s",
		couchdb: 1090, least: 15_000}
	var parts [3][]float64 // of the processor time of a document
	for n := range b.repetitions {
		rate, used, err := b.replicateOnce(ctx, source, target, fmt.Sprint("copy", n))
		if err != nil {
			return err
		}
		total := 0.0
		for i, seconds := range used {
			parts[i] = append(parts[i], seconds*1e6)
			total += seconds
		}
		f.add(rate, 0, total)
	}
	b.report.figures = append(b.report.figures, f)
	b.report.notes = append(b.report.notes, fmt.Sprintf("replication: of the processor time of a document %.1f µs are the source's, %.1f µs the target's, %.1f µs the replicator's",
		median(parts[0]), median(parts[1]), median(parts[2])))
	return nil
}

// replicateOnce makes a database of the target a copy of the source's. It returns documents per second, and the processor
// seconds that a document took of the source, the target and this process, in which the replicator runs; what the
// servers do afterwards in the background is counted.
func (b *bench) replicateOnce(ctx context.Context, source, target *process.Server, name string) (rate float64, used [3]float64, err error) {
	transport := replicate.NewTransport(replicate.TransportOptions{})
	defer transport.CloseIdleConnections()
	at := func(s *process.Server, database string) replicate.Address {
		return replicate.Address{URL: s.Base + "/" + database, User: process.User, Password: process.Password, Transport: transport}
	}
	task := replicate.Task{ID: name, Source: at(source, "source"), Target: at(target, name), CreateTarget: true,
		CreateParams: map[string][]string{"partitioned": {"true"}}}
	before, err := replicationCPU(source, target)
	if err != nil {
		return 0, used, err
	}
	began := time.Now()
	done, err := task.Run(ctx)
	elapsed := time.Since(began)
	if err == nil && done.Stats.DocsWritten != int64(b.documents) {
		err = fmt.Errorf("%d documents arrived, want %d", done.Stats.DocsWritten, b.documents)
	}
	if err == nil {
		err = errors.Join(settle(ctx, source), settle(ctx, target))
	}
	if err != nil {
		return 0, used, err
	}
	after, err := replicationCPU(source, target)
	for i := range used {
		used[i] = (after[i] - before[i]).Seconds() / float64(b.documents)
	}
	return float64(b.documents) / elapsed.Seconds(), used, err
}

// replicationCPU returns the processor time of the source, the target and this process so far.
func replicationCPU(source, target *process.Server) (used [3]time.Duration, err error) {
	for i, s := range []*process.Server{source, target, {PID: os.Getpid()}} {
		if used[i], err = s.CPU(); err != nil {
			return used, err
		}
	}
	return used, nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// waiter is a client that waits in a longpoll for changes of a partition of its own.
type waiter struct {
	partition int
	client    *client
	request   []byte
}

// arrival says when a waiter was told, or why it will not be.
type arrival struct {
	partition int
	at        time.Time
	err       error
}

// heartbeat is what every feed asks for, so that none ends while others are still being opened.
const heartbeat = 55 * time.Second

// idleFeeds has every partition followed by a client of its own, measures what that holds in the server, and how long it
// takes from sending a write to one of them until its client has the row.
func (b *bench) idleFeeds(ctx context.Context) (err error) {
	if err := openFiles(uint64(b.scale.feeds) + 1000); err != nil {
		return err
	}
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := ask(s.Address, "PUT", "/feeds?partitioned=true", nil); err != nil {
		return err
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	before, err := s.Memory("VmRSS")
	if err != nil {
		return err
	}
	waiters, err := openFeeds(s, b.scale.feeds)
	defer func() {
		for _, w := range waiters {
			err = errors.Join(err, w.client.connection.Close())
		}
	}()
	if err != nil {
		return err
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	after, err := s.Memory("VmRSS")
	if err != nil {
		return err
	}
	b.report.notes = append(b.report.notes, fmt.Sprintf("an idle feed holds %.1f KB of the server's memory", float64(after-before)/float64(b.scale.feeds)/1e3))
	if err := b.memory(s, fmt.Sprintf("memory with %d idle longpolls", b.scale.feeds), 1000); err != nil {
		return err
	}
	delays, err := wakeFeeds(s, waiters, b.scale.wakes)
	if err != nil {
		return err
	}
	slices.Sort(delays)
	for _, part := range []struct {
		name string
		at   int
		most float64
	}{{"median", len(delays) / 2, 20}, {"99 of 100", len(delays) * 99 / 100, 100}} {
		b.report.resources = append(b.report.resources, resource{"from a write to the row at its client, " + part.name,
			float64(delays[part.at].Microseconds()) / 1000, "ms", part.most})
	}
	return b.memory(s, fmt.Sprintf("memory after %d wake-ups", len(delays)), 1000)
}

// openFiles makes room for as many open files, in this process and the server that it will start.
func openFiles(n uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur >= n {
		return nil
	}
	if limit.Max < n {
		return fmt.Errorf("%d open files are needed and %d allowed: raise ulimit -n", n, limit.Max)
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}

// openFeeds connects the waiters and sends their requests, and returns when the server has begun to answer all of them,
// which it does when a feed begins to wait.
func openFeeds(s *process.Server, n int) (waiters []*waiter, err error) {
	for p := range n {
		c, err := dial(s.Address)
		if err != nil {
			return waiters, fmt.Errorf("after %d connections: %w", p, err)
		}
		c.in = bufio.NewReaderSize(c.connection, 1<<10)
		path := fmt.Sprintf("/feeds/_partition/p%05d/_changes?feed=longpoll&since=0&heartbeat=%d", p, heartbeat.Milliseconds())
		waiters = append(waiters, &waiter{p, c, call("GET", path, nil)})
	}
	var next atomic.Int64
	failures := make([]error, connections)
	var group sync.WaitGroup
	for worker := range connections {
		group.Go(func() {
			for failures[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				failures[worker] = waiters[i].begin()
			}
		})
	}
	group.Wait()
	return waiters, errors.Join(failures...)
}

// begin sends the request and reads the beginning of the answer.
func (w *waiter) begin() error {
	if _, err := w.client.connection.Write(w.request); err != nil {
		return err
	}
	h, err := w.client.head(nil)
	if err == nil && (h.status != 200 || !h.chunked) {
		err = fmt.Errorf("the feed of partition %d answered %d", w.partition, h.status)
	}
	return err
}

// wait reads the rest of the answer, which comes when the partition changes.
func (w *waiter) wait() arrival {
	var body bytes.Buffer
	err := w.client.chunks(&body)
	a := arrival{w.partition, time.Now(), err}
	if err == nil && !strings.Contains(body.String(), fmt.Sprintf(`"id":"p%05d:`, w.partition)) {
		a.err = fmt.Errorf("the feed of partition %d ended with %.200s", w.partition, body.Bytes())
	}
	return a
}

// wakeFeeds writes to random partitions, one at a time, and returns how long their clients waited. Nobody else may be woken.
func wakeFeeds(s *process.Server, waiters []*waiter, wakes int) (delays []time.Duration, err error) {
	writer, err := dial(s.Address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, writer.connection.Close()) }()
	arrivals := make(chan arrival, len(waiters))
	for _, w := range waiters {
		go func() { arrivals <- w.wait() }()
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, p := range random.Perm(len(waiters))[:min(wakes, len(waiters))] {
		put := call("PUT", fmt.Sprintf("/feeds/p%05d:doc", p), []byte(`{"type":"note","text":"somebody waits for this"}`))
		sent := time.Now()
		if err := writer.expect(201, put, nil); err != nil {
			return delays, err
		}
		a := <-arrivals
		if a.err != nil || a.partition != p {
			return delays, fmt.Errorf("a write to partition %d woke the client of %d: %w", p, a.partition, a.err)
		}
		delays = append(delays, a.at.Sub(sent))
	}
	return delays, nil
}

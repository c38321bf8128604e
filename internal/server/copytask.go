package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
)

// tellAgain is how long a copier that could not tell of its task waits until it tries again.
const tellAgain = time.Second

// tasked does the work of a copy while the servers of its source show a task, if it has any that are not this one: the
// copier tells of it as they tell each other, in a row that is there as long as its lease is kept. Nothing depends on it.
func (k *copying) tasked(ctx context.Context, database string, work func() error) error {
	if !kv.IsShared(k.from) {
		return work()
	}
	now, err := kv.Time(ctx, k.from)
	if err != nil {
		return err
	}
	began := time.Now()
	clock := func() time.Time { return now.Add(time.Since(began)) }
	var id [8]byte
	rand.Read(id[:]) // never fails
	q := jobs.New(jobs.Options{
		Engine: k.from, Clock: clock, Logger: slog.New(slog.DiscardHandler), Holder: max(binary.BigEndian.Uint64(id[:]), 1), Lease: jobLease,
		Commit: func(ctx context.Context, fn func(kv.Txn) error) error { return kvcopy.Settled(ctx, k.from, fn) },
	})
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	words := jobs.Words{Now: func() string { return admin.TellCopy("copy@"+host, database, now, clock(), k.progress()) }}
	ctx, stop := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() {
		for ctx.Err() == nil {
			_ = q.Hold(ctx, admin.CopyLease, words, func(held context.Context) error {
				<-held.Done()
				return nil
			})
			kv.Pause(ctx, tellAgain)
		}
	})
	defer telling.Wait()
	defer stop()
	return work()
}

// progress is how far the copy has come.
func (k *copying) progress() admin.CopyProgress {
	s := k.at.Load()
	if s == nil {
		return admin.CopyProgress{}
	}
	return admin.CopyProgress{Step: string(s.Step), Rows: s.Rows, Bytes: s.Bytes, Total: s.AllBytes}
}

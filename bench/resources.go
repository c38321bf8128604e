package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// settle waits until the server has stopped working in the background: two quarters of a second in a row in which it
// used no processor time to speak of.
func settle(ctx context.Context, s *process.Server) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last, err := s.CPU()
	if err != nil {
		return err
	}
	for quiet := 0; quiet < 2; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not come to rest: %w", ctx.Err())
		case <-tick.C:
		}
		now, err := s.CPU()
		if err != nil {
			return err
		}
		quiet++
		if now-last > 20*time.Millisecond {
			quiet = 0
		}
		last = now
	}
	return nil
}

// idle measures the memory of a server that has answered a few requests and holds nothing.
func (b *bench) idle(ctx context.Context) (err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	for range 100 {
		if _, err := ask(s.Address, "GET", "/", nil); err != nil {
			return err
		}
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	return b.memory(s, "memory of an idle server", 60)
}

// memory notes what the process holds now, in megabytes.
func (b *bench) memory(s *process.Server, name string, most float64) error {
	bytes, err := s.Memory("VmRSS")
	b.report.resources = append(b.report.resources, resource{name, float64(bytes) / 1e6, "MB", most})
	return err
}

// disk compares the data directory with the bytes of the documents in it, after compaction.
func (b *bench) disk(ctx context.Context, s *process.Server, data string) error {
	if _, err := ask(s.Address, "POST", "/bench/_compact", nil); err != nil {
		return err
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	stored, err := directorySize(data, "")
	if err != nil {
		return err
	}
	documents := 0
	for n := range b.documents {
		documents += len(document(n, ""))
	}
	logs, err := directorySize(data, ".log")
	if err != nil {
		return err
	}
	b.report.notes = append(b.report.notes, fmt.Sprintf("disk: %.1f MB, of them %.1f MB logs that are kept for use again, however much is stored",
		float64(stored)/1e6, float64(logs)/1e6))
	b.report.resources = append(b.report.resources, resource{
		fmt.Sprintf("disk for %.1f MB of documents (CouchDB: 2.05 times)", float64(documents)/1e6),
		float64(stored) / float64(documents), "times", 1.2})
	return nil
}

// directorySize adds up the files whose names end so.
func directorySize(dir, ending string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(entry.Name(), ending) {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // compacted away meanwhile
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// pebbleDirectory finds the directory below data that holds Pebble's files.
func pebbleDirectory(data string) (found string, err error) {
	err = filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), "MANIFEST-") {
			found = filepath.Dir(path)
		}
		return err
	})
	if err == nil && found == "" {
		err = fmt.Errorf("no Pebble files below %s", data)
	}
	return found, err
}

// many loads a small and a large database, compares partition reads in them, and drops the large one.
func (b *bench) many(ctx context.Context) (err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	small := func(n int) []byte { return smallDocument(n, documentID(n)) }
	for database, count := range map[string]int{"few": b.few, "many": b.few + b.scale.many} {
		loaded, err := b.fill(s, database, count/500, small)
		if err != nil {
			return err
		}
		b.report.notes = append(b.report.notes, fmt.Sprintf("%d small documents loaded at %.0f/s", count, loaded.rate()*500))
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	if err := b.memory(s, fmt.Sprintf("memory with %d documents loaded", b.scale.many), 500); err != nil {
		return err
	}
	if err := b.growth(s); err != nil {
		return err
	}
	if err := b.indexesOfMany(ctx, s); err != nil {
		return err
	}
	start := time.Now()
	if _, err := ask(s.Address, "DELETE", "/many", nil); err != nil {
		return err
	}
	b.report.resources = append(b.report.resources, resource{
		fmt.Sprintf("dropping a database of %d documents", b.scale.many), time.Since(start).Seconds() * 1000, "ms", 1000})
	return nil
}

// growth reads the same partitions where few and where many documents lie beside them.
func (b *bench) growth(s *process.Server) error {
	f := figure{name: fmt.Sprintf("partition read beside %d other documents", b.scale.many), unit: "requests/s", goal: 0.9,
		ceiling: fmt.Sprintf("beside %d", b.few)}
	read := func(database string) (result, error) {
		requests := make([][]byte, 50)
		for p := range requests {
			// The middle of the smaller database, so that neither reads at an edge.
			requests[p] = partitionRead(database, b.few/perPartition/2-25+p)
		}
		return drive(load{address: s.Address, workers: connections, limit: b.duration, request: around(requests)})
	}
	for range b.repetitions {
		few, err := read("few")
		if err != nil {
			return err
		}
		many, err := read("many")
		if err != nil {
			return err
		}
		f.add(many.rate(), few.rate(), 0)
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// sentBytes is the length of the documents that go from one server to another.
const sentBytes = 800

// snapshot sends a database from one server to another by _snapshot, until it is on the target's disk, and writes the
// rows that the target has then into raw Pebble. Both servers work on this machine, so their processor time counts
// twice.
func (b *bench) snapshot(ctx context.Context) (err error) {
	f := figure{name: "first sync by _snapshot", unit: "documents/s", goal: 0.4, ceiling: "raw Pebble, same rows", couchdb: 1090}
	source, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Kill()) }()
	small := func(n int) []byte { return documentOf(n, fmt.Sprintf(`"_id":%q,`, documentID(n)), sentBytes) }
	if _, err := b.fill(source, "sync", b.documents/500, small); err != nil {
		return err
	}
	if err := settle(ctx, source); err != nil {
		return err
	}
	for range b.repetitions {
		ours, cpu, rows, err := b.snapshotOnce(ctx, source)
		if err != nil {
			return err
		}
		scratch, err := b.scratch()
		if err != nil {
			return err
		}
		theirs, err := rawBulk(scratch, rows, b.documents/500)
		if err := errors.Join(err, os.RemoveAll(scratch)); err != nil {
			return err
		}
		f.add(ours.rate(), theirs.rate()*500, cpu/float64(ours.operations))
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

// snapshotOnce loads a fresh server; the processor time is that of both.
func (b *bench) snapshotOnce(ctx context.Context, source *process.Server) (ours result, cpu float64, rows []row, err error) {
	target, data, err := b.start(ctx)
	if err != nil {
		return result{}, 0, nil, err
	}
	ours, cpu, err = b.metered(ctx, target, func() (result, error) {
		if _, err := ask(target.Address, "PUT", "/sync?partitioned=true", nil); err != nil {
			return result{}, err
		}
		return b.carry(ctx, source.Address, target.Address)
	})
	if err != nil {
		return result{}, 0, nil, errors.Join(err, target.Stop())
	}
	rows, err = rowsOf(target, data)
	return ours, cpu, rows, err
}

// carry passes the source's stream on to the target, packed as it comes.
func (b *bench) carry(ctx context.Context, source, target string) (r result, err error) {
	start := time.Now()
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+source+"/sync/_snapshot", nil)
	if err != nil {
		return result{}, err
	}
	get.SetBasicAuth(process.User, process.Password)
	get.Header.Set("Accept-Encoding", "zstd")
	stream, err := http.DefaultClient.Do(get)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, stream.Body.Close()) }()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+target+"/sync/_snapshot", stream.Body)
	if err != nil {
		return result{}, err
	}
	post.SetBasicAuth(process.User, process.Password)
	post.Header.Set("Content-Type", stream.Header.Get("Content-Type"))
	post.Header.Set("Content-Encoding", stream.Header.Get("Content-Encoding"))
	answer, err := http.DefaultClient.Do(post)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return result{}, err
	}
	elapsed := time.Since(start)
	var loaded struct {
		OK                 bool
		Documents, Refused int
	}
	if err := json.Unmarshal(text, &loaded); err != nil || !loaded.OK || loaded.Documents != b.documents || loaded.Refused != 0 {
		return result{}, fmt.Errorf("the target answered %d: %.500s", answer.StatusCode, text)
	}
	return result{int64(loaded.Documents), elapsed}, nil
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// lab is a durable PostgreSQL and what is measured over it.
type lab struct {
	dir     string
	cluster *pgtest.Cluster
	client  *http.Client
	names   atomic.Int64
}

// serve runs a server over a database of the cluster.
func (l *lab) serve(ctx context.Context, url string) (*process.Server, error) {
	data, err := os.MkdirTemp(l.dir, "data")
	if err != nil {
		return nil, err
	}
	return process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data, Args: []string{"--engine", "postgres", "--postgres", url}})
}

// ask makes a request that must succeed.
func (l *lab) ask(base, method, path, body string) ([]byte, error) {
	r, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(process.User, process.Password)
	a, err := l.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.200s", method, path, a.StatusCode, text)
	}
	return text, err
}

// postgresCPU is the processor time of all processes of the cluster, those that ended among them.
func (l *lab) postgresCPU() (total time.Duration, err error) {
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	leader := strconv.Itoa(l.cluster.PID())
	for _, name := range entries {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid := strings.Split(name, "/")[2]
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if pid != leader && fields[1] != leader {
			continue
		}
		at := []int{11, 12}
		if pid == leader {
			at = append(at, 13, 14) // its children that ended
		}
		for _, i := range at {
			ticks, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return total, nil
}

var (
	tripsTotal   = regexp.MustCompile(`(?m)^\S*storage_trips_total\S* ([0-9.e+]+)$`)
	commitsTotal = regexp.MustCompile(`(?m)^\S*storage_commits_total\S* ([0-9.e+]+)$`)
)

// counts returns how many round trips and commits a server has made.
func (l *lab) counts(s *process.Server) (trips, commits float64, err error) {
	text, err := l.ask(s.Base, "GET", "/_node/_local/_prometheus", "")
	if err != nil {
		return 0, 0, err
	}
	for re, into := range map[*regexp.Regexp]*float64{tripsTotal: &trips, commitsTotal: &commits} {
		found := re.FindSubmatch(text)
		if found == nil {
			return 0, 0, fmt.Errorf("no metric %s", re)
		}
		if *into, err = strconv.ParseFloat(string(found[1]), 64); err != nil {
			return 0, 0, err
		}
	}
	return trips, commits, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sectional/sectional/internal/testkit/process"
)

// pulledDocuments is how many documents PouchDB pulls.
const pulledDocuments = 10_000

// pouchdb lets PouchDB on Node pull a database for the first time, into leveldb. How long that takes is PouchDB's
// affair as long as the server's processor time is a small part of it.
func (b *bench) pouchdb(ctx context.Context) (err error) {
	if _, err := exec.LookPath("node"); err != nil {
		b.report.notes = append(b.report.notes, "PouchDB's pull was not measured: it needs Node")
		return nil
	}
	scripts, err := nodeScripts(ctx)
	if err != nil {
		return err
	}
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := b.fill(s, "pulled", pulledDocuments/500, replicated); err != nil {
		return err
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	f := figure{name: fmt.Sprintf("first pull of %d documents by PouchDB (leveldb)", pulledDocuments), unit: "documents/s"}
	var shares []float64
	for range b.repetitions {
		seconds, cpu, err := b.pull(ctx, s, scripts)
		if err != nil {
			return err
		}
		f.add(pulledDocuments/seconds, 0, cpu/pulledDocuments)
		shares = append(shares, cpu/seconds*100)
	}
	b.report.figures = append(b.report.figures, f)
	b.report.resources = append(b.report.resources, resource{"the server's processor time in the time of PouchDB's pull", median(shares), "%", 25})
	return nil
}

// nodeScripts returns the directory of the scripts for Node, with what they need installed.
func nodeScripts(ctx context.Context) (string, error) {
	root, err := process.Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "test", "node")
	return dir, npmInstall(ctx, dir, "pouchdb")
}

// npmInstall installs what the lock file of a directory names, unless the module is there already.
func npmInstall(ctx context.Context, dir, module string) error {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", module)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
	install.Dir, install.Stdout, install.Stderr = dir, os.Stderr, os.Stderr
	if err := install.Run(); err != nil {
		return fmt.Errorf("npm ci: %w", err)
	}
	return nil
}

// pull runs one pull: its time as PouchDB saw it, and the processor seconds of the server.
func (b *bench) pull(ctx context.Context, s *process.Server, scripts string) (seconds, cpu float64, err error) {
	dir, err := b.scratch()
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	before, err := s.CPU()
	if err != nil {
		return 0, 0, err
	}
	var out bytes.Buffer
	node := exec.CommandContext(ctx, "node", "pull.js", fmt.Sprintf("http://%s:%s@%s/pulled", process.User, process.Password, s.Address), filepath.Join(dir, "pulled"))
	node.Dir, node.Stdout, node.Stderr = scripts, &out, os.Stderr
	if err := node.Run(); err != nil {
		return 0, 0, fmt.Errorf("node pull.js: %w", err)
	}
	after, err := s.CPU()
	if err != nil {
		return 0, 0, err
	}
	var told struct{ Written, Milliseconds float64 }
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		return 0, 0, fmt.Errorf("node pull.js printed %q: %w", out.Bytes(), err)
	}
	if told.Written != pulledDocuments {
		return 0, 0, fmt.Errorf("PouchDB wrote %v documents, want %d", told.Written, pulledDocuments)
	}
	return told.Milliseconds / 1000, (after - before).Seconds(), nil
}

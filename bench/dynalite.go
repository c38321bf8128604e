package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sectional/sectional/internal/testkit/process"
)

// startDynalite runs dynalite, which people run in DynamoDB's place on their own machines, as they run it: with its
// data in memory. The address is empty where npm can't install it, and a note of the report says why.
func (b *bench) startDynalite(ctx context.Context) (address string, stop func() error, err error) {
	none := func() error { return nil }
	dir, err := installDynalite(ctx)
	if err != nil {
		note := fmt.Sprintf("DynamoDB: NOT measured beside dynalite, which could not be installed: %v", err)
		fmt.Fprintln(os.Stderr, note)
		b.report.notes = append(b.report.notes, note)
		return "", none, nil
	}
	if address, err = process.FreeAddress(); err != nil {
		return "", none, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", none, err
	}
	cmd := exec.Command("node", filepath.Join(dir, "node_modules", "dynalite", "cli.js"), "--host", host, "--port", port, "--createTableMs", "0")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", none, err
	}
	stop = func() error {
		err := cmd.Process.Kill()
		// It was killed, and Wait says so.
		_ = cmd.Wait()
		return err
	}
	if err := awaitListener(ctx, address); err != nil {
		return "", none, errors.Join(err, stop())
	}
	return address, stop, nil
}

// installDynalite returns the directory where it is installed, by the lock file there.
func installDynalite(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	root, err := process.Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bench", "dynalite")
	return dir, npmInstall(ctx, dir, "dynalite")
}

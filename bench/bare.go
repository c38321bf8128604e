package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// bareRole is the argument that makes this binary the bare handler instead of the benchmark.
const bareRole = "bare-handler"

// serveBare is the ceiling over HTTP: a net/http server that reads the request's body and repeats one recorded
// answer, headers and all, and does nothing else.
func serveBare(address, answerFile string) error {
	text, err := os.ReadFile(answerFile)
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
	if err != nil {
		return err
	}
	// The recording has its chunks taken out already, so the body is what is left of the text.
	_, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	header := answer.Header
	header.Del("Date")
	handler := func(w http.ResponseWriter, r *http.Request) {
		// A broken connection shows at the generator, which stops with an error.
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(body)
	}
	return http.ListenAndServe(address, http.HandlerFunc(handler))
}

// startBare runs the bare handler as a process of its own, as Sectional is one.
func startBare(ctx context.Context, dir string, answer []byte) (address string, stop func() error, err error) {
	file, err := os.CreateTemp(dir, "answer")
	if err != nil {
		return "", nil, err
	}
	_, err = file.Write(answer)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", nil, err
	}
	if address, err = process.FreeAddress(); err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, bareRole, address, file.Name())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		err := cmd.Process.Kill()
		// It was killed, and Wait says so.
		_ = cmd.Wait()
		return err
	}
	if err := awaitListener(ctx, address); err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return address, stop, nil
}

// awaitListener returns when something accepts connections at the address.
func awaitListener(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := dial(address)
		if err == nil {
			return c.connection.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nothing listens at %s: %w", address, err)
		case <-tick.C:
		}
	}
}

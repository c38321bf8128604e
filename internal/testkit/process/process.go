// Package process owns running Sectional as a process of its own, for the tests and benchmarks that need a real one:
// it starts the binary on a free port, waits until it answers, and stops or kills it. It knows nothing of what the
// server stores. Begin reading at Launch; tests use Start.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
)

// User and Password name the administrator of a server that was started without others.
const (
	User     = "adm"
	Password = "pass"
)

// startTimeout is how long a server may take to answer its first request or to end after a signal.
const startTimeout = 2 * time.Minute

// Options say what to start. Only Binary and Dir are needed.
type Options struct {
	Binary string
	Dir    string   // the data directory
	Listen string   // host:port; a free port of the loopback interface where empty
	Args   []string // further arguments of `serve`
	Env    []string // further variables of the environment, "NAME=value"
	// Anonymous leaves COUCHDB_USER and COUCHDB_PASSWORD unset, so that the server makes an administrator itself.
	Anonymous bool
	// Descriptors is how many files and connections the process may have open; 0: as many as this one.
	Descriptors int
	// Under is a command that runs the one that follows in its place: `ip netns exec NAME`.
	Under []string
	// Die has the process end with the thread that starts it, however that ends.
	Die bool
}

// Server is a running process. Its methods may be called from several goroutines.
type Server struct {
	Base     string // "http://127.0.0.1:40123"
	Address  string // "127.0.0.1:40123"
	PID      int
	cmd      *exec.Cmd
	output   Output
	finished chan struct{}
	state    *os.ProcessState // set before finished is closed
}

// Output gathers what a process prints, while it prints.
type Output struct {
	sync.Mutex
	text bytes.Buffer
}

// Write appends to the output.
func (o *Output) Write(p []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.text.Write(p)
}

// String returns what was printed so far.
func (o *Output) String() string {
	o.Lock()
	defer o.Unlock()
	return o.text.String()
}

// Launch starts a server and returns when it answers. A server that ends before that is an error that carries what
// it printed.
func Launch(ctx context.Context, o Options) (*Server, error) {
	s, err := Spawn(o)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// Spawn starts a server and does not wait for it.
func Spawn(o Options) (*Server, error) {
	if o.Listen == "" {
		address, err := FreeAddress()
		if err != nil {
			return nil, err
		}
		o.Listen = address
	}
	s := &Server{Base: "http://" + o.Listen, Address: o.Listen, finished: make(chan struct{})}
	arguments := append([]string{"serve", "--data", o.Dir, "--listen", o.Listen}, o.Args...)
	if url := os.Getenv(pgtest.URLVariable); url != "" { // each data directory has a database of its own there
		database, err := pgtest.Database(context.Background(), url, o.Dir)
		if err != nil {
			return nil, fmt.Errorf("process: %w", err)
		}
		arguments = append(arguments, "--engine", "postgres", "--postgres", database)
		o.Env = append(slices.Clip(o.Env), "SECTIONAL_TEST_FSYNC_OFF=1")
	}
	s.cmd = exec.Command(o.Binary, arguments...)
	if o.Descriptors > 0 {
		limit := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, o.Descriptors)
		s.cmd = exec.Command("/bin/sh", append([]string{"-c", limit, o.Binary}, arguments...)...)
	}
	if len(o.Under) > 0 {
		s.cmd = exec.Command(o.Under[0], append(slices.Concat(o.Under[1:], []string{o.Binary}), arguments...)...)
	}
	s.cmd.Env = environment(o)
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if o.Die {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("process: starting %s: %w", o.Binary, err)
	}
	s.PID = s.cmd.Process.Pid
	go func() {
		// What Wait says is in the state too, which callers ask for.
		_ = s.cmd.Wait()
		s.state = s.cmd.ProcessState
		close(s.finished)
	}()
	return s, nil
}

// environment is this process's own without the variables that steer a server, and with those of the options.
func environment(o Options) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COUCHDB_") && !strings.HasPrefix(v, "SECTIONAL_") {
			env = append(env, v)
		}
	}
	if !o.Anonymous {
		env = append(env, "COUCHDB_USER="+User, "COUCHDB_PASSWORD="+Password)
	}
	return append(env, o.Env...)
}

// Ready waits until the server has said that it listens and answers GET /_up. A server that ends before that is an error that carries what it
// printed.
func (s *Server) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if strings.Contains(s.Output(), " listens on ") && up(ctx, s.Base) {
			return nil
		}
		select {
		case <-s.finished:
			return fmt.Errorf("process: the server ended before it answered: %s\n%s", s.state, s.output.String())
		case <-ctx.Done():
			return fmt.Errorf("process: the server does not answer: %w\n%s", ctx.Err(), s.output.String())
		case <-tick.C:
		}
	}
}

func up(ctx context.Context, base string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/_up", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	// Only the status counts, so a failure to close the body changes nothing.
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Output returns what the process has printed so far.
func (s *Server) Output() string { return s.output.String() }

// Kill ends the process at once, as a power cut would, and waits until it is gone. A process that has ended already
// is no error.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.finished
	return nil
}

// Interrupt sends SIGTERM and does not wait.
func (s *Server) Interrupt() error { return s.cmd.Process.Signal(syscall.SIGTERM) }

// Wait returns the exit code, or an error when the process does not end within limit, or a machine's slowest.
func (s *Server) Wait(limit time.Duration) (int, error) {
	limit *= slowest
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.finished:
		return s.state.ExitCode(), nil
	case <-timer.C:
		return 0, fmt.Errorf("process: the server did not end within %s\n%s", limit, s.output.String())
	}
}

// Stop sends SIGTERM and waits for a clean end.
func (s *Server) Stop() error {
	if err := s.Interrupt(); err != nil {
		return err
	}
	code, err := s.Wait(startTimeout)
	if err == nil && code != 0 {
		err = fmt.Errorf("process: the server ended with code %d\n%s", code, s.output.String())
	}
	return err
}

// CPU returns the processor time that the process has used so far, all its threads together.
func (s *Server) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses and may hold spaces; user and system time are the 14th
	// and 15th, in hundredths of a second.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// Written returns how many bytes the process has sent to the disk since it began, as the kernel counts them: those that
// it removed before they got there are left out.
func (s *Server) Written() (int64, error) {
	counts, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.PID))
	if err != nil {
		return 0, err
	}
	var written, cancelled int64
	for line := range strings.Lines(string(counts)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		into := map[string]*int64{"write_bytes": &written, "cancelled_write_bytes": &cancelled}[name]
		if into == nil {
			continue
		}
		if *into, err = strconv.ParseInt(value, 10, 64); err != nil {
			return 0, err
		}
	}
	return written - cancelled, nil
}

// Memory reads one of the kernel's figures of the process in bytes: "VmRSS" for what it holds now, "VmHWM" for the
// most it ever held.
func (s *Server) Memory(figure string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name == figure {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("process: the kernel gives no %s", figure)
}

// OpenFiles is how many files, sockets among them, the process has open.
func (s *Server) OpenFiles() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID))
	return len(entries), err
}

package replicate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/sectional/sectional/internal/auth"
)

// Local is the http.RoundTripper to a handler of this process: requests and
// answers are streamed both ways without a connection, and whoever is slower
// holds the other up. The zero value does not work: Handler is needed.
type Local struct {
	Handler http.Handler
	// Enter puts the caller, and what else the handler finds there, into the
	// context of a request; nil: nothing.
	Enter func(context.Context) context.Context
}

// localBuffer is how far an answer may be ahead of its reader.
const localBuffer = 128 << 10

// RoundTrip implements http.RoundTripper. The answer comes with its head; the
// handler goes on beside its reader and has ended when Close of the body
// returns, or Read has given its end.
func (l *Local) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	inner := auth.WithinProcess(ctx)
	if l.Enter != nil {
		inner = l.Enter(inner)
	}
	in := r.Clone(inner)
	in.RequestURI = r.URL.RequestURI()
	// An address that no client has: what a job tries counts apart from those
	// on this machine, and it speaks for nobody else.
	in.RemoteAddr = "0.0.0.0:0"
	in.Header.Del("X-Forwarded-For")
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body := in.Body // the handler may put another one in its place
	a := &localAnswer{request: r, body: newPipe(localBuffer), headed: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	a.header = http.Header{}
	go a.serve(l.Handler, in)
	select {
	case <-a.headed:
		return a.response, nil
	case <-a.done:
	case <-ctx.Done():
		// The handler sees the end of the context; an answer that came at the
		// same moment is of no use to anybody.
		_ = body.Close()
		<-a.done
	}
	defer cancel()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if a.response != nil {
		return a.response, nil
	}
	return nil, a.failed
}

// localAnswer is the http.ResponseWriter of a Local's request and the body of
// its answer.
type localAnswer struct {
	request  *http.Request
	header   http.Header
	body     *pipe
	headed   chan struct{} // closed when response is there
	response *http.Response
	done     chan struct{} // closed when the handler has returned
	failed   error         // valid then
	cancel   context.CancelFunc
	once     sync.Once
}

var errAborted = errors.New("the handler broke its answer off")

// serve runs the handler. A handler breaks an answer off by a panic, as it
// would below net/http: the reader gets an error then, never a short body that
// looks whole.
func (a *localAnswer) serve(h http.Handler, in *http.Request) {
	defer close(a.done)
	defer func() {
		_ = in.Body.Close()
		if p := recover(); p != nil {
			a.failed = errAborted
			if p != http.ErrAbortHandler {
				a.failed = fmt.Errorf("the handler panicked: %v", p)
			}
			a.body.end(a.failed)
			return
		}
		a.WriteHeader(http.StatusOK)
		a.body.end(io.EOF)
	}()
	h.ServeHTTP(a, in)
}

// Header implements http.ResponseWriter.
func (a *localAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *localAnswer) WriteHeader(status int) {
	if status < 200 && status != http.StatusSwitchingProtocols {
		return // "continue": the body is read anyway
	}
	a.once.Do(func() {
		header := a.header.Clone()
		length := int64(-1)
		if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil {
			length = n
		}
		a.response = &http.Response{
			Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header, Body: a, ContentLength: length, Request: a.request,
		}
		close(a.headed)
	})
}

// Write implements http.ResponseWriter.
func (a *localAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.request.Method == http.MethodHead {
		return len(b), nil
	}
	return a.body.Write(b)
}

// FlushError lets http.ResponseController flush: what was written can be read
// at once.
func (a *localAnswer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	return nil
}

// Read implements the body of the answer.
func (a *localAnswer) Read(b []byte) (int, error) {
	n, err := a.body.Read(b)
	if err == io.EOF {
		<-a.done
		a.cancel()
	}
	return n, err
}

// Close implements the body of the answer: a handler that still writes is told
// to end.
func (a *localAnswer) Close() error {
	a.cancel()
	a.body.close(errGone)
	<-a.done
	return nil
}

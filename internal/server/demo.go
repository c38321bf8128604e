package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/demo"
)

// startDemo loads the demo in the background, if it is wanted. The returned
// function stops it and waits.
func (a *instance) startDemo(ctx context.Context, base string) (stop func()) {
	if !a.o.Demo {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.loadDemo(ctx, base); err != nil && ctx.Err() == nil {
			a.log.Error("the demo could not be loaded", "cause", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (a *instance) loadDemo(ctx context.Context, base string) error {
	size := a.o.DemoSize
	if size == 0 {
		size = demo.DefaultSize
	}
	if err := demo.Load(ctx, a.do, size, a.o.Progress); err != nil {
		return err
	}
	credentials := defaultAdminName + ":PASSWORD"
	if a.o.User != "" {
		credentials = a.o.User + ":" + a.o.Password
	}
	fmt.Fprintln(a.o.Out, "Worth trying:")
	for _, line := range demo.Hints(base, credentials) {
		fmt.Fprintln(a.o.Out, "  "+line)
	}
	if a.dynamoAddress != "" {
		fmt.Fprintf(a.o.Out, "  sectional keys create %s --server http://%s@%s\n", cmp.Or(a.o.User, defaultAdminName), credentials, strings.TrimPrefix(base, "http://"))
	}
	return nil
}

// do sends a request to the face without a connection, as an administrator.
func (a *instance) do(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	ctx = auth.WithCaller(auth.WithinProcess(ctx), &auth.Caller{Name: defaultAdminName, Roles: []string{auth.AdminRole}})
	r, err := http.NewRequestWithContext(ctx, method, "http://sectional"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	a.API.ServeHTTP(answer, r)
	return answer.status, answer.body.Bytes(), nil
}

// recorder is the http.ResponseWriter of requests without a connection.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var _ io.Writer = (*recorder)(nil)

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

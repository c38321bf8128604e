package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	collected "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client posts batches to a collector, once each. OpenTelemetry's own brings all of gRPC along.
type client struct {
	url  string
	http *http.Client
	// done ends, by end, what is under way when the tracer has been closed.
	done context.Context
	end  context.CancelFunc
}

func newClient(url string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1
	done, end := context.WithCancel(context.Background())
	return &client{url: url, done: done, end: end, http: &http.Client{Transport: transport, Timeout: exportTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error { c.http.CloseIdleConnections(); return nil }

// UploadTraces implements otlptrace.Client. TracesData is on the wire what the collector's request is.
func (c *client) UploadTraces(ctx context.Context, spans []*collected.ResourceSpans) error {
	body, err := proto.Marshal(&collected.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.done, cancel)()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/x-protobuf")
	a, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	io.CopyN(io.Discard, a.Body, 64<<10) // so that the connection is used again
	if a.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", a.Status)
	}
	return nil
}

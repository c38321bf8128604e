package migrate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// source carries a replication's requests to the real source, which it lets appear as if its documents had their new
// ids: in the feed, and where documents are asked for. It implements http.RoundTripper.
type source struct {
	run  *run
	to   http.RoundTripper
	base string // path of the database
}

// RoundTrip implements http.RoundTripper.
func (s *source) RoundTrip(q *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(q.URL.EscapedPath(), s.base)
	switch {
	case path == "" || path == "/" || strings.HasPrefix(path, "/_local/"):
		return s.to.RoundTrip(q)
	case path == "/_changes":
		return s.feed(q)
	case path == "/_bulk_get":
		return s.bulkGet(q)
	}
	return s.document(q, strings.TrimPrefix(path, "/"))
}

// feed asks for the feed with the documents in it, which say where they belong.
func (s *source) feed(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	v := q.URL.Query()
	v.Set("include_docs", "true")
	q.URL.RawQuery = v.Encode()
	a, err := s.to.RoundTrip(q)
	if err != nil || a.StatusCode != http.StatusOK {
		return a, err
	}
	rows := &feed{run: s.run, ctx: q.Context()}
	if v.Get("feed") == "continuous" {
		return s.run.changed(a, rows.continuous), nil
	}
	return s.run.changed(a, rows.normal), nil
}

// bulkGet asks for documents by their old ids.
func (s *source) bulkGet(q *http.Request) (*http.Response, error) {
	asked, err := io.ReadAll(q.Body)
	_ = q.Body.Close()
	if err != nil {
		return nil, err
	}
	list, ok := jsonscan.Member(asked, "docs")
	if !ok {
		return nil, dberr.New(dberr.Invalid, "bad_request", "a request without docs")
	}
	body := []byte(`{"docs":[`)
	ids := map[string]string{}
	for e := jsonscan.ElementsOf(list); ; {
		one, ok := e.Next()
		if !ok {
			break
		}
		if id, ok := textOf(one, "id"); ok {
			old := s.run.oldID(id)
			ids[old] = id
			one = jsonscan.With(one, "id", jsonscan.AppendQuoted(nil, old))
		}
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, one...)
	}
	body = append(body, "]}"...)
	q = q.Clone(q.Context())
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	q.GetBody = nil
	a, err := s.to.RoundTrip(q)
	if err != nil || a.StatusCode != http.StatusOK {
		return a, err
	}
	return s.run.changed(a, (&answers{run: s.run, ctx: q.Context(), ids: ids}).bulk), nil
}

// document asks for one document by its old id.
func (s *source) document(q *http.Request, segment string) (*http.Response, error) {
	id, err := url.PathUnescape(segment)
	if err != nil {
		return nil, err
	}
	q = q.Clone(q.Context())
	u, err := url.Parse(s.base + "/" + couchclient.Escape(s.run.oldID(id)))
	if err != nil {
		return nil, err
	}
	q.URL.Path, q.URL.RawPath = u.Path, u.RawPath
	a, err := s.to.RoundTrip(q)
	if err != nil || a.StatusCode != http.StatusOK {
		return a, err
	}
	of := &answers{run: s.run, ctx: q.Context(), id: id}
	return s.run.changed(a, of.leaves(a.Header.Get("Content-Type"))), nil
}

// textOf returns the text of a member.
func textOf(object []byte, name string) (string, bool) {
	v, ok := jsonscan.Member(object, name)
	if !ok || jsonscan.KindOf(v) != jsonscan.String {
		return "", false
	}
	return string(jsonscan.Text(nil, v)), true
}

// changed returns an answer whose body is what change makes of it, as it comes.
func (r *run) changed(a *http.Response, change func(in io.Reader, out *bufio.Writer) error) *http.Response {
	from := a.Body
	reader, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out := bufio.NewWriterSize(w, 64<<10)
		err := change(from, out)
		if err == nil {
			err = out.Flush()
		}
		if refused := (*couchclient.Error)(nil); errors.As(err, &refused) {
			r.giveUp(err) // it was asked often enough
		}
		w.CloseWithError(err)
	}()
	a.Body, a.ContentLength = &changedBody{reader, from, done}, -1
	a.Header.Del("Content-Length")
	return a
}

// changedBody is the body of such an answer.
type changedBody struct {
	*io.PipeReader
	from io.Closer
	done chan struct{}
}

// Close ends the answer and waits for what changes it.
func (b *changedBody) Close() error {
	err := b.PipeReader.Close()
	if e := b.from.Close(); err == nil {
		err = e
	}
	<-b.done
	return err
}

// valid reports whether a row or document is an object.
func valid(raw []byte) bool { return json.Valid(raw) && jsonscan.KindOf(raw) == jsonscan.Object }

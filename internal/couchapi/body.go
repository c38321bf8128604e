package couchapi

import (
	"errors"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/sectional/sectional/internal/dberr"
)

var errBodyTooLarge = dberr.New(dberr.TooLarge, "too_large", "the request entity is too large")

// reader gives the request's body, unpacked if it came as gzip, with the limit
// of [chttpd] max_http_request_size, which holds for the unpacked bytes too.
func (r *request) reader() (io.Reader, error) {
	limit := r.api.settings.Value().maxRequest
	if r.http.ContentLength > limit {
		return nil, errBodyTooLarge
	}
	switch encoding := r.header("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return &bodyReader{r: r, from: r.http.Body, left: limit}, nil
	case "gzip":
		zip, err := gzip.NewReader(&bodyReader{r: r, from: r.http.Body, left: limit})
		if err != nil {
			return nil, badBody(err, "The request body is not gzip.")
		}
		return &bodyReader{r: r, from: zip, left: limit, packed: true}, nil
	}
	return nil, dberr.New(dberr.Unsupported, "bad_ctype", "Unsupported Content-Encoding")
}

// bodyReader counts the bytes and the time of a body and ends it at the limit.
type bodyReader struct {
	r      *request
	from   io.Reader
	left   int64
	packed bool
}

func (b *bodyReader) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := b.from.Read(p)
	b.r.bodyTime += time.Since(began)
	if b.left -= int64(n); b.left < 0 {
		return 0, errBodyTooLarge
	}
	if err != nil && err != io.EOF {
		if b.packed {
			return n, badBody(err, "The request body is not gzip.")
		}
		return n, badBody(err, "The request body ended too early.")
	}
	return n, err
}

// badBody keeps an error that has words for the client and gives the others
// the reason.
func badBody(err error, reason string) error {
	var e *dberr.Error
	if errors.As(err, &e) {
		return e
	}
	return &dberr.Error{Kind: dberr.Invalid, Code: "bad_request", Reason: reason, Cause: err}
}

// body reads the whole body.
func (r *request) body() ([]byte, error) {
	from, err := r.reader()
	if err != nil {
		return nil, err
	}
	size := int(min(max(r.http.ContentLength, 0), 1<<20))
	b := make([]byte, 0, size+512)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// requireJSON refuses bodies of another content type. What "curl -d" sends of
// itself counts as JSON.
func (r *request) requireJSON() error {
	switch kind, _, _ := mime.ParseMediaType(r.header("Content-Type")); kind {
	case "application/json", "application/x-www-form-urlencoded":
		return nil
	}
	return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be application/json")
}

// jsonBody reads a body that must be JSON by its content type.
func (r *request) jsonBody() ([]byte, error) {
	if err := r.requireJSON(); err != nil {
		return nil, err
	}
	return r.body()
}

// drain reads and forgets a body nobody looks at, so that the connection can
// be used again.
func (r *request) drain() error {
	_, err := io.Copy(io.Discard, io.LimitReader(r.http.Body, 1<<20))
	return badBodyOrNil(err)
}

func badBodyOrNil(err error) error {
	if err == nil {
		return nil
	}
	return badBody(err, "The request body ended too early.")
}

// accepts reports whether an Accept header admits a media type; without one
// everything is.
func accepts(header, kind string) bool {
	if header == "" {
		return true
	}
	family, _, _ := strings.Cut(kind, "/")
	for part := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "*/*", kind, family + "/*":
			return true
		}
	}
	return false
}

package couchapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/sectional/sectional/internal/dberr"
)

var errBodyTooLarge = dberr.New(dberr.TooLarge, "too_large", "the request entity is too large")

// reader returns the request's body, unpacked if it came as gzip. It ends with an error
// after most bytes and after those of [chttpd] max_http_request_size: both hold for the
// unpacked bytes, and the latter for the packed ones too.
func (r *request) reader(most int64) (io.Reader, error) {
	limit := r.api.settings.Value().maxRequest
	if r.http.ContentLength > limit {
		return nil, r.bodyTooLarge(limit)
	}
	switch encoding := r.header("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		if r.http.ContentLength > most {
			return nil, r.bodyTooLarge(most)
		}
		return r.rawReader(min(limit, most)), nil
	case "gzip":
		zip, err := gzip.NewReader(r.rawReader(limit))
		if err != nil {
			return nil, badBody(err, "The request body is not gzip.")
		}
		return &bodyReader{r: r, from: zip, most: min(limit, most), left: min(limit, most), packed: true}, nil
	}
	return nil, dberr.New(dberr.Unsupported, "bad_ctype", "Unsupported Content-Encoding")
}

// rawReader returns the body as it comes over the line.
func (r *request) rawReader(most int64) *bodyReader {
	return &bodyReader{r: r, from: r.http.Body, most: most, left: most}
}

// bodyTooLarge refuses a body of more than most bytes, and says which limit that is.
func (r *request) bodyTooLarge(most int64) error {
	which := "the limit is " + strconv.FormatInt(most, 10) + " bytes"
	if most == r.api.settings.Value().maxRequest {
		which += ": [chttpd] max_http_request_size"
	} else {
		which += " for what this path takes"
	}
	return dberr.Locate(errBodyTooLarge, which)
}

// bodyReader counts the bytes of a body and ends it at the limit.
type bodyReader struct {
	r      *request
	from   io.Reader
	most   int64
	left   int64
	packed bool
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.r.bodyTooLarge(b.most)
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
func (r *request) body() ([]byte, error) { return r.readBody(nil) }

// readBody reads the whole body into buf, as long as the row allows. The request is
// charged for it as it comes.
func (r *request) readBody(buf []byte) ([]byte, error) {
	cost := r.route.bodyCost()
	from, err := r.reader(cost.most)
	if err != nil {
		return buf, err
	}
	for {
		if len(buf) == cap(buf) {
			buf = r.grown(buf)
		}
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if held := r.hold(cost.of(buf[len(buf)-n:])); held != nil {
			return buf, held
		}
		if err == io.EOF {
			r.raw = buf
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// The room for a body begins small, whatever length is declared, and doubles as bytes
// come; beyond wideBody it grows by halves.
const (
	leastBody = 512
	firstBody = 64 << 10
	wideBody  = 8 << 20
)

// grown returns buf more room.
func (r *request) grown(buf []byte) []byte {
	next := 2 * cap(buf)
	if next > wideBody {
		next = cap(buf) + cap(buf)/2
	}
	next = max(next, leastBody)
	if declared := r.http.ContentLength; declared > 0 && r.http.Header["Content-Encoding"] == nil {
		next = int(min(max(int64(next), firstBody), max(declared, int64(cap(buf)))+1))
	}
	return append(make([]byte, 0, next), buf...)
}

// requireJSON refuses bodies of another content type.
func (r *request) requireJSON() error { return r.requireType("application/json") }

// requireType refuses bodies that are neither of a type, nor JSON, nor a form
// that counts as JSON.
func (r *request) requireType(wanted string) error {
	switch kind, _, _ := mime.ParseMediaType(r.header("Content-Type")); {
	case kind == wanted, kind == "application/json", kind == "application/x-www-form-urlencoded" && r.formIsJSON():
		return nil
	}
	return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be "+wanted)
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
	if r.http.Body == http.NoBody {
		return nil
	}
	_, err := io.Copy(io.Discard, io.LimitReader(r.rawReader(2<<20), 1<<20))
	return err
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

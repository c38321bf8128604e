package web

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/sectional/sectional/internal/dberr"
)

// Errors of bodies.
var (
	ErrBodyTooLarge = dberr.New(dberr.TooLarge, "", "the request entity is too large")
	ErrEncoding     = dberr.New(dberr.Unsupported, "", "Unsupported Content-Encoding")
)

// Reader returns the request's body, unpacked if it came as gzip. It ends with an error
// after most bytes and after those of Settings.MaxBody: both hold for the
// unpacked bytes, and the latter for the packed ones too.
func (r *Request) Reader(most int64) (io.Reader, error) {
	limit := r.frame.options.Settings().MaxBody.Bytes
	if r.HTTP.ContentLength > limit {
		return nil, r.bodyTooLarge(limit)
	}
	switch encoding := r.Header("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		if r.HTTP.ContentLength > most {
			return nil, r.bodyTooLarge(most)
		}
		return r.RawReader(min(limit, most)), nil
	case "gzip":
		zip, err := gzip.NewReader(r.RawReader(limit))
		if err != nil {
			return nil, badBody(err, "The request body is not gzip.")
		}
		return &bodyReader{r: r, from: zip, max: min(limit, most), left: min(limit, most), packed: true}, nil
	}
	return nil, ErrEncoding
}

// RawReader returns the body as it comes over the line. It ends with an error after most bytes.
func (r *Request) RawReader(most int64) io.Reader {
	return &bodyReader{r: r, from: r.HTTP.Body, max: most, left: most}
}

// bodyTooLarge refuses a body of more than most bytes, and says which limit that is.
func (r *Request) bodyTooLarge(most int64) error {
	which := "the limit is " + strconv.FormatInt(most, 10) + " bytes"
	if max := r.frame.options.Settings().MaxBody; most == max.Bytes {
		which += ": " + max.Setting
	} else {
		which += " for what this path takes"
	}
	return dberr.Locate(ErrBodyTooLarge, which)
}

// bodyReader counts the bytes of a body and ends it at the limit.
type bodyReader struct {
	r      *Request
	from   io.Reader
	max    int64
	left   int64
	packed bool
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.r.bodyTooLarge(b.max)
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
	return &dberr.Error{Kind: dberr.Invalid, Reason: reason, Cause: err}
}

// Body reads the whole body into buf, as long as the request's Action allows. It waits for room (ExpectBody); the request is
// charged for what comes.
func (r *Request) Body(buf []byte) ([]byte, error) {
	cost := r.Action.Body
	from, err := r.Reader(cost.Max)
	if err != nil {
		return buf, err
	}
	if err := r.ExpectBody(); err != nil {
		return buf, err
	}
	for {
		if len(buf) == cap(buf) {
			buf = r.grown(buf)
		}
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if held := r.Hold(cost.Of(buf[len(buf)-n:])); held != nil {
			return buf, held
		}
		if err == io.EOF {
			r.release()
			r.Raw = buf
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
func (r *Request) grown(buf []byte) []byte {
	next := 2 * cap(buf)
	if next > wideBody {
		next = cap(buf) + cap(buf)/2
	}
	next = max(next, leastBody)
	if declared := r.HTTP.ContentLength; declared > 0 && r.HTTP.Header["Content-Encoding"] == nil {
		next = int(min(max(int64(next), firstBody), max(declared, int64(cap(buf)))+1))
	}
	return append(make([]byte, 0, next), buf...)
}

// Drain reads and forgets a body nobody looks at, so that the connection can
// be used again.
func (r *Request) Drain() error {
	if r.HTTP.Body == http.NoBody {
		return nil
	}
	_, err := io.Copy(io.Discard, io.LimitReader(r.RawReader(2<<20), 1<<20))
	return err
}

// Accepts reports whether an Accept header admits a media type; without one
// everything is.
func Accepts(header, kind string) bool {
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

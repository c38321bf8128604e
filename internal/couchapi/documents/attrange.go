package documents

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// maxRanges is how many ranges of an attachment one request may ask for; with
// more it gets all of it.
const maxRanges = 9

var errRange = dberr.New(dberr.Invalid, couchhttp.OutOfRange, "Requested range not satisfiable")

// span is a range of bytes: from, and up to but without to.
type span struct{ from, to int64 }

// header returns the value of Content-Range.
func (s span) header(length int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", s.from, s.to-1, length)
}

// ranges returns the ranges of a that the request asks for, nil for all of it.
// Errors: errRange.
func ranges(r *couchhttp.Request, a *document.Attachment) ([]span, error) {
	header, ok := strings.CutPrefix(r.Header("Range"), "bytes=")
	if !ok {
		return nil, nil
	}
	if tag := r.Header("If-Range"); tag != "" && tag != r.Answer()["Etag"][0] {
		return nil, nil // the client has a part of something else
	}
	return parseRanges(header, a.Length)
}

// parseRanges reads the ranges of a Range header as CouchDB does: what can't
// be read, or asks for all, yields nil. Errors: Range for one that lies outside.
func parseRanges(header string, length int64) ([]span, error) {
	spans := []span{}
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		first, last, ok := parseRange(part, length)
		if !ok || first == 0 && strings.HasSuffix(part, "-") {
			return nil, nil
		}
		if first < 0 || first >= length || last < first {
			return nil, errRange
		}
		spans = append(spans, span{first, min(last+1, length)})
	}
	if len(spans) > maxRanges {
		return nil, nil
	}
	return spans, nil
}

// parseRange reads "first-last", "first-", "first" or "-count".
func parseRange(s string, length int64) (first, last int64, ok bool) {
	if count, isSuffix := strings.CutPrefix(s, "-"); isSuffix {
		n, err := strconv.ParseInt(count, 10, 64)
		if n < 0 {
			return -1, 0, err == nil
		}
		if n == 0 {
			return length, 0, err == nil
		}
		return max(length-n, 0), length - 1, err == nil
	}
	a, b, _ := strings.Cut(s, "-")
	first, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if b == "" {
		return first, length - 1, true
	}
	last, err = strconv.ParseInt(b, 10, 64)
	return first, min(last, length), err == nil
}

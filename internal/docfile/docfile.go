// Package docfile owns the files that hold documents: JSON lines and the files of couchbackup, JSON of a dump, CSV, and
// the export format of DynamoDB. A reader gives document after document, however large the file is, and says of each
// where it was and what is wrong with it; a writer is the other way. It is pure: it neither opens files nor asks servers.
//
// Begin reading at Reader.
package docfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// Doc is a document of a file: a JSON object, in memory of its own.
type Doc struct {
	Line int64 // where it begins, from 1; of a file of JSON its number
	Raw  []byte
	// Err says why there is none here. What follows may be read.
	Err error
}

// Reader reads the documents of a file.
type Reader interface {
	// Next returns the next document. Errors: io.EOF at the end, else why the file can't be read any further.
	Next() (Doc, error)
}

// maxLine bounds a line of a file: an array of couchbackup has hundreds of documents. A server takes no more in a request.
const maxLine = 256 << 20

// Unpacked returns what a file holds: unpacked if it is packed by gzip. Reading ends with an error where a few bytes become
// many, as documents never do.
func Unpacked(in io.Reader) (io.Reader, error) {
	u := &unpacked{in: in}
	b := bufio.NewReaderSize(readerFunc(u.pack), 256<<10)
	if magic, err := b.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil
	}
	var err error
	u.zip, err = gzip.NewReader(b)
	return u, err
}

// unpacked reads what gzip has packed, and counts the bytes on both sides.
type unpacked struct {
	in          io.Reader
	zip         *gzip.Reader
	packed, out int64
}

// Of a packed file so many bytes are read, and then so many for each byte of it: gzip makes a twentieth of documents that are
// alike, and a thousandth of one byte again and again.
const (
	freeUnpacked = 64 << 20
	maxUnpacked  = 250
)

// pack reads what is packed.
func (u *unpacked) pack(p []byte) (int, error) {
	n, err := u.in.Read(p)
	u.packed += int64(n)
	return n, err
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.zip.Read(p)
	if u.out += int64(n); u.out > freeUnpacked+maxUnpacked*u.packed {
		return 0, fmt.Errorf("after %d bytes gzip has made more than %d times as many of them: unpack the file first if it is what you want", u.packed, maxUnpacked)
	}
	return n, err
}

// readerFunc is a function that reads.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// lines reads a file line by line.
type lines struct {
	in   *bufio.Reader
	line int64
	buf  []byte
}

func newLines(in io.Reader) *lines { return &lines{in: bufio.NewReaderSize(in, 256<<10)} }

// next returns the next line that is not empty, without the end; it holds until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		l.buf = l.buf[:0]
		for {
			piece, err := l.in.ReadSlice('\n')
			if err == nil && len(l.buf) == 0 {
				l.line++
				if line := bytes.TrimSpace(piece); len(line) > 0 {
					return line, nil
				}
				continue
			}
			l.buf = append(l.buf, piece...)
			if len(l.buf) > maxLine {
				return nil, fmt.Errorf("line %d has more than %d MB", l.line+1, maxLine>>20)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(bytes.TrimSpace(l.buf)) == 0) {
				return nil, err
			}
			break
		}
		l.line++
		if line := bytes.TrimSpace(l.buf); len(line) > 0 {
			return line, nil
		}
	}
}

// ErrNoObject is what a line is that is no document.
var ErrNoObject = errors.New("this is no JSON object")

// marker ends a line that couchbackup broke off, when it went on later.
var marker = []byte(`{"marker":"@cloudant/couchbackup:resume"}`)

// jsonLines reads JSON lines and the files of couchbackup.
type jsonLines struct {
	lines    *lines
	rest     jsonscan.Elements // of a line that is an array
	multiple bool
}

// JSONLines reads a file with a document in each line, or an array of documents, as couchbackup writes them; its first
// line may be couchbackup's header, which is passed over.
func JSONLines(in io.Reader) Reader { return &jsonLines{lines: newLines(in)} }

// Next implements Reader.
func (j *jsonLines) Next() (Doc, error) {
	for {
		if j.multiple {
			if element, ok := j.rest.Next(); ok {
				return j.doc(element), nil
			}
			j.multiple = false
		}
		line, err := j.lines.next()
		if err != nil {
			return Doc{}, err
		}
		switch {
		case bytes.HasSuffix(line, marker):
			continue
		case !json.Valid(line):
			return Doc{Line: j.lines.line, Err: ErrNoObject}, nil
		case line[0] == '[':
			j.rest, j.multiple = jsonscan.ElementsOf(line), true // the next line is read after the last of them
		case j.lines.line == 1 && header(line):
		default:
			return j.doc(line), nil
		}
	}
}

func (j *jsonLines) doc(raw []byte) Doc {
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return Doc{Line: j.lines.line, Err: ErrNoObject}
	}
	return Doc{Line: j.lines.line, Raw: slices.Clone(raw)}
}

// header reports whether a line is the first of a file of couchbackup.
func header(line []byte) bool {
	for _, name := range []string{"name", "version", "mode"} {
		if _, ok := jsonscan.Member(line, name); !ok {
			return false
		}
	}
	_, id := jsonscan.Member(line, "_id")
	return !id
}

// dump reads one value of JSON.
type dump struct {
	docs chan Doc
	err  error // when docs is closed
	stop chan struct{}
}

// JSON reads a file that is one JSON value: an array of documents, an object whose member docs is one, as for
// _bulk_docs, or the answer of _all_docs with documents. Close is to be called.
func JSON(in io.Reader) ReadCloser {
	d := &dump{docs: make(chan Doc, 64), stop: make(chan struct{})}
	go func() {
		defer close(d.docs)
		d.err = d.read(jsonstream.New(in))
	}()
	return d
}

// ReadCloser is a reader that is to be closed.
type ReadCloser interface {
	Reader
	io.Closer
}

var errStopped = errors.New("closed")

func (d *dump) read(in *jsonstream.Values) error {
	n := int64(0)
	give := func(raw []byte) error {
		n++
		doc := Doc{Line: n, Raw: slices.Clone(raw)}
		if !json.Valid(raw) || jsonscan.KindOf(raw) != jsonscan.Object {
			doc = Doc{Line: n, Err: ErrNoObject}
		}
		select {
		case d.docs <- doc:
			return nil
		case <-d.stop:
			return errStopped
		}
	}
	first, err := in.Peek()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF // nothing is in it
	case err != nil:
		return err
	case first == '[':
		err = in.Array(give)
	default:
		err = in.Lists(map[string]func([]byte) error{"docs": give, "rows": func(row []byte) error {
			doc, ok := jsonscan.Member(row, "doc")
			if !ok {
				return errors.New("the rows have no documents in them")
			}
			return give(doc)
		}})
	}
	if err != nil {
		return fmt.Errorf("after %d documents: %w", n, err)
	}
	return io.EOF
}

// Next implements Reader.
func (d *dump) Next() (Doc, error) {
	if doc, ok := <-d.docs; ok {
		return doc, nil
	}
	return Doc{}, d.err
}

// Close implements io.Closer.
func (d *dump) Close() error {
	close(d.stop)
	for range d.docs {
	}
	return nil
}

package snapshot

import (
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
)

// ContentType is the media type of a snapshot, whatever it is packed with.
const ContentType = "application/vnd.sectional.snapshot"

// The content encodings of snapshots, best first; "" is none.
const (
	Zstd = "zstd"
	Gzip = couchwire.Gzip
)

// Encoding chooses the encoding of an answer by an Accept-Encoding header.
func Encoding(accept string) string {
	for _, encoding := range []string{Zstd, Gzip} {
		if couchwire.Accepts(accept, encoding) {
			return encoding
		}
	}
	return ""
}

// Packer packs what is written to it. Flush passes on everything so far in a
// form that can be unpacked without the rest.
type Packer interface {
	io.WriteCloser
	Flush() error
}

// NewPacker makes a Packer to w for an encoding that Encoding chose.
func NewPacker(encoding string, w io.Writer) (Packer, error) {
	switch encoding {
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
			zstd.WithLowerEncoderMem(true))
	case Gzip:
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	}
	return unpacked{w}, nil
}

// unpacked packs nothing.
type unpacked struct{ io.Writer }

// Flush implements Packer.
func (unpacked) Flush() error { return nil }

// Close implements Packer.
func (unpacked) Close() error { return nil }

// NewUnpacker returns what was packed with an encoding, by its name in a
// Content-Encoding header. Memory is bounded whatever comes. What can't be
// unpacked is Invalid bad_snapshot, other encodings are Unsupported.
func NewUnpacker(encoding string, r io.Reader) (io.ReadCloser, error) {
	in := &source{r: r}
	switch strings.ToLower(encoding) {
	case "", "identity":
		return io.NopCloser(r), nil
	case Zstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, dberr.Wrap("snapshot.NewUnpacker", err)
		}
		return &unpacker{from: z, in: in, close: z.Close}, nil
	case Gzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, in.explain(err)
		}
		return &unpacker{from: z, in: in, close: func() {}}, nil
	}
	return nil, dberr.New(dberr.Unsupported, "bad_ctype", "Unsupported Content-Encoding")
}

// source remembers why the packed bytes ended, to tell it apart from what is
// wrong with them.
type source struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.err = err
	return n, err
}

// explain returns the reason why unpacking failed.
func (s *source) explain(err error) error {
	switch {
	case s.err != nil && s.err != io.EOF:
		return s.err
	case ended(err):
		return errCut
	}
	return &dberr.Error{Kind: dberr.Invalid, Code: "bad_snapshot", Reason: "The snapshot can't be unpacked.", Cause: err}
}

// unpacker returns unpacked bytes.
type unpacker struct {
	from  io.Reader
	in    *source
	close func()
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.from.Read(p)
	if err != nil && err != io.EOF {
		err = u.in.explain(err)
	}
	return n, err
}

// Close implements io.Closer.
func (u *unpacker) Close() error {
	u.close()
	return nil
}

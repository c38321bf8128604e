package migrate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// answers is one answer with documents on its way to the replication.
type answers struct {
	run *run
	ctx context.Context
	ids map[string]string // the new ids of those that were asked for, by the old ones
	id  string            // the new id, of a request for one document
}

// What is held of a _bulk_get until the documents that it refers to are looked up together.
const (
	bufferResults = 200
	bufferBytes   = 4 << 20
)

// bulk changes the answer to a _bulk_get.
func (a *answers) bulk(from io.Reader, out *bufio.Writer) error {
	if _, err := out.WriteString(`{"results":[`); err != nil {
		return err
	}
	var held [][]byte
	size, begun := 0, false
	flush := func() error {
		known, err := a.run.lookUp(a.ctx, held)
		if err != nil {
			return err
		}
		for _, result := range held {
			if begun {
				if err := out.WriteByte(','); err != nil {
					return err
				}
			}
			begun = true
			if _, err := out.Write(a.result(result, known)); err != nil {
				return err
			}
		}
		held, size = held[:0], 0
		return nil
	}
	err := jsonstream.New(from).Object("results", func(raw []byte) error {
		if !valid(raw) {
			return jsonstream.ErrForm
		}
		held, size = append(held, slices.Clone(raw)), size+len(raw)
		if len(a.run.References) > 0 && len(held) < bufferResults && size < bufferBytes {
			return nil
		}
		return flush()
	}, func(string, []byte) error { return nil })
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	_, err = out.WriteString("]}")
	return err
}

// result changes one result of a _bulk_get: a document's revisions.
func (a *answers) result(raw []byte, known map[string]string) []byte {
	old, _ := textOf(raw, "id")
	id, ok := a.ids[old]
	if !ok {
		return raw
	}
	raw = jsonscan.With(raw, "id", jsonscan.AppendQuoted(nil, id))
	list, ok := jsonscan.Member(raw, "docs")
	if !ok {
		return raw
	}
	docs := []byte{'['}
	for e := jsonscan.ElementsOf(list); ; {
		one, ok := e.Next()
		if !ok {
			break
		}
		if len(docs) > 1 {
			docs = append(docs, ',')
		}
		if doc, ok := jsonscan.Member(one, "ok"); ok {
			one = jsonscan.With(one, "ok", a.run.changedDocument(doc, id, known))
		}
		docs = append(docs, one...)
	}
	return jsonscan.With(raw, "docs", append(docs, ']'))
}

// leaves changes the answer to open_revs, by its type: parts, or an array.
func (a *answers) leaves(contentType string) func(io.Reader, *bufio.Writer) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err == nil && kind == "multipart/mixed" && params["boundary"] != "" {
		return func(from io.Reader, out *bufio.Writer) error { return a.mixed(from, out, params["boundary"]) }
	}
	return a.array
}

// array changes an array of leaves, whose attachments may be in them.
func (a *answers) array(from io.Reader, out *bufio.Writer) error {
	if err := out.WriteByte('['); err != nil {
		return err
	}
	begun := false
	err := jsonstream.New(from).Array(func(raw []byte) error {
		if !valid(raw) {
			return jsonstream.ErrForm
		}
		if doc, ok := jsonscan.Member(raw, "ok"); ok {
			doc, err := a.one(doc)
			if err != nil {
				return err
			}
			raw = jsonscan.With(raw, "ok", doc)
		}
		if begun {
			if err := out.WriteByte(','); err != nil {
				return err
			}
		}
		begun = true
		_, err := out.Write(raw)
		return err
	})
	if err != nil {
		return err
	}
	return out.WriteByte(']')
}

// one changes a document that came alone.
func (a *answers) one(doc []byte) ([]byte, error) {
	known, err := a.run.lookUp(a.ctx, [][]byte{doc})
	if err != nil {
		return nil, err
	}
	return a.run.changedDocument(doc, a.id, known), nil
}

// mixed changes parts, each a leaf as JSON, or one followed by its attachments.
func (a *answers) mixed(from io.Reader, out *bufio.Writer, boundary string) error {
	return copyParts(from, out, boundary, func(_ int, part *multipart.Part, to func() (io.Writer, error)) error {
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil || kind != "multipart/related" || params["boundary"] == "" {
			if params["error"] == "true" {
				return copyPart(part, to)
			}
			return a.part(part, to)
		}
		part.Header.Del("Content-Length")
		w, err := to()
		if err != nil {
			return err
		}
		return copyParts(part, w, params["boundary"], func(n int, part *multipart.Part, to func() (io.Writer, error)) error {
			if n == 0 {
				return a.part(part, to)
			}
			return copyPart(part, to)
		})
	})
}

// part changes a part that is a document.
func (a *answers) part(part *multipart.Part, to func() (io.Writer, error)) error {
	raw, err := io.ReadAll(io.LimitReader(part, jsonstream.Longest))
	if err != nil {
		return err
	}
	if !valid(raw) {
		return jsonstream.ErrForm
	}
	part.Header.Del("Content-Length")
	w, err := to()
	if err != nil {
		return err
	}
	doc, err := a.one(raw)
	if err != nil {
		return err
	}
	_, err = w.Write(doc)
	return err
}

func copyPart(part *multipart.Part, to func() (io.Writer, error)) error {
	w, err := to()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, part)
	return err
}

// copyParts copies parts as each does it: to begins the part, with the header as it is then.
func copyParts(from io.Reader, out io.Writer, boundary string, each func(n int, part *multipart.Part, to func() (io.Writer, error)) error) error {
	in, w := couchwire.PartsOf(from, boundary), multipart.NewWriter(out)
	if err := w.SetBoundary(strings.Trim(boundary, `"`)); err != nil {
		return err
	}
	for n := 0; ; n++ {
		part, err := in.NextRawPart()
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if err := each(n, part, func() (io.Writer, error) { return w.CreatePart(part.Header) }); err != nil {
			return err
		}
	}
}

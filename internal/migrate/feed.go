package migrate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
)

// feed is one answer of the source's feed on its way to the replication.
type feed struct {
	run *run
	ctx context.Context
}

// normal changes a feed that has an end.
func (f *feed) normal(from io.Reader, out *bufio.Writer) error {
	in := jsonstream.New(from)
	if _, err := out.WriteString(`{"results":[`); err != nil {
		return err
	}
	begun := false
	var tail []byte
	err := in.Object("results", func(raw []byte) error {
		row, err := f.row(raw)
		if err != nil || row == nil {
			return err
		}
		if begun {
			row = append([]byte{',', '\n'}, row...)
		}
		begun = true
		return f.write(out, in, row)
	}, func(name string, value []byte) error {
		tail = append(append(jsonscan.AppendQuoted(append(tail, ','), name), ':'), value...)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = out.Write(append(append([]byte{']'}, tail...), '}'))
	return err
}

// continuous changes a feed that goes on.
func (f *feed) continuous(from io.Reader, out *bufio.Writer) error {
	in := jsonstream.New(from)
	for {
		if in.Waiting() {
			switch err := in.Fill(); {
			case errors.Is(err, io.ErrUnexpectedEOF):
				return nil // it has ended between two rows
			case err != nil:
				return err
			}
			if in.Waiting() { // a sign of life
				if err := out.WriteByte('\n'); err != nil {
					return err
				}
				if err := out.Flush(); err != nil {
					return err
				}
			}
			continue
		}
		raw, err := in.Value()
		if err != nil {
			return err
		}
		row := raw
		if _, ended := jsonscan.Member(raw, "last_seq"); !ended {
			if row, err = f.row(raw); err != nil {
				return err
			}
		}
		if row == nil {
			continue
		}
		if err := f.write(out, in, append(row[:len(row):len(row)], '\n')); err != nil {
			return err
		}
	}
}

// write hands a row on, at once if no other has come.
func (f *feed) write(out *bufio.Writer, in *jsonstream.Values, row []byte) error {
	if _, err := out.Write(row); err != nil {
		return err
	}
	if !in.Waiting() {
		return nil
	}
	return out.Flush()
}

// row returns a row with the document's new id, nil if the document goes nowhere.
func (f *feed) row(raw []byte) ([]byte, error) {
	if !valid(raw) {
		return nil, jsonstream.ErrForm
	}
	id, ok := textOf(raw, "id")
	if !ok {
		return raw, nil // the feed's error
	}
	seq, _ := jsonscan.Member(raw, "seq")
	changes, ok := jsonscan.Member(raw, "changes")
	if !ok || seq == nil {
		return nil, jsonstream.ErrForm
	}
	deleted := false
	if d, ok := jsonscan.Member(raw, "deleted"); ok {
		deleted = jsonscan.KindOf(d) == jsonscan.True
	}
	doc, _ := jsonscan.Member(raw, "doc")
	to, err := f.place(id, doc, deleted)
	if err != nil || to == "" {
		return nil, err
	}
	f.run.rows.Add(1)
	row := append(append([]byte(`{"seq":`), seq...), `,"id":`...)
	row = append(append(jsonscan.AppendQuoted(row, to), `,"changes":`...), changes...)
	if deleted {
		row = append(row, `,"deleted":true`...)
	}
	return append(row, '}'), nil
}

// place returns the id that a document gets, "" if it gets none, and takes it away from where it does not belong any
// more.
func (f *feed) place(id string, doc []byte, deleted bool) (string, error) {
	r := f.run
	if strings.HasPrefix(id, designPrefix) {
		if r.NoDesign {
			return "", nil
		}
		return id, nil
	}
	was, wasDeleted, there := r.places.get(id)
	p, why := f.partition(id, doc, deleted, was, there)
	if why != "" {
		if !deleted {
			r.unfit(id, why, there && !wasDeleted, was)
		}
		return "", nil
	}
	if there && was != p {
		if err := r.move(f.ctx, id, was, p); err != nil {
			return "", err
		}
	}
	r.places.set(id, p, deleted)
	return r.newID(id, p), nil
}

// partition returns where a document belongs. What is deleted has lost its members: it belongs where it was.
func (f *feed) partition(id string, doc []byte, deleted bool, was document.Partition, there bool) (p document.Partition, why string) {
	switch {
	case deleted && there:
		return was, ""
	case jsonscan.KindOf(doc) != jsonscan.Object:
		return "", "the source does not show it"
	case deleted:
		without := Mapping{By: f.run.By, KeepIDs: f.run.KeepIDs}
		return without.partition(id, doc)
	}
	return f.run.partition(id, doc)
}

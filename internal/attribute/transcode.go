package attribute

import (
	"bytes"

	"github.com/sectional/sectional/internal/jsonscan"
)

// AppendWire appends the item that a document is as it is on the wire, and returns the
// item's size: AppendItem of ParseBody without an item between them, for whoever wants
// all attributes of documents. Errors: *Misfit.
func AppendWire(dst, body []byte) (wire []byte, size int, err error) {
	w := transcoder{reader: reader{raw: body}, out: dst}
	if t := w.next(); t.kind != jsonscan.Object {
		return dst, 0, misfit("the body is no object")
	}
	if err := w.object(true); err != nil {
		return dst, 0, err
	}
	return w.out, w.size, nil
}

// transcoder writes what it reads. Strings are copied as they are quoted.
type transcoder struct {
	reader
	out  []byte
	size int
}

func (w *transcoder) comma(n int) {
	if n > 0 {
		w.out = append(w.out, ',')
	}
}

// object writes the attributes of an object that has been opened.
func (w *transcoder) object(top bool) error {
	w.out = append(w.out, '{')
	for n := 0; ; n++ {
		t := w.next()
		if t.kind != jsonscan.String {
			w.out = append(w.out, '}')
			return nil
		}
		if !top {
			w.size += elementSize
		}
		w.comma(n)
		quoted := w.raw[t.start:t.end]
		if err := w.name(quoted, top); err != nil {
			return within(err, string(jsonscan.Text(nil, quoted)))
		}
		w.out = append(w.out, ':')
		if err := w.value(w.next()); err != nil {
			return within(err, string(jsonscan.Text(nil, quoted)))
		}
	}
}

// name writes the name of an attribute.
func (w *transcoder) name(quoted []byte, top bool) error {
	plain := len(quoted) > 2 && quoted[1] != escape && quoted[1] != '_' && quoted[1] != '\\' && len(quoted) < maxName
	if plain {
		w.size += w.length(quoted)
		w.out = append(w.out, quoted...)
		return nil
	}
	name, err := attributeName(string(jsonscan.Text(nil, quoted)), top)
	w.size += len(name)
	w.out = jsonscan.AppendQuoted(w.out, name)
	return err
}

// length returns how many bytes a quoted string stands for.
func (w *transcoder) length(quoted []byte) int {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return len(quoted) - len(`""`)
	}
	return len(jsonscan.Text(nil, quoted))
}

// value writes the value that begins with t.
func (w *transcoder) value(t token) error {
	if w.depth++; w.depth > MaxDepth {
		return misfit("values are nested more than 32 deep")
	}
	var err error
	switch t.kind {
	case jsonscan.String:
		w.out = append(w.out, `{"S":`...)
		w.string(t)
	case jsonscan.Number:
		w.out = append(w.out, `{"N":`...)
		err = w.number(t)
	case jsonscan.True, jsonscan.False:
		w.size++
		w.out = append(append(w.out, `{"BOOL":`...), w.raw[t.start:t.end]...)
	case jsonscan.Null:
		w.size++
		w.out = append(w.out, `{"NULL":true`...)
	case jsonscan.Array:
		err = w.list()
	case jsonscan.Object:
		err = w.composite(t)
	default:
		err = misfit("not JSON")
	}
	w.out = append(w.out, '}')
	w.depth--
	return err
}

func (w *transcoder) string(t token) {
	w.size += w.length(w.raw[t.start:t.end])
	w.out = append(w.out, w.raw[t.start:t.end]...)
}

func (w *transcoder) number(t token) error {
	n, err := ParseNumber(string(w.raw[t.start:t.end]))
	if err != nil {
		return misfit("a number has more than 38 digits or is out of range")
	}
	w.size += n.Size()
	w.out = appendScalar(w.out, N, string(n))
	return nil
}

func (w *transcoder) list() error {
	w.size += nestedSize
	w.out = append(w.out, `{"L":[`...)
	for n := 0; ; n++ {
		t := w.next()
		if t.kind == jsonscan.Invalid {
			w.out = append(w.out, ']')
			return nil
		}
		w.size += elementSize
		w.comma(n)
		if err := w.value(t); err != nil {
			return withinElement(err, n)
		}
	}
}

// composite writes the object that t opened: a map, or by way of a Value what it stands
// for.
func (w *transcoder) composite(object token) error {
	if t := w.next(); t.kind == jsonscan.String && meaning(string(jsonscan.Text(nil, w.raw[t.start:t.end]))) != None {
		return w.meaning(object)
	}
	w.at = object.end
	w.size += nestedSize
	w.out = append(w.out, `{"M":`...)
	return w.object(false)
}

// meaning writes the value that an object stands for, without its last bracket.
func (w *transcoder) meaning(object token) error {
	w.at = jsonscan.End(w.raw, object.start)
	r := newReader(w.raw[object.start:w.at])
	v, err := r.bodyValue(r.next())
	if err != nil {
		return err
	}
	w.size += v.Size()
	w.out = AppendValue(w.out, v)
	w.out = w.out[:len(w.out)-1]
	return nil
}

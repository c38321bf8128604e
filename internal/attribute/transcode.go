package attribute

import (
	"bytes"

	"github.com/sectional/sectional/internal/jsonscan"
)

// AppendWire appends the item that a document is as it is on the wire, and returns the
// item's size: AppendItem of ParseBody without an item between them, for whoever wants
// all attributes of documents. Errors: *Misfit.
func AppendWire(dst, body []byte) (wire []byte, size int, err error) {
	w := transcoder{raw: body, out: dst}
	if w.peek() != '{' {
		return dst, 0, misfit("the body is not an object")
	}
	w.at++
	if err := w.object(true); err != nil {
		return dst, 0, err
	}
	return w.out, w.size, nil
}

// transcoder writes what it reads. It looks at bytes, not at tokens, because it is what a
// query does most. Strings are copied as they are quoted.
type transcoder struct {
	raw   []byte
	at    int
	depth int
	out   []byte
	size  int
	room  []byte // for the characters of a string with escapes
}

// peek passes over separators and returns the byte that comes then, 0 at the end.
func (w *transcoder) peek() byte {
	for ; w.at < len(w.raw); w.at++ {
		if c := w.raw[w.at]; c > ' ' && c != ',' && c != ':' {
			return c
		}
	}
	return 0
}

// leave passes over a bracket, or whatever stands in the place of one.
func (w *transcoder) leave() {
	if w.at < len(w.raw) {
		w.at++
	}
}

func (w *transcoder) comma(n int) {
	if n > 0 {
		w.out = append(w.out, ',')
	}
}

// nearQuote is within how many bytes the end of a string is looked for by a plain loop,
// which finds it sooner than a search there.
const nearQuote = 24

// quoted passes over a string and returns it; plain says that nothing in it is escaped.
func (w *transcoder) quoted() (quoted []byte, plain bool) {
	start, rest := w.at, w.raw[w.at+1:]
	n := 0
	for n < len(rest) && n < nearQuote && rest[n] != '"' && rest[n] != '\\' {
		n++
	}
	if n == nearQuote {
		if end := bytes.IndexByte(rest[n:], '"'); end >= 0 && bytes.IndexByte(rest[n:n+end], '\\') < 0 {
			n += end
		}
	}
	if plain = n < len(rest) && rest[n] == '"'; plain {
		w.at += n + len(`""`)
	} else {
		w.at = jsonscan.End(w.raw, start)
	}
	return w.raw[start:w.at], plain
}

// text returns the characters of a quoted string, up to the next call.
func (w *transcoder) text(quoted []byte) []byte {
	text := jsonscan.Text(w.room[:0], quoted)
	if bytes.IndexByte(quoted, '\\') >= 0 { // otherwise it is a part of the body
		w.room = text
	}
	return text
}

// length returns how many bytes a quoted string stands for.
func (w *transcoder) length(quoted []byte, plain bool) int {
	if plain {
		return len(quoted) - len(`""`)
	}
	return len(w.text(quoted))
}

// object writes the attributes of an object that has been opened.
func (w *transcoder) object(top bool) error {
	w.out = append(w.out, '{')
	for n := 0; ; n++ {
		if w.peek() != '"' {
			w.leave()
			w.out = append(w.out, '}')
			return nil
		}
		if !top {
			w.size += elementSize
		}
		w.comma(n)
		quoted, plain := w.quoted()
		err := w.name(quoted, plain, top)
		if err == nil {
			w.out = append(w.out, ':')
			err = w.value()
		}
		if err != nil {
			return within(err, string(jsonscan.Text(nil, quoted)))
		}
	}
}

// name writes the name of an attribute.
func (w *transcoder) name(quoted []byte, plain, top bool) error {
	if plain && len(quoted) > 2 && quoted[1] != escape && quoted[1] != '_' && len(quoted) < maxName {
		w.size += len(quoted) - len(`""`)
		w.out = append(w.out, quoted...)
		return nil
	}
	name, err := attributeName(string(w.text(quoted)), top)
	w.size += len(name)
	w.out = jsonscan.AppendQuoted(w.out, name)
	return err
}

// value writes the value that comes next.
func (w *transcoder) value() (err error) {
	if w.depth++; w.depth > MaxDepth {
		return misfit("values are nested more than 32 deep")
	}
	switch c := w.peek(); c {
	case '"':
		quoted, plain := w.quoted()
		w.size += w.length(quoted, plain)
		w.out = append(append(w.out, `{"S":`...), quoted...)
	case '[':
		err = w.list()
	case '{':
		err = w.composite()
	case 't', 'f', 'n':
		w.word(c)
	default:
		err = w.number(c)
	}
	w.out = append(w.out, '}')
	w.depth--
	return err
}

// word writes one of the three words of JSON, which begins with c.
func (w *transcoder) word(c byte) {
	w.size++
	w.at = jsonscan.End(w.raw, w.at)
	switch c {
	case 't':
		w.out = append(w.out, `{"BOOL":true`...)
	case 'f':
		w.out = append(w.out, `{"BOOL":false`...)
	default:
		w.out = append(w.out, `{"NULL":true`...)
	}
}

// number writes a number, which begins with c.
func (w *transcoder) number(c byte) error {
	if c != '-' && (c < '0' || c > '9') {
		return misfit("not JSON")
	}
	start := w.at
	w.at = jsonscan.End(w.raw, start)
	text := w.raw[start:w.at]
	size, normal := normalSize(text)
	if !normal {
		n, err := ParseNumber(string(text))
		if err != nil {
			return misfit("a number has more than 38 digits or is out of range")
		}
		text, size = []byte(n), n.Size()
	}
	w.size += size
	w.out = append(append(append(w.out, `{"N":"`...), text...), '"')
	return nil
}

func (w *transcoder) list() error {
	w.at++
	w.size += nestedSize
	w.out = append(w.out, `{"L":[`...)
	for n := 0; ; n++ {
		if c := w.peek(); c == ']' || c == '}' || c == 0 {
			w.leave()
			w.out = append(w.out, ']')
			return nil
		}
		w.size += elementSize
		w.comma(n)
		if err := w.value(); err != nil {
			return withinElement(err, n)
		}
	}
}

// composite writes an object: a map, or what it stands for.
func (w *transcoder) composite() error {
	start := w.at
	w.at++
	if w.peek() == '"' {
		at := w.at
		switch quoted, _ := w.quoted(); meaning(string(w.text(quoted))) {
		case None:
			w.at = at
		case SS:
			if w.strings() {
				return nil
			}
			fallthrough
		default:
			w.at = start
			return w.meaning()
		}
	}
	w.size += nestedSize
	w.out = append(w.out, `{"M":`...)
	return w.object(false)
}

// strings writes a set of strings whose member has been opened, if it is one as it is
// stored: sorted, with nothing escaped in it. Otherwise what it wrote counts for nothing.
func (w *transcoder) strings() bool {
	out, size := w.out, w.size
	if w.peek() == '[' {
		w.at++
		w.out = append(w.out, `{"SS":[`...)
		if w.elements() && w.peek() == ']' {
			w.at++
			if w.peek() == '}' {
				w.at++
				w.out = append(w.out, ']')
				return true
			}
		}
	}
	w.out, w.size = out, size
	return false
}

// elements writes those of a set of strings up to its end; false for none, and for one
// that has an escape or is not above the one before it.
func (w *transcoder) elements() bool {
	var last []byte
	for w.peek() == '"' {
		quoted, plain := w.quoted()
		if !plain {
			return false
		}
		element := quoted[1 : len(quoted)-1]
		if last != nil && bytes.Compare(last, element) >= 0 {
			return false
		}
		if last != nil {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, quoted...)
		w.size += len(element)
		last = element
	}
	return last != nil
}

// meaning writes the value that an object stands for, without its last bracket.
func (w *transcoder) meaning() error {
	start := w.at
	w.at = jsonscan.End(w.raw, start)
	r := newReader(w.raw[start:w.at])
	v, err := r.bodyValue(r.next())
	if err != nil {
		return err
	}
	w.size += v.Size()
	w.out = AppendValue(w.out, v)
	w.out = w.out[:len(w.out)-1]
	return nil
}

package attribute

import (
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// ParseItem reads a map of attributes from the wire, {"id":{"S":"1"}}. Errors:
// Serialization for JSON of another form, wherever in it, else Validation for the
// first value that breaks a rule. What is certainly larger than an item may be is not
// read to its end, so that a request takes no more memory than items do.
func ParseItem(raw []byte) (Item, error) {
	r := newReader(raw)
	r.room = MaxItemSize
	item := r.item()
	return item, r.err()
}

// MaxValues is how large the values of a request's expressions may be together.
const MaxValues = 2 << 20

// ParseValue reads a value from the wire, {"S":"1"}; errors as of ParseItem.
func ParseValue(raw []byte) (Value, error) {
	r := newReader(raw)
	r.room = MaxValues
	v := r.value()
	return v, r.err()
}

// reader reads wire JSON in one pass. AWS reads the whole request before it looks at
// any value, so that a mistake of form comes before one of content: broken ends the
// pass, invalid lets it go on. Strings are parts of one copy of the text.
type reader struct {
	raw     []byte
	text    string // raw
	at      int
	depth   int
	room    int // how much may still be read of what comes from the wire
	broken  error
	invalid error
}

func newReader(raw []byte) *reader { return &reader{raw: raw, text: string(raw)} }

func (r *reader) err() error {
	if r.broken != nil {
		return r.broken
	}
	return r.invalid
}

// refuse notes the first value that breaks a rule.
func (r *reader) refuse(err error) {
	if r.invalid == nil {
		r.invalid = err
	}
}

// stop ends the pass.
func (r *reader) stop(text string, args ...any) {
	if r.broken == nil {
		r.broken = Unreadable(text, args...)
	}
	r.at = len(r.raw)
}

// take takes room for so many bytes that count for an item's size; without any the pass
// ends. Numbers count as less than they are.
func (r *reader) take(size int) {
	if r.room -= size; r.room < 0 {
		r.refuse(errTooLarge)
		r.at = len(r.raw)
	}
}

// token is a token of JSON and where it is.
type token struct {
	kind       jsonscan.Kind
	start, end int
}

func (r *reader) next() (t token) {
	t.kind, t.start, t.end = jsonscan.Token(r.raw, r.at)
	r.at = t.end
	return t
}

// skip passes over the value that begins with t.
func (r *reader) skip(t token) { r.at = jsonscan.End(r.raw, t.start) }

// unquote returns the characters of a quoted string.
func (r *reader) unquote(t token) string {
	if t.end-t.start < 2 {
		return ""
	}
	if inner := r.text[t.start+1 : t.end-1]; strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return string(jsonscan.Text(nil, r.raw[t.start:t.end]))
}

// item reads a map of attributes.
func (r *reader) item() Item {
	switch t := r.next(); t.kind {
	case jsonscan.Object:
		return r.attributes()
	case jsonscan.Array:
		r.stop("Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>")
	case jsonscan.Null:
	default:
		r.stop("Unexpected field type")
	}
	return Item{}
}

// attributes reads the attributes of a map that has been opened.
func (r *reader) attributes() Item {
	var attributes []Attribute
	for {
		t := r.next()
		if t.kind != jsonscan.String {
			return NewItem(attributes)
		}
		if attributes == nil {
			attributes = make([]Attribute, 0, r.expected())
		}
		name := r.unquote(t)
		if err := CheckName(name); err != nil {
			r.refuse(err)
		}
		attributes = append(attributes, Attribute{name, r.value()})
		r.take(len(name))
	}
}

// How many attributes there is room for at first: one for each so many bytes that are
// left, within bounds.
const (
	attributeBytes = 24
	maxExpected    = 16
)

func (r *reader) expected() int { return min((len(r.raw)-r.at)/attributeBytes+1, maxExpected) }

// maxName is how long the name of an attribute may be.
const maxName = 65535

// CheckName reports what is wrong with the name of an attribute.
func CheckName(name string) error {
	switch {
	case name == "":
		return errEmptyName
	case len(name) > maxName:
		return errLongName
	}
	return nil
}

// value reads a value: an object with one member, whose name is the type. Members of
// other names and null ones count as not there, as AWS has it.
func (r *reader) value() (v Value) {
	t := r.next()
	switch t.kind {
	case jsonscan.Object:
	case jsonscan.Array:
		r.stop("Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue")
		return v
	case jsonscan.Null:
		r.refuse(errEmptyValue)
		return v
	case jsonscan.Invalid: // the end, where there was no room
		r.refuse(errEmptyValue)
		return v
	default:
		r.stop("Unexpected value type in payload")
		return v
	}
	if r.depth++; r.depth > MaxDepth {
		r.refuse(errTooDeep)
		r.skip(t)
		r.depth--
		return v
	}
	v = r.members()
	r.depth--
	return v
}

// members reads the members of a value that has been opened.
func (r *reader) members() (v Value) {
	count := 0
	for {
		t := r.next()
		if t.kind != jsonscan.String {
			break
		}
		if member, ok := r.typed(TypeOf(r.unquote(t))); ok {
			v = member
			count++
		}
	}
	switch {
	case count == 0:
		r.refuse(errEmptyValue)
	case count > 1:
		r.refuse(errManyTypes)
	}
	return v
}

// typed reads what is of a type; ok is false if nothing is there.
func (r *reader) typed(kind Type) (v Value, ok bool) {
	t := r.next()
	if t.kind == jsonscan.Null || kind == None {
		r.skip(t)
		return v, false
	}
	switch kind {
	case S, N, B:
		v = Value{kind: kind, text: r.scalar(kind, t)}
		if kind != N {
			r.take(len(v.text))
		}
	case BOOL:
		v = Bool(r.boolean(t))
	case NULL:
		if !r.boolean(t) {
			r.refuse(errNullFalse)
		}
		v = Null()
	case M:
		r.at = t.start
		v = Map(r.item())
	case L:
		v = List(r.list(t))
	default:
		v = r.set(kind, t)
	}
	return v, true
}

// list reads the elements of a list that begins with t.
func (r *reader) list(t token) []Value {
	list := []Value{}
	if !r.isList(t) {
		return list
	}
	for {
		at := r.at
		if t := r.next(); t.kind == jsonscan.Invalid {
			return list
		}
		r.at = at
		list = append(list, r.value())
		r.take(elementSize)
	}
}

// set reads a set that begins with t.
func (r *reader) set(kind Type, t token) Value {
	if !r.isList(t) {
		return Value{}
	}
	var elements []string
	for {
		t := r.next()
		switch t.kind {
		case jsonscan.Invalid:
			if r.room < 0 {
				return Value{}
			}
			v, err := NewSet(kind, elements)
			if err != nil {
				r.refuse(err)
			}
			return v
		case jsonscan.Null:
			r.refuse(errNullElement)
		default:
			elements = append(elements, r.scalar(kind.Element(), t))
			r.take(1)
		}
	}
}

// isList reports whether t opens a list; anything else ends the pass.
func (r *reader) isList(t token) bool {
	switch t.kind {
	case jsonscan.Array:
		return true
	case jsonscan.Object:
		r.stop(foundMap)
	default:
		r.stop("Unexpected field type")
	}
	return false
}

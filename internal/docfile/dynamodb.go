package docfile

import (
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/table"
)

// items reads a file of DynamoDB's exports.
type items struct {
	lines *lines
	table *table.Definition
}

// DynamoDB reads a data file of an export of a table (DynamoDB JSON): an item in each line. Each becomes the document
// that it is in the DynamoDB API; of a table, with its id.
func DynamoDB(in io.Reader, of *table.Definition) Reader {
	return &items{lines: newLines(in), table: of}
}

var (
	errNoItem      = errors.New("this is not a line of an export of DynamoDB, {\"Item\":…}")
	errIncremental = errors.New("this is an incremental export, of which only full ones can be read")
)

// Next implements Reader.
func (i *items) Next() (Doc, error) {
	line, err := i.lines.next()
	if err != nil {
		return Doc{}, err
	}
	doc, err := i.doc(line)
	return Doc{Line: i.lines.line, Raw: doc, Err: err}, nil
}

func (i *items) doc(line []byte) ([]byte, error) {
	if !json.Valid(line) || jsonscan.KindOf(line) != jsonscan.Object {
		return nil, errNoItem
	}
	raw, ok := jsonscan.Member(line, "Item")
	if !ok {
		if _, ok := jsonscan.Member(line, "Keys"); ok {
			return nil, errIncremental
		}
		return nil, errNoItem
	}
	item, err := attribute.ParseItem(slices.Clone(raw))
	if err != nil {
		return nil, reason(err)
	}
	body := attribute.AppendBody(nil, item)
	if i.table == nil {
		return body, nil
	}
	id, err := i.id(item)
	if err != nil {
		return nil, err
	}
	return WithID(body, id), nil
}

// id returns the id of the document that an item of the table is.
func (i *items) id(item attribute.Item) (string, error) {
	var texts []string
	for _, name := range i.table.Keys {
		v, ok := item.Get(name)
		if want := string(i.table.Attributes[name]); !ok || attribute.TypeOf(want) != v.Type() {
			return "", errors.New("the item has no key attribute " + name + " of the table's type")
		}
		texts = append(texts, v.Text())
	}
	id, err := i.table.ID(texts...)
	return string(id), reason(err)
}

// reason returns an error with its public words alone.
func reason(err error) error {
	if e := (*dberr.Error)(nil); errors.As(err, &e) {
		return errors.New(e.Reason)
	}
	return err
}

// WithID returns a document with an id, which is its first member.
func WithID(doc []byte, id string) []byte {
	out := jsonscan.AppendQuoted(append(make([]byte, 0, len(doc)+len(id)+12), `{"_id":`...), id)
	for m := jsonscan.MembersOf(doc); ; {
		name, value, ok := m.Next()
		if !ok {
			return append(out, '}')
		}
		if !jsonscan.NameIs(name, "_id") {
			out = jsonscan.AppendMember(out, name, value)
		}
	}
}

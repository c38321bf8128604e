package table

import (
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// Limits of the values in a primary key, in bytes, which are DynamoDB's.
const (
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
)

// MaxBytes returns the longest value in the key at a position, 0 for the partition key.
func MaxBytes(at int) int {
	if at == 0 {
		return MaxPartitionKey
	}
	return MaxSortKey
}

// SameKeys reports whether another definition has the same primary key.
func (d *Definition) SameKeys(o *Definition) bool {
	return slices.EqualFunc(d.Keys, o.Keys, func(a, b string) bool { return a == b && d.Attributes[a] == o.Attributes[b] })
}

// Kind returns the kind of the type in an id.
func (t Type) Kind() document.ValueKind {
	switch t {
	case String:
		return document.StringValue
	case Number:
		return document.NumberValue
	case Binary:
		return document.BinaryValue
	}
	return 0
}

// ID returns the document that an item is, by the texts of its key: strings, numbers in
// JSON's grammar, bytes. Errors: Invalid for what makes no id.
func (d *Definition) ID(texts ...string) (document.ID, error) {
	if d.IDs {
		return openedID(texts)
	}
	var room [maxKeys]document.Value
	values := room[:0]
	for i, text := range texts {
		values = append(values, document.Value{Kind: d.Attributes[d.Keys[i]].Kind(), Text: text})
	}
	return document.CompositeID(values, 0)
}

// Partition returns the partition whose items have a partition key.
func (d *Definition) Partition(text string) (document.Partition, error) {
	if d.IDs {
		return document.ParsePartition(text)
	}
	id, err := document.CompositeID([]document.Value{{Kind: d.Attributes[d.Keys[0]].Kind(), Text: text}}, 0)
	return id.Partition(), err
}

// openedID returns the id in a database that was not made as a table.
func openedID(texts []string) (document.ID, error) {
	id, err := document.ParseID(strings.Join(texts, ":"), 0)
	if err == nil {
		err = id.CheckPartitioned()
	}
	if err == nil && string(id.Partition()) != texts[0] {
		err = errNoID
	}
	return id, err
}

var errNoID = dberr.New(dberr.Invalid, "illegal_docid", "A partition has no colon in its name.")

// KeyOf returns the texts of the key that a document has as an item. Errors: Invalid for
// the id of a document that is none.
func (d *Definition) KeyOf(id document.ID) ([]string, error) {
	if d.IDs {
		partition, key, _ := strings.Cut(string(id), ":")
		return []string{partition, key}, nil
	}
	values, err := document.CompositeValues(id)
	if err != nil {
		return nil, err
	}
	if len(values) != len(d.Keys) {
		return nil, errOther
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if v.Kind != d.Attributes[d.Keys[i]].Kind() {
			return nil, errOther
		}
		texts[i] = v.Text
	}
	return texts, nil
}

// Holds reports whether a document of an id may be an item of the table, by its key.
func (d *Definition) Holds(id document.ID) bool {
	if d.IDs {
		return !id.Designs(true)
	}
	if n := document.PlainStrings(id); n > 0 {
		return n == len(d.Keys) && !slices.ContainsFunc(d.Keys, func(name string) bool { return d.Attributes[name] != String })
	}
	_, err := d.KeyOf(id)
	return err == nil
}

var errOther = dberr.New(dberr.Invalid, "illegal_docid", "The id is not one of the table's keys.")

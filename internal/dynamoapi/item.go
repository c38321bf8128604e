package dynamoapi

import (
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// wireType returns the type of a key attribute among all types.
func (t *tableAt) wireType(name string) attribute.Type {
	return attribute.TypeOf(string(t.Attributes[name]))
}

var (
	errKeySchema = error(&mismatch{attribute.Invalid("The provided key element does not match the schema")})
	errHashSize  = badParameter("Size of hashkey has exceeded the maximum size limit of2048 bytes") // AWS's words
	errRangeSize = badParameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
)

// key is the primary key of an item.
type key struct {
	id         document.ID
	partition  document.Partition
	attributes []attribute.Attribute
}

// item returns the item that has the key and nothing else.
func (k *key) item() attribute.Item { return attribute.NewItem(k.attributes) }

// keyOfItem returns the key that a Key of a request is: the key attributes and nothing else.
// Errors: Validation.
func (t *tableAt) keyOfItem(item attribute.Item) (*key, error) {
	if item.Len() != len(t.Keys) {
		return nil, errKeySchema
	}
	for _, name := range t.Keys {
		if v, ok := item.Get(name); !ok || v.Type() != t.wireType(name) {
			return nil, errKeySchema
		}
	}
	return t.keyIn(item)
}

// keyIn returns the key that an item has, whose attributes are there with their types.
func (t *tableAt) keyIn(item attribute.Item) (*key, error) {
	k := &key{attributes: make([]attribute.Attribute, 0, len(t.Keys))}
	var room [2]string
	texts := room[:0]
	for _, name := range t.Keys {
		v, _ := item.Get(name)
		if err := checkKeyText(name, v, len(texts)); err != nil {
			return nil, err
		}
		texts = append(texts, v.Text())
		k.attributes = append(k.attributes, attribute.Attribute{Name: name, Value: v})
	}
	var err error
	if k.id, err = t.ID(texts...); err != nil {
		return nil, attribute.Invalid("The key can't be that of a document: %s", reasonOf(err))
	}
	k.partition = k.id.Partition()
	return k, nil
}

// reasonOf returns the reason of an error of another package.
func reasonOf(err error) string {
	var e *dberr.Error
	if errors.As(err, &e) {
		return e.Shown()
	}
	return err.Error()
}

// checkKeyText refuses values that no key has: at is 0 for the partition key.
func checkKeyText(name string, v attribute.Value, at int) error {
	text := v.Text()
	switch {
	case v.Type() == attribute.N:
		return nil
	case text == "" && v.Type() == attribute.S:
		return attribute.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", name)
	case text == "":
		return attribute.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty binary value. Key: %s", name)
	case at == 0 && len(text) > table.MaxPartitionKey:
		return errHashSize
	case at == 1 && len(text) > table.MaxSortKey:
		return errRangeSize
	}
	return nil
}

// checkItem refuses an item that the table can't hold, and returns its key: the key
// attributes are there, and those of indexes, if they are there, have their types.
func (t *tableAt) checkItem(item attribute.Item) (*key, error) {
	if err := t.checkKeyTypes(item); err != nil {
		return nil, err
	}
	k, err := t.keyIn(item)
	if err != nil {
		return nil, err
	}
	return k, t.checkIndexKeys(item)
}

// checkKeyTypes refuses an item that lacks key attributes, or has them of other types.
func (t *tableAt) checkKeyTypes(item attribute.Item) error {
	for _, name := range t.Keys {
		v, ok := item.Get(name)
		if !ok {
			return &mismatch{badParameter("Missing the key %s in the item", name)}
		}
		if want := t.wireType(name); v.Type() != want {
			return &mismatch{badParameter("Type mismatch for key %s expected: %s actual: %s", name, want, v.Type())}
		}
	}
	return nil
}

// checkIndexKeys refuses an item whose attributes in keys of indexes have other types, or
// are empty.
func (t *tableAt) checkIndexKeys(item attribute.Item) error {
	for name, x := range t.Indexes {
		for at, k := range x.Keys {
			v, ok := item.Get(k)
			if !ok {
				continue
			}
			if want := t.wireType(k); v.Type() != want {
				return &mismatch{badParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", k, want, v.Type(), name)}
			}
			if err := checkIndexText(name, k, v, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkIndexText(index, name string, v attribute.Value, at int) error {
	text := v.Text()
	switch {
	case v.Type() == attribute.N:
		return nil
	case text == "":
		return attribute.Invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
			"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s",
			map[attribute.Type]string{attribute.S: "string", attribute.B: "binary"}[v.Type()], index, name)
	case at == 0 && len(text) > table.MaxPartitionKey:
		return errHashSize
	case at == 1 && len(text) > table.MaxSortKey:
		return errRangeSize
	}
	return nil
}

// itemOf returns the item that a document is. In a database that was not made as a table
// its key is not in the body. Errors: Validation for a document that is not an item.
func (t *tableAt) itemOf(id document.ID, body []byte) (attribute.Item, error) {
	item, err := attribute.ParseBody(body)
	if err != nil {
		return item, noItem(id, err)
	}
	if !t.IDs {
		return item, nil
	}
	texts, err := t.KeyOf(id)
	if err != nil {
		return item, noItem(id, err)
	}
	for i, name := range t.Keys {
		if _, taken := item.Get(name); taken {
			return item, noItem(id, errTaken)
		}
		item = item.With(attribute.Attribute{Name: name, Value: attribute.String(texts[i])})
	}
	return item, nil
}

var errTaken = errors.New("it has a member of the name of a key")

// shownItem returns what is shown of a document: the item that it is, or the key alone of
// one that was written before the database was a table, or where it is none, and is no
// item. ok is false for an id that is not a key.
func (t *tableAt) shownItem(id document.ID, body []byte) (item attribute.Item, ok bool) {
	item, err := t.itemOf(id, body)
	if err == nil {
		return item, true
	}
	return t.keyOf(id)
}

// keyOf returns the key that a document has as an item; ok is false for an id that is none.
func (t *tableAt) keyOf(id document.ID) (item attribute.Item, ok bool) {
	texts, err := t.KeyOf(id)
	if err != nil {
		return item, false
	}
	var key []attribute.Attribute
	for i, name := range t.Keys {
		v, err := keyValue(t.Attributes[name], texts[i])
		if err != nil {
			return item, false
		}
		key = append(key, attribute.Attribute{Name: name, Value: v})
	}
	return attribute.NewItem(key), true
}

// keyValue returns the value of a key attribute by its text.
func keyValue(t table.Type, text string) (attribute.Value, error) {
	switch t {
	case table.Number:
		n, err := attribute.ParseNumber(text)
		return attribute.Num(n), err
	case table.Binary:
		return attribute.Binary(text), nil
	}
	return attribute.String(text), nil
}

// noItem is the error for a document that can't be shown, or changed, as an item.
func noItem(id document.ID, why error) error {
	return attribute.Invalid("The document %s is not an item: %s", id, reasonOf(why))
}

// bodyBytes is about what an attribute takes in a body besides its name and its text.
const bodyBytes = 16

// appendBody appends the body of the document that an item is to be.
func (t *tableAt) appendBody(dst []byte, item attribute.Item) []byte {
	if t.IDs {
		item = item.With(attribute.Attribute{Name: t.Keys[0]}, attribute.Attribute{Name: t.Keys[1]})
	}
	return attribute.AppendBody(slices.Grow(dst, item.Size()+bodyBytes*item.Len()), item)
}

// read returns an item at a reader's snapshot; ok is false if there is none.
func (t *tableAt) read(rd *store.Reader, k *key) (item attribute.Item, ok bool, err error) {
	w, err := rd.Winner(k.id)
	if dberr.Is(err, dberr.NotFound) || err == nil && w.Deleted {
		return item, false, nil
	}
	if err != nil {
		return item, false, err
	}
	item, ok = t.shownItem(k.id, w.Body)
	return item, ok, nil
}

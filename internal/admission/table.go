package admission

import (
	"fmt"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// The documents of a table are items, whichever API writes them: what the DynamoDB API
// could not show, or would take for another item, is refused.

var _ store.Schema = (*Rules)(nil)

// Describes implements store.Schema: a table is described by its definition.
func (r *Rules) Describes(design *store.Revision) bool {
	if design.ID != table.DesignID {
		return false
	}
	d, err := table.Parse(design.Body)
	return d != nil && err == nil
}

// Conform implements store.Schema.
func (r *Rules) Conform(design *store.Revision, proposals []store.Proposal) []error {
	refusals := make([]error, len(proposals))
	d, err := table.Parse(design.Body)
	for i := range proposals {
		if p := &proposals[i].New; err != nil {
			refusals[i] = err
		} else if !p.Deleted {
			refusals[i] = checkItem(d, p.ID, p.Body)
		}
	}
	return refusals
}

// checkItem refuses a document that is not an item of a table.
func checkItem(d *table.Definition, id document.ID, body []byte) error {
	texts, err := d.KeyOf(id)
	if err != nil {
		return noItem("its id is not made of the values of the table's keys")
	}
	item, err := attribute.ParseBody(body)
	if err != nil {
		return noItem(err.Error())
	}
	for i, name := range d.Keys {
		if v, ok := item.Get(name); !ok || v.Text() != texts[i] || v.Type().String() != string(d.Attributes[name]) {
			return noItem("the attribute " + name + " is not what its id says")
		}
		if why := unfitKey(texts[i], d.Attributes[name], i); why != "" {
			return noItem("the attribute " + name + ", a key, " + why)
		}
	}
	for name, x := range d.Indexes {
		for i, k := range x.Keys {
			v, ok := item.Get(k)
			if !ok {
				continue
			}
			why := "is not of type " + string(d.Attributes[k])
			if v.Type().String() == string(d.Attributes[k]) {
				why = unfitKey(v.Text(), d.Attributes[k], i)
			}
			if why != "" {
				return noItem("the attribute " + k + ", a key of the index " + name + ", " + why)
			}
		}
	}
	if item.Size() > attribute.MaxItemSize {
		return noItem("an item has 400 KB at most")
	}
	return nil
}

// unfitKey reports why no key has a value, "" for one that may: at is 0 for a partition key.
func unfitKey(text string, t table.Type, at int) string {
	most := table.MaxBytes(at)
	switch {
	case t == table.Number:
		return ""
	case text == "":
		return "is empty"
	case len(text) > most:
		return fmt.Sprintf("has more than %d bytes", most)
	}
	return ""
}

func noItem(why string) error {
	return dberr.New(dberr.Forbidden, "forbidden", "The document is not an item of the table: "+why)
}

// admitTable refuses the definition of a table that is none, or whose keys are others than
// they were: the ids of the items are made of them.
func admitTable(d *store.Database, body []byte, old func() (*store.Revision, error)) error {
	now, err := table.Parse(body)
	if now == nil || err != nil {
		return err
	}
	if !d.Partitioned() {
		return invalidDesign("A table is a partitioned database.")
	}
	before, err := old()
	if before == nil || before.Deleted || err != nil {
		return err
	}
	if was, err := table.Parse(before.Body); err == nil && was != nil && !was.SameKeys(now) {
		return invalidDesign("The keys of a table can't be changed.")
	}
	return nil
}

// Package secondary owns the secondary indexes of tables: a row for each item that has
// the index's key attributes with their types, in the order of DynamoDB's keys: strings
// and binary values by bytes, numbers by size. Rows are kept in the transactions of the
// writers, so that a query that begins after a write was answered sees it.
//
// A row is under the values of the index's keys and the document's id, and holds the
// attributes that are projected. An index that projects all holds none: its items are
// read. Begin reading at Def; scan.go reads rows. The package does not know requests.
package secondary

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/table"
)

// Def is a definition: what rows of the index depend on.
type Def struct {
	Keys []Key `json:"keys"`
	// Projected are the names of the attributes in rows, sorted; nil for all, which are
	// not in rows.
	Projected []string `json:"projected,omitempty"`
}

// Key is an attribute by which an index is ordered.
type Key struct {
	Name string     `json:"name"`
	Type table.Type `json:"type"`
}

// Kind is the index kind. It has no state.
type Kind struct{}

// KindName is the kind's word in stored rows.
const KindName = "secondary"

var _ index.Transactional = Kind{}

// Name is index.Kind's.
func (Kind) Name() string { return KindName }

// Prefixes is index.Kind's.
func (Kind) Prefixes(db, number uint64) [][]byte {
	return [][]byte{keyspace.SecondaryRow.Key(db, keyspace.U(number))}
}

// Open is index.Kind's: it returns a *Def.
func (Kind) Open(source []byte) (any, error) {
	d := &Def{}
	if err := json.Unmarshal(source, d); err != nil || len(d.Keys) == 0 {
		return nil, dberr.New(dberr.Invalid, "invalid_index", "A secondary index has keys.")
	}
	return d, nil
}

// Of returns the definition of an index of the kind.
func Of(x *index.Index) *Def { return x.Opened.(*Def) }

// Defined is index.Kind's: the indexes of a table's definition.
func (Kind) Defined(d index.Design) (defs []index.Definition) {
	t, err := table.Parse(d.Body)
	if t == nil || err != nil {
		return nil
	}
	for name, x := range t.Indexes {
		source, err := json.Marshal(defOf(t, &x))
		if err == nil {
			defs = append(defs, index.Definition{Name: name, Partitioned: d.Partitioned && x.Local, Source: source})
		}
	}
	slices.SortFunc(defs, func(a, b index.Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

func defOf(t *table.Definition, x *table.Index) *Def {
	d := &Def{Projected: t.Projected(x)}
	for _, name := range x.Keys {
		d.Keys = append(d.Keys, Key{Name: name, Type: t.Attributes[name]})
	}
	return d
}

// Document is index.Transactional's.
func (Kind) Document(key []byte) (document.ID, error) {
	_, parts, err := keyspace.SecondaryRow.Decode(key)
	if err != nil {
		return "", err
	}
	return document.ID(parts[3].String()), nil
}

// Package geo owns geo indexes: geometries of documents under the cells of the earth that
// they lie in, as rows in the order of the cells' numbers.
//
// The cells are S2's. A point has a row under the leaf cell that it lies in, which holds
// its coordinates; any other geometry has one under each of the few cells that cover it.
// Whoever looks for what meets an area takes the few cells that cover that: what lies in
// them is a range of rows for each, and what covers them (cells that hold them) is a look
// at each of their ancestors. Every candidate is then held against the area itself.
//
// Beside the rows lies one back-row for each document, with its geometries as they came
// and their cells: it says which rows are old, and what to answer.
//
// There are two kinds. Functions (Kind) gives geometries by calling st_index, and
// follows the feed, as views do. An index by a field (Fields) is kept
// in the transactions of the writers.
//
// Begin reading at Kind; row.go makes rows, reader.go and nearest.go read them. The
// package does not know how a query comes in.
package geo

import (
	"encoding/json"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
)

// KindName is the kind's word in stored rows.
const KindName = "geo"

// Kind is the kind of indexes of functions.
type Kind struct{ functions Functions }

var _ index.Asynchronous = (*Kind)(nil)

// New makes the kind; its functions run by f.
func New(f Functions) *Kind { return &Kind{functions: f} }

// Limits bound the geometries that are indexed.
var Limits = geometry.OfDocuments

// Def is a definition of a geo index, ready for use: a function, or a field.
type Def struct {
	Index string // the source of the function
	Lib   []byte // views.lib, which functions may require; nil for none
}

// source is the canonical form of a definition: its JSON is Definition.Source.
type source struct {
	Index string          `json:"index"`
	Lib   json.RawMessage `json:"lib,omitempty"`
}

// Name is index.Kind's.
func (*Kind) Name() string { return KindName }

// Prefixes is index.Kind's.
func (*Kind) Prefixes(db, number uint64) [][]byte { return prefixes(db, number) }

func prefixes(db, number uint64) [][]byte {
	n := keyspace.U(number)
	return [][]byte{keyspace.GeoRow.Key(db, n), keyspace.GeoBack.Key(db, n)}
}

// Open is index.Kind's: it returns a *Def.
func (*Kind) Open(stored []byte) (any, error) {
	var s source
	if err := json.Unmarshal(stored, &s); err != nil {
		return nil, dberr.Wrap("geo.Open", err)
	}
	return &Def{Index: s.Index, Lib: s.Lib}, nil
}

// Of returns the definition of an index of the kind.
func Of(x *index.Index) *Def { return x.Opened.(*Def) }

// Defined is index.Kind's: st_indexes of a design document in JavaScript.
func (*Kind) Defined(d index.Design) (defs []index.Definition) {
	if !document.IsJavaScript(d.Body) {
		return nil
	}
	auto, _ := jsonscan.Member(d.Body, "autoupdate")
	views, _ := jsonscan.Member(d.Body, "views")
	var lib []byte
	if jsonscan.KindOf(views) == jsonscan.Object {
		lib, _ = jsonscan.Member(views, "lib")
	}
	eachIndex(d.Body, func(name string, definition []byte) {
		fn, _ := jsonscan.Member(definition, "index")
		if jsonscan.KindOf(fn) != jsonscan.String {
			return
		}
		stored, err := json.Marshal(source{textOf(fn), lib})
		if err == nil {
			defs = append(defs, index.Definition{Name: name, Partitioned: d.Partitioned, Source: stored, Manual: jsonscan.KindOf(auto) == jsonscan.False})
		}
	})
	return defs
}

// eachIndex calls fn with the members of st_indexes that are objects.
func eachIndex(body []byte, fn func(name string, definition []byte)) {
	all, _ := jsonscan.Member(body, "st_indexes")
	if jsonscan.KindOf(all) != jsonscan.Object {
		return
	}
	for m := jsonscan.MembersOf(all); ; {
		name, v, ok := m.Next()
		if !ok {
			return
		}
		if jsonscan.KindOf(v) == jsonscan.Object {
			fn(textOf(name), v)
		}
	}
}

// textOf returns the text of a JSON string, "" for anything else.
func textOf(v []byte) string {
	if jsonscan.KindOf(v) != jsonscan.String {
		return ""
	}
	return string(jsonscan.Text(nil, v))
}

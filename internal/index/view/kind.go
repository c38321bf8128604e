// Package view owns MapReduce views: the rows that a map function emits for each
// document, in the order of their keys, and the nodes over them that make
// reductions, counts and positions cheap.
//
// A view is a row index that follows the feed of its database (index.Asynchronous).
// Beside each document's rows lies one back-row with their positions, so that old
// rows go without the old body.
//
// Nodes. A row begins a new span of level 1 when a keyed hash of its position says
// so, for one row in 16; of these, one in 16 begins a span of level 2, and so on.
// A node holds the count and the reduction of its span. Spans end where a
// partition ends. So the shape depends on the rows alone, whatever their
// history; and a node is always made anew from its children, never adjusted by a
// difference, so that its value does too: an index that was kept up to date
// equals one that was built at once, byte for byte. A reduction of any range
// reads the few nodes that cover it, and so does a count, which serves skip,
// offset and total_rows.
//
// Begin reading at Kind; map.go makes rows, update.go and finish.go make nodes,
// reader.go reads. How a function is run is behind the interface Functions, and
// the package does not know how a query comes in.
package view

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
)

// KindName is the kind's word in stored rows.
const KindName = "view"

// Kind is the index kind.
type Kind struct {
	functions Functions
	// spread, if it is not 0, is how many bits of a hash begin a span, on every
	// level: tests make small trees high.
	spread uint
}

var (
	_ index.Asynchronous = (*Kind)(nil)
	_ index.Designed     = (*Kind)(nil)
)

// New makes the kind; its functions run by f.
func New(f Functions) *Kind { return &Kind{functions: f} }

// Name is index.Kind's.
func (*Kind) Name() string { return KindName }

// Prefixes is index.Kind's.
func (*Kind) Prefixes(db, number uint64) [][]byte {
	n := keyspace.U(number)
	return [][]byte{keyspace.ViewRow.Key(db, n), keyspace.ViewBack.Key(db, n), keyspace.ViewNode.Key(db, n)}
}

// source is the canonical form of a definition: its JSON is Definition.Source.
type source struct {
	Map           string          `json:"map"`
	Reduce        string          `json:"reduce,omitempty"`
	Raw           bool            `json:"raw,omitempty"`
	IncludeDesign bool            `json:"include_design,omitempty"`
	LocalSeq      bool            `json:"local_seq,omitempty"`
	Lib           json.RawMessage `json:"lib,omitempty"`
}

// Def is a definition of a view, ready for use.
type Def struct {
	Map    string // the source of the map function
	Reduce string // the source of the reduce function or a built-in's name; "" for none
	Raw    bool   // keys in raw order instead of collation
	Lib    []byte // views.lib, which map functions may require; nil for none

	includeDesign, localSeq bool
	reducer                 reducer
	first, further          uint // bits of a hash that begin a span of level 1, and of each level above
	small                   bool // states of the reducer are
}

// Custom reports whether the reduce function is one in JavaScript.
func (d *Def) Custom() bool { return d.Reduce != "" && d.Reduce[0] != '_' }

// Open is index.Kind's: it returns a *Def.
func (k *Kind) Open(stored []byte) (any, error) {
	var s source
	if err := json.Unmarshal(stored, &s); err != nil {
		return nil, dberr.Wrap("view.Open", err)
	}
	d := &Def{Map: s.Map, Reduce: s.Reduce, Raw: s.Raw, Lib: s.Lib, includeDesign: s.IncludeDesign, localSeq: s.LocalSeq}
	var ok bool
	if d.reducer, d.first, ok = reducerOf(d); !ok {
		return nil, dberr.New(dberr.Invalid, "invalid_design_doc", "`"+s.Reduce+"` is not a supported reduce function.")
	}
	d.further, d.small = spreadBits, d.first == spreadBits
	if k.spread > 0 {
		d.first, d.further = k.spread, k.spread
	}
	return d, nil
}

// Of returns the definition of a view index.
func Of(x *index.Index) *Def { return x.Opened.(*Def) }

// Designs is index.Designed's: whether design documents are mapped too.
func (*Kind) Designs(x *index.Index) bool {
	d, ok := x.Opened.(*Def)
	return ok && d.includeDesign && !x.Partitioned
}

// Defined is index.Kind's: the views of a design document in JavaScript.
func (k *Kind) Defined(d index.Design) (defs []index.Definition) {
	if !document.IsJavaScript(d.Body) {
		return nil
	}
	views, _ := jsonscan.Member(d.Body, "views")
	if jsonscan.KindOf(views) != jsonscan.Object {
		return nil
	}
	common := commonSource(d.Body, views)
	auto, _ := jsonscan.Member(d.Body, "autoupdate")
	for m := jsonscan.MembersOf(views); ; {
		name, v, ok := m.Next()
		if !ok {
			return defs
		}
		s, ok := viewSource(common, v)
		if !ok || jsonscan.NameIs(name, "lib") {
			continue
		}
		stored, err := json.Marshal(s)
		if err != nil {
			continue
		}
		if _, err := k.Open(stored); err != nil {
			continue
		}
		defs = append(defs, index.Definition{Name: textOf(name), Partitioned: d.Partitioned, Source: stored,
			Manual: jsonscan.KindOf(auto) == jsonscan.False})
	}
}

// commonSource reads what all views of a design document share.
func commonSource(body, views []byte) (s source) {
	options, _ := jsonscan.Member(body, "options")
	if jsonscan.KindOf(options) == jsonscan.Object {
		s.IncludeDesign = isTrue(options, "include_design")
		s.LocalSeq = isTrue(options, "local_seq")
	}
	if lib, ok := jsonscan.Member(views, "lib"); ok {
		s.Lib = bytes.Clone(lib)
	}
	return s
}

// viewSource reads one member of views.
func viewSource(common source, v []byte) (s source, ok bool) {
	s = common
	if jsonscan.KindOf(v) != jsonscan.Object {
		return s, false
	}
	fn, _ := jsonscan.Member(v, "map")
	if jsonscan.KindOf(fn) != jsonscan.String {
		return s, false
	}
	s.Map = textOf(fn)
	if options, _ := jsonscan.Member(v, "options"); jsonscan.KindOf(options) == jsonscan.Object {
		collation, _ := jsonscan.Member(options, "collation")
		s.Raw = textOf(collation) == "raw"
	}
	reduce, ok := jsonscan.Member(v, "reduce")
	if !ok {
		return s, true
	}
	if jsonscan.KindOf(reduce) != jsonscan.String {
		return s, false
	}
	s.Reduce = textOf(reduce)
	if strings.HasPrefix(s.Reduce, "_") {
		s.Reduce, ok = builtin(s.Reduce)
		return s, ok
	}
	return s, true
}

// builtin returns the name of a built-in reduce without what may come after it.
func builtin(name string) (string, bool) {
	for _, known := range []string{"_sum", "_count", "_stats", "_approx_count_distinct", "_first", "_last"} {
		if strings.HasPrefix(name, known) {
			return known, true
		}
	}
	_, _, ok := ranked(name)
	return name, ok
}

// ranked reads the names _top_N and _bottom_N.
func ranked(name string) (n int, top, ok bool) {
	digits, top := strings.CutPrefix(name, "_top_")
	if !top {
		if digits, ok = strings.CutPrefix(name, "_bottom_"); !ok {
			return 0, false, false
		}
	}
	n, err := strconv.Atoi(digits)
	return n, top, err == nil && 1 <= n && n <= 100
}

func isTrue(object []byte, name string) bool {
	v, _ := jsonscan.Member(object, name)
	return jsonscan.KindOf(v) == jsonscan.True
}

// textOf returns the text of a JSON string, "" for anything else.
func textOf(v []byte) string {
	if jsonscan.KindOf(v) != jsonscan.String {
		return ""
	}
	return string(jsonscan.Text(nil, v))
}

package admission

import (
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
)

// field is a place in a design document and the kinds of value it may have.
// Each step of the path is a member's name; "" stands for every member. All
// steps but the last must be objects.
type field struct {
	path  []string
	kinds []js.Kind
	names string // of the kinds, as the error has them
}

var (
	isObject = []js.Kind{js.Object}
	isString = []js.Kind{js.String}
	isBool   = []js.Kind{js.True, js.False}
	isCode   = []js.Kind{js.String, js.Object}
)

// fields are checked in this order, which decides what a document with several
// faults is told of.
var fields = []field{
	{[]string{"filters"}, isObject, "object"},
	{[]string{"filters", ""}, isCode, "string or object"},
	{[]string{"language"}, isString, "string"},
	{[]string{"lists"}, isObject, "object"},
	{[]string{"lists", ""}, isCode, "string or object"},
	{[]string{"options"}, isObject, "object"},
	{[]string{"options", "include_design"}, isBool, "boolean"},
	{[]string{"options", "local_seq"}, isBool, "boolean"},
	{[]string{"options", "partitioned"}, isBool, "boolean"},
	{[]string{"rewrites"}, []js.Kind{js.String, js.Array}, "array or string"},
	{[]string{"shows"}, isObject, "object"},
	{[]string{"shows", ""}, isCode, "string or object"},
	{[]string{"updates"}, isObject, "object"},
	{[]string{"updates", ""}, isCode, "string or object"},
	{[]string{"validate_doc_update"}, isString, "string"},
	{[]string{"views"}, isObject, "object"},
	{[]string{"views", "lib"}, isObject, "object"},
	{[]string{"views", ""}, isObject, "object"},
	{[]string{"views", "", "map"}, isString, "string"},
	{[]string{"views", "", "reduce"}, isString, "string"},
}

// mapOfQuery replaces the rule for map functions in design documents that hold
// Mango indexes: their maps are objects.
var mapOfQuery = field{[]string{"views", "", "map"}, isObject, "object"}

// checkDesign refuses a design document whose known members have the wrong
// form, and one with a validation function that nothing here can run: no document could be written any more. Views are
// compiled by Compile.
func checkDesign(body []byte, partitioned bool) error {
	language, _ := js.Member(body, "language")
	for _, f := range fields {
		if len(f.path) == 3 && f.path[2] == "map" && js.NameIs(language, "query") {
			f = mapOfQuery
		}
		if err := f.check(body, "", f.path); err != nil {
			return err
		}
	}
	if err := checkViews(body); err != nil {
		return err
	}
	if _, judges := js.Member(body, "validate_doc_update"); judges && !document.IsJavaScript(body) {
		return invalidDesign("`validate_doc_update` can't be run: the language `" + string(js.Text(nil, language)) + "` is not known")
	}
	options, _ := js.Member(body, "options")
	if v, ok := js.Member(options, "partitioned"); ok && js.KindOf(v) == js.True && !partitioned {
		return invalidDesign("partitioned option cannot be true in a non-partitioned database.")
	}
	return nil
}

// check walks the rest of the path below object, which is at where.
func (f field) check(object []byte, where string, rest []string) error {
	members := js.MembersOf(object)
	for {
		quoted, value, ok := members.Next()
		if !ok {
			return nil
		}
		if rest[0] != "" && !js.NameIs(quoted, rest[0]) {
			continue
		}
		name := strings.TrimPrefix(where+"."+string(js.Text(nil, quoted)), ".")
		switch {
		case len(rest) > 1 && js.KindOf(value) == js.Object && name != "views.lib":
			if err := f.check(value, name, rest[1:]); err != nil {
				return err
			}
		case len(rest) == 1 && !f.allows(js.KindOf(value)):
			return invalidDesign("`" + name + "` field must have " + f.names + " type")
		}
	}
}

func (f field) allows(k js.Kind) bool {
	for _, kind := range f.kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// checkViews asks for a map function in each view and for a known name where
// the reduce function is a built-in one.
func checkViews(body []byte) error {
	views, _ := js.Member(body, "views")
	members := js.MembersOf(views)
	for {
		quoted, view, ok := members.Next()
		if !ok {
			return nil
		}
		if js.NameIs(quoted, "lib") {
			continue
		}
		if _, has := js.Member(view, "map"); !has {
			return invalidDesign("View `" + string(js.Text(nil, quoted)) + "` must contain map function")
		}
		if reduce, has := js.Member(view, "reduce"); has {
			if err := checkReduce(string(js.Text(nil, reduce))); err != nil {
				return err
			}
		}
	}
}

// builtins are the beginnings of the names of built-in reduce functions;
// CouchDB looks at no more.
var builtins = []string{"_sum", "_count", "_stats", "_approx_count_distinct", "_first", "_last"}

// checkReduce refuses built-in reduce functions that there are not.
func checkReduce(name string) error {
	if !strings.HasPrefix(name, "_") {
		return nil
	}
	for _, known := range builtins {
		if strings.HasPrefix(name, known) {
			return nil
		}
	}
	rank, isRank := strings.CutPrefix(name, "_top_")
	if !isRank {
		rank, isRank = strings.CutPrefix(name, "_bottom_")
	}
	if !isRank {
		return invalidDesign("`" + name + "` is not a supported reduce function.")
	}
	n, err := strconv.Atoi(rank)
	if err != nil {
		return invalidDesign("invalid rank reducer")
	}
	if n < 1 || n > 100 {
		return invalidDesign("rank value must be between 1 and 100")
	}
	return nil
}

func invalidDesign(reason string) error {
	return dberr.New(dberr.Invalid, "invalid_design_doc", reason)
}

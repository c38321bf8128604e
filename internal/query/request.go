package query

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Request is what a _find asks for.
type Request struct {
	Selector      *selector.Selector
	UseIndex      []string // a design document without "_design/", and perhaps a name; nil for none
	Bookmark      string   // "" to begin at the beginning
	Limit, Skip   int
	Sort          []SortField
	Fields        selector.Fields
	Partition     *string
	R             string // digits; has no effect
	Conflicts     bool   // tell conflicting revisions
	Stale         string // JSON; but for false, as Update false
	Update        bool   // bring an index that is behind up to date first
	Stable        bool   // has no effect
	Stats         bool   // tell what it cost
	AllowFallback bool   // another index than UseIndex will do
	Count         bool   // only tell how many documents match
	Group         *Group // only tell what documents amount to
	Steps         int64  // what matching may cost (selector.NewBudget); 0 for no bound
	// ExtraMembers returns the members beside the body that selector and fields can ask for,
	// of attachments and conflicts; nil for none.
	ExtraMembers func(rev *store.Revision, conflicts []document.Rev) []selector.Member
	// limited says that the request names a limit.
	limited bool
	words   bool // the selector has $text
	// alternatives says that a document may match without every $text.
	alternatives bool
	near         *selector.Node // the selector's $near; nil for none
}

// SortField is a field that an answer is sorted by.
type SortField struct {
	Path *selector.Path
	Desc bool
}

// member is one member that a request may have.
type member struct {
	name     string
	required bool
	set      func(r *Request, v []byte) error
}

// members are checked in this order, which decides what a request with several
// faults is told.
func members() []member {
	return []member{
		{"selector", true, func(r *Request, v []byte) (err error) {
			r.Selector, err = selector.ParseQuery(v)
			return err
		}},
		{"use_index", false, (*Request).setUseIndex},
		{"bookmark", false, (*Request).setBookmark},
		{"limit", false, func(r *Request, v []byte) error {
			r.limited = true
			return count(&r.Limit, v)
		}},
		{"skip", false, func(r *Request, v []byte) error { return count(&r.Skip, v) }},
		{"sort", false, func(r *Request, v []byte) (err error) {
			r.Sort, err = ParseSort(v)
			return err
		}},
		{"fields", false, func(r *Request, v []byte) (err error) {
			r.Fields, err = selector.ParseFields(v)
			return err
		}},
		{"partition", false, (*Request).setPartition},
		{"r", false, func(r *Request, v []byte) error {
			r.R = string(v)
			return positive(v)
		}},
		{"conflicts", false, func(r *Request, v []byte) error { return selector.Truth(&r.Conflicts, v) }},
		{"stale", false, func(r *Request, v []byte) error {
			r.Stale = string(v)
			return staleness(v)
		}},
		{"update", false, func(r *Request, v []byte) error { return selector.Truth(&r.Update, v) }},
		{"stable", false, func(r *Request, v []byte) error { return selector.Truth(&r.Stable, v) }},
		{"execution_stats", false, func(r *Request, v []byte) error { return selector.Truth(&r.Stats, v) }},
		{"allow_fallback", false, func(r *Request, v []byte) error { return selector.Truth(&r.AllowFallback, v) }},
		{"count", false, func(r *Request, v []byte) error { return ownTruth("count", &r.Count, v) }},
		{"group", false, func(r *Request, v []byte) (err error) {
			r.Group, err = parseGroup(v)
			return err
		}},
	}
}

// Parse reads the body of a _find or _explain, which must be valid JSON. Errors
// are dberr.Invalid with CouchDB's codes and words.
func Parse(body []byte) (*Request, error) {
	r := &Request{Limit: 25, R: "1", Stale: "false", Update: true, AllowFallback: true}
	known := map[string]bool{}
	for _, m := range members() {
		known[m.name] = true
		v, ok := jsonscan.Member(body, m.name)
		if !ok && m.required {
			return nil, dberr.New(dberr.Invalid, "missing_required_key", "Missing required key: %s", m.name)
		}
		if ok {
			if err := m.set(r, jsonscan.Trim(v)); err != nil {
				return nil, err
			}
		}
	}
	for it := jsonscan.MembersOf(body); ; {
		name, _, ok := it.Next()
		if !ok {
			return r, cmp.Or(r.checkSummary(), r.setWords(), r.setNear())
		}
		if text := string(jsonscan.Text(nil, name)); !known[text] {
			return nil, UnknownKey(text)
		}
	}
}

// UnknownKey refuses a member that a request must not have.
func UnknownKey(name string) error {
	return dberr.New(dberr.Invalid, "invalid_key", "Invalid key %s for this request.", name)
}

func (r *Request) setUseIndex(v []byte) error {
	switch jsonscan.KindOf(v) {
	case jsonscan.Null:
		return nil
	case jsonscan.String:
		name := strings.TrimPrefix(string(jsonscan.Text(nil, v)), "_design/")
		r.UseIndex = strings.Split(name, "/")
	case jsonscan.Array:
		for it := jsonscan.ElementsOf(v); ; {
			e, ok := it.Next()
			if !ok {
				break
			}
			if jsonscan.KindOf(e) != jsonscan.String {
				return badIndexName(v)
			}
			r.UseIndex = append(r.UseIndex, string(jsonscan.Text(nil, e)))
		}
		if len(r.UseIndex) > 0 {
			r.UseIndex[0] = strings.TrimPrefix(r.UseIndex[0], "_design/")
		}
	default:
		return badIndexName(v)
	}
	if len(r.UseIndex) > 2 {
		return badIndexName(v)
	}
	return nil
}

func badIndexName(v []byte) error {
	return dberr.New(dberr.Invalid, "invalid_index_name", "Invalid index name: %s", selector.Term(v))
}

func (r *Request) setBookmark(v []byte) error {
	switch jsonscan.KindOf(v) {
	case jsonscan.Null:
		return nil
	case jsonscan.String:
		r.Bookmark = string(jsonscan.Text(nil, v))
		return nil
	}
	return dberr.New(dberr.Invalid, "invalid_bookmark", "Invalid bookmark value: %s", selector.Shown(v))
}

func (r *Request) setPartition(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.String {
		return dberr.New(dberr.Invalid, "illegal_partition", "Partition must be a string")
	}
	p := string(jsonscan.Text(nil, v))
	r.Partition = &p
	return nil
}

// count reads a whole number from 0 up.
func count(dst *int, v []byte) error {
	if !isWhole(v) || v[0] == '-' && string(v) != "-0" {
		return dberr.New(dberr.Invalid, "invalid_non_neg_integer", "%s is not an integer greater than or equal to zero", selector.Term(v))
	}
	n, err := strconv.Atoi(string(v))
	if err != nil {
		n = math.MaxInt // more than there can be
	}
	*dst = n
	return nil
}

func positive(v []byte) error {
	if !isWhole(v) || v[0] == '-' || string(v) == "0" {
		return BadPositive(v)
	}
	return nil
}

// BadPositive refuses a value that is no whole number from 1 up.
func BadPositive(v []byte) error {
	return dberr.New(dberr.Invalid, "invalid_pos_integer", "%s is not an integer greater than zero", selector.Term(v))
}

func isWhole(v []byte) bool {
	return jsonscan.KindOf(v) == jsonscan.Number && !strings.ContainsAny(string(v), ".eE")
}

// ownTruth is Truth for a member that CouchDB does not know.
func ownTruth(member string, dst *bool, v []byte) error {
	if selector.Truth(dst, v) != nil {
		return dberr.New(dberr.Invalid, "invalid_boolean", "%s must be true or false, not: %s", member, selector.Shown(v))
	}
	return nil
}

// stale reports whether the answer of an index that is behind will do.
func (r *Request) stale() bool { return r.Stale != "false" }

func staleness(v []byte) error {
	if jsonscan.KindOf(v) == jsonscan.String && jsonscan.NameIs(v, "ok") {
		return nil
	}
	var b bool
	return selector.Truth(&b, v)
}

// ParseSort reads a list of fields with directions. Errors are dberr.Invalid
// with CouchDB's words.
func ParseSort(v []byte) ([]SortField, error) {
	if jsonscan.KindOf(v) != jsonscan.Array {
		return nil, dberr.New(dberr.Invalid, "invalid_sort_json", "Sort must be an array of sort specs, not: %s", selector.PrettyTerm(v))
	}
	var fields []SortField
	for it := jsonscan.ElementsOf(v); ; {
		e, ok := it.Next()
		if !ok {
			return fields, nil
		}
		f, err := parseSortField(e)
		if err != nil {
			return nil, err
		}
		if fields = append(fields, f); len(fields) > selector.MaxFields {
			return nil, dberr.New(dberr.Invalid, "invalid_sort_json", "There can't be more than %d sort specs.", selector.MaxFields)
		}
	}
}

func parseSortField(v []byte) (f SortField, err error) {
	name, direction := v, []byte(`"asc"`)
	if jsonscan.KindOf(v) == jsonscan.Object {
		m := jsonscan.MembersOf(v)
		name, direction, _ = m.Next()
		if _, _, more := m.Next(); more {
			name = nil
		}
	}
	ok := jsonscan.KindOf(name) == jsonscan.String && len(name) > 2 && jsonscan.KindOf(direction) == jsonscan.String
	f.Desc = ok && jsonscan.NameIs(direction, "desc")
	if !ok || !f.Desc && !jsonscan.NameIs(direction, "asc") {
		return f, dberr.New(dberr.Invalid, "invalid_sort_field", "Invalid sort field: %s", selector.PrettyTerm(v))
	}
	f.Path, err = selector.ParsePath(string(jsonscan.Text(nil, name)))
	return f, err
}

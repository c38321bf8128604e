package table

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// DesignID is the design document that defines a table, Member its member that does.
const (
	DesignID = document.ID("_design/table")
	Member   = "table"
)

// Definition is what makes a database a table.
type Definition struct {
	Attributes map[string]Type  `json:"attributes"` // the types of all attributes in keys
	Keys       []string         `json:"keys"`       // the partition key and, if there is one, the sort key
	Indexes    map[string]Index `json:"indexes,omitempty"`
	Created    time.Time        `json:"created"`
	Billing    *Billing         `json:"billing,omitempty"` // nil: by request
	Stream     *Stream          `json:"stream,omitempty"`  // nil: none
	Class      string           `json:"class,omitempty"`   // "" for STANDARD
	Protected  bool             `json:"deletion_protection,omitempty"`
	// Tags are the table's in no order.
	Tags map[string]string `json:"tags,omitempty"`
	// OnDemand are the most units of a table that is paid by request, Warm those that are
	// there from the start; nil where nothing was said. -1 stands for no limit. They are
	// kept and shown, as Billing is.
	OnDemand *Units `json:"on_demand,omitempty"`
	Warm     *Units `json:"warm,omitempty"`
	// Encryption is whether encryption by keys of KMS was asked for. There is none.
	Encryption bool `json:"encryption,omitempty"`
	// IDs are the keys of a database that was not made as a table: its partition and its
	// key are strings, and not in the documents.
	IDs bool `json:"-"`
}

// Type is the type of an attribute in a key: S, N or B.
type Type string

// The types.
const (
	String Type = "S"
	Number Type = "N"
	Binary Type = "B"
)

// Projection says which attributes a secondary index has besides keys.
type Projection string

// The projections: all attributes, none, or those that are named.
const (
	All     Projection = "all"
	Keys    Projection = "keys"
	Include Projection = "include"
)

// Index is a secondary index of a table.
type Index struct {
	Keys       []string   `json:"keys"`
	Local      bool       `json:"local,omitempty"` // within each partition: the first key is the table's
	Projection Projection `json:"projection"`
	Include    []string   `json:"include,omitempty"`
	Billing    *Billing   `json:"billing,omitempty"`
	OnDemand   *Units     `json:"on_demand,omitempty"`
	Warm       *Units     `json:"warm,omitempty"`
}

// Units are how much may be read and written, in units.
type Units struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
}

// Billing is the capacity that was asked for. It is kept and shown, nothing is throttled.
type Billing struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
	// Changed is when it was set last, Lowered how often it was lowered today.
	Changed time.Time `json:"changed,omitzero"`
}

// Stream is the table's stream of changes, on since a time.
type Stream struct {
	View  string    `json:"view"` // as StreamViewType
	Since time.Time `json:"since"`
}

// views are what records of streams may show.
var views = []string{"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"}

// Limits of definitions, which are DynamoDB's.
const (
	MaxName    = 255 // characters of a name
	minName    = 3   // of tables and indexes
	maxKeys    = 2
	maxIndexes = 25 // of both kinds
)

// Parse reads the definition in a design document; nil for a document that defines none.
// Errors: Invalid bad_request with the reason.
func Parse(body []byte) (*Definition, error) {
	text, ok := jsonscan.Member(body, Member)
	if !ok {
		return nil, nil
	}
	d := &Definition{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, invalid("it can't be read: %v", err)
	}
	return d, d.check()
}

// Body returns the design document's body, compact JSON.
func (d *Definition) Body() ([]byte, error) { return json.Marshal(map[string]any{Member: d}) }

func invalid(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", "The table's definition is invalid: "+reason, args...)
}

func (d *Definition) check() error {
	if err := d.checkKeys(d.Keys); err != nil {
		return err
	}
	if d.Stream != nil && !slices.Contains(views, d.Stream.View) {
		return invalid("the stream has no view of %s", strings.Join(views, ", "))
	}
	if len(d.Indexes) > maxIndexes {
		return invalid("it has more than %d indexes", maxIndexes)
	}
	for name, x := range d.Indexes {
		if err := d.checkIndex(name, &x); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys refuses keys that are not one or two different attributes of known types.
func (d *Definition) checkKeys(keys []string) error {
	if len(keys) == 0 || len(keys) > maxKeys || len(keys) == maxKeys && keys[0] == keys[1] {
		return invalid("keys are one attribute, or two different ones")
	}
	for _, name := range keys {
		if name == "" || len(name) > MaxName {
			return invalid("an attribute in a key has a name of 1 to %d bytes", MaxName)
		}
		if t := d.Attributes[name]; t != String && t != Number && t != Binary {
			return invalid("the attribute %q in a key has no type S, N or B", name)
		}
	}
	return nil
}

func (d *Definition) checkIndex(name string, x *Index) error {
	if len(name) < minName || len(name) > MaxName {
		return invalid("the name of an index has %d to %d characters", minName, MaxName)
	}
	if err := d.checkKeys(x.Keys); err != nil {
		return err
	}
	if x.Local && (len(x.Keys) < maxKeys || x.Keys[0] != d.Keys[0]) {
		return invalid("the local index %q needs the table's partition key and a sort key", name)
	}
	switch x.Projection {
	case All, Keys, Include:
		return nil
	}
	return invalid("the index %q has no projection all, keys or include", name)
}

// Opened is the definition of a partitioned database that was not made as a table: its
// partitions and keys are those of the ids.
func Opened(created time.Time) *Definition {
	return &Definition{Attributes: map[string]Type{"partition": String, "key": String}, Keys: []string{"partition", "key"}, Created: created, IDs: true}
}

// KeyAttributes returns the names of all attributes in keys, of the table and its indexes,
// sorted.
func (d *Definition) KeyAttributes() []string {
	names := slices.Clone(d.Keys)
	for _, x := range d.Indexes {
		names = append(names, x.Keys...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Projected returns the names of the attributes that an index has, sorted; nil for all.
func (d *Definition) Projected(x *Index) []string {
	if x.Projection == All {
		return nil
	}
	names := slices.Concat(d.Keys, x.Keys)
	if x.Projection == Include {
		names = append(names, x.Include...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

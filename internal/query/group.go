package query

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// Group asks for what the matching documents amount to, for each combination of
// values of some fields.
type Group struct {
	By      []*selector.Path
	Compute []Computed
}

// Computed is one value that is worked out for each group.
type Computed struct {
	Name string
	Op   string         // a word of computations
	Path *selector.Path // nil for $count of documents
}

// checkSummary refuses what does not go with count and group.
func (r *Request) checkSummary() error {
	if !r.Count && r.Group == nil {
		return nil
	}
	switch {
	case r.Count && r.Group != nil:
		return badGroup("count and group exclude each other.")
	case len(r.Sort) > 0, !r.Fields.All(), r.Bookmark != "", r.Conflicts:
		return badGroup("sort, fields, bookmark and conflicts have no meaning with count and group.")
	case r.Count && (r.limited || r.Skip > 0):
		return badGroup("limit and skip have no meaning with count.")
	}
	return nil
}

func badGroup(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "invalid_group", reason, args...)
}

// parseGroup reads {"by": [fields], "compute": {name: {"$sum": field}}}.
func parseGroup(v []byte) (*Group, error) {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return nil, badGroup("group must be an object with the members by and compute.")
	}
	g := &Group{}
	for it := jsonscan.MembersOf(v); ; {
		name, value, ok := it.Next()
		if !ok {
			return g, g.check()
		}
		var err error
		switch string(jsonscan.Text(nil, name)) {
		case "by":
			var f selector.Fields
			f, err = selector.ParseList("by", value)
			g.By = f.Paths()
		case "compute":
			err = g.parseCompute(value)
		default:
			err = badGroup("group has the members by and compute, not %s.", string(jsonscan.Text(nil, name)))
		}
		if err != nil {
			return nil, err
		}
	}
}

func (g *Group) check() error {
	if len(g.By) == 0 && len(g.Compute) == 0 {
		return badGroup("group says neither by what nor what to compute.")
	}
	return nil
}

func (g *Group) parseCompute(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return badGroup("compute must be an object.")
	}
	for it := jsonscan.MembersOf(v); ; {
		name, what, ok := it.Next()
		if !ok {
			return nil
		}
		c := Computed{Name: string(jsonscan.Text(nil, name))}
		m := jsonscan.MembersOf(what)
		op, arg, some := []byte(nil), []byte(nil), false
		if jsonscan.KindOf(what) == jsonscan.Object {
			op, arg, some = m.Next()
		}
		if _, _, more := m.Next(); !some || more {
			return badGroup("compute needs an object with one operator for %s.", c.Name)
		}
		c.Op = string(jsonscan.Text(nil, op))
		if err := c.setPath(arg); err != nil {
			return err
		}
		if g.Compute = append(g.Compute, c); len(g.Compute) > selector.MaxFields {
			return badGroup("compute can't have more than %d members.", selector.MaxFields)
		}
	}
}

// setPath reads an operator's operand: a field, or true for $count.
func (c *Computed) setPath(arg []byte) (err error) {
	if _, ok := computations()[c.Op]; !ok {
		return badGroup("compute knows $count, $sum, $min, $max and $avg, not %s.", c.Op)
	}
	if c.Op == "$count" && jsonscan.KindOf(arg) == jsonscan.True {
		return nil
	}
	if jsonscan.KindOf(arg) != jsonscan.String || len(arg) <= 2 {
		return badGroup("%s needs the name of a field.", c.Op)
	}
	c.Path, err = selector.ParsePath(string(jsonscan.Text(nil, arg)))
	return err
}

// paths are the fields that are looked at.
func (g *Group) paths() []*selector.Path {
	all := append([]*selector.Path(nil), g.By...)
	for _, c := range g.Compute {
		if c.Path != nil {
			all = append(all, c.Path)
		}
	}
	return all
}

package dynamoapi

import (
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/table"
)

// What Select says.
const (
	selectAll       = "ALL_ATTRIBUTES"
	selectProjected = "ALL_PROJECTED_ATTRIBUTES"
	selectSpecific  = "SPECIFIC_ATTRIBUTES"
	selectCount     = "COUNT"
)

// listing is a request for many items: a Query or a Scan.
type listing struct {
	*args
	reports
	table      string
	index      string // "" for the table itself
	selected   string // Select, "" if it does not say
	limit      int    // items looked at, 0 for no limit
	consistent bool
	descending bool
	names      *expr.Placeholders
	filter     *expr.Condition
	projection *expr.Projection
	start      attribute.Item // ExclusiveStartKey, without attributes for none

	segment, segments uint32 // of a scan; no segments for all

	t      *tableAt
	x      *table.Index // nil for the table itself
	within expr.Range   // of a query: the hash has no type in a scan
}

// listingMembers are the members that both operations have.
var listingMembers = append([]string{"TableName", "IndexName", "Select", "AttributesToGet", "Limit", "ConsistentRead", "ConditionalOperator", "ExclusiveStartKey",
	"FilterExpression", "ExpressionAttributeValues", "ReturnConsumedCapacity"}, projectionMembers...)

// listing reads what both operations have; members are all of one's, filter is the older parameter of filters, and
// parse reads what one of them has besides.
func (r *Request) listing(members []string, forms expr.Forms, filter string, parse func(*listing) error) (*listing, error) {
	l := &listing{args: argsOf(r.body, members)}
	if err := l.parseForm(); err != nil {
		return nil, err
	}
	if err := forms.Check(l.has); err != nil {
		return nil, err
	}
	var err error
	if l.names, err = l.placeholders(); err != nil {
		return nil, err
	}
	if err := l.parseStart(); err != nil {
		return nil, err
	}
	if l.projection, err = projectionIn(l.args, l.names); err != nil {
		return nil, err
	}
	if l.filter, err = l.parseFilter(filter); err != nil {
		return nil, err
	}
	if parse != nil {
		if err := parse(l); err != nil {
			return nil, err
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	if err := l.names.CheckUsed(); err != nil {
		return nil, err
	}
	return l, l.checkSelect()
}

func (l *listing) parseForm() error {
	var c constraints
	l.table = c.tableName(l.text("TableName"))
	if name := l.text("IndexName"); name != nil {
		c.nameOf("indexName", name)
		l.index = *name
	}
	l.selected = l.textOr("Select", "")
	c.oneOf("select", l.selected, selections)
	c.oneOf("conditionalOperator", l.textOr("ConditionalOperator", ""), logicalOperators)
	if limit := l.number("Limit"); limit != nil {
		c.between("limit", limit, 1, 1<<62)
		l.limit = int(*limit)
	}
	l.consistent = l.truth("ConsistentRead")
	l.reports = reportsOf(l.args, &c)
	if l.err != nil {
		return l.err
	}
	return c.err()
}

// parseStart reads where the page begins.
func (l *listing) parseStart() (err error) {
	raw := l.object("ExclusiveStartKey")
	if raw == nil {
		return nil
	}
	if l.start, err = attribute.ParseItem(raw); err != nil {
		return attribute.Invalid("The provided starting key is invalid: %s", reasonOf(err))
	}
	if l.start.Len() == 0 {
		return errStartKey
	}
	return nil
}

// parseFilter reads the filter in the new form or the older one.
func (l *listing) parseFilter(older string) (*expr.Condition, error) {
	if text := l.text("FilterExpression"); text != nil {
		return l.names.Condition(expr.FilterExpression, *text)
	}
	operator := l.textOr("ConditionalOperator", "")
	if raw := l.object(older); raw != nil {
		return expr.ParseFilter(older, raw, operator)
	}
	return nil, expr.CheckOperator(operator)
}

// checkSelect refuses a Select that contradicts the projection.
func (l *listing) checkSelect() error {
	named := "ProjectionExpression"
	if l.has("AttributesToGet") {
		named = "AttributesToGet"
	}
	switch {
	case l.selected == selectSpecific && l.projection == nil:
		return attribute.Invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case l.selected == selectCount && l.projection != nil:
		return attribute.Invalid("Cannot specify the %s when choosing to get only the Count", named)
	case (l.selected == selectAll || l.selected == selectProjected) && l.projection != nil:
		return attribute.Invalid("Cannot specify the %s when choosing to get %s", named, l.selected)
	case l.selected == selectProjected && l.index == "":
		return attribute.Invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	}
	return nil
}

// openIndex finds the index, where one is named, of the table that has been opened.
func (l *listing) openIndex() error {
	if l.index == "" {
		return nil
	}
	x, ok := l.t.Indexes[l.index]
	if !ok {
		return attribute.Invalid("The table does not have the specified index: %s", l.index)
	}
	l.x = &x
	return l.checkProjected()
}

// checkProjected refuses to get from a global index what it does not project. Of a local
// one the items are read.
func (l *listing) checkProjected() error {
	if l.x.Local || l.x.Projection == table.All {
		return nil
	}
	if l.selected == selectAll {
		return badParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", l.index)
	}
	if missing := l.unprojected(); missing != nil {
		return badParameter("Global secondary index %s does not project %s", l.index, bracketed(missing))
	}
	return nil
}

// unprojected are the attributes that are wanted and not in the index's rows.
func (l *listing) unprojected() (missing []string) {
	if l.projection == nil {
		return nil
	}
	projected := l.t.Projected(l.x)
	for _, name := range l.projection.Names() {
		if !slices.Contains(projected, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// reads reports whether the items behind an index's rows have to be read.
func (l *listing) reads() bool {
	return l.x.Projection == table.All || l.selected == selectAll || l.x.Local && l.unprojected() != nil
}

// keys are the names of the keys of what is read.
func (l *listing) keys() []string {
	if l.x != nil {
		return l.x.Keys
	}
	return l.t.Keys
}

// allKeys are the names of the attributes that say where a row is.
func (l *listing) allKeys() []string {
	keys := slices.Clone(l.keys())
	for _, name := range l.t.Keys {
		if !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	return keys
}

func appendCount(dst []byte, name string, n int) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, int64(n), 10)
}

package expr

import (
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
)

// keyConditions is the older parameter of a Query's keys.
const keyConditions = "KeyConditions"

// legacyTest is a condition on one attribute as the older parameters have it.
type legacyTest struct {
	name     string
	operator string // a ComparisonOperator; "" where there is none
	values   []attribute.Value
	listed   bool  // the values came in AttributeValueList
	single   bool  // or in Value
	exists   *bool // Exists
}

// readTests reads the conditions of a parameter.
func readTests(parameter string, raw []byte) ([]legacyTest, error) {
	var tests []legacyTest
	err := members(raw, func(name string, raw []byte) error {
		if len(tests) == maxOperators {
			return attribute.Invalid(badParameter+"%s has more than %d conditions", parameter, maxOperators)
		}
		t, err := readTest(name, raw)
		if err == nil {
			err = t.checkOperator(parameter)
		}
		tests = append(tests, t)
		return err
	})
	return tests, err
}

// members calls member for each member of an object.
func members(raw []byte, member func(name string, raw []byte) error) error {
	if err := checkObject(raw); err != nil {
		return err
	}
	for m := jsonscan.MembersOf(raw); ; {
		quoted, value, ok := m.Next()
		if !ok {
			return nil
		}
		if jsonscan.KindOf(value) == jsonscan.Null {
			continue
		}
		if err := member(string(jsonscan.Text(nil, quoted)), value); err != nil {
			return err
		}
	}
}

func readTest(name string, raw []byte) (t legacyTest, err error) {
	t.name = name
	err = members(raw, func(member string, raw []byte) (err error) {
		switch member {
		case "ComparisonOperator":
			t.operator, err = attribute.ParseText(raw)
		case "AttributeValueList":
			t.listed = true
			t.values, err = readValues(raw)
		case "Value":
			t.single = true
			var v attribute.Value
			v, err = attribute.ParseValue(raw)
			t.values = append(t.values, v)
		case "Exists":
			var truth bool
			truth, err = attribute.ParseTruth(raw)
			t.exists = &truth
		default:
			err = attribute.Invalid(badParameter+"%s is not supported", member)
		}
		return err
	})
	return t, err
}

func readValues(raw []byte) (values []attribute.Value, err error) {
	if jsonscan.KindOf(raw) != jsonscan.Array {
		return nil, attribute.Unreadable("Unexpected field type")
	}
	for e := jsonscan.ElementsOf(raw); ; {
		element, ok := e.Next()
		if !ok || len(values) > maxOperands { // no operator takes so many
			return values, nil
		}
		v, err := attribute.ParseValue(element)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
}

// comparison is an operator of the older parameters: how many values it takes, and of
// which types.
type comparison struct {
	min, max int
	types    []attribute.Type // nil for all
}

var (
	scalars = []attribute.Type{attribute.S, attribute.N, attribute.B}
	texts   = []attribute.Type{attribute.S, attribute.B}

	comparisons = map[string]comparison{
		"EQ": {1, 1, nil}, "NE": {1, 1, nil}, "LE": {1, 1, scalars}, "LT": {1, 1, scalars}, "GE": {1, 1, scalars}, "GT": {1, 1, scalars},
		"CONTAINS": {1, 1, scalars}, "NOT_CONTAINS": {1, 1, scalars}, "BEGINS_WITH": {1, 1, texts}, "IN": {1, maxOperands, scalars}, "BETWEEN": {2, 2, scalars},
		"NULL": {0, 0, nil}, "NOT_NULL": {0, 0, nil},
	}
)

// checkOperator refuses an operator that is none.
func (t *legacyTest) checkOperator(parameter string) error {
	where := "at '" + strings.ToLower(parameter[:1]) + parameter[1:] + "." + t.name + ".member.comparisonOperator' failed to satisfy constraint: "
	if t.operator == "" {
		if parameter == expected {
			return nil
		}
		return attribute.Invalid("1 validation error detected: Value null " + where + "Member must not be null")
	}
	if _, ok := comparisons[t.operator]; !ok {
		return attribute.Invalid("1 validation error detected: Value '" + t.operator + "' " + where +
			"Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]")
	}
	return nil
}

// checkValues refuses values that the operator does not take.
func (t *legacyTest) checkValues() error {
	c := comparisons[t.operator]
	if len(t.values) < c.min || len(t.values) > c.max {
		return attribute.Invalid(badParameter+"Invalid number of argument(s) for the %s ComparisonOperator", t.operator)
	}
	for _, v := range t.values {
		if v.Type() != t.values[0].Type() {
			return attribute.Invalid(badParameter + "AttributeValues inside AttributeValueList must be of same type")
		}
	}
	for _, v := range t.values {
		if c.types != nil && !slices.Contains(c.types, v.Type()) {
			return attribute.Invalid(badParameter+"ComparisonOperator %s is not valid for %s AttributeValue type", t.operator, v.Type())
		}
	}
	if t.operator == "BETWEEN" {
		if order, _ := attribute.Compare(t.values[0], t.values[1]); order > 0 {
			return attribute.Invalid("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
		}
	}
	return nil
}

// comparators are the operators that are comparators of expressions.
var comparators = map[string]string{"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}

// node returns the condition as a tree.
func (t *legacyTest) node() *node {
	args := []*node{{kind: nodePath, path: path{{t.name, byName}}}}
	for _, v := range t.values {
		args = append(args, &node{kind: nodeValue, value: v})
	}
	call := func(function string) *node { return &node{kind: nodeCall, op: function, args: args} }
	switch t.operator {
	case "NULL":
		return call(notExists)
	case "NOT_NULL":
		return call(exists)
	case "CONTAINS":
		return call(contains)
	case "NOT_CONTAINS": // of an attribute that is there; NE is true without it
		return &node{kind: nodeAnd, args: []*node{
			{kind: nodeCall, op: exists, args: args[:1]},
			{kind: nodeNot, args: []*node{call(contains)}},
		}}
	case "BEGINS_WITH":
		return call(beginsWith)
	case "IN":
		return &node{kind: nodeIn, args: args}
	case "BETWEEN":
		return &node{kind: nodeBetween, args: args}
	}
	return &node{kind: nodeCompare, op: comparators[t.operator], args: args}
}

// combine returns the condition that all of the tests hold, or one of them.
func combine(parameter string, tests []legacyTest, operator string) (*Condition, error) {
	kind := nodeAnd
	switch {
	case operator == "":
	case operator != "AND" && operator != "OR":
		return nil, attribute.Invalid("1 validation error detected: Value '%s' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]", operator)
	case len(tests) == 0:
		return nil, CheckOperator(operator)
	case len(tests) == 1:
		return nil, attribute.Invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	case operator == "OR":
		kind = nodeOr
	}
	if len(tests) == 0 {
		return nil, nil
	}
	root := tests[0].node()
	for i := range tests[1:] {
		root = &node{kind: kind, args: []*node{root, tests[i+1].node()}}
	}
	return newCondition(root, parameter), nil
}

// CheckOperator refuses a ConditionalOperator in a request that has neither a filter
// nor Expected.
func CheckOperator(operator string) error {
	if operator == "" {
		return nil
	}
	return attribute.Invalid("ConditionalOperator cannot be used without Filter or Expected")
}

// ParseFilter reads a QueryFilter or a ScanFilter from the wire; operator is the
// ConditionalOperator, "" if there is none. No conditions are no condition, nil.
// Errors: Serialization and Validation.
func ParseFilter(parameter string, raw []byte, operator string) (*Condition, error) {
	tests, err := readTests(parameter, raw)
	if err != nil {
		return nil, err
	}
	for i := range tests {
		if err := tests[i].checkValues(); err != nil {
			return nil, err
		}
	}
	return combine(parameter, tests, operator)
}

// expected is the older parameter of conditions.
const expected = "Expected"

// ParseExpected reads Expected from the wire; otherwise it is like ParseFilter.
func ParseExpected(raw []byte, operator string) (*Condition, error) {
	tests, err := readTests(expected, raw)
	if err != nil {
		return nil, err
	}
	for i := range tests {
		if err := tests[i].checkExpected(); err != nil {
			return nil, err
		}
	}
	return combine(expected, tests, operator)
}

// checkExpected checks a condition of Expected, which may have a value or none instead
// of an operator; then it gets one.
func (t *legacyTest) checkExpected() error {
	switch {
	case t.listed && t.single:
		return attribute.Invalid(badParameter+"Value and AttributeValueList cannot be used together for Attribute: %s", t.name)
	case t.operator != "" && t.exists != nil:
		return attribute.Invalid(badParameter+"Exists and ComparisonOperator cannot be used together for Attribute: %s", t.name)
	case t.operator != "" && comparisons[t.operator].min > 0 && !t.listed && !t.single:
		return attribute.Invalid(badParameter+"Value or AttributeValueList must be used with ComparisonOperator: %s for Attribute: %s", t.operator, t.name)
	case t.operator != "":
		return t.checkValues()
	case t.listed:
		return attribute.Invalid(badParameter+"AttributeValueList can only be used with a ComparisonOperator for Attribute: %s", t.name)
	}
	return t.checkExists()
}

func (t *legacyTest) checkExists() error {
	wanted := t.exists == nil || *t.exists
	switch {
	case wanted && !t.single:
		shown := "null"
		if t.exists != nil {
			shown = "true"
		}
		return attribute.Invalid(badParameter+"Value must be provided when Exists is %s for Attribute: %s", shown, t.name)
	case !wanted && t.single:
		return attribute.Invalid(badParameter+"Value cannot be used when Exists is false for Attribute: %s", t.name)
	}
	t.operator = "NULL"
	if wanted {
		t.operator = "EQ"
	}
	return nil
}

// ParseKeyConditions reads KeyConditions from the wire. Errors: Serialization and
// Validation.
func ParseKeyConditions(raw []byte) (*KeyCondition, error) {
	tests, err := readTests(keyConditions, raw)
	if err != nil {
		return nil, err
	}
	for i := range tests {
		if err := tests[i].checkValues(); err != nil {
			return nil, err
		}
	}
	if len(tests) < 1 || len(tests) > 2 {
		return nil, attribute.Invalid("Conditions can be of length 1 or 2 only")
	}
	k := &KeyCondition{legacy: true}
	for _, t := range tests {
		op := comparators[t.operator]
		switch t.operator {
		case "BETWEEN":
			op = "BETWEEN"
		case "BEGINS_WITH":
			op = beginsWith
		case "NULL", "NOT_NULL", "CONTAINS", "NOT_CONTAINS", "IN", "NE":
			return nil, attribute.Invalid("Attempted conditional constraint is not an indexable operation")
		}
		k.tests = append(k.tests, keyTest{t.name, op, t.values})
	}
	return k, nil
}

package expr

import (
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
)

// Forms are the parameters of an operation that have expressions, and the older ones,
// each in the order in which AWS names them.
type Forms struct {
	Expressions []Kind
	Legacy      []string
}

// Check refuses a request that has parameters of both forms, and placeholders without
// an expression. present reports whether the request has a parameter.
func (f Forms) Check(present func(parameter string) bool) error {
	var expressions, legacy []string
	for _, k := range f.Expressions {
		if present(string(k)) {
			expressions = append(expressions, string(k))
		}
	}
	for _, parameter := range f.Legacy {
		// The keys of a Query may be in the older form with a filter in the newer.
		if parameter == keyConditions && !slices.Contains(expressions, string(KeyConditionExpression)) {
			continue
		}
		if present(parameter) {
			legacy = append(legacy, parameter)
		}
	}
	if expressions != nil && legacy != nil {
		return attribute.Invalid("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%s} Expression parameters: {%s}",
			strings.Join(legacy, ", "), strings.Join(expressions, ", "))
	}
	if expressions == nil && present(attributeNames) {
		return attribute.Invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	return f.checkValues(expressions, present)
}

// checkValues refuses values without an expression that could use them.
func (f Forms) checkValues(expressions []string, present func(parameter string) bool) error {
	var using []string
	for _, k := range f.Expressions {
		if k == ProjectionExpression {
			continue
		}
		if slices.Contains(expressions, string(k)) {
			return nil
		}
		using = append(using, string(k))
	}
	if using == nil || !present(attributeValues) {
		return nil
	}
	verb := "is"
	if len(using) > 1 {
		verb = "are"
	}
	return attribute.Invalid("ExpressionAttributeValues can only be specified when using expressions: %s %s null", strings.Join(using, " and "), verb)
}

package partiql

import (
	"fmt"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/attribute"
)

var (
	errParameters   = attribute.Invalid("Number of parameters in request and statement don't match.")
	errEmptyBag     = attribute.Invalid("Empty bags are not supported")
	errBagType      = attribute.Invalid("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")
	errSelectMany   = attribute.Invalid("Only select from a single table or index is supported.")
	errAlias        = attribute.Invalid("Aliasing is not supported")
	errFromPath     = attribute.Invalid("A path may contain at most 2 components in the FROM clause")
	errOnIndex      = attribute.Invalid("This operation is not supported on an index")
	errInsertMany   = attribute.Invalid("Unsupported operation: Inserting multiple items in a single statement is not supported, use \"INSERT INTO tableName VALUE item\" instead")
	errInsertValue  = attribute.Invalid("Unsupported format in item expression. Please use struct format {...} to express item values for insert statement.")
	errInsertReturn = attribute.Invalid("RETURNING is not supported in INSERT")
	errReturning    = attribute.Invalid("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
	errStar         = attribute.Invalid("Other attributes should not be present in the projection when '*' is used.")
	errIn           = attribute.Invalid("IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member")
	errIs           = attribute.Invalid("The left hand side argument to IS must be a Variable Reference, Literal, or Path")
	errOrderWhere   = attribute.Invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
	errDepth        = attribute.Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
)

// KeyError is the error for a condition that does not say which item is meant.
type KeyError struct {
	error
	Mistyped bool // the key is bound, by a value of another type
}

// Unwrap returns the error.
func (e *KeyError) Unwrap() error { return e.error }

var errIncomplete = &KeyError{error: attribute.Invalid("Where clause does not contain a mandatory equality on all key attributes")}

// malformed returns the error of a text that is no statement.
func malformed(text string, args ...any) error {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return attribute.Invalid("Statement wasn't well formed, can't be processed: %s", text)
}

// invalidAt returns an error with the position of a token.
func (p *parser) invalidAt(t token, text string, args ...any) error {
	line, column := 1, 1
	for _, r := range p.text[:t.start] {
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return attribute.Invalid("%s at %d:%d:%d", text, line, column, utf8.RuneCountInString(p.text[t.start:t.end]))
}

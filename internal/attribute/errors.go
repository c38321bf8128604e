package attribute

import "github.com/sectional/sectional/internal/dberr"

// The codes of errors, which are names of AWS's exceptions.
const (
	Validation    = "ValidationException"
	Serialization = "SerializationException"
)

// Invalid returns a ValidationException; args are as those of dberr.New.
func Invalid(text string, args ...any) error {
	return dberr.New(dberr.Invalid, Validation, text, args...)
}

// Unreadable returns a SerializationException.
func Unreadable(text string, args ...any) error {
	return dberr.New(dberr.Invalid, Serialization, text, args...)
}

// badParameter begins the texts about values that break a rule.
const badParameter = "One or more parameter values were invalid: "

// errors without a parameter
var (
	errEmptyValue  = Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	errManyTypes   = Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	errNullFalse   = Invalid(badParameter + "Null attribute value types must have the value of true")
	errTooDeep     = Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
	errTooLarge    = Invalid("Item size has exceeded the maximum allowed size")
	errEmptyName   = Invalid("Empty attribute name")
	errLongName    = Invalid("Attribute name is too large, must be less than 65536 bytes")
	errNullElement = Invalid(badParameter + "A set may not have a null as a member")

	errEmptySS     = Invalid(badParameter + "An string set  may not be empty") // with AWS's two spaces
	errEmptyNS     = Invalid(badParameter + "An number set  may not be empty")
	errEmptyBS     = Invalid(badParameter + "Binary sets should not be empty")
	errDuplicateNS = Invalid("Input collection contains duplicates")

	errNotNumeric = Invalid("The parameter cannot be converted to a numeric value")
	errOverflow   = Invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	errUnderflow  = Invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	errPrecision  = Invalid("Attempting to store more than 38 significant digits in a Number")
)

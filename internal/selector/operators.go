package selector

import (
	"bytes"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// operator says what is to be known of an operator: its word, its opposite,
// which operands it takes and how a value is tested.
type operator struct {
	word     string
	opposite Op   // 0: none, a negation stays as Not
	list     bool // the operand is a list of selectors

	accepts func(arg []byte) bool // nil: everything; a refusal is bad_arg
	// typed operators are unknown words, not bad arguments, with an operand
	// that is not a string: so CouchDB has it.
	typed bool

	compile func(arg []byte) (tester, error)
}

var operators = [...]operator{
	And:         {word: "$and", list: true, accepts: isArray},
	Or:          {word: "$or", list: true, accepts: isArray},
	Nor:         {word: "$nor", list: true, accepts: isArray},
	Not:         {word: "$not", accepts: isObject},
	Eq:          {word: "$eq", opposite: Ne, compile: compileEqual(true)},
	Ne:          {word: "$ne", opposite: Eq, compile: compileEqual(false)},
	Lt:          {word: "$lt", opposite: Gte, compile: compileOrder(func(c int) bool { return c < 0 })},
	Lte:         {word: "$lte", opposite: Gt, compile: compileOrder(func(c int) bool { return c <= 0 })},
	Gt:          {word: "$gt", opposite: Lte, compile: compileOrder(func(c int) bool { return c > 0 })},
	Gte:         {word: "$gte", opposite: Lt, compile: compileOrder(func(c int) bool { return c >= 0 })},
	In:          {word: "$in", opposite: Nin, accepts: isArray, compile: compileIn(true)},
	Nin:         {word: "$nin", opposite: In, accepts: isArray, compile: compileIn(false)},
	All:         {word: "$all", accepts: isArray, compile: compileAll},
	Exists:      {word: "$exists", accepts: isBoolean, compile: compileExists},
	Type:        {word: "$type", accepts: isString, compile: compileType},
	Mod:         {word: "$mod", accepts: isModArg, compile: compileMod},
	Regex:       {word: "$regex", accepts: isString, typed: true, compile: compileRegex},
	BeginsWith:  {word: "$beginsWith", accepts: isString, typed: true, compile: compileBeginsWith},
	Size:        {word: "$size", accepts: isSizeArg, compile: compileSize},
	ElemMatch:   {word: "$elemMatch", accepts: isObject},
	AllMatch:    {word: "$allMatch", accepts: isObject},
	KeyMapMatch: {word: "$keyMapMatch", accepts: isObject},
	Text:        {word: "$text", accepts: isTextArg},

	GeoWithin:     {word: "$geoWithin", compile: compileGeo(true)},
	GeoIntersects: {word: "$geoIntersects", compile: compileGeo(false)},
	Near:          {word: "$near", compile: compileNear},
}

// unsupported are words that CouchDB knows and refuses.
var unsupported = map[string]bool{"$where": true, "$nearSphere": true}

// lookup finds the operator called word and checks its operand.
func lookup(word string, arg []byte) (Op, error) {
	for op, o := range operators {
		if o.word != word || word == "" {
			continue
		}
		if o.accepts == nil || o.accepts(arg) {
			return Op(op), nil
		}
		if o.typed {
			break
		}
		return 0, badArgument(word, arg)
	}
	if unsupported[word] {
		return 0, dberr.New(dberr.Invalid, "not_supported", "Unsupported operator: %s", word)
	}
	return 0, dberr.New(dberr.Invalid, "invalid_operator", "Invalid operator: %s", word)
}

func badArgument(word string, arg []byte) error {
	return dberr.New(dberr.Invalid, "bad_arg", "Bad argument for operator %s: %s", word, Term(arg))
}

func isArray(arg []byte) bool  { return jsonscan.KindOf(arg) == jsonscan.Array }
func isObject(arg []byte) bool { return jsonscan.KindOf(arg) == jsonscan.Object }
func isString(arg []byte) bool { return jsonscan.KindOf(arg) == jsonscan.String }

func isBoolean(arg []byte) bool {
	k := jsonscan.KindOf(arg)
	return k == jsonscan.True || k == jsonscan.False
}

func isTextArg(arg []byte) bool {
	return isString(arg) || isBoolean(arg) || jsonscan.KindOf(arg) == jsonscan.Number
}

// isInteger reports whether arg is a number written without point and exponent:
// 7.0 is none.
func isInteger(arg []byte) bool {
	return jsonscan.KindOf(arg) == jsonscan.Number && !bytes.ContainsAny(arg, ".eE")
}

func isSizeArg(arg []byte) bool { return isInteger(arg) && (arg[0] != '-' || string(arg) == "-0") }

// isModArg takes a divisor and a remainder. A divisor of 0 is refused here;
// CouchDB takes it and fails at the first number it meets.
func isModArg(arg []byte) bool {
	if !isArray(arg) || jsonscan.Len(arg) != 2 {
		return false
	}
	d, _ := jsonscan.Element(arg, 0)
	r, _ := jsonscan.Element(arg, 1)
	return isInteger(d) && isInteger(r) && string(d) != "0" && string(d) != "-0" && len(arg) <= 2*maxInteger
}

// maxInteger is how many digits a whole number may have that is computed with:
// more than any number of a document has, which is within a double's range.
const maxInteger = 400

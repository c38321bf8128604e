package dynamoapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/table"
)

// enum are the words that a member may have, in the order in which AWS's errors list them.
type enum []string

var (
	attributeTypes   = enum{"B", "N", "S"}
	keyTypes         = enum{"HASH", "RANGE"}
	billingModes     = enum{"PROVISIONED", "PAY_PER_REQUEST"}
	tableClasses     = enum{"STANDARD", "STANDARD_INFREQUENT_ACCESS"}
	projectionTypes  = enum{"ALL", "INCLUDE", "KEYS_ONLY"}
	streamViews      = enum{"NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"}
	encryptionTypes  = enum{"AES256", "KMS"}
	capacityReports  = enum{"INDEXES", "TOTAL", "NONE"}
	metricsReports   = enum{"SIZE", "NONE"}
	returnValues     = enum{"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"}
	returnOnFailure  = enum{"ALL_OLD", "NONE"}
	selections       = enum{selectSpecific, selectCount, selectAll, selectProjected}
	logicalOperators = enum{"OR", "AND"}
	shardFilters     = enum{"CHILD_SHARDS"}
	iteratorTypes    = enum{afterSequence, latest, atSequence, trimHorizon}
)

// lengths are how long a text may be, in bytes.
type lengths struct{ min, max int }

var (
	attributeNameLength = lengths{1, table.MaxName}
	clientTokenLength   = lengths{1, 36}
	resourceLength      = lengths{1, 1283}
	streamARNLength     = lengths{37, 1024}
	shardIDLength       = lengths{28, 65}
	iteratorLength      = lengths{1, 2048}
	sequenceLength      = lengths{leastSequence, maxSequence}
	tagKeyLength        = lengths{1, 128}
	tagValueLength      = lengths{0, 256}
)

// constraints collects what AWS says of the form of a request's members, all of it in one
// error.
type constraints []string

// failed notes that a member's value fails a constraint. member is its path, as in
// "keySchema.1.member.keyType".
func (c *constraints) failed(member, value, constraint string) {
	*c = append(*c, fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: Member must %s", value, member, constraint))
}

// given notes a member that is not there, and reports whether it is.
func (c *constraints) given(member string, there bool) bool {
	if !there {
		c.failed(member, "null", "not be null")
	}
	return there
}

// between notes a number that is out of range.
func (c *constraints) between(member string, value *int64, least, most int64) {
	switch {
	case value == nil:
	case *value < least:
		c.failed(member, fmt.Sprintf("'%d'", *value), fmt.Sprintf("have value greater than or equal to %d", least))
	case *value > most:
		c.failed(member, fmt.Sprintf("'%d'", *value), fmt.Sprintf("have value less than or equal to %d", most))
	}
}

// oneOf notes a text that is none of an enumeration's words, "" being no text.
func (c *constraints) oneOf(member, value string, words enum) {
	if value != "" && !slices.Contains(words, value) {
		c.failed(member, "'"+value+"'", "satisfy enum value set: ["+strings.Join(words, ", ")+"]")
	}
}

// length notes a text that is too short or too long, nil being no text.
func (c *constraints) length(member string, text *string, is lengths) {
	if text == nil {
		return
	}
	switch n := len(*text); {
	case n < is.min:
		c.failed(member, "'"+*text+"'", fmt.Sprintf("have length greater than or equal to %d", is.min))
	case n > is.max:
		c.failed(member, "'"+shortened(*text)+"'", fmt.Sprintf("have length less than or equal to %d", is.max))
	}
}

// shownLength is how much of a text an error shows.
const shownLength = 1024

func shortened(text string) string {
	if len(text) > shownLength {
		return strings.ToValidUTF8(text[:shownLength], "") + "…"
	}
	return text
}

// required notes a text that is not there, too short or too long.
func (c *constraints) required(member string, text *string, is lengths) {
	if c.given(member, text != nil) {
		c.length(member, text, is)
	}
}

// isPlainName reports whether a text has the characters of the names of tables and indexes,
// and any.
func isPlainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return name != ""
}

// nameOf notes the name of a table or an index that can't be one.
func (c *constraints) nameOf(member string, name *string) {
	if !c.given(member, name != nil) {
		return
	}
	if !isPlainName(*name) {
		c.failed(member, "'"+shortened(*name)+"'", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	switch n := len(*name); {
	case n < 3:
		c.failed(member, "'"+*name+"'", "have length greater than or equal to 3")
	case n > table.MaxName:
		c.failed(member, "'"+shortened(*name)+"'", fmt.Sprintf("have length less than or equal to %d", table.MaxName))
	}
}

// tableName notes a table that can't be meant, by its name or as a resource, and returns
// the name.
func (c *constraints) tableName(name *string) string { return c.tableNameAt("tableName", name) }

// tableNameAt is tableName for a member of another path.
func (c *constraints) tableNameAt(member string, name *string) string {
	if name != nil {
		if plain, ok := cutARN(*name); ok {
			name = &plain
		}
	}
	c.nameOf(member, name)
	if name == nil {
		return ""
	}
	return *name
}

// err returns what was noted as one error, nil for nothing.
func (c constraints) err() error {
	switch len(c) {
	case 0:
		return nil
	case 1:
		return attribute.Invalid("%s", "1 validation error detected: "+c[0])
	}
	return attribute.Invalid("%s", fmt.Sprintf("%d validation errors detected: %s", len(c), strings.Join(c, "; ")))
}

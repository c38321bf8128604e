package auth

import (
	"github.com/sectional/sectional/internal/document"
)

// A table of the DynamoDB API has a partition for each partition key, whose name is made of
// the key's value (document.CompositeID). A rule may say which value that is, instead of the
// name: it bounds a caller as IAM does by dynamodb:LeadingKeys.

// leadingKey is the member of a rule that stands in the place of "partition".
const leadingKey = "partition_key"

// letsKey is lets for a rule about partition keys.
func (r *rule) letsKey(c *Caller, p string) bool {
	values, err := document.CompositeValues(document.ID(p + keyOnly))
	if err != nil || len(values) != 1 || !r.who.has(c) {
		return false
	}
	if values[0].Kind == document.StringValue {
		return r.fits(c, values[0].Text)
	}
	for _, text := range r.texts(c) {
		if partitionOf(document.NumberValue, text) == document.Partition(p) {
			return true
		}
	}
	return false
}

// keyOnly is what an id of a single value has after its partition.
const keyOnly = ":!"

// partitions returns the partitions that a text of the pattern means: that of its name, or
// those that are made of a partition key, which may be a string or a whole number.
func (p *pattern) partitions(text string) []document.Partition {
	if !p.key {
		return []document.Partition{document.Partition(text)}
	}
	var found []document.Partition
	for _, kind := range []document.ValueKind{document.StringValue, document.NumberValue} {
		if of := partitionOf(kind, text); of != "" {
			found = append(found, of)
		}
	}
	return found
}

// partitionOf returns the partition of the items whose partition key is a text, "" for none.
func partitionOf(kind document.ValueKind, text string) document.Partition {
	if kind == document.NumberValue && !wholeNumber.MatchString(text) {
		return ""
	}
	id, err := document.CompositeID([]document.Value{{Kind: kind, Text: text}}, 0)
	if err != nil {
		return ""
	}
	return id.Partition()
}

package table

import "strings"

// BinaryMember is the one member of an object that stands for a binary value in a document.
const BinaryMember = "$b"

// MemberOf returns the member of a document that an item's attribute is: of the same name,
// but with a dollar before one that begins with a dollar, or with an underscore, which
// documents do not have for their own.
func MemberOf(attribute string) string {
	if strings.HasPrefix(attribute, "$") || strings.HasPrefix(attribute, "_") {
		return "$" + attribute
	}
	return attribute
}

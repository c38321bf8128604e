package document

import (
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
)

const (
	designPrefix = "_design/"
	localPrefix  = "_local/"
)

// ID is the id of a document that has passed ParseID: valid UTF-8, not empty,
// within the length limit. Ids compare by their bytes.
type ID string

// Partition is the key of a partition: valid UTF-8, not empty, without a colon
// and not beginning with an underscore.
type Partition string

// ParseID checks the rules for every document id, in CouchDB's order: empty,
// length, UTF-8, underscore. Errors: Invalid illegal_docid with CouchDB's
// texts. max is the length limit in bytes, 0 for none.
func ParseID(s string, max int) (ID, error) {
	switch {
	case s == "":
		return "", illegalID("Document id must not be empty")
	case max > 0 && len(s) > max:
		return "", illegalID("Document id is too long")
	case !utf8.ValidString(s):
		return "", illegalID("Document id must be valid UTF-8")
	case s[0] == '_' && !isReserved(s):
		return "", illegalID("Only reserved document ids may start with underscore.")
	}
	return ID(s), nil
}

// isReserved reports whether s names a design or local document: one of the
// two prefixes and a name after it.
func isReserved(s string) bool {
	return len(s) > len(designPrefix) && s[:len(designPrefix)] == designPrefix ||
		len(s) > len(localPrefix) && s[:len(localPrefix)] == localPrefix
}

func illegalID(reason string) error {
	return dberr.New(dberr.Invalid, "illegal_docid", reason)
}

// ParsePartition checks the rules for a partition key named in a URL or body.
// Errors: Invalid illegal_partition with CouchDB's texts.
func ParsePartition(s string) (Partition, error) {
	switch {
	case s == "":
		return "", illegalPartition("Partition must not be empty")
	case s[0] == '_':
		return "", illegalPartition("Partition must not start with an underscore")
	case !utf8.ValidString(s):
		return "", illegalPartition("Partition must be valid UTF-8")
	case strings.IndexByte(s, ':') >= 0:
		return "", illegalPartition("Partition must not contain a colon")
	}
	return Partition(s), nil
}

func illegalPartition(reason string) error {
	return dberr.New(dberr.Invalid, "illegal_partition", reason)
}

// CheckPartitioned checks the rules that a partitioned database adds: id is
// "partition:key", where key is a legal id by itself, or id is that of a design
// or local document. Errors: Invalid illegal_docid or illegal_partition.
func (id ID) CheckPartitioned() error {
	if id[0] == '_' {
		return nil // ParseID let only design and local documents through
	}
	p, key, ok := strings.Cut(string(id), ":")
	if !ok {
		return illegalID("Doc id must be of form partition:id")
	}
	if _, err := ParsePartition(p); err != nil {
		return err
	}
	_, err := ParseID(key, 0)
	return err
}

// Partition returns the part before the first colon, "" for design and local
// documents and for ids without a colon.
func (id ID) Partition() Partition {
	if id == "" || id[0] == '_' {
		return ""
	}
	p, _, ok := strings.Cut(string(id), ":")
	if !ok {
		return ""
	}
	return Partition(p)
}

// IsDesign reports whether id is that of a design document: it begins with
// "_design/".
func (id ID) IsDesign() bool { return strings.HasPrefix(string(id), designPrefix) }

// TenantDesign takes the id of a tenant's design document apart, "p:_design/x": the
// partition it lies in and belongs to, and its id for the tenant. ok is false for
// any other id.
func (id ID) TenantDesign() (p Partition, own ID, ok bool) {
	part, key, cut := strings.Cut(string(id), ":")
	if own = ID(key); !cut || part == "" || id[0] == '_' || !own.IsDesign() {
		return "", "", false
	}
	return Partition(part), own, true
}

// Designs reports whether id is that of a design document, the database's or, in
// a partitioned database, a tenant's: indexes do not hold those.
func (id ID) Designs(partitioned bool) bool {
	if id.IsDesign() {
		return true
	}
	_, _, theirs := id.TenantDesign()
	return partitioned && theirs
}

// IsLocal reports whether id is that of a local document: it begins with
// "_local/".
func (id ID) IsLocal() bool { return strings.HasPrefix(string(id), localPrefix) }

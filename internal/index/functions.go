package index

import (
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/store"
)

// FunctionScope is where the functions of one index belong: a world of their own for each
// definition, so that no function sees what another left behind.
type FunctionScope struct {
	Database  uint64 // its number, which is never used again
	Tenant    string // the tenant whose index it is; "" for the database's
	Name      string // of the database, for the log
	Design    string // the first design document that has the index, for the log
	Signature string // of the index, and whose it is: the same for equal sources of one tenant only
}

// ScopeOf returns the world of an index's functions.
func ScopeOf(d *store.Database, x *Index) FunctionScope {
	signature := x.Signature
	if x.Tenant != "" {
		signature += "/" + string(x.Tenant) // tenants with equal indexes share no state
	}
	return FunctionScope{Database: d.Number(), Tenant: string(x.Tenant), Name: d.Name(), Design: string(x.DesignIn(d)), Signature: signature}
}

// Emitted is what one call of emit, or of what a function calls instead, gave: compact JSON.
type Emitted struct {
	Key, Value []byte
	More, Rest []byte // the third and fourth argument, of a function that calls another one than emit
}

// Mapped is what a function gave for one document: what it emitted, or why there is
// nothing.
type Mapped struct {
	Rows []Emitted
	Err  error // what the function threw, or the limit that it met
	// Stopped says that it had to be stopped: documents for which it does are
	// counted, and too many break the index.
	Stopped bool
}

// Document is a changed document as functions are given it, with its sequence if the function's options ask for it.
func (c *Change) Document(withSeq bool) []byte {
	r := couchwire.Revision{ID: c.Rev.ID, Rev: c.Rev.Rev, Body: c.Rev.Body, Attachments: c.Rev.Attachments,
		Conflicts: c.Conflicts, DeletedConflicts: c.DeletedConflicts}
	if withSeq {
		r.LocalSeq = uint64(c.Seq)
	}
	return couchwire.AppendDocument(make([]byte, 0, len(r.Body)+96), &r, couchwire.Form{})
}

// TenantBytes is how many bytes the rows may have that a tenant's functions make of a
// document of so many bytes. Anybody may own a partition, and what he may store must
// not become a multiple of that on disk without an end. It follows from the document
// alone, so that rows never depend on when they were made.
func TenantBytes(document int) int { return 64<<10 + 8*document }

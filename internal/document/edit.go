package document

// Attachment is an attachment of one revision.
type Attachment struct {
	Name        string
	ContentType string
	RevPos      uint32         // generation in which it was set
	Digest      [hashSize]byte // MD5 of the stored (encoded) bytes, as CouchDB's "md5-" digest
	Length      int64          // bytes before encoding
	Encoded     int64          // bytes as stored; equal to Length when Encoding is ""
	Encoding    string         // "" or "gzip"
	Blob        uint64         // number of the blob that holds the bytes; set by the store

	// Stub is set in an edit that takes the attachment of this name from the
	// parent; only Name, Digest (zero: any) and RevPos are looked at.
	Stub bool
	// Data holds, in an edit, the stored (encoded) bytes when they came
	// inline; nil when Blob or Stub is set.
	Data []byte
}

// Edit is one wanted change of a document, parsed and checked; the store
// applies it.
type Edit struct {
	ID ID
	// Parent is what the caller has read; zero: the document must not exist,
	// or be deleted.
	Parent Rev
	// Path is set in a replicated edit (new_edits=false): the revision itself
	// and its ancestors, newest first, generations falling by one. It is nil
	// in an ordinary edit.
	Path []Rev
	// Tombstones names the ancestors in Path that are known to be tombstones,
	// for a tree that is to become equal in this too; most edits do not tell.
	Tombstones []Rev
	Deleted    bool
	// Body is a compact JSON object without reserved members; at least "{}".
	Body []byte
	// Attachments in order of name. An attachment that the parent has and that
	// is not named here is dropped.
	Attachments []Attachment
	// Decide makes the edit a conditional one: what it says decides Parent, Body,
	// Deleted and Attachments. nil for an edit that is what it is.
	Decide Decide
	// New says that the document is most likely not there: Decide is asked as if it were
	// not, before anybody looks, and once more where it is. It needs Decide.
	New bool
	// Conforms says that the edit, or what Decide makes, is of the form that a schema of
	// its database wants (store.Schema): whoever made it has seen to that.
	Conforms bool
	// Pinned says that what Decide says on the document that admission sees is final: a
	// commit that finds another one has the writer begin anew. An edit that keeps its
	// document is then no write, for those who may only read.
	Pinned bool
}

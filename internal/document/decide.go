package document

// Decide says what becomes of a document as it is: nothing, something, or a
// refusal, whose error is the edit's outcome. It is a pure function, without
// effects outside, for it is called as often as the document changes before the edit is
// stored: by its caller's goroutine at first, and then perhaps in a commit, where
// writers wait for it.
type Decide func(now Current) (Decision, error)

// Current is the winner of a document.
type Current struct {
	Rev         Rev          // zero for a document that is not there
	Deleted     bool         // it is not there, but was
	Body        []byte       // nil if it is not there; not to be changed
	Attachments []Attachment // not to be changed
}

// Exists reports whether the document is there.
func (c *Current) Exists() bool { return !c.Rev.IsZero() }

// Decision is what becomes of a document.
type Decision struct {
	// Keep is set if nothing is to be written: the edit asked how things are.
	Keep    bool
	Deleted bool
	// Body is as in Edit. The attachments stay, but for a deletion.
	Body []byte
}

// Expect returns the check that the winner of a document is rev, zero for a
// document that must not be there. Its refusal is Conflict "Document update conflict."
func Expect(rev Rev) Decide {
	return func(now Current) (Decision, error) {
		if now.Rev != rev {
			return Decision{}, conflict()
		}
		return Decision{Keep: true}, nil
	}
}

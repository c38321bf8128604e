package replicate

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// revision is what a document from the source says of itself. Its parts point
// into the document.
type revision struct {
	rev         string
	start       int64    // the generation of the newest of ids
	ids         [][]byte // the hashes of its history, quoted, newest first
	attachments []byte   // an object, nil for none
}

// The ways in which a document from the source can be wrong.
var (
	errNoObject  = errors.New("the source sent a document that is not an object")
	errTwice     = errors.New("the source sent a document with a reserved member that stands twice")
	errOtherID   = errors.New("the source sent a document under another id")
	errNoRev     = errors.New("the source sent a document without a revision")
	errNoHistory = errors.New("the source sent a document without its history")
	errHistory   = errors.New("the source sent a document whose history does not belong to its revision")
	errNotAsked  = errors.New("the source sent a revision that was not asked for")
)

// The reserved members that count here.
const (
	memberID = iota
	memberRev
	memberRevisions
	memberAttachments
	members
)

// inspect takes the reserved members out of a document that should be w's, and
// checks that it is: a document is stored under the id, the revision and the
// history that it names, so these have to be right before it goes on. The rest
// of it is the target's to check.
func inspect(doc []byte, w *missingRevs) (*revision, error) {
	if jsonscan.KindOf(doc) != jsonscan.Object {
		return nil, errNoObject
	}
	var found [members][]byte
	for m := jsonscan.MembersOf(doc); ; {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		if len(name) < 2 || name[1] != '_' && bytes.IndexByte(name, '\\') < 0 {
			continue
		}
		for i, known := range [members]string{"_id", "_rev", "_revisions", "_attachments"} {
			if !jsonscan.NameIs(name, known) {
				continue
			}
			if found[i] != nil {
				return nil, errTwice
			}
			found[i] = value
		}
	}
	id := found[memberID]
	if jsonscan.KindOf(id) != jsonscan.String || !bytes.Equal(id, w.text) && string(jsonscan.Text(nil, id)) != w.id {
		return nil, errOtherID
	}
	v := &revision{attachments: found[memberAttachments]}
	if jsonscan.KindOf(found[memberRev]) != jsonscan.String {
		return nil, errNoRev
	}
	v.rev = string(jsonscan.Text(nil, found[memberRev]))
	if err := v.history(found[memberRevisions]); err != nil {
		return nil, err
	}
	if len(v.attachments) > 0 && isEmptyObject(v.attachments) {
		v.attachments = nil
	}
	if !v.answers(w.revs) {
		return nil, errNotAsked
	}
	return v, nil
}

// history reads _revisions, which must begin with the revision itself.
func (v *revision) history(revisions []byte) error {
	if jsonscan.KindOf(revisions) != jsonscan.Object {
		return errNoHistory
	}
	start, _ := jsonscan.Member(revisions, "start")
	ids, _ := jsonscan.Member(revisions, "ids")
	n, err := strconv.ParseInt(string(start), 10, 64)
	if err != nil || jsonscan.KindOf(ids) != jsonscan.Array {
		return errNoHistory
	}
	v.start = n
	v.ids = make([][]byte, 0, min(n, 8))
	for e := jsonscan.ElementsOf(ids); ; {
		hash, ok := e.Next()
		if !ok {
			break
		}
		if jsonscan.KindOf(hash) != jsonscan.String {
			return errHistory
		}
		v.ids = append(v.ids, hash)
	}
	if len(v.ids) == 0 || int64(len(v.ids)) > n || !v.names(v.rev, 0) {
		return errHistory
	}
	return nil
}

// names reports whether the i-th revision of the history, from the newest, is rev.
func (v *revision) names(rev string, i int) bool {
	gen, hash, ok := cutRev(rev)
	return ok && gen == v.start-int64(i) && string(jsonscan.Text(nil, v.ids[i])) == hash
}

// has reports whether rev is in the history.
func (v *revision) has(rev string) bool {
	gen, _, ok := cutRev(rev)
	i := v.start - gen
	return ok && i >= 0 && i < int64(len(v.ids)) && v.names(rev, int(i))
}

// answers reports whether the revision is one of those that were asked for or has
// grown from one of them. Of an asked revision that is older than all that the
// history still knows nothing can be said: it may have.
func (v *revision) answers(asked []string) bool {
	if slices.Contains(asked, v.rev) || slices.ContainsFunc(asked, v.has) {
		return true
	}
	return slices.ContainsFunc(asked, func(rev string) bool {
		gen, _, ok := cutRev(rev)
		return ok && gen <= v.start-int64(len(v.ids))
	})
}

// onTarget reports whether the target has the bytes of all attachments, since it
// has an ancestor that is not older than any of them.
func (v *revision) onTarget(ancestors []string) bool {
	newest := int64(-1)
	for _, rev := range ancestors {
		if gen, _, ok := cutRev(rev); ok && v.has(rev) {
			newest = max(newest, gen)
		}
	}
	for m := jsonscan.MembersOf(v.attachments); ; {
		_, attachment, ok := m.Next()
		if !ok {
			return newest > 0
		}
		revpos, _ := jsonscan.Member(attachment, "revpos")
		stub, _ := jsonscan.Member(attachment, "stub")
		gen, err := strconv.ParseInt(string(revpos), 10, 64)
		if err != nil || gen > newest || string(stub) != "true" {
			return false
		}
	}
}

func isEmptyObject(v []byte) bool {
	m := jsonscan.MembersOf(v)
	_, _, ok := m.Next()
	return jsonscan.KindOf(v) == jsonscan.Object && !ok
}

// cutRev takes a revision apart.
func cutRev(rev string) (gen int64, hash string, ok bool) {
	digits, hash, ok := strings.Cut(rev, "-")
	gen, err := strconv.ParseInt(digits, 10, 64)
	return gen, hash, ok && err == nil && gen > 0
}

package store

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/packed"
)

// Seq is a place in a database's feed: 0 is before everything.
//
// Its text is for the scope to give, since who sees the scope decides what the
// text may tell: that of a restricted scope says nothing but whether two are equal.
type Seq uint64

// FormatSeq returns the form that clients see: "N-opaque", where N is the number
// and opaque holds the database's incarnation and the number again; in a restricted
// scope see seal.
func (s Scope) FormatSeq(q Seq) string {
	if s.opaque != nil {
		return string(s.opaque.append(nil, q))
	}
	return string(s.appendPlain(make([]byte, 0, 48), q))
}

// AppendSeq appends FormatSeq's text to dst.
func (s Scope) AppendSeq(dst []byte, q Seq) []byte {
	if s.opaque != nil {
		return s.opaque.append(dst, q)
	}
	return s.appendPlain(dst, q)
}

// appendPlain appends the form for those who may see the database.
func (s Scope) appendPlain(dst []byte, q Seq) []byte {
	dst = strconv.AppendUint(dst, uint64(q), 10)
	dst = append(dst, '-')
	var b [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(b[:], s.db.incarnation)
	n += binary.PutUvarint(b[n:], uint64(q))
	return base64.RawURLEncoding.AppendEncode(dst, b[:n])
}

var errSeq = dberr.New(dberr.Invalid, "bad_request", "Malformed sequence supplied in 'since' parameter.")

// ParseSeq reads a sequence that FormatSeq gave; "0" and "" are 0. A sequence
// that is not of this scope (see OwnSeq) is 0: the reader begins again. Invalid
// for what can't be a sequence.
func (s Scope) ParseSeq(text string) (Seq, error) {
	q, own, err := s.parseSeq(text)
	if !own {
		q = 0
	}
	return q, err
}

// OwnSeq reads a sequence of this scope, and reports whether it is one: what
// another names will never be seen here. Of this scope are sequences of this
// incarnation of the database, and those that were made opaque for this partition of
// it; in a restricted scope these only, for the others can be guessed.
func (s Scope) OwnSeq(text string) (Seq, bool) {
	q, own, _ := s.parseSeq(text)
	return q, own
}

// parseSeq reads a sequence and reports whether it is of this scope.
func (s Scope) parseSeq(text string) (q Seq, own bool, err error) {
	if text == "" || text == "0" {
		return 0, true, nil
	}
	number, opaque, _ := strings.Cut(text, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, false, errSeq
	}
	b, err := base64.RawURLEncoding.DecodeString(opaque)
	if err != nil || len(b) == 0 {
		return 0, false, errSeq
	}
	if n == opaqueNumber && len(b) == opaqueSize {
		q, own = s.opener().open(b)
		return q, own, nil
	}
	u := packed.Read(b)
	incarnation, again := u.Uint(), u.Uint()
	if u.Done() != nil {
		return 0, false, errSeq
	}
	return Seq(n), incarnation == s.db.incarnation && s.opaque == nil && again == n, nil
}

package dynamoapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// iteratorAge is how long an iterator may be used, as at AWS.
const iteratorAge = 15 * time.Minute

// Iterators say where a reader is in which stream, and since when. They are signed with a
// secret of the store, so that nobody makes one.
const (
	iteratorVersion = 1
	iteratorMAC     = 16
)

var (
	errIterator = attribute.Invalid("Invalid ShardIterator")
	errExpired  = dberr.New(dberr.Invalid, "ExpiredIteratorException", "Shard iterator has expired.")
)

// iterator returns the text of an iterator that begins after a position.
func (r *Request) iterator(s *streamAt, after store.LogPosition) string {
	w := packed.Writer{}
	w.Byte(iteratorVersion)
	w.Text(s.arn)
	w.Uint(s.db.Number())
	w.Uint(uint64(after.Seq))
	w.Uint(after.N)
	w.Uint(uint64(r.api.Now().UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(w, r.api.signIterator(w)...))
}

func (a *API) signIterator(b []byte) []byte {
	mac := hmac.New(sha256.New, a.Store.Secret("iterators of streams"))
	mac.Write(b)
	return mac.Sum(nil)[:iteratorMAC]
}

// openIterator reads an iterator and opens its stream. Errors: those of stream, Validation for
// a text that is none of this store's, ExpiredIteratorException.
func (r *Request) openIterator(text string) (s *streamAt, after store.LogPosition, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < iteratorMAC {
		return nil, after, errIterator
	}
	content, mac := b[:len(b)-iteratorMAC], b[len(b)-iteratorMAC:]
	if !hmac.Equal(mac, r.api.signIterator(content)) {
		return nil, after, errIterator
	}
	p := packed.ReadVersion(content, iteratorVersion)
	arn, number := p.Text(), p.Uint()
	after = store.LogPosition{Seq: store.Seq(p.Uint()), N: p.Uint()}
	made := time.UnixMilli(int64(p.Uint()))
	if p.Done() != nil {
		return nil, after, errIterator
	}
	if s, err = r.stream(arn); err != nil {
		return nil, after, err
	}
	if s.db.Number() != number {
		return nil, after, streamNotFound(arn) // of a table of that name that was deleted
	}
	if r.api.Now().Sub(made) > iteratorAge {
		return nil, after, errExpired
	}
	return s, after, nil
}

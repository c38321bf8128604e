package auth

import (
	"cmp"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// totp is the second factor of a user: RFC 6238 with steps of 30 seconds.
type totp struct {
	key    []byte
	digest digest
	length int
}

// parseTOTP parses the member totp of a user document; nil: no token could be
// right.
func parseTOTP(value json.RawMessage) *totp {
	o, ok := parseObject(value)
	r := memberReader{object: o}
	t := &totp{length: cmp.Or(r.number("length"), 6)}
	var known bool
	t.digest, known = digestOf(cmp.Or(r.text("algorithm"), "sha"))
	var err error
	t.key, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.TrimRight(r.text("key"), "=")))
	if !ok || r.bad != "" || !known || err != nil || len(t.key) == 0 || t.length < 6 || t.length > 9 {
		return nil
	}
	return t
}

// matches accepts the token of this step and of its neighbours.
func (t *totp) matches(token string, now time.Time) bool {
	ok := false
	for _, shift := range []int64{-30, 0, 30} {
		if same(t.token((now.Unix()+shift)/30), token) {
			ok = true
		}
	}
	return ok
}

func (t *totp) token(step int64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step))
	sum := t.digest.sign(t.key, string(counter[:]))
	at := sum[len(sum)-1] & 15
	n := binary.BigEndian.Uint32(sum[at:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", t.length, n%uint32(math.Pow10(t.length)))
}

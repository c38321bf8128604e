package auth

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
)

// totp is the second factor of a user: RFC 6238 with steps of 30 seconds.
type totp struct {
	key    []byte // nil: unusable, no token is right
	digest digest
	length int
}

type rawTOTP struct {
	Key       string `json:"key"`
	Algorithm string `json:"algorithm"`
	Length    int    `json:"length"`
}

func (r rawTOTP) parse() *totp {
	t := &totp{length: r.Length}
	if t.length == 0 {
		t.length = 6
	}
	name := r.Algorithm
	if name == "" {
		name = "sha"
	}
	var known bool
	t.digest, known = digestOf(name)
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(
		strings.ToUpper(strings.TrimRight(r.Key, "=")))
	if known && err == nil && len(key) > 0 && t.length >= 6 && t.length <= 9 {
		t.key = key
	}
	return t
}

// matches accepts the token of this step and of its neighbours.
func (t *totp) matches(token string, now time.Time) bool {
	if t.key == nil {
		return false
	}
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
	sum := t.digest.sign(string(t.key), string(counter[:]))
	at := sum[len(sum)-1] & 15
	n := binary.BigEndian.Uint32(sum[at:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", t.length, n%uint32(math.Pow10(t.length)))
}

package auth

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// The password schemes.
const (
	schemePBKDF2 = "pbkdf2"
	schemeSimple = "simple" // accepted, never written
)

// Verifier is what is stored in place of a password. It is comparable, and two
// equal verifiers accept the same password.
type Verifier struct {
	Scheme     string // pbkdf2 or simple; empty: no password is right
	PRF        string // pbkdf2: sha (CouchDB's default before 3.4), sha256, …
	Iterations int
	Salt       string
	Key        string // hex of the derived key
}

// hashing says how new passwords are hashed and which hashes are accepted.
type hashing struct {
	prf        string
	iterations int
	lowest     int
	highest    int
}

const defaultIterations = 600000

func parseHashing(s *config.Snapshot) hashing {
	h := hashing{
		prf:        s.String(section, "pbkdf2_prf", "sha256"),
		iterations: int(s.Int(section, "iterations", defaultIterations)),
		lowest:     int(s.Int(section, "min_iterations", 1)),
		highest:    int(s.Int(section, "max_iterations", 10000000)),
	}
	if _, ok := digestOf(h.prf); !ok {
		h.prf = "sha256"
	}
	if h.iterations < 1 {
		h.iterations = defaultIterations
	}
	return h
}

// hash makes the verifier of a new password.
func (h hashing) hash(password string) (Verifier, error) {
	v := h.verifier(newSalt())
	key, err := v.derive(password)
	v.Key = key
	return v, err
}

// verifier returns a verifier that wants its key.
func (h hashing) verifier(salt string) Verifier {
	return Verifier{Scheme: schemePBKDF2, PRF: h.prf, Iterations: h.iterations, Salt: salt}
}

// check refuses verifiers that this server does not compute: those of an
// unknown function, and those whose cost lies outside the configured bounds.
func (h hashing) check(v Verifier) error {
	if v.Scheme != schemePBKDF2 {
		return nil
	}
	switch _, known := digestOf(v.PRF); {
	case !known:
		return forbidden("PRF is invalid")
	case v.Iterations < h.lowest || v.Iterations < 1:
		return forbidden("Iteration count is too low for this server")
	case v.Iterations > h.highest:
		return forbidden("Iteration count is too high for this server")
	}
	return nil
}

// newSalt returns 128 random bits in hexadecimal.
func newSalt() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// derive computes what Key is for a password.
func (v Verifier) derive(password string) (string, error) {
	if v.Scheme == schemeSimple {
		sum := sha1.Sum([]byte(password + v.Salt))
		return hex.EncodeToString(sum[:]), nil
	}
	d, ok := digestOf(v.PRF)
	if !ok {
		return "", forbidden("PRF is invalid")
	}
	key, err := pbkdf2.Key(d.new, password, []byte(v.Salt), v.Iterations, d.size)
	if err != nil {
		return "", dberr.Wrap("auth.derive", err)
	}
	return hex.EncodeToString(key), nil
}

// matches reports whether a password is the right one, at full cost.
func (v Verifier) matches(password string) (bool, error) {
	if !v.usable() {
		return false, nil
	}
	key, err := v.derive(password)
	if err != nil {
		return false, err
	}
	return same(strings.ToLower(v.Key), key), nil
}

// usable reports whether there is a password that v accepts.
func (v Verifier) usable() bool { return v.Scheme != "" && v.Key != "" }

// same compares in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// adminLine returns the verifier as it is written in the section [admins].
func (v Verifier) adminLine() string {
	return "-pbkdf2:" + v.PRF + "-" + v.Key + "," + v.Salt + "," + strconv.Itoa(v.Iterations)
}

// parseAdminLine parses a line of [admins]; a line that is no hash is not ok.
func parseAdminLine(line string) (v Verifier, ok bool) {
	if rest, found := strings.CutPrefix(line, "-hashed-"); found {
		key, salt, ok := strings.Cut(rest, ",")
		return Verifier{Scheme: schemeSimple, Key: key, Salt: salt}, ok
	}
	v = Verifier{Scheme: schemePBKDF2, PRF: "sha"}
	rest, found := strings.CutPrefix(line, "-pbkdf2-")
	if !found {
		if rest, found = strings.CutPrefix(line, "-pbkdf2:"); !found {
			return Verifier{}, false
		}
		if v.PRF, rest, found = strings.Cut(rest, "-"); !found {
			return Verifier{}, false
		}
	}
	parts := strings.Split(rest, ",")
	if len(parts) != 3 {
		return Verifier{}, false
	}
	n, err := strconv.Atoi(parts[2])
	if _, known := digestOf(v.PRF); err != nil || n < 1 || !known {
		return Verifier{}, false
	}
	v.Key, v.Salt, v.Iterations = parts[0], parts[1], n
	return v, true
}

package document

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
)

const (
	// hashSize is the length of an ordinary hash; its text has twice as many
	// digits.
	hashSize = 16
	// maxHash limits the hashes that other systems invent.
	maxHash = 255
	// maxGen keeps a margin under the range of a uint32, so that a generation
	// plus a few chunks never overflows.
	maxGen = 1<<31 - 1
)

// Rev is a revision id: a generation from 1 up and a hash. The zero Rev means
// none. Hash holds 16 raw bytes when the text form has 32 hexadecimal digits
// (any case), else the bytes of the text as they came. Revs are comparable.
//
// A text of exactly 16 characters is therefore the same revision as its 32
// digits, as in CouchDB; String always returns the digits.
type Rev struct {
	Gen  uint32
	Hash string
}

// ParseRev reads the text form, "3-0123…". Like CouchDB it takes any hash, but
// for what would be dangerous to write into a header or into JSON, and it takes
// generation 0, which no revision has. Errors: Invalid bad_request "Invalid rev
// format".
func ParseRev(s string) (Rev, error) {
	gen, hash, ok := strings.Cut(s, "-")
	if !ok {
		return Rev{}, badRev()
	}
	g, ok := parseGen(gen)
	if !ok {
		return Rev{}, badRev()
	}
	h, ok := parseHash(hash)
	if !ok || g == 0 && h == "" {
		return Rev{}, badRev()
	}
	return Rev{Gen: g, Hash: h}, nil
}

// ParsePath reads the two members of a document's _revisions: the generation of
// the newest revision and the hashes, newest first. Errors: Invalid bad_request
// "Invalid rev format", also when there are more hashes than generations.
func ParsePath(start uint64, hashes []string) ([]Rev, error) {
	if start > maxGen || uint64(len(hashes)) > start {
		return nil, badRev()
	}
	path := make([]Rev, len(hashes))
	for i, s := range hashes {
		h, ok := parseHash(s)
		if !ok {
			return nil, badRev()
		}
		path[i] = Rev{Gen: uint32(start) - uint32(i), Hash: h}
	}
	return path, nil
}

func badRev() error {
	return dberr.New(dberr.Invalid, "bad_request", "Invalid rev format")
}

func parseGen(s string) (uint32, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false // ParseUint takes a plus sign
	}
	g, err := strconv.ParseUint(s, 10, 32)
	return uint32(g), err == nil && g <= maxGen
}

// parseHash turns the text of a hash into what Rev.Hash holds.
func parseHash(s string) (string, bool) {
	if len(s) == 2*hashSize {
		var raw [hashSize]byte
		_, err := hex.Decode(raw[:], []byte(s))
		return string(raw[:]), err == nil
	}
	if len(s) > maxHash || !utf8.ValidString(s) {
		return "", false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			return "", false
		}
	}
	return s, true
}

// String returns the text form, "3-0123…", in lower-case digits.
func (r Rev) String() string {
	return string(r.AppendText(make([]byte, 0, len("2147483647-")+2*max(hashSize, len(r.Hash)))))
}

// AppendText appends what String returns.
func (r Rev) AppendText(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(r.Gen), 10)
	dst = append(dst, '-')
	return r.AppendHash(dst)
}

// AppendHash appends the text of the hash alone, as it is in _revisions.
func (r Rev) AppendHash(dst []byte) []byte {
	if len(r.Hash) != hashSize {
		return append(dst, r.Hash...)
	}
	const digits = "0123456789abcdef"
	for i := 0; i < hashSize; i++ {
		c := r.Hash[i]
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// IsZero reports whether r means no revision.
func (r Rev) IsZero() bool { return r == Rev{} }

// Compare orders revisions by generation, then by the bytes of the hash.
func (r Rev) Compare(s Rev) int {
	if c := cmp.Compare(r.Gen, s.Gen); c != 0 {
		return c
	}
	return strings.Compare(r.Hash, s.Hash)
}

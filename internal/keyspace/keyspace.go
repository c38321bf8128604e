// Package keyspace owns every key of the store: which kinds of row there are,
// how their parts are encoded so that byte order is the wanted order, and how a
// key is printed. It also owns collation, the order of JSON values in views and
// Mango indexes (collation.go).
//
// Begin reading at spaces.go, the table of all kinds. A key is never built by
// hand: a Space encodes its declared parts, decodes them and prints them.
// The package promises that keys of one space compare as the tuples of their
// parts do, and it knows nothing of what the rows' values mean.
package keyspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// Kind is the type of one key part.
type Kind uint8

const (
	// Uint is a number of up to 64 bits, ordered by value: a length byte and
	// the significant bytes, so that small numbers take two bytes.
	Uint Kind = iota
	// Text is a string ordered by its bytes, terminated so that a shorter
	// string sorts before its extensions: 0x00 becomes 0x00 0xff, the end
	// is 0x00 0x01.
	Text
	// Tail is the rest of the key as it is; only the last part may be one.
	Tail
)

// Part is a value of a key part.
type Part struct {
	kind Kind
	num  uint64
	text string
}

// U makes a Uint part.
func U(n uint64) Part { return Part{kind: Uint, num: n} }

// T makes a Text part.
func T(s string) Part { return Part{kind: Text, text: s} }

// B makes a Tail part.
func B(s string) Part { return Part{kind: Tail, text: s} }

// Num is the value of a Uint part.
func (p Part) Num() uint64 { return p.num }

// String is the value of a Text or Tail part, and a number in decimal.
func (p Part) String() string {
	if p.kind == Text || p.kind == Tail {
		return p.text
	}
	return strconv.FormatUint(p.num, 10)
}

// Column is a declared key part: what it holds and how it is encoded.
type Column struct {
	Name string
	Kind Kind
}

// Space is a kind of row. Version is that of its value's format.
type Space struct {
	Name    string
	Code    byte // second byte of the key in a database, first byte after the system prefix
	System  bool // not part of a database
	Columns []Column
	Version byte
	// Follower marks rows of a package above the store, whose first column is the
	// partition, with which they go.
	Follower bool
	Doc      string // what the row holds
}

// The first byte of a key tells system rows from rows of databases, which
// continue with the database's number, so that a database is one range.
const (
	systemPrefix   = 0x01
	databasePrefix = 0x02
)

// Key returns the key of the row of database db (0 for a system space) with the
// parts given. Fewer parts than declared give a prefix.
func (s *Space) Key(db uint64, parts ...Part) []byte {
	return s.AppendKey(make([]byte, 0, 64), db, parts...)
}

// AppendKey is Key, appended to dst.
func (s *Space) AppendKey(dst []byte, db uint64, parts ...Part) []byte {
	if s.System {
		dst = append(dst, systemPrefix, s.Code)
	} else {
		dst = append(dst, databasePrefix)
		dst = appendUint(dst, db)
		dst = append(dst, s.Code)
	}
	for i, p := range parts {
		if i >= len(s.Columns) || s.Columns[i].Kind != p.kind {
			panic("keyspace: " + s.Name + ": part " + strconv.Itoa(i) + " is not as declared")
		}
		switch p.kind {
		case Uint:
			dst = appendUint(dst, p.num)
		case Text:
			dst = appendText(dst, p.text)
		case Tail:
			dst = append(dst, p.text...)
		}
	}
	return dst
}

// TextPrefix returns the prefix of all keys whose part after parts is a Text
// that begins with prefix.
func (s *Space) TextPrefix(db uint64, prefix string, parts ...Part) []byte {
	k := s.AppendKey(make([]byte, 0, 64), db, parts...)
	return escapeText(k, prefix)
}

// Decode splits a key of the space into its database's number and parts.
func (s *Space) Decode(key []byte) (db uint64, parts []Part, err error) {
	return s.DecodeInto(nil, key)
}

// DecodeInto is Decode, appending to parts.
func (s *Space) DecodeInto(parts []Part, key []byte) (db uint64, _ []Part, err error) {
	db, code, rest, err := head(key)
	if err != nil || code != s.Code || (key[0] == systemPrefix) != s.System {
		return 0, nil, errKey
	}
	for _, c := range s.Columns {
		if len(rest) == 0 && c.Kind != Tail {
			return 0, nil, errKey
		}
		p := Part{kind: c.Kind}
		switch c.Kind {
		case Uint:
			p.num, rest, err = takeUint(rest)
		case Text:
			p.text, rest, err = takeText(rest)
		case Tail:
			p.text, rest = string(rest), nil
		}
		if err != nil {
			return 0, nil, err
		}
		parts = append(parts, p)
	}
	if len(rest) > 0 {
		return 0, nil, errKey
	}
	return db, parts, nil
}

// Database returns the prefix of all rows of database db.
func Database(db uint64) []byte { return appendUint([]byte{databasePrefix}, db) }

// Print returns a key in readable form, such as
// `3/body "p:k" 2 "\x12…"`; unknown keys are printed as hexadecimal.
func Print(key []byte) string {
	db, code, _, err := head(key)
	if err != nil {
		return fmt.Sprintf("?%x", key)
	}
	for _, s := range Spaces {
		if s.Code != code || s.System != (key[0] == systemPrefix) {
			continue
		}
		_, parts, err := s.Decode(key)
		if err != nil {
			break
		}
		return s.print(db, parts)
	}
	return fmt.Sprintf("?%x", key)
}

func (s *Space) print(db uint64, parts []Part) string {
	var b bytes.Buffer
	if !s.System {
		fmt.Fprintf(&b, "%d/", db)
	}
	b.WriteString(s.Name)
	for _, p := range parts {
		switch p.kind {
		case Text:
			fmt.Fprintf(&b, " %q", p.text)
		case Tail:
			fmt.Fprintf(&b, " %+q", p.text)
		default:
			fmt.Fprintf(&b, " %d", p.num)
		}
	}
	return b.String()
}

var errKey = errors.New("keyspace: not a key of this space")

// head splits a key into the database's number, the space's code and the rest.
func head(key []byte) (db uint64, code byte, rest []byte, err error) {
	if len(key) < 2 {
		return 0, 0, nil, errKey
	}
	switch key[0] {
	case systemPrefix:
		return 0, key[1], key[2:], nil
	case databasePrefix:
		db, rest, err = takeUint(key[1:])
		if err != nil || len(rest) == 0 {
			return 0, 0, nil, errKey
		}
		return db, rest[0], rest[1:], nil
	}
	return 0, 0, nil, errKey
}

func appendUint(dst []byte, n uint64) []byte {
	var b [9]byte
	binary.BigEndian.PutUint64(b[1:], n)
	i := 1
	for i < 9 && b[i] == 0 {
		i++
	}
	b[i-1] = byte(9 - i)
	return append(dst, b[i-1:]...)
}

func takeUint(src []byte) (n uint64, rest []byte, err error) {
	if len(src) == 0 {
		return 0, nil, errKey
	}
	l := int(src[0])
	if l > 8 || len(src) < 1+l || l > 0 && src[1] == 0 {
		return 0, nil, errKey
	}
	for _, c := range src[1 : 1+l] {
		n = n<<8 | uint64(c)
	}
	return n, src[1+l:], nil
}

func escapeText(dst []byte, s string) []byte {
	for {
		i := indexNUL(s)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0x00, 0xff)
		s = s[i+1:]
	}
}

func indexNUL(s string) int {
	for i := range len(s) {
		if s[i] == 0 {
			return i
		}
	}
	return -1
}

func appendText(dst []byte, s string) []byte {
	return append(escapeText(dst, s), 0x00, 0x01)
}

// BorrowText returns the text that a Text part at the beginning of src holds, and
// what comes after the part. Both are parts of src, unless the text holds a NUL.
func BorrowText(src []byte) (text, rest []byte, err error) {
	i := bytes.IndexByte(src, 0)
	if i >= 0 && i+1 < len(src) && src[i+1] == 0x01 {
		return src[:i:i], src[i+2:], nil
	}
	s, rest, err := takeText(src)
	return []byte(s), rest, err
}

func takeText(src []byte) (s string, rest []byte, err error) {
	i := bytes.IndexByte(src, 0)
	if i >= 0 && i+1 < len(src) && src[i+1] == 0x01 {
		return string(src[:i]), src[i+2:], nil
	}
	var b []byte
	for {
		i := bytes.IndexByte(src, 0)
		if i < 0 || i+1 >= len(src) {
			return "", nil, errKey
		}
		b = append(b, src[:i]...)
		switch src[i+1] {
		case 0x01:
			return string(b), src[i+2:], nil
		case 0xff:
			b = append(b, 0)
		default:
			return "", nil, errKey
		}
		src = src[i+2:]
	}
}

// IsLaneHead reports whether key is that of a lane head, which all writers of a database
// write.
func IsLaneHead(key []byte) bool {
	_, _, err := LaneHead.Decode(key)
	return err == nil
}

package keyspace

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/golden"
)

// some values of each kind, those that are likely to be confused among them.
var (
	someNumbers = []uint64{0, 1, 2, 127, 128, 255, 256, 257, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<56 - 1, 1 << 56, 1<<64 - 1}
	someTexts   = []string{"", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "\xff", "\xff\xff", "a", "a\x00", "a\x00b", "a\x01", "aa", "b", "p:", "p:a", "p;", "é", "日本"}
)

// randomPart makes a part of a column's kind.
func randomPart(r *rand.Rand, k Kind) Part {
	switch k {
	case Uint:
		return U(someNumbers[r.IntN(len(someNumbers))])
	case Text:
		return T(someTexts[r.IntN(len(someTexts))])
	}
	return B(someTexts[r.IntN(len(someTexts))])
}

func randomParts(r *rand.Rand, s *Space) []Part {
	parts := make([]Part, len(s.Columns))
	for i, c := range s.Columns {
		parts[i] = randomPart(r, c.Kind)
	}
	return parts
}

// compareTuples compares parts as what they mean.
func compareTuples(a, b []Part) int {
	for i := range a {
		c := strings.Compare(a[i].text, b[i].text)
		if a[i].kind == Uint {
			c = cmp.Compare(a[i].num, b[i].num)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func TestKeysCompareAsTuples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range Spaces {
		for range 3000 {
			a, b := randomParts(r, s), randomParts(r, s)
			i := r.IntN(len(a) + 1) // with equal beginnings
			copy(b[:i], a[:i])
			db := []uint64{1, 2, 255, 256}[r.IntN(4)]
			if got, want := bytes.Compare(s.Key(db, a...), s.Key(db, b...)), compareTuples(a, b); got != want {
				t.Fatalf("%s: %v and %v compare %d as tuples and %d as keys", s.Name, a, b, want, got)
			}
		}
	}
}

func TestKeysComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range Spaces {
		for range 500 {
			parts, db := randomParts(r, s), someNumbers[r.IntN(len(someNumbers))]
			if s.System {
				db = 0
			}
			key := s.AppendKey([]byte("before"), db, parts...)[len("before"):]
			gotDB, got, err := s.Decode(key)
			if err != nil || gotDB != db || fmt.Sprint(got) != fmt.Sprint(parts) {
				t.Fatalf("%s: %v of %d became %v of %d, %v", s.Name, parts, db, got, gotDB, err)
			}
			if !s.System && !bytes.HasPrefix(key, Database(db)) {
				t.Fatalf("%s: the key lies outside its database", s.Name)
			}
		}
	}
}

// TestDatabasesLieApart checks that databases, spaces in them and system rows
// are ranges of their own.
func TestDatabasesLieApart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var last []byte
	for _, db := range someNumbers {
		for _, s := range Spaces {
			if s.System {
				continue
			}
			key := s.Key(db, randomParts(r, s)...)
			if bytes.Compare(last, key) >= 0 {
				t.Fatalf("%s of database %d is not behind %x", s.Name, db, last)
			}
			last = key
		}
	}
	for _, s := range Spaces {
		if s.System && bytes.Compare(s.Key(0, randomParts(r, s)...), Database(0)) >= 0 {
			t.Errorf("%s lies among the databases", s.Name)
		}
	}
}

func TestPrefixes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range Spaces {
		for range 200 {
			parts := randomParts(r, s)
			key := s.Key(3, parts...)
			for n := range parts {
				if !bytes.HasPrefix(key, s.Key(3, parts[:n]...)) {
					t.Fatalf("%s: %d parts of %v are no prefix", s.Name, n, parts)
				}
			}
		}
	}
	for _, text := range someTexts {
		for _, prefix := range someTexts {
			got := bytes.HasPrefix(Catalogue.Key(0, T(text)), Catalogue.TextPrefix(0, prefix))
			// What ends in the middle of an escape may match more.
			if want := strings.HasPrefix(text, prefix); want && !got {
				t.Errorf("the key of %q does not begin as those of %q…", text, prefix)
			} else if got && !want {
				t.Errorf("the key of %q begins as those of %q…", text, prefix)
			}
		}
	}
}

func TestSpacesAreDeclaredWell(t *testing.T) {
	codes, names := map[string]bool{}, map[string]bool{}
	for _, s := range Spaces {
		code := fmt.Sprint(s.System, s.Code)
		if codes[code] || names[s.Name] {
			t.Errorf("%s: the name or the code is taken", s.Name)
		}
		codes[code], names[s.Name] = true, true
		if s.Version == 0 || s.Doc == "" || len(s.Columns) == 0 {
			t.Errorf("%s: not all is declared", s.Name)
		}
		for i, c := range s.Columns {
			if c.Kind == Tail && i != len(s.Columns)-1 {
				t.Errorf("%s: only the last part may be a tail", s.Name)
			}
		}
	}
	if !slices.IsSortedFunc(Spaces, func(a, b *Space) int {
		return cmp.Compare(uint64(flagged(!a.System))<<8|uint64(a.Code), uint64(flagged(!b.System))<<8|uint64(b.Code))
	}) {
		t.Error("the table is not in key order")
	}
}

func flagged(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestWrongPartsPanic(t *testing.T) {
	for _, parts := range [][]Part{{U(1)}, {T("a"), T("b")}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v made a key", parts)
				}
			}()
			Catalogue.Key(0, parts...)
		}()
	}
}

func TestPrint(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{Meta.Key(0, T("store")), `meta "store"`},
		{Catalogue.Key(0, T("a/b")), `catalogue "a/b"`},
		{Doc.Key(3, T("p:k"), U(SubHead), B("")), `3/doc "p:k" 1 ""`},
		{Doc.Key(3, T("p\x00:"), U(SubBody), B(BodyTail(2, "h"))), `3/doc "p\x00:" 3 "\x00\x00\x00\x02h"`},
		{Feed.Key(70000, U(0), U(12)), `70000/feed 0 12`},
		{nil, `?`},
		{[]byte{1}, `?01`},
		{[]byte{2, 1, 0}, `?020100`},
		{[]byte("x"), `?78`},
		{append(Partition.Key(1, T("p")), 0), `?0201012270000100`},
	} {
		if got := Print(c.key); got != c.want {
			t.Errorf("%x is printed as %s, want %s", c.key, got, c.want)
		}
	}
}

// FuzzDecode returns any bytes as keys: what is taken is exactly what the encoder
// makes, so no two keys mean the same row.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, s := range Spaces {
		f.Add(s.Key(1<<20, randomParts(r, s)...))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		_ = Print(key)
		for _, s := range Spaces {
			db, parts, err := s.Decode(key)
			if err != nil {
				continue
			}
			if again := s.Key(db, parts...); !bytes.Equal(again, key) {
				t.Errorf("%s: %x means %v, whose key is %x", s.Name, key, parts, again)
			}
		}
	})
}

// TestKeysPage checks that docs/KEYS.md is what the table says; -update writes
// it.
func TestKeysPage(t *testing.T) { golden.File(t, "../../docs/KEYS.md", keysPage()) }

func keysPage() string {
	var b strings.Builder
	b.WriteString(`# Keys

Made from the table in internal/keyspace/spaces.go by its test; change it there.

Every key begins with a byte that says where it belongs, so that the rows of one
database are one range:

    01 code parts            a row of the whole store
    02 number code parts     a row of a database (number: a Uint)

The parts are encoded so that keys of one kind compare as their parts do:

| part | encoding |
|---|---|
| Uint | a length byte (0 to 8), then the significant bytes, highest first |
| Text | its bytes, 00 as 00 ff; ended by 00 01 |
| Tail | the rest of the key as it is |

The values are drawn in [formats/rows.md](formats/rows.md).
`)
	for _, system := range []bool{true, false} {
		b.WriteString(map[bool]string{true: "\n## Rows of the store\n", false: "\n## Rows of a database\n"}[system])
		b.WriteString("\n| code | name | parts | value's version | what it holds |\n|---|---|---|---|---|\n")
		for _, s := range Spaces {
			if s.System == system {
				fmt.Fprintf(&b, "| %02x | %s | %s | %d | %s |\n", s.Code, s.Name, columns(s), s.Version, s.Doc)
			}
		}
	}
	fmt.Fprintf(&b, "\nThe rows of one document lie together, by their `sub`: %d is its head, %d a chunk of\nold revisions (tail: its first generation in four bytes), %d a body (tail: the\ngeneration in four bytes and the hash), %d a piece of a tree that is too large for\nthe head (tail: its number in four bytes).\n", SubHead, SubChunk, SubBody, SubTree)
	return b.String()
}

func columns(s *Space) string {
	var parts []string
	for _, c := range s.Columns {
		kind := [...]string{Uint: "Uint", Text: "Text", Tail: "Tail"}[c.Kind]
		parts = append(parts, c.Name+" "+kind)
	}
	return strings.Join(parts, ", ")
}

// TestBorrowText holds BorrowText to Decode.
func TestBorrowText(t *testing.T) {
	prefix := len(Doc.Key(7))
	for _, id := range []string{"", "a", "p:a", "a\x00", "\x00", "a\x00b\x00\x01", "é\xff\x01"} {
		key := Doc.Key(7, T(id), U(SubBody), B("tail"))
		text, rest, err := BorrowText(key[prefix:])
		if err != nil || string(text) != id || string(rest) != "\x01\x03tail" {
			t.Errorf("%q is read as %q with %q behind it, %v", id, text, rest, err)
		}
	}
	for _, broken := range []string{"", "a", "a\x00", "a\x00\x02", "\x00\xff"} {
		if _, _, err := BorrowText([]byte(broken)); err == nil {
			t.Errorf("%q is taken for a text", broken)
		}
	}
}

package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sectional/sectional/internal/dberr"
)

const badRevText = "bad_request: Invalid rev format"

func TestParseRev(t *testing.T) {
	sixteen := strings.Repeat("\xaa", 16)
	tests := []struct {
		text string
		rev  Rev
		want string // the text form
	}{
		{"1-" + strings.Repeat("a", 32), Rev{1, sixteen}, "1-" + strings.Repeat("a", 32)},
		{"1-" + strings.Repeat("A", 32), Rev{1, sixteen}, "1-" + strings.Repeat("a", 32)},
		{"007-" + strings.Repeat("aA", 16), Rev{7, sixteen}, "7-" + strings.Repeat("a", 32)},
		{"1-abc", Rev{1, "abc"}, "1-abc"},
		{"2-not_hex", Rev{2, "not_hex"}, "2-not_hex"},
		{"2-a-b", Rev{2, "a-b"}, "2-a-b"},
		{"1-", Rev{1, ""}, "1-"},
		{"0-0", Rev{0, "0"}, "0-0"},
		{"1-é", Rev{1, "é"}, "1-é"},
		{"2147483647-x", Rev{1<<31 - 1, "x"}, "2147483647-x"},
		{"1-0123456789abcdef", Rev{1, "0123456789abcdef"}, "1-30313233343536373839616263646566"},
	}
	for _, tt := range tests {
		got, err := ParseRev(tt.text)
		if err != nil || got != tt.rev {
			t.Errorf("ParseRev(%q) = %v, %v, want %v", tt.text, got, err, tt.rev)
		}
		if got.String() != tt.want {
			t.Errorf("%q comes back as %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestParseRevRefuses(t *testing.T) {
	for _, s := range []string{
		"", "1", "abc", "-abc", "junk", "rubbish", "*", "x-" + strings.Repeat("a", 32), "-1-a", "+1-a", " 1-a",
		"1.5-a", "0-", "2147483648-a", "99999999999999999999-a", "1-" + strings.Repeat("g", 32),
		"1-a\"b", "1-a\\b", "1-a\nb", "1-\x00", "1-\x7f", "1-\xff", "1-" + strings.Repeat("x", 256),
	} {
		r, err := ParseRev(s)
		if refused(err) != badRevText || !dberr.Is(err, dberr.Invalid) || !r.IsZero() {
			t.Errorf("ParseRev(%q) = %v, %v", s, r, err)
		}
	}
}

func TestParsePath(t *testing.T) {
	got, err := ParsePath(3, []string{strings.Repeat("0", 32), "b", "a"})
	want := []Rev{{3, strings.Repeat("\x00", 16)}, {2, "b"}, {1, "a"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := ParsePath(1, nil); err != nil || len(got) != 0 {
		t.Errorf("an empty path: %v, %v", got, err)
	}
	for _, bad := range []struct {
		start uint64
		ids   []string
	}{{1, []string{"b", "a"}}, {0, []string{"a"}}, {1 << 31, nil}, {1 << 32, []string{"a"}}, {1, []string{"\n"}}} {
		if _, err := ParsePath(bad.start, bad.ids); refused(err) != badRevText {
			t.Errorf("ParsePath(%d, %q): %v", bad.start, bad.ids, err)
		}
	}
}

func TestRevOrder(t *testing.T) {
	// Hashes compare by their bytes, generations before them and as numbers.
	texts := []string{
		"1-" + strings.Repeat("0f", 16), "1-" + strings.Repeat("10", 16), "1-" + strings.Repeat("9f", 16),
		"1-" + strings.Repeat("a0", 16), "1-" + strings.Repeat("f0", 16),
		"9-" + strings.Repeat("ff", 16), "10-" + strings.Repeat("00", 16),
	}
	for i, a := range texts {
		for j, b := range texts {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := rev(a).Compare(rev(b)); got != want {
				t.Errorf("%s and %s compare as %d", a, b, got)
			}
		}
	}
}

// rev parses a revision of a test.
func rev(s string) Rev {
	r, err := ParseRev(s)
	if err != nil {
		panic(err)
	}
	return r
}

func FuzzParseRev(f *testing.F) {
	for _, s := range []string{"1-abc", "1-", "0-0", "-", "12-" + strings.Repeat("aF", 16), "1-\xff", "4294967296-a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRev(s)
		if err != nil {
			if refused(err) != badRevText {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseRev(r.String())
		if err != nil || again != r || r.IsZero() {
			t.Fatalf("%q is %v, then %v, %v", s, r, again, err)
		}
	})
}

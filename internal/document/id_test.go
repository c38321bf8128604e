package document

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
)

// refusal returns code and reason of a refused thing, "" for none.
func refused(err error) string {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code + ": " + e.Reason
}

const (
	emptyID    = "illegal_docid: Document id must not be empty"
	longID     = "illegal_docid: Document id is too long"
	brokenID   = "illegal_docid: Document id must be valid UTF-8"
	reservedID = "illegal_docid: Only reserved document ids may start with underscore."
	formID     = "illegal_docid: Doc id must be of form partition:id"
)

func TestParseID(t *testing.T) {
	tests := []struct {
		id   string
		max  int
		want string
	}{
		{"a", 0, ""},
		{"a_b", 0, ""},
		{"a\nb", 0, ""},
		{"a\x7fb", 0, ""},
		{"日本:é", 0, ""},
		{":x", 0, ""},
		{"p:", 0, ""},
		{"_design/d", 0, ""},
		{"_local/l", 0, ""},
		{"", 0, emptyID},
		{"", 1, emptyID},
		{"abc", 3, ""},
		{"abcd", 3, longID},
		{"_bcd", 3, longID},
		{"\xff\xff\xff\xff", 3, longID},
		{strings.Repeat("x", 1000), 0, ""},
		{"\xff", 0, brokenID},
		{"a\xc3", 0, brokenID},
		{"_\xff", 0, brokenID},
		{"\xc0\xaf", 0, brokenID},
		{"_secret", 0, reservedID},
		{"_Design/x", 0, reservedID},
		{"_design", 0, reservedID},
		{"_design/", 0, reservedID},
		{"_local", 0, reservedID},
		{"_local/", 0, reservedID},
		{"_p:x", 0, reservedID},
		{"_", 0, reservedID},
	}
	for _, tt := range tests {
		got, err := ParseID(tt.id, tt.max)
		if refused(err) != tt.want || err != nil && !dberr.Is(err, dberr.Invalid) {
			t.Errorf("ParseID(%q, %d): %v, want %q", tt.id, tt.max, err, tt.want)
		}
		if err == nil && string(got) != tt.id {
			t.Errorf("ParseID(%q) = %q", tt.id, got)
		}
	}
}

func TestCheckPartitioned(t *testing.T) {
	tests := []struct {
		id, want  string
		partition Partition
	}{
		{"p:x", "", "p"},
		{"p:x:y", "", "p"},
		{"p::", "", "p"},
		{"p:_design/x", "", "p"},
		{"p:_local/x", "", "p"},
		{"Home#Kitchen:1", "", "Home#Kitchen"},
		{"_design/d", "", ""},
		{"_design/a:b", "", ""},
		{"_local/l", "", ""},
		{"x", formID, ""},
		{":x", "illegal_partition: Partition must not be empty", ""},
		{"p:", emptyID, "p"},
		{"p:_x", reservedID, "p"},
		{"p:_design/", reservedID, "p"},
	}
	for _, tt := range tests {
		id, err := ParseID(tt.id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := refused(id.CheckPartitioned()); got != tt.want {
			t.Errorf("%q: %q, want %q", id, got, tt.want)
		}
		if got := id.Partition(); got != tt.partition {
			t.Errorf("%q is of partition %q, want %q", id, got, tt.partition)
		}
	}
}

func TestReservedIDs(t *testing.T) {
	tests := []struct {
		id            ID
		design, local bool
	}{
		{"_design/d", true, false},
		{"_local/d", false, true},
		{"p:_design/d", false, false},
		{"d", false, false},
	}
	for _, tt := range tests {
		if tt.id.IsDesign() != tt.design || tt.id.IsLocal() != tt.local {
			t.Errorf("%q: design %v, local %v", tt.id, tt.id.IsDesign(), tt.id.IsLocal())
		}
	}
}

func TestParsePartition(t *testing.T) {
	tests := []struct{ key, want string }{
		{"p", ""},
		{"a_b", ""},
		{"é日", ""},
		{"", "illegal_partition: Partition must not be empty"},
		{"_p", "illegal_partition: Partition must not start with an underscore"},
		{"_", "illegal_partition: Partition must not start with an underscore"},
		{"\xff", "illegal_partition: Partition must be valid UTF-8"},
		{"a:b", "illegal_partition: Partition must not contain a colon"},
		{"car:2021", "illegal_partition: Partition must not contain a colon"},
	}
	for _, tt := range tests {
		if _, err := ParsePartition(tt.key); refused(err) != tt.want {
			t.Errorf("ParsePartition(%q): %v, want %q", tt.key, err, tt.want)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", "a", "_x", "_design/x", "p:x", ":", "p:", "\xff", "_local/"} {
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		id, err := ParseID(s, max)
		if err != nil {
			return
		}
		if !utf8.ValidString(s) || s == "" || max > 0 && len(s) > max {
			t.Fatalf("ParseID accepts %q", s)
		}
		if s[0] == '_' && !id.IsDesign() && !id.IsLocal() {
			t.Fatalf("ParseID accepts the reserved %q", s)
		}
		if id.CheckPartitioned() != nil {
			return
		}
		p := id.Partition()
		if (p == "") != (id.IsDesign() || id.IsLocal()) {
			t.Fatalf("%q is of partition %q", s, p)
		}
		if p == "" {
			return
		}
		if _, err := ParsePartition(string(p)); err != nil {
			t.Fatalf("the partition of %q: %v", s, err)
		}
		if _, err := ParseID(s[len(p)+1:], 0); err != nil {
			t.Fatalf("the key of %q: %v", s, err)
		}
	})
}

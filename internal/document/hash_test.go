package document

import "testing"

// hashed lists edits that must all have different hashes.
var hashed = []struct {
	parent  Rev
	deleted bool
	body    string
	atts    []Attachment
}{
	{},
	{body: "{}"},
	{body: "{}", deleted: true},
	{body: `{"n":1}`},
	{body: `{"n":1.0}`},
	{body: `{"same":[1,2]}`},
	{body: `{"same":[2,1]}`},
	{body: "{}", parent: Rev{1, "a"}},
	{body: "{}", parent: Rev{1, "b"}},
	{body: "{}", parent: Rev{2, "a"}},
	{body: "a{}", parent: Rev{1, ""}},
	{body: "{}", atts: []Attachment{{}}},
	{body: "{}", atts: []Attachment{{}, {}}},
	{body: "{}", atts: []Attachment{{Name: "a"}}},
	{body: "{}", atts: []Attachment{{Name: "a", ContentType: "b"}}},
	{body: "{}", atts: []Attachment{{Name: "ab"}}},
	{body: "{}", atts: []Attachment{{ContentType: "ab"}}},
	{body: "{}", atts: []Attachment{{Name: "a", ContentType: "b", Encoding: "gzip"}}},
	{body: "{}", atts: []Attachment{{Name: "a", Digest: [16]byte{1}}}},
	{body: "{}", atts: []Attachment{{Name: "a"}, {Name: "b"}}},
	{body: "{}", atts: []Attachment{{Name: "b"}, {Name: "a"}}},
}

func TestNewRevTellsApart(t *testing.T) {
	seen := map[string]int{}
	for i, e := range hashed {
		r := NewRev(e.parent, e.deleted, []byte(e.body), e.atts)
		if r.Gen != e.parent.Gen+1 || len(r.Hash) != 16 {
			t.Errorf("edit %d made %v", i, r)
		}
		if j, ok := seen[r.Hash]; ok {
			t.Errorf("edits %d and %d have the same hash", i, j)
		}
		seen[r.Hash] = i
	}
}

// TestNewRevIgnores checks that what replicas do not agree on makes no
// difference.
func TestNewRevIgnores(t *testing.T) {
	a := Attachment{Name: "x", ContentType: "text/plain", Digest: [16]byte{7}}
	b := a
	b.RevPos, b.Length, b.Encoded, b.Blob, b.Data = 3, 10, 10, 99, []byte("x")
	p := Rev{4, "p"}
	if NewRev(p, false, []byte("{}"), []Attachment{a}) != NewRev(p, false, []byte("{}"), []Attachment{b}) {
		t.Error("the hash depends on where an attachment lies")
	}
}

// TestNewRevIsPinned notices a change of the hash, which would make replicas
// of different versions disagree.
func TestNewRevIsPinned(t *testing.T) {
	atts := []Attachment{{Name: "a", ContentType: "text/plain", Digest: [16]byte{1, 2, 3}, Encoding: "gzip"}}
	first := NewRev(Rev{}, false, []byte(`{"n":1}`), nil)
	second := NewRev(first, true, []byte(`{}`), atts)
	got := [2]string{first.String(), second.String()}
	want := [2]string{"1-a300e03f7d53e0356e53e781af08810f", "2-e53255b333a0849d0ea4d7903352ace7"}
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

package snapshot

import (
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// TestFormBytes holds the bytes of frames, which travel between servers of different versions.
func TestFormBytes(t *testing.T) {
	var tree document.Tree
	tree.Add(document.Rev{}, document.Node{Rev: document.Rev{Gen: 1, Hash: "0123456789abcdef"}, External: 7, Active: 300})
	h := Header{UUID: "u", Database: "db", Partitioned: true, Partition: "p", Seq: "3-x", After: "a"}
	b := blob{shared: true, length: 300, digest: [16]byte{1, 2}}
	a := leafAttachment{name: "a", contentType: "text/plain", revPos: 1, zipped: true, length: 300, blob: 2}
	e := end{more: true, bookmark: "m", Counts: Counts{Documents: 1, Leaves: 2, Blobs: 3, Bytes: 300}}
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{h.append(nil), "017502646201017003332d780161"},
		{b.append(nil), "01ac0201020000000000000000000000000000"},
		{a.append(nil), "01610a746578742f706c61696e0101ac0202"},
		{e.append(nil), "01016d010203ac02"},
		{appendDocument(nil, "id", &tree), "026964180000000101000a013031323334353637383961626364656607ac02"},
	} {
		if got := fmt.Sprintf("%x", c.got); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}

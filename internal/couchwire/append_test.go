package couchwire

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

func rev(s string) document.Rev {
	r, err := document.ParseRev(s)
	if err != nil {
		panic(err)
	}
	return r
}

// fromData opens attachments that hold their bytes.
func fromData(a *document.Attachment) io.Reader { return bytes.NewReader(a.Data) }

func attachment(name, kind, data string) document.Attachment {
	a := document.Attachment{Name: name, ContentType: kind, RevPos: 1}
	SetData(&a, []byte(data), testRules.Compressible(kind))
	return a
}

func TestAppendDocument(t *testing.T) {
	old := attachment("old.png", "image/png", "old")
	fresh := attachment("new \"q\".txt", "text/plain", "hello note")
	fresh.RevPos = 3
	r := Revision{
		ID: "x\"y", Rev: rev("3-c"), Deleted: true, Body: []byte(`{"a":1.50}`), Attachments: []document.Attachment{fresh, old},
		Path: []document.Rev{rev("3-c"), rev("2-b")}, RevsInfo: []RevStatus{{rev("3-c"), "available"}},
		LocalSeq: 7, Conflicts: []document.Rev{rev("2-z")}, DeletedConflicts: []document.Rev{rev("1-y")},
	}
	const head = `{"_id":"x\"y","_rev":"3-c","a":1.50,"_deleted":true,"_revisions":{"start":3,"ids":["c","b"]},` +
		`"_revs_info":[{"rev":"3-c","status":"available"}],"_local_seq":7,"_conflicts":["2-z"],"_deleted_conflicts":["1-y"],"_attachments":{`
	const newHead = `"new \"q\".txt":{"content_type":"text/plain","revpos":3,"digest":"md5-8mnorekn1Plsyr60I0ntAg==",`
	sum := md5.Sum([]byte("old"))
	oldHead := `"old.png":{"content_type":"image/png","revpos":1,"digest":"md5-` + base64.StdEncoding.EncodeToString(sum[:]) + `",`
	for _, c := range []struct {
		name string
		form Form
		want string
	}{
		{"stubs", Form{}, newHead + `"length":10,"stub":true},` + oldHead + `"length":3,"stub":true}}}`},
		{"encoding", Form{Encoding: true}, newHead + `"length":10,"stub":true,"encoding":"gzip","encoded_length":30},` + oldHead + `"length":3,"stub":true}}}`},
		{"data", Form{Data: true}, newHead + `"data":"aGVsbG8gbm90ZQ=="},` + oldHead + `"data":"b2xk"}}}`},
		{"data with encoding", Form{Data: true, Encoding: true}, newHead + `"data":"aGVsbG8gbm90ZQ==","encoding":"gzip","encoded_length":30},` + oldHead + `"data":"b2xk"}}}`},
		{"data since", Form{Data: true, Since: 1}, newHead + `"data":"aGVsbG8gbm90ZQ=="},` + oldHead + `"length":3,"stub":true}}}`},
		{"follows since", Form{Follows: true, Since: 1}, newHead + `"length":10,"follows":true,"encoding":"gzip","encoded_length":30},` + oldHead + `"length":3,"stub":true}}}`},
	} {
		var b bytes.Buffer
		if err := WriteDocument(&b, &r, c.form, fromData); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if b.String() != head+c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, b.String(), head+c.want)
		}
	}
	plain := Revision{ID: "e", Rev: rev("1-a"), Body: []byte("{}")}
	if got := string(AppendDocument(nil, &plain, Form{Data: true})); got != `{"_id":"e","_rev":"1-a"}` {
		t.Errorf("empty document: %s", got)
	}
}

// TestCompressedDigests has digests that CouchDB 3.5 gives attachments it
// compresses.
func TestCompressedDigests(t *testing.T) {
	for text, want := range map[string]string{
		"hello note": "8mnorekn1Plsyr60I0ntAg==", "first": "e8PonaGug2+bvUVQJoN+rw==", "third": "wSmRubyTxLOTKleWIWo+Ag==",
		"file of a": "KbccRXlZRHZBOE9hy66aPw==", "A": "j23jtx07lsoHEZx2eZtGsg==", "<p>hi</p>": "Or3WWvxxUT4H4GxuMJG8/Q==",
		"new content": "X7ZOin4B3iOMGOZsyX6z1A==", "333": "M2g/J6ySwSVYVJq8tamfzw==",
		strings.Repeat("y", 300): "+yF/rYuCpaM49cE0TXpDSg==", strings.Repeat("z", 300): "u3+1PbgKV2XEsi4F3wB/iA==",
	} {
		a := attachment("a", "text/plain", text)
		if got := base64.StdEncoding.EncodeToString(a.Digest[:]); got != want {
			t.Errorf("digest of %q: %s, want %s", text, got, want)
		}
	}
}

func FuzzCompressed(f *testing.F) {
	f.Add([]byte(""), 0)
	f.Add([]byte("a"), 1)
	f.Add([]byte("hello hello hello"), 3)
	f.Add([]byte(strings.Repeat("z", 300)), 100)
	f.Fuzz(func(t *testing.T, data []byte, times int) {
		data = bytes.Repeat(data, 1+min(max(times, 0), 200))
		a := document.Attachment{ContentType: "text/plain"}
		SetData(&a, data, true)
		r, err := Decoded(&a, bytes.NewReader(a.Data))
		if err != nil {
			t.Fatal(err)
		}
		back, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%d bytes came back as %d: %v", len(data), len(back), err)
		}
	})
}

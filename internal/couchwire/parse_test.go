package couchwire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// rules for tests: text is compressed.
var testRules = Rules{Compressible: func(t string) bool { return strings.HasPrefix(t, "text/") }}

func reason(err error) string {
	var e *dberr.Error
	if errors.As(err, &e) {
		return e.Code + ": " + e.Reason
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestParseDocumentRefuses has CouchDB's recorded texts.
func TestParseDocumentRefuses(t *testing.T) {
	const (
		notJSON = "bad_request: invalid UTF-8 JSON"
		noObj   = "bad_request: Document must be a JSON object"
		badRev  = "bad_request: Invalid rev format"
		noID    = "illegal_docid: Document id must be a string"
		start   = "doc_validation: _revisions.start isn't an integer."
		ids     = "doc_validation: _revisions.ids isn't a array."
		revID   = "doc_validation: RevId isn't a string"
		badAtt  = "bad_request: Invalid attachment data for a"
	)
	for raw, want := range map[string]string{
		``: notJSON, `   `: notJSON, `{`: notJSON, `{'a':1}`: notJSON, `{"a":}`: notJSON, `{"a":1,}`: notJSON,
		`nonsense`: notJSON, `{"a":1} trailing`: notJSON, `{"a":01}`: notJSON, `{"a":.5}`: notJSON, "{\"a\":\"tab\there\"}": notJSON,
		`{"a":NaN}`: notJSON, `{"a":1e400}`: notJSON, `{"a":"\ud800"}`: notJSON, "{\"a\":\"\xff\xfe\"}": notJSON,
		`[]`: noObj, `[1,2]`: noObj, `"text"`: noObj, `42`: noObj, `null`: noObj, `true`: noObj,
		`{"_id":5}`: noID, `{"_id":null}`: noID, `{"_id":["a"]}`: noID, `{"_id":{"a":1}}`: noID,
		`{"_id":""}`:        "illegal_docid: Document id must not be empty",
		`{"_id":"_hidden"}`: "illegal_docid: Only reserved document ids may start with underscore.",
		`{"_rev":""}`:       badRev, `{"_rev":"1"}`: badRev, `{"_rev":"abc"}`: badRev, `{"_rev":"-abc"}`: badRev,
		`{"_rev":5}`: badRev, `{"_rev":null}`: badRev, `{"_rev":["1-a"]}`: badRev, `{"_rev":"x-aaaa"}`: badRev,
		`{"_deleted":"yes"}`:                         "doc_validation: Bad special document member: _deleted",
		`{"_deleted":1}`:                             "doc_validation: Bad special document member: _deleted",
		`{"_deleted":null}`:                          "doc_validation: Bad special document member: _deleted",
		`{"_foo":1}`:                                 "doc_validation: Bad special document member: _foo",
		`{"_":1}`:                                    "doc_validation: Bad special document member: _",
		`{"_replication_foo":1}`:                     "doc_validation: Bad special document member: _replication_foo",
		`{"_revisions":5}`:                           "doc_validation: Bad special document member: _revisions",
		`{"_revisions":{}}`:                          start,
		`{"_revisions":{"ids":["a"]}}`:               start,
		`{"_revisions":{"start":"1","ids":["a"]}}`:   start,
		`{"_revisions":{"start":1.5,"ids":["a"]}}`:   start,
		`{"_revisions":{"start":1}}`:                 ids,
		`{"_revisions":{"start":1,"ids":"abc"}}`:     ids,
		`{"_revisions":{"start":1,"ids":[1]}}`:       revID,
		`{"_revisions":{"start":-1,"ids":["a"]}}`:    revID,
		`{"_revisions":{"start":1,"ids":["a","b"]}}`: badRev,
		`{"_attachments":5}`:                         "doc_validation: Bad special document member: _attachments",
		`{"_attachments":[]}`:                        "doc_validation: Bad special document member: _attachments",
		`{"_attachments":{"a":{}}}`:                  badAtt,
		`{"_attachments":{"a":{"data":5}}}`:          badAtt,
		`{"_attachments":{"a":{"data":"***"}}}`:      badAtt,
		`{"_attachments":{"a":{"data":"YQ"}}}`:       badAtt,
		`{"_attachments":{"a":{"data":"YQ="}}}`:      badAtt,
		`{"_attachments":{"a":{"data":"-_-_"}}}`:     badAtt,
		`{"_attachments":{"a":{"data":"===="}}}`:     badAtt,
		`{"_attachments":{"_a":{"data":""}}}`:        "bad_request: Attachment name '_a' starts with prohibited character '_'",
	} {
		if _, err := ParseDocument([]byte(raw), &testRules); reason(err) != want {
			t.Errorf("%s\n got %q\nwant %q", raw, reason(err), want)
		}
	}
}

func TestParseDocument(t *testing.T) {
	d, err := ParseDocument([]byte(`{ "z" : 1.50, "_id":"x", "_rev":"2-0123456789abcdef0123456789abcdef", "_deleted":true,
		"a":{"_in":[1, 2]}, "_conflicts":["1-x"], "_revs_info":[], "_local_seq":3, "_deleted_conflicts":1, "_access":["me"]}`), &testRules)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(d.Body), `{"z":1.50,"a":{"_in":[1,2]},"_access":["me"]}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if d.ID != "x" || !d.Deleted || d.Rev().String() != "2-0123456789abcdef0123456789abcdef" {
		t.Errorf("id %q, deleted %v, rev %s", d.ID, d.Deleted, d.Rev())
	}
	e := d.Edit(d.Rev())
	if diff := cmp.Diff(document.Edit{ID: "x", Parent: d.Path[0], Deleted: true, Body: d.Body}, e); diff != "" {
		t.Errorf("edit (-want +got):\n%s", diff)
	}
}

// TestHistoryWinsOverRev shows that _revisions names the revision, in either
// order of the members.
func TestHistoryWinsOverRev(t *testing.T) {
	for _, raw := range []string{
		`{"_id":"d","_rev":"2-9","_revisions":{"start":2,"ids":["b","a"]}}`,
		`{"_id":"d","_revisions":{"start":2,"ids":["b","a"]},"_rev":"2-9"}`,
	} {
		d, err := ParseDocument([]byte(raw), &testRules)
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.Replicated()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]document.Rev{{Gen: 2, Hash: "b"}, {Gen: 1, Hash: "a"}}, e.Path); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
	d, err := ParseDocument([]byte(`{"_revisions":{"start":1,"ids":[]}}`), &testRules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Replicated(); reason(err) != "bad_request: When `new_edits: false`, the document needs `_rev` or `_revisions` specified" {
		t.Errorf("without a revision: %v", err)
	}
}

func TestAttachmentsOfADocument(t *testing.T) {
	d, err := ParseDocument([]byte(`{"_attachments":{
		"stub":{"stub":true,"revpos":3,"digest":"md5-eGJVtReibZExKDuj7mosxQ==","length":4},
		"plain":{"data":"Ynl0\nZXM=","revpos":7,"length":99,"digest":"junk"},
		"note":{"content_type":"text/plain","data":"aGVsbG8gbm90ZQ=="},
		"number":1,
		"gz":{"follows":true,"content_type":"text/plain","length":9,"encoding":"gzip","encoded_length":29,"digest":"md5-KbccRXlZRHZBOE9hy66aPw=="},
		"after":{"follows":true,"length":5}}}`), &testRules)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range d.Attachments {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"after", "gz", "note", "plain", "stub"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	e := d.Edit(document.Rev{})
	if a := e.Attachments[3]; string(a.Data) != "bytes" || a.Length != 5 || a.RevPos != 0 || a.ContentType != "application/octet-stream" {
		t.Errorf("plain attachment: %+v", a)
	}
	if a := e.Attachments[4]; !a.Stub || a.RevPos != 3 || a.Digest != [16]byte{} {
		t.Errorf("stub: %+v", a)
	}
	if a := e.Attachments[2]; a.Encoding != Gzip || a.Length != 10 || a.Encoded != int64(len(a.Data)) {
		t.Errorf("compressed attachment: %+v", a)
	}
	if len(d.Follows) != 2 || d.Follows[0].Index != 1 || d.Follows[0].Length != 29 || d.Follows[1].Index != 0 || d.Follows[1].Length != 5 {
		t.Errorf("follows: %+v", d.Follows)
	}
	if got := reason(d.CheckComplete()); got != "bad_request: The bytes of attachment gz are missing." {
		t.Errorf("CheckComplete: %q", got)
	}
}

func TestLimits(t *testing.T) {
	r := Rules{MaxID: 3, MaxDocument: 10, MaxAttachment: 4}
	for raw, want := range map[string]string{
		`{"_id":"abcd"}`: "illegal_docid: Document id is too long",
		`{"_attachments":{"a":{"data":"YWJjZGU="}}}`:               "attachment_too_large: a (the limit is 4 bytes: [couchdb] max_attachment_size)",
		`{"_attachments":{"a":{"follows":true,"length":5}}}`:       "attachment_too_large: a (the limit is 4 bytes: [couchdb] max_attachment_size)",
		`{"_id":"big","text":"0123456789"}`:                        "document_too_large: big (the limit is 10 bytes: [couchdb] max_document_size)",
		`{"_id":"abc","n":1,"_attachments":{"a":{"data":"YWJj"}}}`: "",
	} {
		d, err := ParseDocument([]byte(raw), &r)
		if err == nil {
			err = d.CheckSize(&r)
		}
		if reason(err) != want {
			t.Errorf("%s: %q, want %q", raw, reason(err), want)
		}
	}
}

// FuzzParseDocument checks that what is taken comes out again as it was.
func FuzzParseDocument(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"_id":"x","_rev":"1-abc"}`, `{"_attachments":{"a":{"data":"YQ==","content_type":"text/plain"}}}`,
		`{"_revisions":{"start":2,"ids":["b","a"]},"x":[{"_y":1}]}`, `{"_access":[],"_deleted":true}`, `{"_attachments":{"a":{"follows":true,"length":1e3}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := ParseDocument(raw, &testRules)
		if err != nil {
			if dberr.KindOf(err) == dberr.Internal {
				t.Fatalf("internal error: %v", err)
			}
			return
		}
		r := Revision{ID: d.ID, Rev: d.Rev(), Deleted: d.Deleted, Body: d.Body}
		if r.ID == "" {
			r.ID = "any"
		}
		if r.Rev.IsZero() {
			r.Rev = document.Rev{Gen: 1, Hash: "x"}
		}
		again, err := ParseDocument(AppendDocument(nil, &r, Form{}), &testRules)
		if err != nil {
			t.Fatalf("%s: %v", AppendDocument(nil, &r, Form{}), err)
		}
		if string(again.Body) != string(d.Body) || again.Deleted != d.Deleted || again.ID != r.ID || again.Rev() != r.Rev {
			t.Fatalf("%s came back as %+v", AppendDocument(nil, &r, Form{}), again)
		}
	})
}

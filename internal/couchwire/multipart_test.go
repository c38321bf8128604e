package couchwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// memory is a Store that keeps large attachments in memory.
func memory(a *document.Attachment, r io.Reader, compress bool) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if compress {
		SetData(a, data, true)
	} else {
		SetEncoded(a, data)
	}
	a.Blob = 1
	return nil
}

func whatever(*Document) error { return nil }

func TestWriteRelated(t *testing.T) {
	r := Revision{ID: "d", Rev: rev("1-a"), Body: []byte(`{"n":1}`), Attachments: []document.Attachment{
		attachment("a.png", "image/png", "one"), attachment("b/c\".txt", "text/plain", "hello note"),
	}}
	var b bytes.Buffer
	if err := WriteRelated(&b, "BND", &r, Form{}, fromData); err != nil {
		t.Fatal(err)
	}
	want := "--BND\r\nContent-Type: application/json\r\n\r\n" + string(AppendDocument(nil, &r, Form{Follows: true})) +
		"\r\n--BND\r\nContent-Disposition: attachment; filename=\"a.png\"\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\none" +
		"\r\n--BND\r\nContent-Disposition: attachment; filename=\"b/c\\\".txt\"\r\nContent-Type: text/plain\r\nContent-Length: 30\r\nContent-Encoding: gzip\r\n\r\n" +
		string(r.Attachments[1].Data) + "\r\n--BND--"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

// TestHeadersAreSafe shows that neither a name nor a content type ends the
// line it is in.
func TestHeadersAreSafe(t *testing.T) {
	r := Revision{ID: "d", Rev: rev("1-a"), Body: []byte(`{}`), Attachments: []document.Attachment{
		attachment("a\r\nX-Evil: 1", "image/png\r\nX-Evil: 2\r\n\r\n", "one"),
	}}
	var b bytes.Buffer
	if err := WriteRelated(&b, "BND", &r, Form{}, fromData); err != nil {
		t.Fatal(err)
	}
	if _, headers, _ := strings.Cut(b.String(), "\r\n--BND\r\n"); strings.Contains(headers, "\r\nX-Evil") {
		t.Errorf("a header was smuggled in: %q", headers)
	}
	d, err := ReadRelated(&b, "BND", 1<<20, &testRules, whatever, Sink{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	if string(d.Attachments[0].Data) != "one" || d.Attachments[0].Name != "a\r\nX-Evil: 1" {
		t.Errorf("came back as %+v", d.Attachments[0])
	}
}

// TestRelatedRoundTrip writes documents with attachments of all sorts and
// sizes and reads them back.
func TestRelatedRoundTrip(t *testing.T) {
	big := strings.Repeat("0123456789abcdef--BND\r\n", 2000)
	r := Revision{ID: "d", Rev: rev("2-b"), Body: []byte(`{"n":1}`), Path: []document.Rev{rev("2-b"), rev("1-a")}, Attachments: []document.Attachment{
		attachment("big", "image/png", big), attachment("dir/größe", "text/plain", "hello note"), attachment("empty", "image/png", ""), attachment("text", "text/plain", big),
	}}
	var b bytes.Buffer
	if err := WriteRelated(&b, "XYZ", &r, Form{}, fromData); err != nil {
		t.Fatal(err)
	}
	d, err := ReadRelated(&b, "XYZ", 1<<20, &testRules, whatever, Sink{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Attachments, d.Attachments, cmpopts.IgnoreFields(document.Attachment{}, "Blob")); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.Path, d.Path); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}

func TestReadRelatedRefuses(t *testing.T) {
	const head = "--B\r\nContent-Type: application/json\r\n\r\n"
	const one = head + `{"_attachments":{"a":{"follows":true,"content_type":"image/png","length":5}}}` + "\r\n--B\r\n\r\n"
	for body, want := range map[string]string{
		"":                                   "bad_request: The multipart body is not well-formed.",
		"--B":                                "bad_request: The multipart body is not well-formed.",
		head + `{"n":`:                       "bad_request: The multipart body is not well-formed.",
		head + "{]\r\n--B--":                 "bad_request: invalid UTF-8 JSON (line 1, column 2, byte 2)",
		head + "{}\r\n--B\r\n\r\nx\r\n--B--": "bad_request: The body has more parts than the document has attachments that follow.",
		one + "byte\r\n--B--":                "bad_request: Attachment a is not as long as its length says",
		one + "bytes!\r\n--B--":              "bad_request: Attachment a is not as long as its length says",
		one + "bytes":                        "bad_request: The multipart body is not well-formed.",
		strings.TrimSuffix(one, "--B\r\n\r\n") + "--B--":                                                    "bad_request: The bytes of attachment a are missing.",
		strings.Replace(one, `"length":5`, `"digest":"md5-eV8yArF8trw9S3cdjGyerw=="`, 1) + "bytes\r\n--B--": "content_md5_mismatch: Possible message corruption.",
		head + `{"x":"` + strings.Repeat("x", 2000) + `"}` + "\r\n--B--":                                    "too_large: the request entity is too large (the limit of a document in a part is 1000 bytes)",
		one + "bytes\r\n--B--": "",
		strings.Replace(one, `"length":5`, `"digest":"md5-SzpiGLs+OnMD6KFxpg/Pkg=="`, 1) + "bytes\r\n--B--": "",
	} {
		d, err := ReadRelated(strings.NewReader(body), "B", 1000, &testRules, whatever, Sink{Store: memory})
		if reason(err) != want {
			t.Errorf("%q\n got %q\nwant %q", body, reason(err), want)
		}
		if err == nil && string(d.Attachments[0].Data) != "bytes" {
			t.Errorf("%q: %+v", body, d.Attachments)
		}
	}
}

// TestEpilogues has bodies with everything that may come after the closing
// delimiter, and read in pieces of any size.
func TestEpilogues(t *testing.T) {
	const body = "--B\r\n\r\n" + `{"_attachments":{"a":{"follows":true}}}` + "\r\n--B\r\n\r\nx--B--\n--B--\r\nbytes\r\n--B--"
	const data = "x--B--\n--B--\r\nbytes"
	form := strings.Replace(body, "--B\r\n\r\nx--B--", "--B\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"a\"\r\n\r\nx--B--", 1)
	for _, tail := range []string{"", "\r\n", "\n", " ", "  \r\n\r\n", "epilogue", "\r\nepilogue", "\r\n--B", "\r\n--B\r\n\r\nno part\r\n--B--", "--", strings.Repeat("x", 10000)} {
		for _, piece := range []int{1, 2, 5, 7, 1 << 20} {
			d, err := ReadRelated(&inPieces{body + tail, piece}, "B", 1000, &testRules, whatever, Sink{Store: memory})
			if err != nil || string(d.Attachments[0].Data) != data {
				t.Errorf("%.20q in pieces of %d: %+v, %v", tail, piece, d, err)
			}
			p, err := ReadForm(&inPieces{form + tail, piece}, "B", 1000, &testRules, Sink{Store: memory})
			if err != nil || len(p.Attachments) != 1 || string(p.Attachments[0].Data) != data {
				t.Errorf("form, %.20q in pieces of %d: %+v, %v", tail, piece, p, err)
			}
		}
	}
	for _, none := range []string{"--B--", "--B--epilogue"} {
		if _, err := PartsOf(strings.NewReader(none), "B").NextRawPart(); err != io.EOF {
			t.Errorf("%q: %v", none, err)
		}
	}
}

// inPieces returns a text in reads of a size.
type inPieces struct {
	text string
	size int
}

func (p *inPieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), p.size)])
	p.text = p.text[n:]
	return n, nil
}

// TestNamedParts shows that a part goes to the attachment it names.
func TestNamedParts(t *testing.T) {
	body := "--B\r\n\r\n" + `{"_attachments":{"a":{"follows":true},"b":{"follows":true}}}` +
		"\r\n--B\r\nContent-Disposition: attachment; filename=\"b\"\r\n\r\nfor b\r\n--B\r\nContent-Disposition: attachment; filename=\"a\"\r\n\r\nfor a\r\n--B--"
	d, err := ReadRelated(strings.NewReader(body), "B", 1000, &testRules, whatever, Sink{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	if string(d.Attachments[0].Data) != "for a" || string(d.Attachments[1].Data) != "for b" {
		t.Errorf("%q, %q", d.Attachments[0].Data, d.Attachments[1].Data)
	}
}

func TestReceiveLimit(t *testing.T) {
	r := Rules{MaxAttachment: 20 << 10}
	for n, want := range map[int]string{20 << 10: "", 20<<10 + 1: "attachment_too_large: a (the limit is 20480 bytes: [couchdb] max_attachment_size)", 16 << 10: "", 1 << 20: "attachment_too_large: a (the limit is 20480 bytes: [couchdb] max_attachment_size)"} {
		a := document.Attachment{Name: "a"}
		err := Receive(&a, strings.NewReader(strings.Repeat("x", n)), Declared{Length: -1}, &r, Sink{Store: memory})
		if reason(err) != want {
			t.Errorf("%d bytes: %q, want %q", n, reason(err), want)
		}
		if err == nil && a.Length != int64(n) {
			t.Errorf("%d bytes: length %d", n, a.Length)
		}
	}
}

func FuzzReadRelated(f *testing.F) {
	f.Add([]byte("--B\r\n\r\n{\"_attachments\":{\"a\":{\"follows\":true,\"length\":2}}}\r\n--B\r\n\r\nxx\r\n--B--"))
	f.Add([]byte("--B\r\nContent-Type: application/json\r\n\r\n{}\r\n--B--"))
	f.Add([]byte("--B\r\nContent-Disposition: attachment; filename*=UTF-8''%ff\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := ReadRelated(bytes.NewReader(body), "B", 1<<16, &testRules, whatever, Sink{Store: memory})
		if err != nil {
			if dberr.KindOf(err) == dberr.Internal {
				t.Fatalf("internal error: %v", err)
			}
			return
		}
		for _, a := range d.Attachments {
			if !a.Stub && a.Data == nil {
				t.Fatalf("attachment %q has no bytes: %q", a.Name, body)
			}
		}
	})
}

func TestReadForm(t *testing.T) {
	const part = "--F\r\nContent-Disposition: form-data; name="
	body := part + "\"_rev\"\r\n\r\n1-abc\r\n" + part + "\"other\"\r\n\r\nignored\r\n" +
		part + "\"_attachments\"; filename=\"up.txt\"\r\nContent-Type: text/plain\r\n\r\nuploaded\r\n" +
		part + "\"_attachments\"; filename=\"dir/a.bin\"\r\n\r\nbytes\r\n--F--\r\n"
	p, err := ReadForm(strings.NewReader(body), "F", 1000, &testRules, Sink{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	if p.Rev != "1-abc" || p.Doc != nil || len(p.Attachments) != 2 || p.Attachments[0].Name != "dir/a.bin" || string(p.Attachments[0].Data) != "bytes" ||
		p.Attachments[1].ContentType != "text/plain" || p.Attachments[1].Length != 8 {
		t.Errorf("%+v", p)
	}
	twice := part + "\"_attachments\"; filename=\"a\"\r\n\r\n1\r\n" + part + "\"_attachments\"; filename=\"a\"\r\n\r\n2\r\n--F--"
	if _, err := ReadForm(strings.NewReader(twice), "F", 1000, &testRules, Sink{Store: memory}); reason(err) != "bad_request: The form has two files of the name a." {
		t.Errorf("two files of one name: %v", err)
	}
	bad := part + "\"_attachments\"; filename=\"_a\"\r\n\r\n1\r\n--F--"
	if _, err := ReadForm(strings.NewReader(bad), "F", 1000, &testRules, Sink{Store: memory}); reason(err) != "bad_request: Attachment name '_a' starts with prohibited character '_'" {
		t.Errorf("bad name: %v", err)
	}
}

func FuzzReadForm(f *testing.F) {
	f.Add([]byte("--B\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{}\r\n--B--"))
	f.Add([]byte("--B\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"a\"\r\n\r\nx\r\n--B--"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := ReadForm(bytes.NewReader(body), "B", 1<<16, &testRules, Sink{Store: memory}); err != nil && dberr.KindOf(err) == dberr.Internal {
			t.Fatalf("internal error: %v", err)
		}
	})
}

func TestBoundary(t *testing.T) {
	for in, want := range map[string]string{
		`multipart/related; boundary="BND"`: "BND", `Multipart/Related; charset=x; boundary=b`: "b", `multipart/related`: "", `multipart/mixed; boundary=b`: "", ``: "", `application/json`: "",
	} {
		if b, ok := Boundary(in, "related"); b != want || ok != (want != "") {
			t.Errorf("Boundary(%q) = %q, %v", in, b, ok)
		}
	}
}

// TestAttachmentsAreCounted refuses a document with more attachments than it may have
// before any of their bytes is read, wherever they come from.
func TestAttachmentsAreCounted(t *testing.T) {
	rules := Rules{MaxAttachments: 3}
	related := func(n int) error {
		var doc, parts strings.Builder
		for i := range n {
			fmt.Fprintf(&doc, `,"a%d":{"follows":true,"length":1}`, i)
			parts.WriteString("\r\n--B\r\n\r\nx")
		}
		body := "--B\r\n\r\n{\"_attachments\":{" + strings.TrimPrefix(doc.String(), ",") + "}}" + parts.String() + "\r\n--B--"
		_, err := ReadRelated(strings.NewReader(body), "B", 1<<20, &rules, whatever, Sink{Store: memory})
		return err
	}
	form := func(n int) error {
		var parts strings.Builder
		for i := range n {
			fmt.Fprintf(&parts, "--B\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"a%d\"\r\n\r\nx\r\n", i)
		}
		_, err := ReadForm(strings.NewReader(parts.String()+"--B--"), "B", 1<<20, &rules, Sink{Store: memory})
		return err
	}
	inline := func(n int) error {
		var doc strings.Builder
		for i := range n {
			fmt.Fprintf(&doc, `,"a%d":{"data":""}`, i)
		}
		_, err := ParseDocument([]byte(`{"_attachments":{`+strings.TrimPrefix(doc.String(), ",")+`}}`), &rules)
		return err
	}
	for name, send := range map[string]func(int) error{"related": related, "form": form, "inline": inline} {
		if err := send(3); err != nil {
			t.Errorf("%s: three: %v", name, err)
		}
		if err := send(4); reason(err) != "too_many_attachments: A document can have 3 attachments at most ([sectional] max_attachments)." {
			t.Errorf("%s: four: %v", name, err)
		}
	}
}

// TestWhatStaysIsHeld tells the sink of all bytes that stay in memory, and of no others.
func TestWhatStaysIsHeld(t *testing.T) {
	large := strings.Repeat("x", MaxInline+1)
	doc := `{"_attachments":{"a":{"follows":true},"b":{"follows":true}}}`
	body := "--B\r\n\r\n" + doc + "\r\n--B\r\n\r\nsmall\r\n--B\r\n\r\n" + large + "\r\n--B--"
	held := 0
	sink := Sink{Store: memory, Hold: func(run []byte) error {
		if held += len(run); held > 1000 {
			return errors.New("full")
		}
		return nil
	}}
	if _, err := ReadRelated(strings.NewReader(body), "B", 1<<20, &testRules, whatever, sink); err != nil || held != len(doc)+len("small") {
		t.Errorf("%d bytes are held, %v", held, err)
	}
	if _, err := ReadRelated(strings.NewReader("--B\r\n\r\n{"+strings.Repeat(" ", 1001)), "B", 1<<20, &testRules, whatever, sink); err == nil || err.Error() != "full" {
		t.Errorf("more than may be held: %v", err)
	}
}

// TestFollowingInAnyOrder finds the attachments of parts by name or by turn, each once.
func TestFollowingInAnyOrder(t *testing.T) {
	const most = 20000
	d := &Document{}
	for i := range most {
		d.Attachments = append(d.Attachments, document.Attachment{Name: strconv.Itoa(i)})
		d.Follows = append(d.Follows, Follow{Index: i})
	}
	left, seen := d.following(), make([]bool, most)
	for i := most - 1; i >= 0; i-- {
		name := strconv.Itoa(i)
		if i%3 == 0 {
			name = "" // by turn
		}
		f, ok := left.take(name)
		if !ok || seen[f.Index] {
			t.Fatalf("%d: %v %v", i, f, ok)
		}
		seen[f.Index] = true
	}
	if _, ok := left.take("1"); ok {
		t.Error("there are more than there were")
	}
}

package couchapi_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

// TestSuffixRanges and the two below are numbered differences.
func TestSuffixRanges(t *testing.T) {
	a := newDB(t, "")
	a.do("PUT", "/db/d/a", "0123456789abcdef", "Content-Type", "image/png").want(201, "")
	for _, r := range []string{"bytes=-16", "bytes=-99"} {
		w := a.do("GET", "/db/d/a", "", "Range", r)
		if w.Status != 206 || w.Body != "0123456789abcdef" || w.Header.Get("Content-Range") != "bytes 0-15/16" {
			t.Errorf("%s: %d %s %q", r, w.Status, w.Header.Get("Content-Range"), w.Body)
		}
	}
}

func TestIfRange(t *testing.T) {
	a := newDB(t, "")
	a.do("PUT", "/db/d/a", "0123456789", "Content-Type", "image/png").want(201, "")
	tag := a.do("GET", "/db/d/a", "").Header.Get("Etag")
	if w := a.do("GET", "/db/d/a", "", "Range", "bytes=2-4", "If-Range", tag); w.Status != 206 || w.Body != "234" {
		t.Errorf("with the right tag: %d %q", w.Status, w.Body)
	}
	if w := a.do("GET", "/db/d/a", "", "Range", "bytes=2-4", "If-Range", `"other"`); w.Status != 200 || w.Body != "0123456789" {
		t.Errorf("with another tag: %d %q", w.Status, w.Body)
	}
}

func TestContentMD5(t *testing.T) {
	a := newDB(t, "")
	sum := md5.Sum([]byte("checked"))
	right := base64.StdEncoding.EncodeToString(sum[:])
	a.do("PUT", "/db/d/a", "checked", "Content-Type", "image/png", "Content-MD5", right).want(201, "")
	a.do("PUT", "/db/e/a", "checked", "Content-Type", "image/png", "Content-MD5", "eV8yArF8trw9S3cdjGyerw==").
		want(400, `{"error":"content_md5_mismatch","reason":"Possible message corruption."}`)
	a.do("PUT", "/db/e/a", "checked", "Content-Type", "image/png", "Content-MD5", "junk").want(400, "")
	a.do("GET", "/db/e", "").want(404, "")
}

// chunkedPut sends a chunked body with a trailer over a real connection.
func (a *testAPI) chunkedPut(target string, body io.Reader, trailer func() string) (int, string) {
	a.t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	r, err := http.NewRequest("PUT", server.URL+target, struct{ io.Reader }{body})
	must(a.t, err)
	r.SetBasicAuth("adm", "pass")
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Trailer = http.Header{"Content-Md5": nil}
	r.Body = io.NopCloser(&atEnd{body, func() { r.Trailer.Set("Content-Md5", trailer()) }})
	w, err := http.DefaultClient.Do(r)
	must(a.t, err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	must(a.t, err)
	return w.StatusCode, string(text)
}

type atEnd struct {
	io.Reader
	end func()
}

func (r *atEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		r.end()
	}
	return n, err
}

func TestContentMD5Trailer(t *testing.T) {
	a := newDB(t, "")
	body := strings.Repeat("trailing ", 10_000)
	sum := md5.Sum([]byte(body))
	right := base64.StdEncoding.EncodeToString(sum[:])
	if status, text := a.chunkedPut("/db/d/a", strings.NewReader(body), func() string { return right }); status != 201 {
		t.Errorf("right digest: %d %s", status, text)
	}
	if status, text := a.chunkedPut("/db/e/a", strings.NewReader(body+"!"), func() string { return right }); status != 400 || !strings.Contains(text, "content_md5_mismatch") {
		t.Errorf("wrong digest: %d %s", status, text)
	}
	a.do("GET", "/db/e", "").want(404, "")
}

func TestAttachmentLimit(t *testing.T) {
	a := newDB(t, "", config.Setting{Section: "couchdb", Key: "max_attachment_size", Value: "20000"})
	big := strings.Repeat("x", 20_001)
	a.do("PUT", "/db/d/big", big, "Content-Type", "image/png").want(413, `{"error":"attachment_too_large","reason":"big (the limit is 20000 bytes: [couchdb] max_attachment_size)"}`)
	if status, text := a.chunkedPut("/db/d/big", strings.NewReader(big), func() string { return "" }); status != 413 || !strings.Contains(text, `"attachment_too_large","reason":"big (the limit is`) {
		t.Errorf("chunked: %d %s", status, text)
	}
	a.do("PUT", "/db/d", `{"_attachments":{"big":{"data":"`+base64.StdEncoding.EncodeToString([]byte(big))+`"}}}`).want(413, "")
	a.do("PUT", "/db/d", "--B\r\n\r\n{\"_attachments\":{\"big\":{\"follows\":true}}}\r\n--B\r\n\r\n"+big+"\r\n--B--", "Content-Type", "multipart/related; boundary=B").want(413, "")
	a.do("GET", "/db/d", "").want(404, "")
	a.do("PUT", "/db/d/big", big[1:], "Content-Type", "image/png").want(201, "")
}

func TestEncodedAttachments(t *testing.T) {
	a := newDB(t, "")
	text := strings.Repeat("packed by the client ", 5000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(text))
	must(t, z.Close())
	a.do("PUT", "/db/d/gz", packed.String(), "Content-Type", "application/x-own", "Content-Encoding", "gzip").want(201, "")
	a.do("PUT", "/db/e/big", text, "Content-Type", "text/plain").want(201, "")
	for _, path := range []string{"/db/d/gz", "/db/e/big"} {
		if w := a.do("GET", path, ""); w.Body != text || w.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s unpacked: %d bytes, encoding %q", path, len(w.Body), w.Header.Get("Content-Encoding"))
		}
		w := a.do("GET", path, "", "Accept-Encoding", "br, gzip;q=0.5")
		r, err := gzip.NewReader(strings.NewReader(w.Body))
		must(t, err)
		back, err := io.ReadAll(r)
		must(t, err)
		if string(back) != text || w.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s packed: %d bytes, encoding %q", path, len(back), w.Header.Get("Content-Encoding"))
		}
		if w := a.do("GET", path, "", "Accept-Encoding", "gzip;q=0"); w.Body != text {
			t.Errorf("%s with gzip refused: %d bytes", path, len(w.Body))
		}
	}
	// The length is told where it is known: what the client packed has told none.
	for _, c := range []struct{ path, accept, length string }{
		{"/db/d/gz", "identity", ""}, {"/db/d/gz", "gzip", strconv.Itoa(packed.Len())}, {"/db/e/big", "identity", strconv.Itoa(len(text))},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			w := a.do(method, c.path, "", "Accept-Encoding", c.accept).want(200, "")
			if w.Header.Get("Content-Length") != c.length || w.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s %s with %s: %v", method, c.path, c.accept, w.Header)
			}
		}
	}
	if doc := a.do("GET", "/db/e?attachments=true", "", "Accept", "application/json").json(); doc["_attachments"].(map[string]any)["big"].(map[string]any)["data"] !=
		base64.StdEncoding.EncodeToString([]byte(text)) {
		t.Error("the data in the document are other bytes")
	}
	a.do("PUT", "/db/f/x", "x", "Content-Encoding", "br").want(415, `{"error":"bad_content_type","reason":"Only gzip and identity content-encodings are supported"}`)
}

// TestCompressedDigestsAreZlibs has attachments of every way in: a large one that
// streams, the same beside a document, in it and in a form, all with the digest
// that zlib gives, whose bytes a test of its own compares.
func TestCompressedDigestsAreZlibs(t *testing.T) {
	a := newDB(t, "")
	const digest = "md5-IyWPHOXKUDxEXSD19cXruQ=="
	text := strings.Repeat("the same line again and again, which repeats itself\n", 2000)
	a.do("PUT", "/db/alone/t", text, "Content-Type", "text/plain").want(201, "")
	a.do("PUT", "/db/inline", `{"_attachments":{"t":{"content_type":"text/plain","data":"`+base64.StdEncoding.EncodeToString([]byte(text))+`"}}}`).want(201, "")
	a.do("PUT", "/db/beside", "--B\r\n\r\n"+`{"_attachments":{"t":{"follows":true,"content_type":"text/plain"}}}`+"\r\n--B\r\n\r\n"+text+"\r\n--B--epilogue",
		"Content-Type", "multipart/related; boundary=B").want(201, "")
	for _, doc := range []string{"alone", "inline", "beside"} {
		att := a.do("GET", "/db/"+doc, "").json()["_attachments"].(map[string]any)["t"].(map[string]any)
		if att["digest"] != digest || fmt.Sprint(att["length"]) != strconv.Itoa(len(text)) {
			t.Errorf("%s: %v", doc, att)
		}
		if w := a.do("GET", "/db/"+doc+"/t", ""); w.Body != text {
			t.Errorf("%s: %d bytes", doc, len(w.Body))
		}
	}
}

// TestBrokenUploadStoresNothing ends a body early.
func TestBrokenUploadStoresNothing(t *testing.T) {
	a := newDB(t, "")
	for path, head := range map[string]string{
		"/db/d/a": "",
		"/db/d":   "--B\r\n\r\n{\"_attachments\":{\"a\":{\"follows\":true}}}\r\n--B\r\n\r\n",
	} {
		broken := io.MultiReader(strings.NewReader(head), newPattern(5<<20), iotestErr{})
		r := httptest.NewRequest("PUT", path, broken)
		r.SetBasicAuth("adm", "pass")
		r.Header.Set("Content-Type", "multipart/related; boundary=B")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	a.do("GET", "/db/d", "").want(404, "")
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// parts reads a multipart answer with the standard library's reader: the
// content of every part, nested ones flattened.
func parts(t *testing.T, contentType, body string) (out []string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	must(t, err)
	for r := multipart.NewReader(strings.NewReader(body), params["boundary"]); ; {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return out
		}
		must(t, err)
		b, err := io.ReadAll(p)
		must(t, err)
		if kind := p.Header.Get("Content-Type"); strings.HasPrefix(kind, "multipart/") {
			out = append(out, parts(t, kind, string(b))...)
		} else {
			out = append(out, string(b))
		}
	}
}

// TestMultipartAnswers reads every multipart form back with a reader that is
// not ours.
func TestMultipartAnswers(t *testing.T) {
	a := newDB(t, "")
	rev := a.put("/db/d", `{"n":1,"_attachments":{"a":{"content_type":"image/png","data":"b25l"},"b":{"content_type":"image/png","data":"dHdv"}}}`)
	a.put("/db/e", `{"n":2}`)
	doc := `{"_id":"d","_rev":"` + rev + `","n":1,"_attachments":{` +
		`"a":{"content_type":"image/png","revpos":1,"digest":"md5-+XxdKZQb+xsv2rCHSQargg==","length":3,"follows":true},` +
		`"b":{"content_type":"image/png","revpos":1,"digest":"md5-uKn3Fdu2T9XFbneDxoIKYQ==","length":3,"follows":true}}}`
	whole := []string{doc, "one", "two"}
	for _, c := range []struct {
		method, target, body, accept string
		want                         []string
	}{
		{"GET", "/db/d?attachments=true", "", "multipart/related", whole},
		{"GET", "/db/d?open_revs=all", "", "multipart/mixed", whole},
		{"GET", `/db/d?open_revs=["1-77777777777777777777777777777777","` + rev + `"]`, "", "multipart/mixed", append(whole[:3:3], `{"missing":"1-77777777777777777777777777777777"}`)},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"d"},{"id":"none"}]}`, "multipart/mixed", append(whole[:3:3], `{"rev":"undefined","reason":"missing","id":"none","error":"not_found"}`)},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"d","rev":"` + rev + `"}]}`, "multipart/related", whole},
		{"GET", "/db/d/a", "", "", []string{"on", "e"}},
	} {
		header := []string{"Accept", c.accept}
		if c.accept == "" {
			header = []string{"Range", "bytes=0-1,2-2"}
		}
		w := a.do(c.method, strings.ReplaceAll(strings.ReplaceAll(c.target, `"`, "%22"), ",", "%2C"), c.body, header...)
		if diff := cmp.Diff(c.want, parts(t, w.Header.Get("Content-Type"), w.Body)); diff != "" {
			t.Errorf("%s %s as %s (-want +got):\n%s", c.method, c.target, c.accept, diff)
		}
	}
	a.do("POST", "/db/_bulk_get", `{"docs":[]}`, "Accept", "image/png").want(406, "")
}

func TestNamedPartsWin(t *testing.T) {
	a := newDB(t, "")
	body := "--B\r\n\r\n{\"_attachments\":{\"a\":{\"follows\":true},\"b\":{\"follows\":true}}}\r\n" +
		"--B\r\nContent-Disposition: attachment; filename=\"b\"\r\n\r\nfor b\r\n--B\r\nContent-Disposition: attachment; filename=\"a\"\r\n\r\nfor a\r\n--B--"
	a.do("PUT", "/db/d", body, "Content-Type", "multipart/related; boundary=B").want(201, "")
	for name, want := range map[string]string{"a": "for a", "b": "for b"} {
		if got := a.do("GET", "/db/d/"+name, "").Body; got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	a.do("PUT", "/db/e", `{"_attachments":{"a":{"follows":true}}}`).want(400, `{"error":"bad_request","reason":"The bytes of attachment a are missing."}`)
}

// TestReplicatedAttachmentsKeepTheirGeneration puts a document as a replicator
// does: its attachments were set when its history says, not now.
func TestReplicatedAttachmentsKeepTheirGeneration(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	const history = `"_revisions":{"start":3,"ids":["cc","bb","aa"]}`
	a.do("PUT", "/db/inline?new_edits=false", `{`+history+`,"_attachments":{"f":{"content_type":"text/x","revpos":2,"data":"YQ=="}}}`).want(201, "")
	body := "--q\r\nContent-Type: application/json\r\n\r\n{" + history +
		`,"_attachments":{"f":{"content_type":"text/x","revpos":2,"length":1,"follows":true}}}` + "\r\n--q\r\n\r\na\r\n--q--"
	a.do("PUT", "/db/beside?new_edits=false", body, "Content-Type", `multipart/related; boundary="q"`).want(201, "")
	for _, id := range []string{"inline", "beside"} {
		if got := a.do("GET", "/db/"+id, "").want(200, "").Body; !strings.Contains(got, `"revpos":2`) {
			t.Errorf("%s: %s", id, got)
		}
	}
}

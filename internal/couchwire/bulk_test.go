package couchwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

func TestParseBulk(t *testing.T) {
	const (
		notJSON = "bad_request: invalid UTF-8 JSON"
		noObj   = "bad_request: Request body must be a JSON object"
		noArray = "bad_request: `docs` parameter must be an array."
		noBool  = "bad_request: `new_edits` parameter must be a boolean."
		noDoc   = "bad_request: Document must be a JSON object (docs[0])"
	)
	for raw, want := range map[string]string{
		`{}`:         "bad_request: POST body must include `docs` parameter.",
		`{"docs":5}`: noArray, `{"docs":{}}`: noArray, `{"docs":"a"}`: noArray, `{"docs":x}`: notJSON,
		`{"docs":[5]}`: noDoc, `{"docs":["a"]}`: noDoc, `{"docs":[[]]}`: noDoc, `{"docs":[null]}`: noDoc,
		`{"docs":[],"new_edits":"no"}`: noBool, `{"docs":[],"new_edits":0}`: noBool,
		`{"docs":[],"atomic":1}`:           "bad_request: `atomic` parameter must be a boolean or \"database\".",
		`{"docs":[],"atomic":"partition"}`: "bad_request: `atomic` parameter must be a boolean or \"database\".",
		`[]`:                               noObj, `"x"`: noObj, ``: notJSON, `{`: notJSON, `{"docs":[]`: notJSON, `{"docs":[}`: notJSON,
		`{"docs":[{}],}`: notJSON, `{"docs":[{},]}`: notJSON, `{"docs":[{} {}]}`: notJSON, `{"docs":[{}]} x`: notJSON, `{docs:[]}`: notJSON,
		`{"docs" []}`: notJSON, `{"docs":}`: notJSON, `{"docs":[{"a":1]]}`: notJSON, `{"docs":[],"x":[}`: notJSON,
		`{"docs":[],"docs":[]}`:                              "bad_request: The member `docs` stands twice in the body.",
		`{"docs":[{"_id":"fine"},{"_id":"_bad"}]}`:           "illegal_docid: Only reserved document ids may start with underscore. (docs[1], _id \"_bad\")",
		`{"docs":[{"_attachments":{"a":{"follows":true}}}]}`: "bad_request: The bytes of attachment a are missing. (docs[0])",
	} {
		if _, err := ParseBulk([]byte(raw), &testRules); reason(err) != want {
			t.Errorf("%s\n got %q\nwant %q", raw, reason(err), want)
		}
	}
	b, err := ParseBulk([]byte(` { "x" : [1,{"y":"]"}] , "docs" : [ {"_id":"a","s":"]},{"} , {"n":2} ] , "new_edits":false, "\u0061tomic":true } `), &testRules)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Docs) != 2 || b.Docs[0].ID != "a" || string(b.Docs[0].Body) != `{"s":"]},{"}` || string(b.Docs[1].Body) != `{"n":2}` || b.NewEdits || !b.Atomic {
		t.Errorf("parsed: %+v", b)
	}
}

func FuzzParseBulk(f *testing.F) {
	for _, s := range []string{`{"docs":[{"_id":"a"},{"b":[1,{"c":"]"}]}],"new_edits":false}`, `{"docs":[}`, `{"docs":[{"a":"\""}]}`, `{"a":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := ParseBulk(raw, &testRules)
		if err != nil {
			if dberr.KindOf(err) == dberr.Internal {
				t.Fatalf("internal error: %v", err)
			}
			return
		}
		// What is taken must be JSON as a whole, whatever the quick look saw.
		if checkValue(raw) != nil {
			t.Fatalf("%q was taken: %+v", raw, b)
		}
	})
}

func TestParseWanted(t *testing.T) {
	ws, err := ParseWanted([]byte(`{"docs":[{"id":"a"},{"id":"b","rev":"1-x","atts_since":["1-y"]},{},"a",{"rev":"1-a"},{"id":""},{"id":"_bad"},
		{"id":"a","rev":"junk"},{"id":"a","rev":5},{"id":"a","atts_since":5}]}`), &testRules)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range ws {
		if w.Err == nil {
			got = append(got, fmt.Sprintf("%s %s %v %s", w.ID, w.Rev, w.Since, w.RevText))
			continue
		}
		code, text, _ := strings.Cut(reason(w.Err), ": ")
		got = append(got, string(w.AppendMissing(nil, code, text)))
	}
	const noDoc = `{"rev":null,"reason":"document must be a JSON object","id":null,"error":"bad_request"}`
	want := []string{
		`a 0- [] "undefined"`, `b 1-x [1-y] "1-x"`, noDoc, noDoc,
		`{"rev":null,"reason":"document id missed","id":null,"error":"bad_request"}`,
		`{"rev":null,"reason":"Document id must not be empty","id":"","error":"illegal_docid"}`,
		`{"rev":null,"reason":"Only reserved document ids may start with underscore.","id":"_bad","error":"illegal_docid"}`,
		`{"rev":"junk","reason":"Invalid rev format","id":"a","error":"bad_request"}`,
		`{"rev":5,"reason":"Invalid rev format","id":"a","error":"bad_request"}`,
		`{"rev":5,"reason":"att_since value must be array of revs.","id":"a","error":"bad_request"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for raw, want := range map[string]string{
		`{}`: "bad_request: Missing JSON list of 'docs'.", `[]`: "bad_request: Request body must be a JSON object", `{`: "bad_request: invalid UTF-8 JSON",
	} {
		if _, err := ParseWanted([]byte(raw), &testRules); reason(err) != want {
			t.Errorf("%s: %q, want %q", raw, reason(err), want)
		}
	}
}

func FuzzParseWanted(f *testing.F) {
	f.Add([]byte(`{"docs":[{"id":"a","rev":"1-x","atts_since":["1-y"]}]}`))
	f.Add([]byte(`{"docs":[{},null,{"id":5}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ws, err := ParseWanted(raw, &testRules)
		for _, w := range ws {
			if err := checkValue(w.AppendMissing(nil, "word", "reason")); err != nil {
				t.Fatalf("%q gives broken JSON: %s", raw, w.AppendMissing(nil, "word", "reason"))
			}
		}
		if dberr.KindOf(err) == dberr.Internal && err != nil {
			t.Fatal(err)
		}
	})
}

func TestParseRevLists(t *testing.T) {
	lists, err := ParseRevLists([]byte(`{"b":["1-x","2-y"],"":[],"_bad":["1-z"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []RevList{{"b", []document.Rev{rev("1-x"), rev("2-y")}}, {"", []document.Rev{}}, {"_bad", []document.Rev{rev("1-z")}}}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for raw, want := range map[string]string{
		`[]`: "bad_request: Request body must be a JSON object", `{"d":"x"}`: "bad_request: Invalid list of revisions",
		`{"d":["x"]}`: "bad_request: Invalid rev format", `{"d":[5]}`: "bad_request: Invalid rev format", `{"d"`: "bad_request: invalid UTF-8 JSON",
		`{"d":[],"d":[]}`: "bad_request: The document 'd' stands twice in the body.",
	} {
		if _, err := ParseRevLists([]byte(raw)); reason(err) != want {
			t.Errorf("%s: %q, want %q", raw, reason(err), want)
		}
	}
}

func FuzzParseRevLists(f *testing.F) {
	f.Add([]byte(`{"a":["1-x"],"b":[]}`))
	f.Add([]byte(`{"a":["1-x",]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := ParseRevLists(raw); err != nil && dberr.KindOf(err) == dberr.Internal {
			t.Fatal(err)
		}
	})
}

// BenchmarkParseBulk shows what the list costs above the documents in it.
func BenchmarkParseBulk(b *testing.B) {
	doc := `{"_id":"some:document","type":"order","total":123.45,"lines":[` +
		strings.Repeat(`{"sku":"A-1000","count":2,"price":9.99,"name":"a thing"},`, 16) + `{}],"note":"deliver"}`
	raw := []byte(`{"docs":[` + strings.TrimSuffix(strings.Repeat(doc+",", 500), ",") + `]}`)
	b.Run("bulk", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseBulk(raw, &testRules); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("split", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			for range 500 {
				if _, _, err := document.Split([]byte(doc)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

package docfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/table"
)

// all returns what a reader gives, a line for each document.
func all(t *testing.T, r Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		d, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return b.String()
		case err != nil:
			fmt.Fprintf(&b, "end: %v\n", err)
			return b.String()
		case d.Err != nil:
			fmt.Fprintf(&b, "%d! %v\n", d.Line, d.Err)
		default:
			fmt.Fprintf(&b, "%d %s\n", d.Line, d.Raw)
		}
	}
}

func TestReaders(t *testing.T) {
	for _, c := range []struct{ name, format, text, want string }{
		{"lines", FormatLines, "{\"a\":1}\n\n  {\"b\":2}  \r\n{\"c\":3}", "1 {\"a\":1}\n3 {\"b\":2}\n4 {\"c\":3}\n"},
		{"nothing", FormatLines, "\n \n", ""},
		{"broken", FormatLines, "{\"a\":1\n{}\nnull\n", "1! this is no JSON object\n2 {}\n3! this is no JSON object\n"},
		{"arrays", FormatLines, "[{\"a\":1},{\"a\":2}]\n[]\n[3]\n", "1 {\"a\":1}\n1 {\"a\":2}\n3! this is no JSON object\n"},
		{"a header is one in the first line only", FormatLines, "{\"name\":1,\"version\":2,\"mode\":3}\n{\"name\":1,\"version\":2,\"mode\":3}\n", "2 {\"name\":1,\"version\":2,\"mode\":3}\n"},
		{"a document like a header", FormatLines, "{\"_id\":\"x\",\"name\":1,\"version\":2,\"mode\":3}\n", "1 {\"_id\":\"x\",\"name\":1,\"version\":2,\"mode\":3}\n"},
		{"went on", FormatLines, "[{\"a\":1}]\n[{\"a\":{\"marker\":\"@cloudant/couchbackup:resume\"}\n[{\"a\":2}]\n", "1 {\"a\":1}\n3 {\"a\":2}\n"},
		{"array", FormatJSON, " [ {\"a\":1} , 2, {\"b\":\n2} ]", "1 {\"a\":1}\n2! this is no JSON object\n3 {\"b\":\n2}\n"},
		{"dump", FormatJSON, "{\"new_edits\":false,\"docs\":[{\"a\":1}]}", "1 {\"a\":1}\n"},
		{"rows without documents", FormatJSON, "{\"rows\":[{\"id\":\"a\"}]}", "end: after 0 documents: the rows have no documents in them\n"},
		{"cut", FormatJSON, "[{\"a\":1},{\"b\"", "1 {\"a\":1}\nend: after 1 documents: unexpected EOF\n"},
		{"no file of documents", FormatJSON, "{\"x\":[]}", "end: after 0 documents: the answer is not JSON of the form expected\n"},
	} {
		for _, size := range []int{1, 3, 1 << 20} {
			in := io.Reader(&slow{strings.NewReader(c.text), size})
			r := JSONLines(in)
			if c.format == FormatJSON {
				d := JSON(in)
				r = d
				defer d.Close()
			}
			if got := all(t, r); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}

// slow reads a few bytes at once.
type slow struct {
	from io.Reader
	n    int
}

// Read implements io.Reader.
func (s *slow) Read(p []byte) (int, error) { return s.from.Read(p[:min(len(p), s.n)]) }

func TestCSV(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          CSVOptions
		want       string
	}{
		{"texts", "\ufeffa,b\n1,\"x\ny\"\n,\n", CSVOptions{}, "2 {\"a\":\"1\",\"b\":\"x\\ny\"}\n4 {}\n"},
		{"detected", "_id,a,b,c,d,e,f\n1,01,-0,1.0,1e400,123456789012345,1234567890123456\n2,true,null,\"[1]\",t,.5,+1\n", CSVOptions{Detect: true},
			"2 {\"_id\":\"1\",\"a\":\"01\",\"b\":-0,\"c\":1.0,\"d\":\"1e400\",\"e\":123456789012345,\"f\":\"1234567890123456\"}\n3 {\"_id\":\"2\",\"a\":true,\"b\":null,\"c\":[1],\"d\":\"t\",\"e\":\".5\",\"f\":\"+1\"}\n"},
		{"typed", "n,b,j\n12,YES,{}\n12a,1,1\n1,2,1\n1,0,x\n", CSVOptions{Numbers: []string{"n"}, Booleans: []string{"b"}, JSON: []string{"j"}},
			"2 {\"n\":12,\"b\":true,\"j\":{}}\n3! \"n\": \"12a\" is not a number\n4! \"b\": \"2\" is neither true nor false\n5! \"j\": \"x\" is no JSON\n"},
		{"other commas", "a;b\n1;2\n", CSVOptions{Comma: ';'}, "2 {\"a\":\"1\",\"b\":\"2\"}\n"},
		{"cells", "a,b\n1\n1,2,3\n1,2\n", CSVOptions{}, "2! it has 1 cells, and there are 2 columns\n3! it has 3 cells, and there are 2 columns\n4 {\"a\":\"1\",\"b\":\"2\"}\n"},
	} {
		r, err := CSV(strings.NewReader(c.text), c.o)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := all(t, r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, head := range []string{"", "a,,b\n", "a,a\n", "\"a\n"} {
		if _, err := CSV(strings.NewReader(head), CSVOptions{}); err == nil {
			t.Errorf("the header %q is taken", head)
		}
	}
	// A quote that is never closed does not take the rest of the file into memory.
	r, err := newCSV(io.MultiReader(strings.NewReader("a\n\"x"), &endless{}), CSVOptions{}, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, r); !strings.Contains(got, "is a quote missing?") {
		t.Errorf("%.200q", got)
	}
}

// endless is a file without an end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestDynamoDB(t *testing.T) {
	d := &table.Definition{Keys: []string{"k", "s"}, Attributes: map[string]table.Type{"k": "S", "s": "N"}}
	text := `{"Item":{"s":{"N":"10"},"k":{"S":"a:b"},"_x":{"NS":["2","1"]}}}` + "\n" + `{"Item":{"k":{"S":"a"}}}` + "\n" + `{"Item":{"k":{"S":"a"},"s":{"S":"1"}}}` + "\n[]\n{}\n"
	id, err := d.ID("a:b", "10")
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	want := "1 {\"_id\":" + string(quoted) + ",\"s\":10,\"k\":\"a:b\",\"$_x\":{\"$ns\":[1,2]}}\n2! the item has no key attribute s of the table's type\n3! the item has no key attribute s of the table's type\n" +
		"4! this is not a line of an export of DynamoDB, {\"Item\":…}\n5! this is not a line of an export of DynamoDB, {\"Item\":…}\n"
	if got := all(t, DynamoDB(strings.NewReader(text), d)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestDetect(t *testing.T) {
	long := strings.Repeat("x", 2*looked)
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "{}", FormatCSV}, {"A.TSV.gz", "", FormatCSV}, {"a.jsonl", "{\"a\":1}\n{}", FormatLines}, {"a", "", FormatLines}, {"a", "id,name\n", FormatCSV},
		{"a", "[{}]\n[{}]", FormatLines}, {"a", "[\n{}", FormatJSON}, {"a", "[{},\n{}]", FormatJSON}, {"a", "{\"docs\":[{}]}", FormatJSON}, {"a", "{\"_id\":\"x\",\"docs\":[{}]}\n", FormatLines},
		{"a", "{\n\"docs\":[]}", FormatJSON}, {"a", "{\"Item\":{\"a\":{\"S\":\"x\"}}}\n", FormatItems}, {"a", "{\"_id\":\"x\",\"Item\":{}}\n", FormatLines},
		{"a", "{\"a\":\"" + long + "\"}\n", FormatLines}, {"a", "{\"docs\":[{\"a\":\"" + long, FormatJSON}, {"a", "[{\"a\":\"" + long, FormatJSON},
	} {
		if got := Detect(c.name, bufio.NewReaderSize(strings.NewReader(c.text), looked)); got != c.want {
			t.Errorf("%s %.30q: %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

func TestUnpacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{packed.String(), "text"} {
		r, err := Unpacked(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != "text" {
			t.Errorf("%q %v", got, err)
		}
	}
}

// FuzzThereAndBack writes documents in every format and reads them again: they are what they were.
func FuzzThereAndBack(f *testing.F) {
	f.Add([]byte(`{"_id":"a","t":"x\ny,\"","n":[1,{"b":null}]}`))
	f.Add([]byte("{\"a\" :\n1}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var want map[string]any
		if json.Unmarshal(doc, &want) != nil || want == nil {
			return
		}
		for _, format := range []string{FormatLines, FormatBackup} {
			var file bytes.Buffer
			w := WriteLines(&file)
			if format == FormatBackup {
				w, _ = WriteBackup(&file, false)
			}
			for range 3 {
				if err := w.Write(doc); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r := JSONLines(&file)
			for range 3 {
				d, err := r.Next()
				var got map[string]any
				if err != nil || d.Err != nil || json.Unmarshal(d.Raw, &got) != nil || !reflect.DeepEqual(want, got) {
					t.Fatalf("%s: %v %v %s of %s", format, err, d.Err, d.Raw, doc)
				}
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("%s: more is in it: %v", format, err)
			}
		}
	})
}

// TestUnpackedBomb has a few bytes of gzip become many, of which no more are read than a file may have.
func TestUnpackedBomb(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	run := make([]byte, 1<<20)
	for range 2 * freeUnpacked / len(run) {
		if _, err := z.Write(run); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	most := int64(freeUnpacked + maxUnpacked*bomb.Len())
	in, err := Unpacked(&bomb)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, in); err == nil || n > most || !strings.Contains(err.Error(), "unpack the file first") {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestManyColumns reads and writes a record of many columns: who may write a document chooses how many members the records of an
// export have. That their number does not count twice is counted by test/growth.
func TestManyColumns(t *testing.T) {
	const n = 10_000
	var doc strings.Builder
	doc.WriteString(`{"_id":"a"`)
	for i := range n {
		fmt.Fprintf(&doc, `,"m%d":"%d"`, i, i)
	}
	doc.WriteByte('}')
	var file bytes.Buffer
	w, err := WriteCSV(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write([]byte(doc.String())), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := CSV(&file, CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Next(); err != nil || string(got.Raw) != doc.String() {
		t.Errorf("%.100s %v", got.Raw, err)
	}
}

package transfer

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/docfile"
	"github.com/sectional/sectional/internal/table"
)

// client asks a database of the pair without waiting between attempts.
func (p *pair) client(address string) *couchclient.Client {
	c, err := couchclient.New(address, couchclient.Options{Account: couchclient.Account{User: "adm", Password: "pass"}, Transport: p,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// documents makes lines of documents: some with revisions, in conflict, deleted, without ids, with attachments.
func documents(random *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		switch random.IntN(6) {
		case 0:
			fmt.Fprintf(&b, `{"_id":"r%d","_rev":"2-%032x","_revisions":{"start":2,"ids":["%032[2]x","%032x"]},"n":%d}`, i/2, random.IntN(1000), random.IntN(3), i)
		case 1:
			fmt.Fprintf(&b, `{"_id":"r%d","_rev":"1-%032x","_deleted":true}`, i, random.IntN(1000))
		case 2:
			fmt.Fprintf(&b, `{"n":%d}`, i)
		case 3:
			fmt.Fprintf(&b, `{"_id":"a%d","_attachments":{"f":{"content_type":"a/b","data":"%s"}}}`, i, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), random.IntN(5000))))
		default:
			fmt.Fprintf(&b, `{"_id":"d%d","n":%d,"x":{"y":[1.50,"ä"]}}`, i, i)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestImportAgain has answers get lost, requests refused for a while, and runs end at any request: in the end every
// document is there once, and a further run writes nothing.
func TestImportAgain(t *testing.T) {
	for seed := range uint64(4) {
		p := newPair(t, "")
		random := rand.New(rand.NewPCG(seed, 3))
		file := documents(random, 250)
		quiet := false
		faults := make(chan int, 1)
		faults <- 0
		m := &Import{}
		run := func(ctx context.Context) (Imported, error) {
			return m.Run(ctx, docfile.JSONLines(strings.NewReader(file)))
		}
		m.Target = p.faulty("http://a/db", func() int {
			n := <-faults
			defer func() { faults <- n + 1 }()
			if quiet {
				return 0
			}
			return int(seed+uint64(n)*7) % 4
		})
		for end := 1; end < 4; end++ {
			ctx, kill := context.WithCancel(t.Context())
			r := &ending{Reader: docfile.JSONLines(strings.NewReader(file)), left: 60 * end, end: kill}
			if _, err := m.Run(ctx, r); err == nil {
				t.Fatal("it was not ended")
			}
			kill()
		}
		quiet = true
		o, err := run(t.Context())
		if err != nil || o.Rejected != 0 || o.Read != 250 || o.Written+o.Unchanged != 250 || o.Through != 250 {
			t.Fatalf("seed %d: %+v %v", seed, o, err)
		}
		before := feed(t, p.a, "/db")
		if o, err := run(t.Context()); err != nil || o.Rejected != 0 {
			t.Errorf("seed %d, again: %+v %v", seed, o, err)
		}
		if diff := cmp.Diff(before, feed(t, p.a, "/db")); diff != "" {
			t.Errorf("seed %d: a further run changes\n%s", seed, diff)
		}
		// Another database gets the same from the exported file.
		var all bytes.Buffer
		x := &Export{Source: p.client("http://a/db"), Conflicts: true, Deleted: true, Attachments: true}
		if _, err := x.Run(t.Context(), docfile.WriteLines(&all)); err != nil {
			t.Fatal(err)
		}
		if o, err := (&Import{Target: p.client("http://b/copy")}).Run(t.Context(), docfile.JSONLines(&all)); err != nil || o.Rejected != 0 {
			t.Fatalf("%+v %v", o, err)
		}
		p.same()
	}
}

// ending is a reader that ends a run after some documents.
type ending struct {
	docfile.Reader
	left int
	end  func()
}

// Next implements docfile.Reader.
func (e *ending) Next() (docfile.Doc, error) {
	if e.left--; e.left < 0 {
		e.end()
	}
	return e.Reader.Next()
}

// faulty is client whose requests do not all come through: kind says what becomes of the next: 1: it is refused for the
// moment, 2: its answer is lost.
func (p *pair) faulty(address string, kind func() int) *couchclient.Client {
	c, err := couchclient.New(address, couchclient.Options{Account: couchclient.Account{User: "adm", Password: "pass"}, Attempts: 50,
		Transport: carrier(func(q *http.Request) (*http.Response, error) {
			switch kind() {
			case 1:
				if q.Body != nil {
					_ = q.Body.Close()
				}
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: io.NopCloser(strings.NewReader(`{"error":"too_many_requests","reason":"later"}`)), Request: q}, nil
			case 2:
				a, err := p.RoundTrip(q)
				if err == nil {
					_, _ = io.Copy(io.Discard, a.Body)
					_ = a.Body.Close()
					err = io.ErrUnexpectedEOF
				}
				return nil, err
			}
			return p.RoundTrip(q)
		}),
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// carrier is a function that carries requests.
type carrier func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (c carrier) RoundTrip(q *http.Request) (*http.Response, error) { return c(q) }

// TestImportOfExport stores an export of DynamoDB into a table: each item is the document that the DynamoDB API finds.
func TestImportOfExport(t *testing.T) {
	p := newPair(t, "?partitioned=true")
	d := &table.Definition{Keys: []string{"k", "s"}, Attributes: map[string]table.Type{"k": "S", "s": "N"}, Created: time.Unix(0, 0).UTC()}
	body, err := d.Body()
	if err != nil {
		t.Fatal(err)
	}
	p.a.OK("PUT", "/db/"+string(table.DesignID), string(body))
	dir := t.TempDir()
	manifest := ""
	for n := range 2 {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		for i := range 5 {
			if _, err := fmt.Fprintf(w, `{"Item":{"k":{"S":"a:%d"},"s":{"N":"%d"}}}`+"\n", n, i); err != nil {
				t.Fatal(err)
			}
		}
		must(t, w.Close())
		must(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "data", fmt.Sprintf("f%d.json.gz", n)), packed.Bytes(), 0o600))
		sum := md5.Sum(packed.Bytes())
		manifest += fmt.Sprintf(`{"itemCount":5,"md5Checksum":%q,"etag":"x","dataFileS3Key":"exports/AWSDynamoDB/01/data/f%d.json.gz"}`+"\n", base64.StdEncoding.EncodeToString(sum[:]), n)
	}
	must(t, os.WriteFile(filepath.Join(dir, "manifest-files.json"), []byte(manifest), 0o600))
	run := func() (Imported, error) {
		return (&Files{}).Run(t.Context(), &Import{Target: p.client("http://a/db")}, []string{dir})
	}
	if o, err := run(); err != nil || o.Written != 10 {
		t.Fatalf("%+v %v", o, err)
	}
	id, err := d.ID("a:1", "4")
	must(t, err)
	if got := p.a.OK("GET", "/db/"+couchclient.Escape(string(id)), ""); !strings.Contains(got, `"k":"a:1","s":4`) {
		t.Error(got)
	}
	if o, err := run(); err != nil || o.Unchanged != 10 {
		t.Errorf("again: %+v %v", o, err)
	}
	for _, c := range []struct{ old, now, want string }{
		{`"itemCount":5`, `"itemCount":6`, "5 items were in it, and the manifest says 6"},
		{`"md5Checksum":"`, `"md5Checksum":"x`, "the file is not the one of the manifest"},
		{`f1.json.gz`, `f1.ion.gz`, "Amazon Ion"},
		{`"dataFileS3Key"`, `"x"`, "manifest-files.json:1 names no file"},
		{`f1.json.gz`, `none.json.gz`, "no such file"},
	} {
		must(t, os.WriteFile(filepath.Join(dir, "manifest-files.json"), []byte(strings.ReplaceAll(manifest, c.old, c.now)), 0o600))
		if _, err := run(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	must(t, os.Remove(filepath.Join(dir, "manifest-files.json")))
	if o, err := run(); err != nil || o.Unchanged != 10 {
		t.Errorf("without a manifest: %+v %v", o, err)
	}
	if _, err := (&Files{}).Run(t.Context(), &Import{Target: p.client("http://a/db")}, []string{t.TempDir()}); err == nil {
		t.Error("an empty directory is taken")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportHalves finds the documents for which a whole request is refused.
func TestImportHalves(t *testing.T) {
	p := newPair(t, "")
	var rejected []int64
	m := &Import{Target: p.client("http://a/db"), Rejected: func(r Rejected) { rejected = append(rejected, r.Line) }}
	file := documents(rand.New(rand.NewPCG(1, 1)), 20) + `{"_id":"x","_attachments":{"f":{"stub":true}}}` + "\n" + `{"_id":"y","_unknown":1}` + "\n" + `{"_id":"z"}` + "\n"
	o, err := m.Run(t.Context(), docfile.JSONLines(strings.NewReader(file)))
	if err != nil || o.Written != 21 || o.Rejected != 2 {
		t.Errorf("%+v %v", o, err)
	}
	if diff := cmp.Diff([]int64{21, 22}, rejected); diff != "" {
		t.Error(diff)
	}
}

// TestExportGoesOn has pages of an export break off: no document is missing, and none is there twice.
func TestExportGoesOn(t *testing.T) {
	p := newPair(t, "")
	p.fill(0, 1500)
	cuts := 0
	p.after = func(r *http.Request, a *http.Response) {
		if strings.HasSuffix(r.URL.Path, "/_all_docs") && cuts < 4 {
			cuts++
			a.Body = &cutBody{a.Body, []int{300, 500_000, 10, 1_000_000}[cuts-1]}
		}
	}
	var file bytes.Buffer
	o, err := (&Export{Source: p.client("http://a/db")}).Run(t.Context(), docfile.WriteLines(&file))
	if err != nil || o.Written != 1500 || cuts != 4 {
		t.Fatalf("%+v %v, %d cuts", o, err, cuts)
	}
	for i, line := range strings.Split(strings.TrimSpace(file.String()), "\n") {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"_id":"p:%05d",`, i)) {
			t.Fatalf("line %d is %.60s", i, line)
		}
	}
}

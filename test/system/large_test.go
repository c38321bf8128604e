package system

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestLargeAttachment sends a gigabyte in and out. The server never holds more than half of it: it takes about 200 MB, most of it
// the engine's tables in memory and its cache, and twice that on a machine where the collector waits for a processor.
func TestLargeAttachment(t *testing.T) {
	testrun.Long(t)
	const size = 1 << 30
	s := process.Start(t, process.Options{})
	c := ask(s)
	c.http.Timeout = 10 * time.Minute
	c.must(t, 201, "PUT", "/db", "", nil)

	// Random bytes, so that no compression on the way makes it small.
	sum := md5.New()
	in, err := c.request(t.Context(), "PUT", "/db/film/film.bin", io.TeeReader(io.LimitReader(noise(), size), sum))
	if err != nil {
		t.Fatal(err)
	}
	in.ContentLength = size
	in.Header.Set("Content-Type", "application/octet-stream")
	if status, answer, err := c.send(in); err != nil || status != 201 {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	var film struct {
		Attachments map[string]struct {
			Length int64
			Digest string
		} `json:"_attachments"`
	}
	c.must(t, 200, "GET", "/db/film", "", &film)
	digest := "md5-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if stub := film.Attachments["film.bin"]; stub.Length != size || stub.Digest != digest {
		t.Errorf("stored %+v, sent %d bytes of %s", stub, size, digest)
	}
	if got := download(t, c, "/db/film/film.bin", size); !bytes.Equal(got, sum.Sum(nil)) {
		t.Errorf("read bytes of md5 %x, sent %x", got, sum.Sum(nil))
	}
	peak, err := s.Memory("VmHWM")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak memory %.0f MB", float64(peak)/1e6)
	if peak > size/2 && !process.Racing {
		t.Errorf("the server held %.0f MB", float64(peak)/1e6)
	}
}

// noise is a cheap endless stream of bytes that look random.
func noise() io.Reader { return rand.NewChaCha8([32]byte{1}) }

// download reads an attachment and returns its MD5 digest.
func download(t *testing.T, c *client, path string, size int64) []byte {
	r, err := c.request(t.Context(), "GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	sum := md5.New()
	n, err := io.Copy(sum, response.Body)
	if err != nil || n != size || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %d bytes, %v", response.Status, n, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return sum.Sum(nil)
}

// TestDroppingManyDocuments loads documents, a million in long runs, and drops their database, which does not remove them one by
// one.
func TestDroppingManyDocuments(t *testing.T) {
	const perBulk = 5000
	bulks := 20
	if testrun.IsLong() {
		bulks = 200
	}
	s := process.Start(t, process.Options{})
	c := ask(s)
	c.must(t, 201, "PUT", "/large?partitioned=true", "", nil)
	loadBulks(t, c, "/large", bulks, func(n int) []byte {
		var body bytes.Buffer
		body.WriteString(`{"docs":[`)
		for i := range perBulk {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"_id":"p%03d:%07d","n":%d}`, n, n*perBulk+i, i)
		}
		body.WriteString(`]}`)
		return body.Bytes()
	})
	var info struct {
		Count int `json:"doc_count"`
	}
	c.must(t, 200, "GET", "/large", "", &info)
	if info.Count != bulks*perBulk {
		t.Fatalf("%d documents were loaded", info.Count)
	}
	before := logWritten(t, c)
	c.must(t, 200, "DELETE", "/large", "", nil)
	if wrote := logWritten(t, c) - before; wrote > 1<<20 { // of the 20 megabytes and more that removing its rows one by one takes
		t.Errorf("dropping wrote %.0f bytes to the log", wrote)
	}
	c.must(t, 404, "GET", "/large/p000:0000000", "", nil)
	// A database of the same name is empty, whatever is still being cleaned up.
	c.must(t, 201, "PUT", "/large", "", nil)
	c.must(t, 200, "GET", "/large", "", &info)
	if info.Count != 0 {
		t.Errorf("the new database has %d documents", info.Count)
	}
}

// logWritten returns how many bytes the server has written to its write-ahead log.
func logWritten(t *testing.T, c *client) float64 {
	t.Helper()
	r, err := c.request(t.Context(), "GET", "/_node/_local/_prometheus", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, answer, err := c.send(r)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(answer)) {
		if number, ok := strings.CutPrefix(line, "sectional_storage_log_written_bytes_total "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("the metrics tell nothing of the log:\n%s", answer)
	return 0
}

// loadBulks sends the bodies 0 to count-1 to _bulk_docs from a few clients at once.
func loadBulks(t *testing.T, c *client, database string, count int, body func(n int) []byte) {
	t.Helper()
	const clients = 4
	failures := make(chan error, clients)
	for worker := range clients {
		go func() {
			var err error
			for n := worker; n < count && err == nil; n += clients {
				_, err = c.sent("POST", database+"/_bulk_docs", body(n), 201)
			}
			failures <- err
		}()
	}
	for range clients {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

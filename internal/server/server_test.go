package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/script"
)

// running is a server under test.
type running struct {
	t      *testing.T
	base   string
	dynamo string // where the DynamoDB API is, if it is
	said   string // what it printed before it was up
	log    *output
	stop   func() error
}

// quick is a configuration whose passwords cost little: what they cost is not
// tested here.
const quick = "[chttpd_auth]\niterations = 1000\n"

// configured returns the name of an ini file with this text and quick.
func configured(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sectional.ini")
	if err := os.WriteFile(name, []byte(quick+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// start runs a server until it listens.
func start(t *testing.T, o Options) *running {
	t.Helper()
	if o.Config == "" {
		o.Config = configured(t, "")
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	read, write := io.Pipe()
	var log output
	o.Out, o.Log, o.Version = write, &log, "test"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, o)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	r := &running{t: t, log: &log}
	lines := bufio.NewReader(read)
	for r.base == "" || o.DynamoDB != "" && r.dynamo == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server ended at once: %v\n%s", <-ended, log.String())
		}
		r.said += line
		if m := regexp.MustCompile(`^(Sectional|The DynamoDB API).* listens on (http://\S+)`).FindStringSubmatch(line); m != nil && m[1] == "Sectional" {
			r.base = m[2]
		} else if m != nil {
			r.dynamo = m[2]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	stopped := false
	r.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("at the end: %v", err)
		}
		if strings.Contains(log.String(), script.PanicMessage) {
			t.Errorf("the server logged:\n%s", log.String())
		}
	})
	return r
}

// refuses runs a server that must not start and returns the reason.
func refuses(t *testing.T, o Options) error {
	t.Helper()
	o.Out, o.Log = io.Discard, io.Discard
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := Run(ctx, o)
	if err == nil {
		t.Fatal("the server started")
	}
	return err
}

func (r *running) get(path, user, password string) (int, string) {
	r.t.Helper()
	status, body, _ := r.ask("GET", path, "", user, password, nil)
	return status, body
}

// ask makes a request, of nobody if user is "", with further headers, and returns the status, the
// body and the rest of the answer.
func (r *running) ask(method, path, body, user, password string, header http.Header) (int, string, *http.Response) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	maps.Copy(q.Header, header)
	q.Header.Set("Content-Type", "application/json")
	if user != "" {
		q.SetBasicAuth(user, password)
	}
	w, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return w.StatusCode, string(b), w
}

func TestMadeUpAdministrator(t *testing.T) {
	data := t.TempDir()
	r := start(t, Options{Data: data})
	m := regexp.MustCompile(`(?m)^\s*password:?\s+(\S+)$`).FindStringSubmatch(r.said)
	if m == nil || !strings.Contains(r.said, "user: admin") {
		t.Fatalf("no password in %q", r.said)
	}
	if status, body := r.get("/_all_dbs", "admin", m[1]); status != 200 || body != `["_replicator","_users"]`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := r.get("/_all_dbs", "", ""); status != 401 {
		t.Errorf("nobody gets %d", status)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(data, localConfig))
	if err != nil || bytes.Contains(kept, []byte(m[1])) {
		t.Errorf("%v; the file holds the password itself", err)
	}
	if err := refuses(t, Options{Data: data, Listen: "0.0.0.0:0"}); !strings.Contains(err.Error(), "refusing to listen") {
		t.Errorf("beyond this machine: %v", err)
	}
	again := start(t, Options{Data: data})
	if strings.Contains(again.said, "password:") {
		t.Errorf("the second start says %q", again.said)
	}
	if status, _ := again.get("/_all_dbs", "admin", m[1]); status != 200 {
		t.Errorf("the password does not hold: %d", status)
	}
}

// TestNoPasswordWithoutAnAddress holds that a server that can't listen makes up no
// administrator, so that the password is shown when one is needed.
func TestNoPasswordWithoutAnAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := Options{Data: t.TempDir(), Listen: taken.Addr().String(), Config: configured(t, ""), Log: io.Discard}
	var out bytes.Buffer
	o.Out = &out
	if err := Run(t.Context(), o); err == nil || out.Len() > 0 {
		t.Errorf("error %v, printed %q", err, out.String())
	}
	r := start(t, Options{Data: o.Data})
	if !strings.Contains(r.said, "password: ") {
		t.Errorf("the start that succeeds says %q", r.said)
	}
}

func TestNeverBeyondThisMachineWithoutAPassword(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		if err := refuses(t, Options{Data: t.TempDir(), Listen: listen}); !strings.Contains(err.Error(), "refusing to listen") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	start(t, Options{Data: t.TempDir(), Listen: "0.0.0.0:0", User: "adm", Password: "pass"})
}

func TestAdministratorOfTheEnvironment(t *testing.T) {
	data := t.TempDir()
	r := start(t, Options{Data: data, User: "adm", Password: "one"})
	if status, _ := r.get("/_all_dbs", "adm", "one"); status != 200 {
		t.Errorf("got %d", status)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, Options{Data: data, User: "adm", Password: "two"})
	if status, _ := r.get("/_all_dbs", "adm", "two"); status != 200 {
		t.Errorf("the new password: %d", status)
	}
	if status, _ := r.get("/_all_dbs", "adm", "one"); status != 401 {
		t.Errorf("the old password: %d", status)
	}
	if err := refuses(t, Options{Data: t.TempDir(), User: "adm"}); !errors.Is(err, errHalfAdmin) {
		t.Errorf("half an administrator: %v", err)
	}
}

func TestSecondServerOnTheData(t *testing.T) {
	data := t.TempDir()
	start(t, Options{Data: data, User: "adm", Password: "pass"})
	err := refuses(t, Options{Data: data})
	if !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
	if err := Check(context.Background(), data, EngineOptions{}, io.Discard, nil); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("Check beside a server: %v", err)
	}
}

func TestCheck(t *testing.T) {
	data := t.TempDir()
	r := start(t, Options{Data: data, User: "adm", Password: "pass"})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	var out, shown bytes.Buffer
	if err := Check(context.Background(), data, EngineOptions{}, &out, progress.New(&shown, time.Time{})); err != nil || !strings.Contains(out.String(), "sound") {
		t.Errorf("%v %q", err, out.String())
	}
	if !strings.Contains(shown.String(), "checking the indexes of _") || !strings.HasSuffix(shown.String(), "\r\x1b[K") || strings.Contains(shown.String(), "\n") {
		t.Errorf("progress: %q", shown.String())
	}
	if err := Check(context.Background(), filepath.Join(data, "none"), EngineOptions{}, io.Discard, nil); err == nil {
		t.Errorf("a directory that is not there was checked")
	}
}

// TestCheckLooksAtIndexes takes a row out of an index behind the server's back.
func TestCheckLooksAtIndexes(t *testing.T) {
	data := t.TempDir()
	r := start(t, Options{Data: data, User: "adm", Password: "pass"})
	for _, call := range [][3]string{
		{"PUT", "/db", ""},
		{"PUT", "/db/one", `{"a":1}`},
		{"POST", "/db/_index", `{"index":{"fields":["a"]}}`},
		{"PUT", "/db/two", `{"a":2}`},
	} {
		q, err := http.NewRequest(call[0], r.base+call[1], strings.NewReader(call[2]))
		if err != nil {
			t.Fatal(err)
		}
		q.SetBasicAuth("adm", "pass")
		q.Header.Set("Content-Type", "application/json")
		w, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if w.Body.Close(); w.StatusCode > 201 {
			t.Fatal(call, w.Status)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := Check(ctx, data, EngineOptions{}, io.Discard, nil); err != nil {
		t.Fatal(err)
	}
	removeRow(t, data)
	if err := Check(ctx, data, EngineOptions{}, io.Discard, nil); err == nil {
		t.Error("an index without the row of a document is sound")
	}
}

// removeRow removes one of the two rows of field indexes.
func removeRow(t *testing.T, data string) {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	err = e.Update(context.Background(), func(tx kv.Txn) error {
		it, err := tx.Iterate(kv.Range{}, kv.IterOptions{})
		if err != nil {
			return err
		}
		defer it.Close()
		var last []byte
		for rows = 0; it.Next(); {
			if _, _, err := keyspace.FieldRow.Decode(it.Key()); err == nil {
				last = bytes.Clone(it.Key())
				rows++
			}
		}
		return errors.Join(it.Err(), tx.Delete(last))
	})
	if err := errors.Join(err, e.Close()); err != nil || rows != 2 {
		t.Fatal(rows, err)
	}
}

// TestStopEndsFeeds stops a server to which a feed is connected: the feed ends
// in order, and so does the server.
func TestStopEndsFeeds(t *testing.T) {
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass"})
	q, err := http.NewRequest("GET", r.base+"/_db_updates?feed=continuous&heartbeat=60000", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.SetBasicAuth("adm", "pass")
	w, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	lines := bufio.NewScanner(w.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"type":"created"`) {
		t.Fatalf("first line %q", lines.Text())
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if lines.Err() != nil || !strings.Contains(last, "last_seq") {
		t.Errorf("the feed ended with %q, %v", last, lines.Err())
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := makeCertificate(t, dir)
	port := freePort(t)
	ini := fmt.Sprintf("[ssl]\nenable = true\nport = %d\ncert_file = %s\nkey_file = %s\n", port, cert, key)
	start(t, Options{Data: filepath.Join(dir, "data"), Config: configured(t, ini), User: "adm", Password: "pass"})
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	w, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/", port))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var got struct{ CouchDB string }
	if err := json.NewDecoder(w.Body).Decode(&got); err != nil || got.CouchDB != "Welcome" {
		t.Errorf("%v %v", got, err)
	}
	client.CloseIdleConnections()
}

// makeCertificate writes a certificate for this machine and its key.
func makeCertificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestHeadersAreBounded sends headers that are too long.
func TestHeadersAreBounded(t *testing.T) {
	r := start(t, Options{Data: t.TempDir()})
	for length, want := range map[int]int{200 << 10: 200, 300 << 10: 431} {
		q, err := http.NewRequest("GET", r.base+"/_up?x="+strings.Repeat("x", length), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", length, a.StatusCode, want)
		}
	}
}

package system

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// TestTerminationFinishesWhatIsInFlight sends SIGTERM while half a document has arrived and a feed is open: the
// document is stored and acknowledged, and the process ends well in time.
func TestTerminationFinishesWhatIsInFlight(t *testing.T) {
	s := process.Start(t, process.Options{})
	c := ask(s)
	c.must(t, 201, "PUT", "/db", "", nil)
	feed := openFeed(t, c, "/db/_changes?feed=continuous&heartbeat=1000")
	defer feed.close()

	connection, err := net.Dial("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	body := `{"half":1,"other":2}`
	fmt.Fprintf(connection, "PUT /db/doc HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		base64.StdEncoding.EncodeToString([]byte(process.User+":"+process.Password)), len(body))
	answers := bufio.NewReader(connection)
	// The server says "continue" when its handler begins to read: from then on the request is in flight.
	if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(connection, body[:9])
	if err := s.Interrupt(); err != nil {
		t.Fatal(err)
	}
	process.Within(t, 30*time.Second, "the server stops listening", func() bool {
		probe, err := net.Dial("tcp", s.Address)
		if err == nil {
			err = probe.Close()
			return err != nil
		}
		return true
	})
	fmt.Fprint(connection, body[9:])
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusCreated {
		t.Errorf("the document in flight got %s", response.Status)
	}
	code, err := s.Wait(time.Minute)
	if err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}

func TestStoppedServerKeepsItsData(t *testing.T) {
	dir := t.TempDir()
	for generation := 1; generation <= 3; generation++ {
		s := process.Start(t, process.Options{Dir: dir})
		c := ask(s)
		if generation == 1 {
			c.must(t, 201, "PUT", "/db?partitioned=true", "", nil)
		}
		c.must(t, 201, "PUT", fmt.Sprintf("/db/p:%d", generation), `{}`, nil)
		var info struct {
			Count int `json:"doc_count"`
		}
		c.must(t, 200, "GET", "/db/_partition/p", "", &info)
		if info.Count != generation {
			t.Errorf("generation %d sees %d documents", generation, info.Count)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	check(t, dir)
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := process.Start(t, process.Options{Dir: dir})
	second, err := process.Spawn(process.Options{Binary: process.Binary(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	code, err := second.Wait(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if code == 0 || !strings.Contains(second.Output(), "in use") || strings.Contains(second.Output(), "goroutine ") {
		t.Errorf("the second process ended with %d and said:\n%s", code, second.Output())
	}
	ask(first).must(t, 200, "GET", "/_up", "", nil)
}

// TestGeneratedPassword starts a server without naming an administrator.
func TestGeneratedPassword(t *testing.T) {
	dir := t.TempDir()
	s := process.Start(t, process.Options{Dir: dir, Anonymous: true})
	printed := regexp.MustCompile(`(?mi)password:?\s+(\S+)\s*$`)
	found := printed.FindStringSubmatch(s.Output())
	if found == nil {
		t.Fatalf("no password was printed:\n%s", s.Output())
	}
	password := found[1]
	open := ask(s)
	open.user = ""
	open.must(t, 401, "GET", "/_all_dbs", "", nil)
	open.must(t, 401, "PUT", "/db", "", nil)
	open.user, open.password = "admin", password+"x"
	open.must(t, 401, "GET", "/_all_dbs", "", nil)
	open.password = password
	open.must(t, 200, "GET", "/_all_dbs", "", nil)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	again := process.Start(t, process.Options{Dir: dir, Anonymous: true})
	if strings.Contains(again.Output(), password) || printed.MatchString(again.Output()) {
		t.Errorf("the second start prints a password:\n%s", again.Output())
	}
	open.base = again.Base
	open.must(t, 200, "GET", "/_all_dbs", "", nil)
	if err := again.Stop(); err != nil {
		t.Fatal(err)
	}
	if path := fileWith(t, dir, password); path != "" {
		t.Errorf("the password stands in %s", path)
	}
}

// fileWith returns a file below dir that holds the text, or "".
func fileWith(t *testing.T, dir, text string) (found string) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNoGeneratedPasswordBeyondLoopback(t *testing.T) {
	address, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := process.Spawn(process.Options{Binary: process.Binary(), Dir: t.TempDir(), Listen: "0.0.0.0:" + port, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := s.Wait(time.Minute); err != nil || code == 0 || !strings.Contains(s.Output(), "COUCHDB_PASSWORD") {
		t.Errorf("exit code %d, %v:\n%s", code, err, s.Output())
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	}
}

func TestChangedPasswordTakesEffect(t *testing.T) {
	dir := t.TempDir()
	for _, password := range []string{"first", "second", "second"} {
		s := process.Start(t, process.Options{Dir: dir, Env: []string{"COUCHDB_USER=ada", "COUCHDB_PASSWORD=" + password}, Anonymous: true})
		c := ask(s)
		for _, tried := range []string{"first", "second"} {
			want := 401
			if tried == password {
				want = 200
			}
			c.user, c.password = "ada", tried
			c.must(t, want, "GET", "/_all_dbs", "", nil)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// openedFeed is a feed that stays open; each line arrives in lines, which is closed at the feed's end.
type openedFeed struct {
	lines chan string
	close func()
}

// openFeed opens a feed and returns when the server has answered its head.
func openFeed(t testing.TB, c *client, path string) openedFeed {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := c.request(ctx, "GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlimited := &http.Client{Transport: c.http.Transport}
	response, err := unlimited.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s", path, response.Status)
	}
	f := openedFeed{lines: make(chan string, 1000), close: cancel}
	go func() {
		defer close(f.lines)
		defer cancel()
		// The end of the feed is all that its readers want to know of an error.
		defer func() { _ = response.Body.Close() }()
		in := bufio.NewScanner(response.Body)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			if line := strings.TrimSpace(in.Text()); line != "" {
				select {
				case f.lines <- line:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return f
}

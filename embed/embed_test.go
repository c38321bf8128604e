package embed_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sectional/sectional/embed"
)

// ask sends a request as the administrator and returns status and body.
func ask(t *testing.T, s *embed.Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(s.User, s.Password)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, strings.TrimSpace(string(text))
}

func start(t *testing.T, o embed.Options) *embed.Server {
	t.Helper()
	s, err := embed.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestInMemory has two servers in this process, each with its own data, settings and design functions.
func TestInMemory(t *testing.T) {
	a := start(t, embed.Options{Settings: map[string]map[string]string{"couchdb": {"max_document_size": "100"}}})
	b := start(t, embed.Options{User: "me", Password: "mine", DynamoDB: "127.0.0.1:0"})
	for _, s := range []*embed.Server{a, b} {
		if status, body := ask(t, s, "PUT", "/db?partitioned=true", ""); status != 201 {
			t.Fatal(status, body)
		}
		if status, body := ask(t, s, "PUT", "/db/_design/d", `{"validate_doc_update":"function(d){if(d.no)throw({forbidden:'no'})}"}`); status != 201 && s == b {
			t.Fatal(status, body)
		}
	}
	if status, body := ask(t, b, "PUT", "/db/p:1", `{"no":true}`); status != 403 {
		t.Errorf("a validation function: %d %s", status, body)
	}
	if status, body := ask(t, a, "PUT", "/db/p:1", `{"long":"`+strings.Repeat("x", 100)+`"}`); status != 413 {
		t.Errorf("a setting: %d %s", status, body)
	}
	if status, body := ask(t, b, "GET", "/db/p:1", ""); status != 404 {
		t.Errorf("the other server's data: %d %s", status, body)
	}
	if a.User != "admin" || len(a.Password) < 20 || a.DynamoDB != "" || !strings.HasPrefix(b.DynamoDB, "http://127.0.0.1:") {
		t.Errorf("%+v, %+v", a, b)
	}
	if got, err := http.Get(b.Authorized() + "/_all_dbs"); err != nil || got.StatusCode != 200 {
		t.Errorf("with the password in the address: %v %v", got, err)
	}
}

// TestOnDisk finds what another server left, and starts none where one runs.
func TestOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := embed.Start(t.Context(), embed.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, first, "PUT", "/db", "")
	ask(t, first, "PUT", "/db/doc", `{"n":1}`)
	if _, err := embed.Start(t.Context(), embed.Options{Dir: dir}); err == nil {
		t.Error("two servers have one directory")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if status, body := ask(t, start(t, embed.Options{Dir: dir}), "GET", "/db/doc", ""); status != 200 || !strings.Contains(body, `"n":1`) {
		t.Errorf("after a restart: %d %s", status, body)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, stop := context.WithCancel(t.Context())
	s, err := embed.Start(ctx, embed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if r, err := http.Get(s.URL); err == nil {
		t.Errorf("still answers: %d", r.StatusCode)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for says, o := range map[string]embed.Options{
		"nowhere": {Listen: "nowhere"}, "User and Password": {User: "half"}, "-1": {Listen: "0.0.0.0:-1"},
		"not a directory": {Dir: file}, "file/data": {Dir: filepath.Join(file, "data")}, "colon": {User: "a:b", Password: "c"},
	} {
		_, err := embed.Start(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func ExampleStart() {
	s, err := embed.Start(context.Background(), embed.Options{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	answer, err := http.Get(s.URL + "/_up")
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 200 OK
}

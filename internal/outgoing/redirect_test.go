package outgoing

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestRedirectedWithoutCredentials has a server redirect to itself, to another port and
// to another name of itself, and from there back: only the first host sees headers.
func TestRedirectedWithoutCredentials(t *testing.T) {
	var seen []string
	note := func(r *http.Request) {
		names := slices.Sorted(maps.Keys(r.Header))
		seen = append(seen, r.URL.Path+" "+strings.Join(slices.DeleteFunc(names, func(n string) bool {
			return n == "Accept-Encoding" || n == "User-Agent" || n == "Content-Length" || n == "Referer"
		}), ","))
	}
	var first *httptest.Server
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		if r.URL.Path == "/on" {
			http.Redirect(w, r, first.URL+"/end", http.StatusTemporaryRedirect)
		}
	}))
	defer other.Close()
	first = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	defer first.Close()
	client := http.Client{CheckRedirect: Redirected}
	const all, bare = "Accept,Authorization,Content-Type,Cookie,X-Api-Key", "Accept,Content-Type"
	for to, want := range map[string]string{
		"/end":             "/begin " + all + " /end " + all,
		other.URL + "/end": "/begin " + all + " /end " + bare,
		other.URL + "/on":  "/begin " + all + " /on " + bare + " /end " + all,
		strings.Replace(first.URL, "127.0.0.1", "localhost", 1) + "/end": "/begin " + all + " /end " + bare,
	} {
		seen = nil
		r, err := http.NewRequestWithContext(t.Context(), "POST", first.URL+"/begin?to="+to, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(all, ",") {
			r.Header.Set(name, "secret")
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("to %s: %s, want %s", to, got, want)
		}
	}
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }))
	defer loop.Close()
	if a, err := client.Get(loop.URL); err == nil {
		a.Body.Close()
		t.Error("a loop of redirections came to an end")
	}
}

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://h", "http://H:80/x", true}, {"https://h:443", "https://h", true}, {"http://h", "https://h", false}, {"https://h", "http://h", false},
		{"http://h:81", "http://h", false}, {"http://sub.h", "http://h", false}, {"http://[::1]:5984/a", "http://[::1]:5984/b", true},
	} {
		a, _ := http.NewRequest("GET", c.a, nil)
		b, _ := http.NewRequest("GET", c.b, nil)
		if sameOrigin(a.URL, b.URL) != c.same {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
}

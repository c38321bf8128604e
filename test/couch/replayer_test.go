package couch

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The replayer itself is held to what it must notice: a comparison that passes everything would prove nothing.

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		want, got string
		agree     bool
	}{
		{`1`, `1.0`, true},
		{`1e3`, `1000`, true},
		{`1`, `true`, false},
		{`"1"`, `1`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`null`, `false`, false},
		{`[1,2]`, `[1,2,3]`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`"«any»"`, `{"a":[]}`, true},
		{`"1-«h1»"`, `"1-abc"`, true},
		{`["1-«h1»","1-«h1»"]`, `["1-abc","1-abc"]`, true},
		{`["1-«h1»","1-«h1»"]`, `["1-abc","1-abd"]`, false},
		{`{"«h1»":1}`, `{"«h1»":1}`, true},
		{`["«seq1»","«seq1»-x"]`, `[5,"5-x"]`, true},
		{`"a.c"`, `"abc"`, false},
		{`"x«any»y"`, `"xy"`, true},
		{`"x«h1»y"`, `"xy"`, false},
	} {
		want, err := decode([]byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode([]byte(c.got))
		if err != nil {
			t.Fatal(err)
		}
		if err := (bindings{}).match(want, got, "body"); (err == nil) != c.agree {
			t.Errorf("want %s, got %s: %v", c.want, c.got, err)
		}
	}
}

// TestReplayNotices sends one small scenario to servers that each do one thing wrong.
func TestReplayNotices(t *testing.T) {
	s := scenario{Name: "put and get", Steps: []step{
		{request{Method: "PUT", Path: "/«db»/a%2Fb", JSON: json.RawMessage(`{"n":1}`)}, response{Status: 201, Headers: map[string]string{"etag": `"«h1»"`}, JSON: json.RawMessage(`{"rev":"«h1»"}`)}},
		{request{Method: "GET", Path: "/«db»/a%2Fb?rev=«h1»"}, response{Status: 200, Lines: []json.RawMessage{json.RawMessage(`{"n":1}`)}}},
	}}
	for wrong, shows := range map[string]string{
		"":       "",
		"status": "step 1",
		"header": "header etag",
		"body":   "step 2",
		"lines":  "want 1 lines",
	} {
		t.Run(wrong, func(t *testing.T) {
			server := httptest.NewServer(imitation(t, wrong))
			defer server.Close()
			err := replayer{address: server.Listener.Addr().(*net.TCPAddr).String()}.replay(s, nil)
			if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), shows) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// imitation answers the scenario above, wrong in one way.
func imitation(t *testing.T, wrong string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `{"n":1}` + "\n\n"
		switch {
		case r.Method == "DELETE":
		case r.Method == "PUT":
			if !strings.HasSuffix(r.URL.EscapedPath(), "/a%2Fb") || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("arrived as %s with %v", r.URL.EscapedPath(), r.Header)
			}
			etag := `"1-x"`
			if wrong == "header" {
				etag = `"1-y`
			}
			w.Header().Set("Etag", etag)
			if wrong != "status" {
				w.WriteHeader(http.StatusCreated)
			}
			answer = `{"rev":"1-x"}`
		case r.URL.Query().Get("rev") != "1-x":
			t.Errorf("rev is %q", r.URL.Query().Get("rev"))
		case wrong == "body":
			answer = `{"n":2}`
		case wrong == "lines":
			answer += answer
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	})
}

func TestDepartures(t *testing.T) {
	d := departures{2: {Number: 7, Shows: "want 200, got 501"}}
	for _, c := range []struct {
		step    int
		outcome error
		passes  bool
	}{
		{1, nil, true},
		{1, errors.New("want 200, got 501"), false},
		{2, errors.New("GET /x: want 200, got 501 {}"), true},
		{2, errors.New("GET /x: want 200, got 404 {}"), false},
		{2, nil, false},
	} {
		if err := d.judge(c.step, c.outcome); (err == nil) != c.passes {
			t.Errorf("step %d, %v: %v", c.step, c.outcome, err)
		}
	}
}

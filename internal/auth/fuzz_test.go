package auth

import (
	"bytes"
	"encoding/json"
	"testing"
)

// Whatever a client sends, it gets a caller or a clear refusal, and it is not
// somebody unless it has the password, the secret or a key.
func FuzzCredentials(f *testing.F) {
	f.Add("Basic amFuOnB3", "", "")
	f.Add("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqYW4ifQ.", "AuthSession=amFuOjY3NzQ4NTgwOmFiYw", "a")
	f.Add("basic Og==", `AuthSession="x"; AuthSession=y`, "jan")
	f.Fuzz(func(t *testing.T, authorization, cookies, user string) {
		w := newOpenWorld(t)
		w.users["jan"] = `{"name":"jan","password_scheme":"pbkdf2","salt":"s","derived_key":"00","iterations":1}`
		id, err := w.Authenticate(t.Context(), request("Authorization", authorization, "Cookie", cookies,
			"X-Auth-CouchDB-UserName", user, "X-Auth-CouchDB-Token", user))
		if err == nil && !id.Caller.Anonymous() {
			t.Errorf("%q, %q and %q make %+v", authorization, cookies, user, id.Caller)
		}
		if got := refusal(err); err != nil && (len(got) < 4 || got[0] != '4') {
			t.Errorf("%q, %q and %q: %v", authorization, cookies, user, err)
		}
	})
}

// A _security object that is accepted reads back as itself, and opens nothing
// that its text does not open.
func FuzzSecurity(f *testing.F) {
	f.Add([]byte(`{"admins":{"names":["x"]},"note":1.0,"members":{"roles":["y"]}}`))
	f.Add([]byte(`{"readers":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSecurity(text)
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, s.JSON()); err != nil {
			t.Fatalf("%s: %v", s.JSON(), err)
		}
		again, err := ParseSecurity(compact.Bytes())
		if err != nil || again.Public() != s.Public() {
			t.Errorf("%s reads back as %v, %v", text, again, err)
		}
		if s.Check(&Caller{}, DatabaseAdmin) == nil {
			t.Errorf("%s makes everybody an administrator", text)
		}
	})
}

// A user document that passes the rules can be used for authentication.
func FuzzUserRules(f *testing.F) {
	f.Add([]byte(`{"name":"jan","type":"user","roles":[],"password":"pw"}`))
	f.Add([]byte(`{"name":"jan","type":"user","roles":["a"],"password_scheme":"pbkdf2","iterations":1,"derived_key":""}`))
	for members := range unusable {
		f.Add([]byte(`{"name":"jan","type":"user","roles":[],` + members + `}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := newWorld(t)
		stored, err := w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + "jan", Body: body,
			Caller: admin(), Security: DefaultSecurity("")})
		if err != nil {
			return
		}
		if _, ok := parseObject(stored); !ok {
			t.Fatalf("%s became %s", body, stored)
		}
		u, err := ParseUser(stored)
		if err != nil {
			t.Fatalf("%s can't be used: %v", stored, err)
		}
		if u.Name != "jan" {
			t.Errorf("%s is of %q", stored, u.Name)
		}
	})
}

// The object parser agrees with encoding/json about what an object is, and its
// encoding says the same.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":1.0,"b":{"c":[]},"é<":null}`))
	f.Add([]byte("{}\f")) // not JSON's white space
	f.Fuzz(func(t *testing.T, text []byte) {
		o, ok := parseObject(text)
		if !ok {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		again, ok := parseObject(o.encode())
		if !ok || len(again) != len(o) {
			t.Fatalf("%q became %q", text, o.encode())
		}
		for i := range o {
			if o[i].name != again[i].name || !bytes.Equal(o[i].value, again[i].value) {
				t.Errorf("%q became %q", text, o.encode())
			}
		}
	})
}

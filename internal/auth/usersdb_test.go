package auth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

func TestUserRules(t *testing.T) {
	jan, eve, boss := &Caller{Name: "jan"}, &Caller{Name: "eve"}, &Caller{Name: "boss"}
	const old = `{"name":"jan","type":"user","roles":["a","b"]}`
	const hashed = `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":10,"derived_key":"x","salt":"s"}`
	const ownVerifier = "403: Only _admin may edit the hash of a password"
	for _, c := range []struct {
		name   string
		caller *Caller
		id     string // empty: jan's
		body   string
		old    string
		want   string
	}{
		{"no type", admin(), "", `{"name":"jan","roles":[]}`, "", "403: doc.type must be user"},
		{"other type", admin(), "", `{"name":"jan","type":"person","roles":[]}`, "", "403: doc.type must be user"},
		{"no name", admin(), "", `{"type":"user","roles":[]}`, "", "403: doc.name is required"},
		{"name is a number", admin(), "", `{"name":5,"type":"user","roles":[]}`, "", "403: doc.name is required"},
		{"no roles", admin(), "", `{"name":"jan","type":"user"}`, "", "403: doc.roles must exist"},
		{"roles null", admin(), "", `{"name":"jan","type":"user","roles":null}`, "", "403: doc.roles must exist"},
		{"roles a string", admin(), "", `{"name":"jan","type":"user","roles":"a"}`, "", "403: doc.roles must be an array"},
		{"roles of numbers", admin(), "", `{"name":"jan","type":"user","roles":[1]}`, "", "403: doc.roles can only contain strings"},
		{"other name", admin(), "", `{"name":"janx","type":"user","roles":[]}`, "", "403: Doc ID must be of the form org.couchdb.user:name"},
		{"other id", admin(), "jan", `{"name":"jan","type":"user","roles":[]}`, "", "403: Doc ID must be of the form org.couchdb.user:name"},
		{"system role", admin(), "", `{"name":"jan","type":"user","roles":["_admin"]}`, "",
			"403: No system roles (starting with underscore) in users db."},
		{"system role among others", admin(), "", `{"name":"jan","type":"user","roles":["ok","_x"]}`, "",
			"403: No system roles (starting with underscore) in users db."},
		{"metrics role", admin(), "", `{"name":"jan","type":"user","roles":["_metrics"]}`, "", ""},
		{"underscore", admin(), UserPrefix + "_jan", `{"name":"_jan","type":"user","roles":[]}`, "", "403: Username may not start with underscore."},
		{"colon", admin(), UserPrefix + "a:b", `{"name":"a:b","type":"user","roles":[]}`, "", "403: Character `:` is not allowed in usernames."},
		{"renamed", admin(), "", `{"name":"jan","type":"user","roles":[]}`, `{"name":"old"}`, "403: Usernames can not be changed."},
		{"sha without salt", admin(), "", `{"name":"jan","type":"user","roles":[],"password_sha":"x"}`, "",
			"403: Users with password_sha must have a salt.See /_utils/script/couch.js for example code."},
		{"scheme", admin(), "", `{"name":"jan","type":"user","roles":[],"password_scheme":"md5"}`, "", "403: Password scheme `md5` not supported."},
		{"no iterations", admin(), "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","derived_key":"x"}`, "",
			"403: iterations must be a number."},
		{"iterations as text", admin(), "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":"5","derived_key":"x"}`, "",
			"403: iterations must be a number."},
		{"no key", admin(), "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":5}`, "",
			"403: derived_key must be a string."},
		{"dear iterations", admin(), "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":1e9,"derived_key":"x"}`, "",
			"403: Iteration count is too high for this server"},
		{"own verifier", admin(), "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":10,"derived_key":"x","salt":"s"}`, "", ""},
		{"database admin brings a verifier", boss, "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":10,"derived_key":"x","salt":"s"}`, "", ownVerifier},
		{"password 5", admin(), "", `{"name":"jan","type":"user","roles":[],"password":5}`, "", "403: Password value of '5' is invalid."},
		{"password object", admin(), "", `{"name":"jan","type":"user","roles":[],"password":{"a":1}}`, "",
			`403: Password value of '{[{<<"a">>,1}]}' is invalid.`},
		{"password list", admin(), "", `{"name":"jan","type":"user","roles":[],"password":["a",true]}`, "",
			`403: Password value of '[<<"a">>,true]' is invalid.`},
		{"no object", admin(), "", `[]`, "", "400: Document must be a JSON object"},

		{"signs up", &Caller{}, "", `{"name":"jan","type":"user","roles":[]}`, "", ""},
		{"signs up with roles", &Caller{}, "", `{"name":"jan","type":"user","roles":["a"]}`, "", "403: Only _admin may set roles"},
		{"nobody updates", &Caller{}, "", `{"name":"jan","type":"user","roles":["a","b"]}`, old, "403: You may only update your own user document."},
		{"updates himself", jan, "", `{"name":"jan","type":"user","roles":["b","a"],"town":"Ulm"}`, old, ""},
		{"takes a role", jan, "", `{"name":"jan","type":"user","roles":["a","b","c"]}`, old, "403: Only _admin may edit roles"},
		{"changes a role", jan, "", `{"name":"jan","type":"user","roles":["a","c"]}`, old, "403: Only _admin may edit roles"},
		{"somebody else", eve, "", `{"name":"jan","type":"user","roles":["a","b"]}`, old, "404: missing"},
		{"somebody else signs up", eve, "", `{"name":"jan","type":"user","roles":[]}`, "", "404: missing"},
		{"signs up with a verifier", &Caller{}, "", `{"name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":10,"derived_key":"x","salt":"s"}`, "", ownVerifier},
		{"signs up with an old verifier", &Caller{}, "", `{"name":"jan","type":"user","roles":[],"password_sha":"x","salt":"s"}`, "", ownVerifier},
		{"signs up with a salt", &Caller{}, "", `{"name":"jan","type":"user","roles":[],"salt":"s"}`, "", ownVerifier},
		{"signs up with nothing for a verifier", &Caller{}, "", `{"name":"jan","type":"user","roles":[],"salt":"","derived_key":null}`, "", ""},
		{"keeps his verifier", jan, "", `{"derived_key":"x","name":"jan","type":"user","roles":[],"password_scheme":"pbkdf2","iterations":1e1,"salt":"\u0073"}`, hashed, ""},
		{"drops his verifier", jan, "", `{"name":"jan","type":"user","roles":[]}`, hashed, ""},
		{"takes another salt", jan, "", strings.Replace(hashed, `"s"`, `"t"`, 1), hashed, ownVerifier},
		{"takes another key", jan, "", strings.Replace(hashed, `"x"`, `"y"`, 1), hashed, ownVerifier},
		{"takes fewer iterations", jan, "", strings.Replace(hashed, "10", "9", 1), hashed, ownVerifier},
		{"drops the key alone", jan, "", `{"name":"jan","type":"user","roles":[],"salt":"s"}`, hashed, ownVerifier},
		{"database admin gives roles", boss, "", `{"name":"jan","type":"user","roles":["c"]}`, old, ""},
		{"design document", eve, "_design/x", `{"views":{}}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.id == "" {
				c.id = UserPrefix + "jan"
			}
			write := UserWrite{DB: UsersDB, ID: c.id, Body: json.RawMessage(c.body), Caller: c.caller,
				Security: parsed(t, `{"admins":{"names":["boss"]}}`)}
			if c.old != "" {
				write.Old = json.RawMessage(c.old)
			}
			body, err := w.BeforeUserWrite(t.Context(), write)
			if refusal(err) != c.want {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err == nil && string(body) != c.body {
				t.Errorf("%s became %s", c.body, body)
			}
		})
	}
}

func TestUserDeletion(t *testing.T) {
	const old = `{"name":"jan","type":"user","roles":[]}`
	const refused = "403: Only admins may delete other user docs."
	for _, c := range []struct {
		name   string
		caller *Caller
		old    string
		want   string
	}{
		{"administrator", admin(), old, ""},
		{"owner", &Caller{Name: "jan"}, old, ""},
		{"nobody", &Caller{}, old, refused},
		{"nobody, of a document without a name", &Caller{}, `{}`, refused},
		{"somebody else", &Caller{Name: "eve"}, old, "404: missing"},
		{"database admin", &Caller{Name: "boss"}, old, refused},
	} {
		w := newWorld(t)
		_, err := w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + "jan", Body: json.RawMessage(`{}`), Deleted: true,
			Old: json.RawMessage(c.old), Caller: c.caller, Security: parsed(t, `{"admins":{"names":["boss"]}}`)})
		if refusal(err) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestPasswordIsReplacedByItsVerifier(t *testing.T) {
	w := newWorld(t)
	write := func(body string) string {
		t.Helper()
		out, err := w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + "jan", Body: json.RawMessage(body),
			Caller: admin(), Security: DefaultSecurity("")})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	stored := write(`{"name":"jan","big":1.000,"password":"pw","salt":"mine","iterations":"x","roles":["x"],"type":"user","town":"Ulm"}`)
	u, err := ParseUser([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	v := u.Verifier
	want := `{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"` + v.Salt + `","iterations":2,"derived_key":"` +
		v.Key + `","name":"jan","big":1.000,"roles":["x"],"type":"user","town":"Ulm"}`
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Error(diff)
	}
	if len(v.Salt) != 32 || len(v.Key) != 64 {
		t.Errorf("salt %s, key %s", v.Salt, v.Key)
	}
	if ok, err := v.matches("pw"); !ok || err != nil {
		t.Errorf("the password does not match: %v", err)
	}
	again := write(`{"name":"jan","password":"pw","roles":[],"type":"user","salt":"mine","preserve_salt":true}`)
	if strings.Contains(again, "mine") || strings.Contains(again, "preserve_salt") {
		t.Errorf("the salt is the client's: %s", again)
	}
	if null := write(`{"name":"jan","password":null,"roles":[],"type":"user"}`); !strings.Contains(null, `"password":null`) {
		t.Errorf("null is a password: %s", null)
	}
}

func TestUserVisibility(t *testing.T) {
	const body = `{"salt":"s","name":"jan","town":"Ulm","age":1.0}`
	open := parsed(t, `{"admins":{"names":["boss"]}}`)
	for _, c := range []struct {
		name   string
		caller *Caller
		id     string
		public string
		want   string
	}{
		{"administrator", admin(), "jan", "", body},
		{"database admin", &Caller{Name: "boss"}, "jan", "", body},
		{"owner", &Caller{Name: "jan"}, "jan", "", body},
		{"somebody else", &Caller{Name: "eve"}, "jan", "", "404: missing"},
		{"nobody", &Caller{}, "jan", "", "404: missing"},
		{"nobody is not the user without a name", &Caller{}, "", "", "404: missing"},
		{"public fields", &Caller{}, "jan", "age, town, phone", `{"age":1.0,"town":"Ulm"}`},
		{"other public fields", &Caller{}, "jan", "phone", "404: missing"},
	} {
		w := newWorld(t, config.Setting{Section: section, Key: "public_fields", Value: c.public})
		got, err := w.AfterUserRead(UserRead{ID: UserPrefix + c.id, Body: json.RawMessage(body), Caller: c.caller, Security: open})
		if string(got)+refusal(err) != c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
	w := newWorld(t)
	_, err := w.AfterUserRead(UserRead{ID: "_design/_auth", Caller: &Caller{Name: "jan"}, Security: open})
	if refusal(err) != "403: Only administrators can view design docs in the users database." {
		t.Errorf("design document: %v", err)
	}
}

func TestUsersSecurityIsClosed(t *testing.T) {
	w := newWorld(t)
	if err := w.CheckUsersSecurity(); refusal(err) != "403: You can't edit the security object of the user database." {
		t.Errorf("got %v", err)
	}
	w.set(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	if err := w.CheckUsersSecurity(); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestPasswordPolicy(t *testing.T) {
	const broken = "403: Server cannot hash passwords at this time."
	const plain = "400: Password does not conform to requirements."
	for _, c := range []struct{ setting, password, want string }{
		{``, "", ""},
		{`[]`, "", ""},
		{`["[a-z]+"]`, "A", plain},
		{`["[a-z]+", {"\\d"}]`, "a", plain},
		{`["[a-z]+", {"\\d"}]`, "a1", ""},
		{`[{".{5,}", "Five or more."}, "x"]`, "abc", plain + " Five or more."},
		{`[{".{5,}", "Say \"five\"."}]`, "abc", plain + ` Say "five".`},
		{`[{".{5,}", "Five."}, "x"]`, "abcdefx", ""},
		{`["(?=x)"]`, "x", broken},
		{`["a" "b"]`, "ab", broken},
		{`["a"`, "a", broken},
		{`"a"`, "a", broken},
		{`[{"a","b"]`, "a", broken},
		{`["a"] x`, "a", broken},
		{`["a`, "a", broken},
		{`["a\`, "a", broken},
	} {
		if got := refusal(parsePolicy(c.setting).check(c.password)); got != c.want {
			t.Errorf("%s, %q: %q", c.setting, c.password, got)
		}
	}
	w := newWorld(t, config.Setting{Section: section, Key: "password_regexp", Value: `[{".{5,}", "Five."}]`})
	_, err := w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + "jan", Caller: admin(), Security: DefaultSecurity(""),
		Body: json.RawMessage(`{"name":"jan","type":"user","roles":[],"password":"abc"}`)})
	if refusal(err) != plain+" Five." {
		t.Errorf("got %v", err)
	}
}

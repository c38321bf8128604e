package auth

import "testing"

func parsed(t *testing.T, text string) *Security {
	t.Helper()
	s, err := ParseSecurity([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSecurityKeepsWhatIsPut(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"admins":{"names":["x"]},"note":"kept","members":{}}`,
		`{"cloudant":{"key":["_reader"]},"couchdb_auth_only":true,"note":5.00,"members":{"roles":[],"extra":1}}`,
	} {
		if got := string(parsed(t, text).JSON()); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestSecurityRefuses(t *testing.T) {
	const names = "400: names must be a JSON list of strings"
	const roles = "400: roles must be a JSON list of strings"
	const group = "400: admins or members must be a JSON object"
	const object = "400: Request body must be a JSON object"
	for text, want := range map[string]string{
		``: "400: invalid UTF-8 JSON", `{`: "400: invalid UTF-8 JSON", "{\"a\":\"\xff\"}": "400: invalid UTF-8 JSON",
		`[]`: object, `"x"`: object, `5`: object, `{"a":1,"a":2}`: object,
		`{"admins":5}`: group, `{"admins":[]}`: group, `{"members":"x"}`: group, `{"readers":1}`: group,
		`{"admins":{"names":"ann"}}`: names, `{"admins":{"names":[5]}}`: names, `{"members":{"names":{}}}`: names,
		`{"admins":{"roles":"r"}}`: roles, `{"members":{"roles":[null]}}`: roles,
	} {
		if _, err := ParseSecurity([]byte(text)); refusal(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSecurityCheck(t *testing.T) {
	const (
		notAuthorized = "401: You are not authorized to access this db."
		notAllowed    = "403: You are not allowed to access this db."
		notAdmin      = "403: You are not a db or server admin."
		notAdmin401   = "401: You are not a db or server admin."
		notMaintainer = "401: You are not a server or db admin."
	)
	const closed = `{"admins":{"names":["boss"],"roles":["chiefs"]},"members":{"names":["mem"],"roles":["crew"]}}`
	const public = `{"admins":{"names":["boss"]},"members":{"names":[],"roles":[]}}`
	for _, c := range []struct {
		name     string
		security *Security
		caller   Caller
		want     [3]string // Reader, DatabaseAdmin, Maintainer
	}{
		{"closed: nobody", parsed(t, closed), Caller{}, [3]string{notAuthorized, notAuthorized, notAuthorized}},
		{"closed: other", parsed(t, closed), Caller{Name: "x", Roles: []string{"y"}}, [3]string{notAllowed, notAllowed, notAllowed}},
		{"closed: member by name", parsed(t, closed), Caller{Name: "mem"}, [3]string{"", notAdmin, notMaintainer}},
		{"closed: member by role", parsed(t, closed), Caller{Name: "x", Roles: []string{"crew"}}, [3]string{"", notAdmin, notMaintainer}},
		{"closed: admin by name", parsed(t, closed), Caller{Name: "boss"}, [3]string{}},
		{"closed: admin by role", parsed(t, closed), Caller{Name: "x", Roles: []string{"chiefs"}}, [3]string{}},
		{"closed: server admin", parsed(t, closed), *admin(), [3]string{}},
		{"public: nobody", parsed(t, public), Caller{}, [3]string{"", notAdmin401, notMaintainer}},
		{"public: somebody", parsed(t, public), Caller{Name: "x"}, [3]string{"", notAdmin, notMaintainer}},
		{"public: admin", parsed(t, public), Caller{Name: "boss"}, [3]string{}},
		{"empty: nobody", parsed(t, `{}`), Caller{}, [3]string{"", notAdmin401, notMaintainer}},
		{"readers: nobody", parsed(t, `{"readers":{"names":["a"]}}`), Caller{}, [3]string{notAuthorized, notAuthorized, notAuthorized}},
		{"readers: reader", parsed(t, `{"readers":{"names":["a"]}}`), Caller{Name: "a"}, [3]string{"", notAdmin, notMaintainer}},
		{"an empty name is nobody", parsed(t, `{"members":{"names":[""]}}`), Caller{}, [3]string{notAuthorized, notAuthorized, notAuthorized}},
		{"default: nobody", DefaultSecurity("admin_only"), Caller{}, [3]string{notAuthorized, notAuthorized, notAuthorized}},
		{"default: server admin", DefaultSecurity("admin_only"), *admin(), [3]string{}},
		{"everyone: nobody", DefaultSecurity("everyone"), Caller{}, [3]string{"", notAdmin401, notMaintainer}},
	} {
		for r, want := range c.want {
			if got := refusal(c.security.Check(&c.caller, Right(r))); got != want {
				t.Errorf("%s, right %d: %q, want %q", c.name, r, got, want)
			}
		}
	}
}

// What DefaultSecurity says must be what its text says.
func TestDefaultSecurityIsItsText(t *testing.T) {
	for _, setting := range []string{"admin_only", "everyone", "nonsense"} {
		s := DefaultSecurity(setting)
		again := parsed(t, string(s.JSON()))
		for _, c := range []Caller{{}, {Name: "x"}, *admin()} {
			if s.IsMember(&c) != again.IsMember(&c) || s.IsAdmin(&c) != again.IsAdmin(&c) {
				t.Errorf("%s differs from its text for %v", setting, c)
			}
		}
	}
}

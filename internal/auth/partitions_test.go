package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

func TestRulesRefuse(t *testing.T) {
	const roleForm = "role must be a role, in which one * may stand, and can't begin with an underscore"
	const whoForm = `who must be "*" or an object with names, roles, role or claim`
	for rule, want := range map[string]string{
		`5`:   "a rule must be a JSON object",
		`[]`:  "a rule must be a JSON object",
		`{}`:  "who is missing",
		`"*"`: "a rule must be a JSON object",
		`{"who":"*","who":"*","partition":"p","access":"read"}`:                      "a rule must be a JSON object",
		`{"who":"*","access":"read"}`:                                                "partition is missing",
		`{"who":"*","partition":"p"}`:                                                "access is missing",
		`{"who":"*","partition":"p","access":"read","acess":1}`:                      `a rule has no member "acess"`,
		`{"who":"ann","partition":"p","access":"read"}`:                              whoForm,
		`{"who":["*"],"partition":"p","access":"read"}`:                              whoForm,
		`{"who":null,"partition":"p","access":"read"}`:                               whoForm,
		`{"who":{},"partition":"p","access":"read"}`:                                 whoForm,
		`{"who":{"name":"ann"},"partition":"p","access":"read"}`:                     `who has no member "name"`,
		`{"who":{"names":"ann"},"partition":"p","access":"read"}`:                    "names must be a JSON list of strings",
		`{"who":{"names":[5]},"partition":"p","access":"read"}`:                      "names must be a JSON list of strings",
		`{"who":{"roles":[null]},"partition":"p","access":"read"}`:                   "roles must be a JSON list of strings",
		`{"who":{"claim":["a"]},"partition":"p","access":"read"}`:                    "claim must be the name of a claim",
		`{"who":{"claim":""},"partition":"p","access":"read"}`:                       "claim must be the name of a claim",
		`{"who":"*","partition":5,"access":"read"}`:                                  "partition must be a string",
		`{"who":"*","partition":"","access":"read"}`:                                 "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon",
		`{"who":"*","partition":"_p","access":"read"}`:                               "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon",
		`{"who":"*","partition":"a:b","access":"read"}`:                              "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon",
		`{"who":"*","partition":"{team}","access":"read"}`:                           "partition" + badPlaceholder,
		`{"who":"*","partition":"{name}-{role}","access":"read"}`:                    "partition" + badPlaceholder,
		`{"who":"*","partition":"{name","access":"read"}`:                            "partition" + badPlaceholder,
		`{"who":"*","partition":"}{name}","access":"read"}`:                          "partition" + badPlaceholder,
		`{"who":"*","partition":"{{name}}","access":"read"}`:                         "partition" + badPlaceholder,
		`{"who":"*","partition":"{Role}","access":"read"}`:                           "partition" + badPlaceholder,
		`{"who":"*","partition":"{}","access":"read"}`:                               "partition" + badPlaceholder,
		`{"who":"*","partition":"_{name}","access":"read"}`:                          "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon",
		`{"who":"*","partition":"{name}:x","access":"read"}`:                         "partition can't be the name of a partition: it is empty, begins with an underscore or has a colon",
		`{"who":{"names":["a"]},"partition":"{role}","access":"read"}`:               `partition can be {role} only where who is "*" or names roles`,
		`{"who":"*","partition":"{*}","access":"read"}`:                              "partition can be {*} only where who has a role with a *",
		`{"who":{"role":"team"},"partition":"{*}","access":"read"}`:                  "partition can be {*} only where who has a role with a *",
		`{"who":{"roles":["team-*"]},"partition":"{*}","access":"read"}`:             "partition can be {*} only where who has a role with a *",
		`{"who":{"role":"a*b*"},"partition":"p","access":"read"}`:                    roleForm,
		`{"who":{"role":""},"partition":"p","access":"read"}`:                        roleForm,
		`{"who":{"role":"_admin"},"partition":"p","access":"read"}`:                  roleForm,
		`{"who":{"role":["x"]},"partition":"p","access":"read"}`:                     roleForm,
		`{"who":"*","partition":"{claim}","access":"read"}`:                          "partition can be {claim} only where who names a claim",
		`{"who":{"names":["a"]},"partition":"{claim}","access":"read"}`:              "partition can be {claim} only where who names a claim",
		`{"who":"*","partition_key":5,"access":"read"}`:                              "partition_key must be a string",
		`{"who":"*","partition_key":"","access":"read"}`:                             "partition_key can't be empty",
		`{"who":"*","partition_key":"{team}","access":"read"}`:                       "partition_key" + badPlaceholder,
		`{"who":"*","partition_key":"{claim}","access":"read"}`:                      "partition_key can be {claim} only where who names a claim",
		`{"who":"*","partition":"p","partition_key":"p","access":"read"}`:            `a rule has no member "partition"`,
		`{"who":"*","partition":"p","access":"admin"}`:                               `access must be "read" or "write"`,
		`{"who":"*","partition":"p","access":"none"}`:                                `access must be "read" or "write"`,
		`{"who":"*","partition":"p","access":["read"]}`:                              `access must be "read" or "write"`,
		`{"who":"*","partition":"p","access":true}`:                                  `access must be "read" or "write"`,
		`{"who":{"names":["a"],"claim":null},"partition":"p","access":"read"}`:       "claim must be the name of a claim",
		`{"who":{"names":["a"],"names":["b"]},"partition":"{name}","access":"read"}`: whoForm,
	} {
		good := `{"who":"*","partition":"p","access":"read"}`
		_, err := ParseSecurity([]byte(`{"partitions":[` + good + `,` + rule + `]}`))
		if got := refusal(err); got != "400: partitions[1]: "+want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
	for _, value := range []string{`null`, `{}`, `"*"`, `5`} {
		if _, err := ParseSecurity([]byte(`{"partitions":` + value + `}`)); refusal(err) != "400: partitions must be a JSON list of rules" {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// claimsOf returns claims as authentication reads them from a token.
func claimsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	claims, err := decodePart(b64(text))
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestAccess(t *testing.T) {
	const rules = `{"admins":{"names":["boss"]},"members":{"names":["mem"]},"partitions":[
		{"who":"*","partition":"{name}","access":"write"},
		{"who":"*","partition":"news","access":"read"},
		{"who":{"names":["ann","_odd"]},"partition":"news","access":"write"},
		{"who":{"roles":["staff"],"names":["tom"]},"partition":"desk","access":"read"},
		{"who":{"claim":"team"},"partition":"{claim}","access":"write"},
		{"who":{"claim":"reads","roles":["x"]},"partition":"{claim}","access":"read"},
		{"who":{"claim":"verified"},"partition":"club","access":"read"}]}`
	s := parsed(t, rules)
	with := func(name, claims string) Caller { return Caller{Name: name, Claims: claimsOf(t, claims)} }
	for _, c := range []struct {
		caller    Caller
		partition string
		want      Access
	}{
		{Caller{}, "news", NoAccess},
		{Caller{}, "", NoAccess},
		{Caller{Roles: []string{"staff"}}, "desk", NoAccess}, // roles without a name: nobody
		{Caller{Name: "tim"}, "tim", WriteAccess},
		{Caller{Name: "tim"}, "tom", NoAccess},
		{Caller{Name: "tim"}, "Tim", NoAccess},
		{Caller{Name: "tim"}, "news", ReadAccess},
		{Caller{Name: "ann"}, "news", WriteAccess},
		{Caller{Name: "tom"}, "desk", ReadAccess},
		{Caller{Name: "kim", Roles: []string{"staff"}}, "desk", ReadAccess},
		{Caller{Name: "kim", Roles: []string{"other"}}, "desk", NoAccess},
		{Caller{Name: "mem"}, "anything", WriteAccess},
		{Caller{Name: "boss"}, "anything", WriteAccess},
		{*admin(), "anything", WriteAccess},
		// Names that no partition can have give nothing.
		{Caller{Name: "a:b"}, "a:b", NoAccess},
		{Caller{Name: "a:b"}, "a", NoAccess},
		{Caller{Name: "_x"}, "_x", NoAccess},
		{Caller{Name: "_design/x"}, "_design/x", NoAccess},
		{Caller{Name: "a\xff"}, "a\xff", NoAccess},
		{Caller{Name: "{name}"}, "{name}", WriteAccess},
		{Caller{Name: "tim"}, "{name}", NoAccess},
		{Caller{Name: "tim"}, "{claim}", NoAccess},
		// Claims.
		{with("c", `{"team":"red"}`), "red", WriteAccess},
		{with("c", `{"team":"red"}`), "blue", NoAccess},
		{with("c", `{"team":["red","blue",7]}`), "blue", WriteAccess},
		{with("c", `{"team":["red","blue",7]}`), "7", WriteAccess},
		{with("c", `{"team":12}`), "12", WriteAccess},
		{with("c", `{"team":-3}`), "-3", WriteAccess},
		{with("c", `{"team":1.0}`), "1.0", NoAccess},
		{with("c", `{"team":1.0}`), "1", NoAccess},
		{with("c", `{"team":1e2}`), "1e2", NoAccess},
		{with("c", `{"team":-0}`), "-0", NoAccess},
		{with("c", `{"team":true}`), "true", NoAccess},
		{with("c", `{"team":null}`), "null", NoAccess},
		{with("c", `{"team":{"red":1}}`), "red", NoAccess},
		{with("c", `{"team":[["red"]]}`), "red", NoAccess},
		{with("c", `{"team":"_x"}`), "_x", NoAccess},
		{with("c", `{"team":"a:b"}`), "a:b", NoAccess},
		{with("c", `{"team":""}`), "", NoAccess},
		{with("c", `{"other":"red"}`), "red", NoAccess},
		{with("c", `{"reads":"red"}`), "red", ReadAccess},
		{with("c", `{"reads":"red","team":["red"]}`), "red", WriteAccess},
		{with("c", `{"verified":true}`), "club", ReadAccess},
		{with("c", `{"verified":"yes"}`), "club", ReadAccess},
		{with("c", `{"verified":0}`), "club", ReadAccess},
		{with("c", `{"verified":false}`), "club", NoAccess},
		{with("c", `{"verified":null}`), "club", NoAccess},
		{with("c", `{"verified":""}`), "club", NoAccess},
		{with("c", `{"verified":[]}`), "club", NoAccess},
		{with("c", `{"verified":[true]}`), "club", NoAccess},
		{with("c", `{"verified":{}}`), "club", NoAccess},
		{Caller{Name: "x", Roles: []string{"x"}}, "red", NoAccess},
	} {
		got := NoAccess
		for _, need := range []Access{ReadAccess, WriteAccess} {
			if s.CheckPartition(&c.caller, document.Partition(c.partition), need) == nil {
				got = need
			}
		}
		if got != c.want {
			t.Errorf("%s %v in %q: %v, want %v", c.caller.Name, c.caller.Claims, c.partition, got, c.want)
		}
	}
}

func TestCheckPartition(t *testing.T) {
	s := parsed(t, `{"members":{"roles":["_admin"]},"partitions":[{"who":"*","partition":"news","access":"read"}]}`)
	for _, c := range []struct {
		caller    Caller
		partition document.Partition
		need      Access
		want      string
	}{
		{Caller{Name: "a"}, "news", ReadAccess, ""},
		{Caller{Name: "a"}, "news", WriteAccess, "403: You are not allowed to write to this partition."},
		{Caller{Name: "a"}, "other", ReadAccess, "403: You are not allowed to access this db."},
		{Caller{Name: "a"}, "other", WriteAccess, "403: You are not allowed to access this db."},
		{Caller{}, "news", ReadAccess, "401: You are not authorized to access this db."},
		{Caller{}, "news", WriteAccess, "401: You are not authorized to access this db."},
		{*admin(), "other", WriteAccess, ""},
	} {
		if got := refusal(s.CheckPartition(&c.caller, c.partition, c.need)); got != c.want {
			t.Errorf("%s, %s of %s: %q, want %q", c.caller.Name, c.need, c.partition, got, c.want)
		}
	}
	// Rules mean something only in a database that is not everybody's.
	for text, public := range map[string]bool{
		`{}`: true, `{"partitions":[]}`: false, `{"members":{"names":[],"roles":[]},"partitions":[{"who":"*","partition":"{name}","access":"read"}]}`: false,
	} {
		if parsed(t, text).Public() != public {
			t.Errorf("%s: public is %v", text, !public)
		}
	}
}

// TestRolesNamePartitions has one rule open the partitions of many tenants: those that
// the caller's roles name, and no other, whatever a role or a name holds.
func TestRolesNamePartitions(t *testing.T) {
	security := func(rules string) *Security {
		return parsed(t, `{"members":{"names":["mem"]},"partitions":[`+rules+`]}`)
	}
	rule := func(who, partition string) string {
		return `{"who":` + who + `,"partition":"` + partition + `","access":"write"}`
	}
	odd := []string{"_metrics", "a:b", "", "x\xff", "acme", "team-red", "team-", "team-a:b", "team-_x", "lead-team-blue"}
	for _, c := range []struct {
		rules string
		roles []string
		want  string // the partitions, by name
	}{
		{rule(`"*"`, "{role}"), odd, "acme lead-team-blue team- team-_x team-red"},
		{rule(`"*"`, "{role}"), nil, ""},
		{rule(`"*"`, "tenant-{role}"), odd, "tenant-acme tenant-lead-team-blue tenant-team- tenant-team-_x tenant-team-red"},
		{rule(`"*"`, "{role}.eu"), []string{"acme", "acme.eu"}, "acme.eu acme.eu.eu"},
		{rule(`{"roles":["acme","other","_metrics"]}`, "{role}"), odd, "acme"},
		{rule(`{"roles":["acme"],"names":["kim"]}`, "{role}"), []string{"b"}, ""},
		{rule(`{"role":"team-*"}`, "{role}"), odd, "team-_x team-red"},
		{rule(`{"role":"team-*"}`, "{*}"), odd, "red"},
		{rule(`{"role":"team-*"}`, "t-{*}-data"), odd, "t-red-data"},
		{rule(`{"role":"*"}`, "{*}"), odd, "acme lead-team-blue team- team-_x team-red"},
		{rule(`{"role":"lead-*-blue"}`, "{*}"), odd, "team"},
		{rule(`{"role":"aba*ba"}`, "{*}"), []string{"aba", "ababa", "abaXba"}, "X"},
		{rule(`{"role":"team-*"}`, "teams"), odd, "teams"},
		{rule(`{"role":"team-*"}`, "teams"), []string{"team-", "_team-x", "Team-x"}, ""},
		{rule(`{"role":"acme"}`, "{role}"), odd, "acme"},
		{rule(`"*"`, "{name}-private"), odd, "kim-private"},
		{rule(`"*"`, "my-{name}") + "," + rule(`"*"`, "{role}"), []string{"a"}, "a my-kim"},
		{rule(`{"names":["tim"]}`, "x") + "," + rule(`{"names":["kim"]}`, "y"), nil, "y"},
	} {
		s, caller := security(c.rules), &Caller{Name: "kim", Roles: c.roles}
		var names []string
		listed, err := s.Partitions(caller)
		if err != nil {
			t.Error(err)
		}
		for _, p := range listed {
			names = append(names, string(p))
		}
		if got := strings.Join(names, " "); got != c.want || s.Rules(caller) != (got != "") {
			t.Errorf("%s for %q: %q (%t), want %q", c.rules, c.roles, got, s.Rules(caller), c.want)
		}
		// What is listed is what is let in, and nothing else is.
		for _, p := range append(odd, "acme", "red", "_x", "team", "tenant-acme", "tenant-", "tenant-_metrics", "kim", "kim-private", "-private", "my-kim", "x", "y", "teams", "acme.eu", "acme.eu.eu", "a:b", "t-red-data", "{role}", "X", "a") {
			if let := s.CheckPartition(caller, document.Partition(p), WriteAccess) == nil; let != slices.Contains(names, p) {
				t.Errorf("%s for %q: let into %q is %t", c.rules, c.roles, p, let)
			}
		}
		if got, _ := s.Partitions(&Caller{Roles: c.roles}); got != nil || s.Rules(&Caller{Roles: c.roles}) {
			t.Errorf("%s: who is not logged in has %v", c.rules, got)
		}
	}
}

// TestPartitionsAreBounded refuses to list what many rules make of many roles.
func TestPartitionsAreBounded(t *testing.T) {
	var rules []string
	for i := range 50 {
		rules = append(rules, fmt.Sprintf(`{"who":{"role":"r*"},"partition":"p%d-{*}","access":"read"}`, i))
	}
	s, err := ParseSecurity([]byte(`{"partitions":[` + strings.Join(rules, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := &Caller{Name: "ada"}
	for i := range 2000 {
		c.Roles = append(c.Roles, fmt.Sprint("r", i))
	}
	if got, err := s.Partitions(c); err != nil || len(got) != 100_000 {
		t.Error(len(got), err)
	}
	c.Roles = append(c.Roles, "r-one-more")
	if got, err := s.Partitions(c); refusal(err) != "400: Rules let you into more than 100000 partitions, which can't be listed." || got != nil {
		t.Error(len(got), err)
	}
}

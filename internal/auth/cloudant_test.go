package auth

import "testing"

func TestCloudantRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"cloudant":5}`:                          "400: cloudant must be a JSON object",
		`{"cloudant":{"k":"_reader"}}`:            "400: cloudant must give each name a JSON list of strings",
		`{"cloudant":{"k":[5]}}`:                  "400: cloudant must give each name a JSON list of strings",
		`{"cloudant":{"k":["_readr"]}}`:           "400: cloudant gives k the role _readr, which there is not",
		`{"couchdb_auth_only":"yes"}`:             "400: couchdb_auth_only must be true or false",
		`{"couchdb_auth_only":true,"cloudant":5}`: "400: cloudant must be a JSON object",
	} {
		if _, err := ParseSecurity([]byte(text)); refusal(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCloudantRoles asks for each right with each role.
func TestCloudantRoles(t *testing.T) {
	const text = `{"cloudant":{"nobody":["_reader"],"reads":["_reader"],"writes":["_writer"],"both":["_reader","_writer"],"runs":["_admin"],
		"pulls":["_replicator"],"designs":["_design"],"guards":["_security"],"idle":["_shards","_db_updates"],"none":[]},
		"members":{"names":["mem"]},"partitions":[{"who":{"names":["reads"]},"partition":"p","access":"write"}]`
	for _, c := range []struct{ caller, more, want string }{
		{"", "}", "read read:p read:q"},
		{"reads", "}", "read read:p write:p read:q"},
		{"writes", "}", "write local write:p write:q"},
		{"both", "}", "read write local read:p write:p read:q write:q"},
		{"runs", "}", "read write local design secure admin read:p write:p read:q write:q"},
		{"pulls", "}", "read local read:p read:q"},
		{"designs", "}", "design"},
		{"guards", "}", "secure"},
		{"idle", "}", ""},
		{"none", "}", ""},
		{"stranger", "}", ""},
		{"mem", "}", "read write local read:p write:p read:q write:q"},
		{"runs", `,"couchdb_auth_only":true}`, ""},
		{"", `,"couchdb_auth_only":true}`, ""},
		{"mem", `,"couchdb_auth_only":true}`, "read write local read:p write:p read:q write:q"},
	} {
		s, caller, got := parsed(t, text+c.more), &Caller{Name: c.caller}, ""
		for _, right := range []struct {
			name string
			has  bool
		}{
			{"read", s.Check(caller, Reader) == nil}, {"write", s.CheckWrite(caller) == nil}, {"local", s.CheckCheckpoints(caller) == nil},
			{"design", s.MayDesign(caller)}, {"secure", s.MaySecure(caller)}, {"admin", s.Check(caller, DatabaseAdmin) == nil},
			{"read:p", s.CheckPartition(caller, "p", ReadAccess) == nil}, {"write:p", s.CheckPartition(caller, "p", WriteAccess) == nil},
			{"read:q", s.CheckPartition(caller, "q", ReadAccess) == nil}, {"write:q", s.CheckPartition(caller, "q", WriteAccess) == nil},
		} {
			if right.has && got != "" {
				got += " "
			}
			if right.has {
				got += right.name
			}
		}
		if got != c.want {
			t.Errorf("%q%s may %s, want %s", c.caller, c.more, got, c.want)
		}
	}
	// With roles, even none, a database without members is nobody's; and everybody's again if they do not count.
	if parsed(t, `{"cloudant":{}}`).Public() || !parsed(t, `{"cloudant":{},"couchdb_auth_only":true}`).Public() {
		t.Error("public")
	}
}

package auth

import "testing"

func TestOwners(t *testing.T) {
	for _, c := range []struct{ was, with, without string }{
		{`{}`, `{"admins":{"names":["jan"]},"members":{"names":["jan"]}}`, `{}`},
		{`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`,
			`{"members":{"roles":["_admin"],"names":["jan"]},"admins":{"roles":["_admin"],"names":["jan"]}}`,
			`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`},
		{`{"x":1.0,"members":{"names":["jan"],"more":2},"admins":{"names":["pat"]}}`,
			`{"x":1.0,"members":{"names":["jan"],"more":2},"admins":{"names":["jan","pat"]}}`,
			`{"x":1.0,"members":{"roles":["_admin"]},"admins":{"names":["pat"]}}`},
		{`{"members":{"names":["a","jan","b","jan"]},"admins":{"names":["jan"]}}`,
			`{"members":{"names":["a","jan","b","jan"]},"admins":{"names":["jan"]}}`,
			`{"members":{"names":["a","b"]},"admins":{"names":[]}}`},
		{`{"readers":{"names":["pat","jan"],"roles":["r"]}}`,
			`{"readers":{"names":["pat","jan"],"roles":["r"]},"admins":{"names":["jan"]}}`,
			`{"readers":{"names":["pat"],"roles":["r"]}}`},
		{`{"members":{"names":["jan"]},"partitions":[]}`,
			`{"members":{"names":["jan"]},"partitions":[],"admins":{"names":["jan"]}}`,
			`{"members":{"names":[]},"partitions":[]}`},
	} {
		s, err := ParseSecurity([]byte(c.was))
		if err != nil {
			t.Fatal(err)
		}
		with, without := s.WithOwner("jan"), s.WithoutOwner("jan")
		if got := string(with.JSON()); got != c.with {
			t.Errorf("%s with jan: %s, want %s", c.was, got, c.with)
		}
		if got := string(without.JSON()); got != c.without {
			t.Errorf("%s without jan: %s, want %s", c.was, got, c.without)
		}
		jan := &Caller{Name: "jan"}
		if with.Check(jan, DatabaseAdmin) != nil || with.IsMember(&Caller{Name: "sue"}) {
			t.Errorf("%s: jan is not the one who may", c.was)
		}
		if without != s && without.IsMember(jan) {
			t.Errorf("%s without jan: he may still", c.was)
		}
		if with.WithOwner("jan") != with || without.WithoutOwner("jan") != without {
			t.Errorf("%s: what is so already is made anew", c.was)
		}
		for _, s := range []*Security{with, without} {
			again, err := ParseSecurity(s.JSON())
			if err != nil || again.Public() != s.Public() || again.IsMember(jan) != s.IsMember(jan) || again.IsAdmin(jan) != s.IsAdmin(jan) {
				t.Errorf("%s means something else when it is read: %v", s.JSON(), err)
			}
		}
	}
}

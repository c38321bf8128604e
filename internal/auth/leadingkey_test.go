package auth

import (
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// TestLeadingKeys: rules about partition keys let into the partitions that are made of them,
// whatever characters they have, and into no others.
func TestLeadingKeys(t *testing.T) {
	s := parsed(t, `{"partitions":[`+
		`{"who":"*","partition_key":"{name}","access":"write"},`+
		`{"who":"*","partition_key":"team {role}","access":"read"},`+
		`{"who":{"claim":"tenant"},"partition_key":"{claim}","access":"read"},`+
		`{"who":"*","partition_key":"a:news","access":"read"}]}`)
	alice := &Caller{Name: "alice b", Roles: []string{"red;1", "_admins"}}
	tenant := &Caller{Name: "x", Claims: claimsOf(t, `{"tenant":[17,"acme"]}`)}
	for _, c := range []struct {
		caller *Caller
		kind   document.ValueKind
		key    string
		want   Access
	}{
		{alice, document.StringValue, "alice b", WriteAccess},
		{alice, document.StringValue, "alice", NoAccess},
		{alice, document.StringValue, "alice b ", NoAccess},
		{alice, document.BinaryValue, "alice b", NoAccess},
		{alice, document.StringValue, "team red;1", ReadAccess},
		{alice, document.StringValue, "team _admins", NoAccess},
		{alice, document.StringValue, "a:news", ReadAccess},
		{tenant, document.StringValue, "17", ReadAccess},
		{tenant, document.NumberValue, "17", ReadAccess},
		{tenant, document.NumberValue, "17.5", NoAccess},
		{tenant, document.NumberValue, "-17", NoAccess},
		{tenant, document.StringValue, "acme", ReadAccess},
		{&Caller{}, document.StringValue, "a:news", NoAccess},
	} {
		id, err := document.CompositeID([]document.Value{{Kind: c.kind, Text: c.key}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.access(c.caller, id.Partition()); got != c.want {
			t.Errorf("%s, %c %q: %v, want %v", c.caller.Name, c.kind, c.key, got, c.want)
		}
	}
	if got := s.access(alice, "alice b"); got != NoAccess {
		t.Error("a partition that is not a key:", got)
	}
	all, err := s.Partitions(tenant)
	if got := fmt.Sprint(all, err); got != `[N220217! S17! Sa;0news! Sacme! Sx!] <nil>` {
		t.Error(got)
	}
}

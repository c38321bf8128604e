package operate_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func TestKeys(t *testing.T) {
	server := apitest.New(t)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	s, err := operate.New(strings.Replace(listener.URL, "://", "://adm:pass@", 1), "", "")
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.NewKey(t.Context(), "adm", []string{"Music"}, true)
	if err != nil || k.Secret != server.Auth.AccessSecret(k.ID) {
		t.Fatalf("%+v, %v", k, err)
	}
	list, err := s.Keys(t.Context(), "adm")
	if err != nil || len(list) != 1 || list[0].ID != k.ID || list[0].Secret != "" || list[0].Tables[0] != "Music" || !list[0].ReadOnly {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.RevokeKey(t.Context(), "adm", k.ID); err != nil {
		t.Error(err)
	}
	if list, err := s.Keys(t.Context(), "adm"); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, c := range []struct{ user, password, of, want string }{
		{"adm", "pass", "a/b c", "the server refuses: There is no user of that name."},
		{"adm", "wrong", "adm", "the server refuses: Name or password is incorrect."},
		{"", "", "adm", "the server refuses: You are not a server admin."},
	} {
		other, err := operate.New(listener.URL, c.user, c.password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Keys(t.Context(), c.of); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	listener.Close()
	if _, err := s.Keys(t.Context(), "adm"); err == nil || strings.Contains(err.Error(), "pass") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestUp(t *testing.T) {
	server := apitest.New(t)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	s, err := operate.New(listener.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if status, err := s.Up(t.Context()); err != nil || status != "ok" {
		t.Errorf("%q, %v", status, err)
	}
	server.OK("PUT", "/_node/_local/_config/couchdb/maintenance_mode", `"true"`)
	if status, err := s.Up(t.Context()); err == nil || err.Error() != "the server is not up: maintenance_mode" {
		t.Errorf("in maintenance: %q, %v", status, err)
	}
	listener.Close()
	if status, err := s.Up(t.Context()); err == nil || !strings.Contains(err.Error(), "start one there") {
		t.Errorf("nobody there: %q, %v", status, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:5984", "ftp://a:secret@b", "http://", "http://a:secret@b:x y"} {
		if _, err := operate.New(address, "", ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

package auth

import (
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

// Secret implements Secrets.
func (userMap) Secret(purpose string) []byte { return []byte("secret for " + purpose) }

// withKey gives a user a key.
func (w *world) withKey(t *testing.T, name string, change func(*AccessKey)) AccessKey {
	t.Helper()
	k, err := w.NewAccessKey(name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&k)
	}
	var body []byte
	if text, ok := w.users[name]; ok {
		body = []byte(text)
	}
	var keys []AccessKey
	if body != nil {
		if keys, err = AccessKeysOf(body); err != nil {
			t.Fatal(err)
		}
	}
	with, err := WithAccessKeys(name, body, append(keys, k))
	if err != nil {
		t.Fatal(err)
	}
	w.addUser(t, name, string(with))
	return k
}

func TestAccessKeys(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jane", `{"name":"jane","type":"user","roles":["r"],"password":"p"}`)
	first := w.withKey(t, "jane", nil)
	second := w.withKey(t, "jane", func(k *AccessKey) { k.Tables, k.ReadOnly = []string{"a"}, true })
	for _, k := range []AccessKey{first, second} {
		got, c, err := w.AccessKey(t.Context(), k.ID)
		if err != nil || got == nil || got.ID != k.ID || got.ReadOnly != k.ReadOnly || c.Name != "jane" || c.Handler != SignatureHandler || !c.HasRole("r") {
			t.Errorf("%s: %+v, %+v, %v", k.ID, got, c, err)
		}
		if len(w.AccessSecret(k.ID)) != secretLength || strings.Contains(w.users["jane"], w.AccessSecret(k.ID)) {
			t.Errorf("the secret of %s: %s", k.ID, w.AccessSecret(k.ID))
		}
	}
	if w.AccessSecret(first.ID) == w.AccessSecret(second.ID) {
		t.Error("two keys have one secret")
	}
	without, err := WithAccessKeys("jane", []byte(w.users["jane"]), []AccessKey{second})
	if err != nil {
		t.Fatal(err)
	}
	w.users["jane"] = string(without)
	if k, _, err := w.AccessKey(t.Context(), first.ID); k != nil || err != nil {
		t.Errorf("a revoked key: %v, %v", k, err)
	}
	delete(w.users, "jane")
	w.addUser(t, "jane", `{"name":"jane","type":"user","roles":[],"password":"p"}`)
	if k, _, err := w.AccessKey(t.Context(), second.ID); k != nil || err != nil {
		t.Errorf("a key of a user of the same name before: %v, %v", k, err)
	}
}

func TestAccessKeysOfOthers(t *testing.T) {
	w := newWorld(t)
	k := w.withKey(t, "jane", nil)
	w.users["eve"] = strings.ReplaceAll(w.users["jane"], `"name":"jane"`, `"name":"eve"`)
	if _, c, err := w.AccessKey(t.Context(), k.ID); err != nil || c.Name != "jane" {
		t.Errorf("copied into another user: %v, %v", c, err)
	}
	eve := k.ID[:accessKeyFixed] + keyNames.EncodeToString([]byte("eve"))
	for _, id := range []string{"", "AKIAIOSFODNN7EXAMPLE", k.ID[:accessKeyFixed], k.ID + "A", eve, k.ID + "!", strings.Repeat("A", 200)} {
		if k, c, err := w.AccessKey(t.Context(), id); k != nil || c != nil || err != nil {
			t.Errorf("%s: %v, %v, %v", id, k, c, err)
		}
	}
	if _, err := w.NewAccessKey(strings.Repeat("x", 100)); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("a long name: %v", err)
	}
}

func TestAccessKeysOfAdministrator(t *testing.T) {
	w := newWorld(t)
	w.addAdmin(t, "boss", "p")
	k := w.withKey(t, "boss", nil)
	if got, c, err := w.AccessKey(t.Context(), k.ID); err != nil || got == nil || !c.IsAdmin() {
		t.Errorf("%v, %v, %v", got, c, err)
	}
	if _, err := w.Authenticate(t.Context(), basic("boss", "p")); err != nil {
		t.Errorf("by password: %v", err)
	}
	if _, err := w.Authenticate(t.Context(), basic("boss", "")); err == nil {
		t.Error("the user document has no password")
	}
}

// TestAccessKeysAreGiven: users write their own documents, but not their keys.
func TestAccessKeysAreGiven(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jane", `{"name":"jane","type":"user","roles":[]}`)
	k := w.withKey(t, "jane", func(k *AccessKey) { k.Tables = []string{"a"} })
	more, err := WithAccessKeys("jane", []byte(w.users["jane"]), []AccessKey{{ID: k.ID}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		caller    *Caller
		old, body string
		want      string
	}{
		"for more tables": {&Caller{Name: "jane"}, w.users["jane"], string(more), "403: Only _admin may edit access keys"},
		"at sign-up":      {&Caller{}, "", string(more), "403: Only _admin may edit access keys"},
		"as they are":     {&Caller{Name: "jane"}, w.users["jane"], w.users["jane"], ""},
		"no list":         {admin(), "", `{"name":"jane","type":"user","roles":[],"access_keys":5}`, "403: `access_keys` can't be used for authentication."},
	} {
		write := UserWrite{ID: UserPrefix + "jane", Body: []byte(c.body), Caller: c.caller, Security: DefaultSecurity("everyone")}
		if c.old != "" {
			write.Old = []byte(c.old)
		}
		_, err := w.BeforeUserWrite(t.Context(), write)
		if got := refusal(err); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAllows(t *testing.T) {
	all, some := AccessKey{}, AccessKey{Tables: []string{"a"}, ReadOnly: true}
	for _, c := range []struct {
		k     *AccessKey
		table string
		write bool
		want  bool
	}{{&all, "b", true, true}, {&some, "a", false, true}, {&some, "a", true, false}, {&some, "b", false, false}} {
		if got := c.k.Allows(c.table, c.write); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

package couchapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAccessKeys: administrators make, list and revoke the access keys of users.
func TestAccessKeys(t *testing.T) {
	a := newTestAPI(t)
	if w := a.do("PUT", "/_users/org.couchdb.user:jane", `{"name":"jane","type":"user","roles":[],"password":"secret"}`); w.Status != 201 {
		t.Fatal(w.text())
	}
	made := map[string]string{}
	for user, body := range map[string]string{"jane": `{"tables":["Music"],"read_only":true}`, "adm": ""} {
		w := a.do("POST", "/_access_keys/"+user, body)
		var k struct{ User, ID, Secret string }
		if err := json.Unmarshal([]byte(w.Body), &k); err != nil || w.Status != 201 || k.User != user || len(k.Secret) != 40 || k.Secret != a.Auth.AccessSecret(k.ID) {
			t.Fatalf("%s: %s, %v", user, w.text(), err)
		}
		found, caller, err := a.Auth.AccessKey(t.Context(), k.ID)
		if err != nil || found == nil || caller.Name != user || caller.IsAdmin() != (user == "adm") {
			t.Fatalf("%s: %+v, %+v, %v", user, found, caller, err)
		}
		made[user] = k.ID
		listed := a.do("GET", "/_access_keys/"+user, "").Body
		if !strings.Contains(listed, k.ID) || strings.Contains(listed, k.Secret) || strings.Contains(listed, `"tables":["Music"],"read_only":true`) != (user == "jane") {
			t.Errorf("%s: %s", user, listed)
		}
	}
	if w := a.do("POST", "/_session", `{"name":"jane","password":"secret"}`, "Authorization", ""); w.Status != 200 {
		t.Errorf("the user's password: %s", w.text())
	}
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/_access_keys/nobody", "", "404"},
		{"GET", "/_access_keys/nobody", "", "404"},
		{"POST", "/_access_keys/jane", `{"tables":[]}`, "400"},
		{"POST", "/_access_keys/jane", `{"tables":"Music"}`, "400"},
		{"POST", "/_access_keys/jane", `[]`, "400"},
		{"DELETE", "/_access_keys/jane/SKX", "", "404"},
		{"DELETE", "/_access_keys/jane/" + made["adm"], "", "404"},
		{"DELETE", "/_access_keys/jane/" + made["jane"], "", "200"},
		{"DELETE", "/_access_keys/jane/" + made["jane"], "", "404"},
	} {
		if w := a.do(c.method, c.target, c.body); !strings.HasPrefix(w.text(), c.want) {
			t.Errorf("%s %s %s: %s", c.method, c.target, c.body, w.text())
		}
	}
	if found, _, err := a.Auth.AccessKey(t.Context(), made["jane"]); found != nil || err != nil {
		t.Errorf("the revoked key: %v, %v", found, err)
	}
	for _, who := range []string{"", "Basic amFuZTpzZWNyZXQ="} { // nobody, and jane
		for _, method := range []string{"GET", "POST"} {
			if w := a.do(method, "/_access_keys/jane", "", "Authorization", who); w.Status != 401 && w.Status != 403 {
				t.Errorf("%s by %q: %s", method, who, w.text())
			}
		}
	}
}

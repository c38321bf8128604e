package auth

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUserDocumentsAreBounded: a user document has 64 KB at most, and an error shows no long value of it.
func TestUserDocumentsAreBounded(t *testing.T) {
	const begin, end = `{"name":"jan","type":"user","roles":[],"town":"`, `"}`
	filled := func(size int) string { return begin + strings.Repeat("x", size-len(begin)-len(end)) + end }
	nested := func(size int) string {
		const depth = 990
		return `{"name":"jan","type":"user","roles":[],"password":` + strings.Repeat("[", depth) + strings.Repeat("1,", size/2) + "1" + strings.Repeat("]", depth) + `}`
	}
	const tooLarge = "413: org.couchdb.user:jan (the limit is 65536 bytes for documents of users)"
	for _, c := range []struct{ name, body, want string }{
		{"64 KB", filled(64 << 10), ""},
		{"a byte more", filled(64<<10 + 1), tooLarge},
		{"a large password that is none", nested(1 << 16), tooLarge},
		{"a password that is none", nested(50000), "403: Password value of '…' is invalid."},
		{"a scheme that is none", `{"name":"jan","type":"user","roles":[],"password_scheme":"` + strings.Repeat("x", 50000) + `"}`, "403: Password scheme `…` not supported."},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newWorld(t).BeforeUserWrite(t.Context(), UserWrite{DB: UsersDB, ID: UserPrefix + "jan", Body: json.RawMessage(c.body), Caller: &Caller{}, Security: DefaultSecurity("everyone")})
			if got := refusal(err); got != c.want {
				t.Errorf("got %.200s of %d bytes, want %q", got, len(got), c.want)
			}
		})
	}
}

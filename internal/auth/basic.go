package auth

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// basicCredentials reads an Authorization header. It is not ok when the header
// is not there or of another scheme, and for "_:_", by which a browser is told
// to forget what it knows.
func basicCredentials(header string) (name, password string, ok bool, err error) {
	scheme, value, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return "", "", false, nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	if err != nil || !utf8.Valid(raw) {
		return "", "", false, badRequest("Authorization header has invalid base64 value")
	}
	name, password, ok = strings.Cut(string(raw), ":")
	if name == "_" && password == "_" {
		return "", "", false, nil
	}
	return name, password, ok, nil
}

package auth

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// DesignID is the design document of a database of users.
const DesignID = "_design/_auth"

// authFunction is what that document validates with. It says what checkUser checks, so
// it need not be run where that does.
//
//go:embed authdesign.js
var authFunction string

// Design returns the body of the design document, as programs of CouchDB's look for it.
func Design() []byte {
	return object{
		{"language", quote("javascript")},
		{"validate_doc_update", quote(strings.TrimSpace(authFunction))},
	}.encode()
}

// IsDesign reports whether a design document of a database of users validates what is
// checked in any case.
func IsDesign(id string, body []byte) bool {
	if id != DesignID {
		return false
	}
	code, _ := jsonscan.Member(body, "validate_doc_update")
	var text string
	return json.Unmarshal(code, &text) == nil && strings.TrimSpace(text) == strings.TrimSpace(authFunction)
}

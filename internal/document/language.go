package document

import "github.com/sectional/sectional/internal/jsonscan"

// IsJavaScript reports whether the functions of a design document are in JavaScript, by its body: it says nothing of their
// language, names it, or names one of the two interpreters that CouchDB has for it.
func IsJavaScript(body []byte) bool {
	language, ok := jsonscan.Member(body, "language")
	if !ok {
		return true
	}
	for _, name := range []string{"javascript", "javascript_quickjs", "javascript_spidermonkey"} {
		if jsonscan.NameIs(language, name) {
			return true
		}
	}
	return false
}

package replicate

import (
	"net/url"
	"strings"
)

// escape escapes a document id or the name of an attachment as one segment of a
// path. A plus sign is escaped too, since CouchDB takes it for a space, and a
// slash, but for the one of a design document.
func escape(id string) string {
	if name, ok := strings.CutPrefix(id, "_design/"); ok {
		return "_design/" + escape(name)
	}
	if id == "." || id == ".." {
		return strings.ReplaceAll(id, ".", "%2E") // else a step in the path
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(id)+16)
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9', c == '-' || c == '_' || c == '.' || c == '~':
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// query makes a path with parameters.
func query(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

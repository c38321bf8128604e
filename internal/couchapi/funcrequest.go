package couchapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/document"
)

// functionRequest is the request as design functions see it, their req.
type functionRequest struct {
	id   document.ID // of the document that the path names; "" for none
	body []byte      // JSON; nil: the raw bytes of text
	text []byte      // as it came; nil for none
}

// noBody is how a request without a body shows its body.
const noBody = "undefined"

// functionJSON returns req as CouchDB gives it.
func (r *request) functionJSON(f functionRequest) ([]byte, error) {
	b := append(make([]byte, 0, 1<<10), `{"info":`...)
	b, err := r.appendInfo(b, r.scope)
	if err != nil {
		return nil, err
	}
	b = appendString(append(b, `,"uuid":`...), r.api.newUUID())
	b = append(b, `,"id":`...)
	if f.id == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, string(f.id))
	}
	b = appendString(append(b, `,"method":`...), r.shownMethod())
	b = appendTexts(append(b, `,"requested_path":`...), r.oneName(requestedPath(r.target(), r.plus())))
	b = appendTexts(append(b, `,"path":`...), r.oneName(r.path.parts[:r.path.n]))
	b = appendString(append(b, `,"raw_path":`...), valid(r.target()))
	b = appendPairs(append(b, `,"query":`...), r.query)
	b = r.appendHeaders(append(b, `,"headers":`...))
	b = append(b, `,"body":`...)
	switch {
	case f.body != nil:
		b = append(b, f.body...)
	case f.text == nil:
		b = appendString(b, noBody)
	default:
		b = appendString(b, valid(string(f.text)))
	}
	b = appendString(append(b, `,"peer":`...), r.peer())
	b = appendPairs(append(b, `,"form":`...), r.form(f.text))
	b = appendPairs(append(b, `,"cookie":`...), r.cookies())
	b = append(append(b, `,"userCtx":`...), admission.UserContext(r.caller, r.scope.Name())...)
	b = append(append(b, `,"secObj":`...), admission.SecurityObject(r.scope)...)
	return append(b, '}'), nil
}

// functionBody reads the body for a function; nil for methods that have none.
func (r *request) functionBody() ([]byte, error) {
	b, err := r.readBody(nil)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 && r.method != http.MethodPost && r.method != http.MethodPut {
		return nil, nil
	}
	return b, nil
}

// oneName returns the segments of a path as functions see them. A tenant's functions
// find the name of what they take for a database in the first, as everywhere.
func (r *request) oneName(parts []string) []string {
	if r.scope.Tenant() == "" || len(parts) < r.below() || parts[1] != r.path.parts[1] {
		return parts
	}
	return append([]string{r.scope.Name()}, parts[r.below():]...)
}

func (r *request) shownMethod() string {
	if r.head {
		return http.MethodHead
	}
	return r.method
}

// target returns the request's target as it came on the wire.
func (r *request) target() string {
	path, query := targetOf(r.http)
	if query != "" {
		path += "?" + query
	}
	return path
}

// requestedPath splits a target, its query too, as CouchDB does.
func requestedPath(target string, plus plusMeans) (parts []string) {
	parts = []string{}
	for part := range strings.SplitSeq(target, "/") {
		if part != "" {
			parts = append(parts, unquote(part, plus))
		}
	}
	return parts
}

// form returns the fields of a form that came as the body.
func (r *request) form(text []byte) query {
	if !strings.HasPrefix(r.header("Content-Type"), "application/x-www-form-urlencoded") {
		return nil
	}
	return parseQuery(string(text))
}

func (r *request) cookies() (q query) {
	for _, c := range r.http.Cookies() {
		value, err := url.PathUnescape(c.Value)
		if err != nil {
			value = c.Value
		}
		q = append(q, pair{c.Name, value})
	}
	return q
}

// appendHeaders appends the request's headers as an object.
func (r *request) appendHeaders(b []byte) []byte {
	q := query{{"Host", r.http.Host}}
	for name, values := range r.http.Header {
		q = append(q, pair{name, strings.Join(values, ", ")})
	}
	return appendPairs(b, q)
}

// appendPairs appends an object; of a name that comes twice the last counts.
func appendPairs(b []byte, q query) []byte {
	b = append(b, '{')
	for i, p := range q {
		if _, again := q[i+1:].get(p.name); again {
			continue
		}
		b = appendMember(b, valid(p.name))
		b = appendString(b, valid(p.value))
	}
	return append(b, '}')
}

func appendTexts(b []byte, list []string) []byte {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = valid(s)
	}
	return appendStrings(b, texts)
}

// valid makes what came over the wire a text.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

package couchapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/web"
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
	b = appendString(append(b, `,"method":`...), r.MethodShown())
	b = appendTexts(append(b, `,"requested_path":`...), r.oneName(requestedPath(r.Target(), r.api.settings.Value().web.Plus)))
	b = appendTexts(append(b, `,"path":`...), r.oneName(r.Path.Parts()))
	b = appendString(append(b, `,"raw_path":`...), valid(r.Target()))
	b = appendPairs(append(b, `,"query":`...), r.Query)
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
	b = appendString(append(b, `,"peer":`...), r.Peer())
	b = appendPairs(append(b, `,"form":`...), r.form(f.text))
	b = appendPairs(append(b, `,"cookie":`...), r.cookies())
	b = append(append(b, `,"userCtx":`...), admission.UserContext(r.Caller, r.scope.Name())...)
	b = append(append(b, `,"secObj":`...), admission.SecurityObject(r.scope)...)
	return append(b, '}'), nil
}

// functionBody reads the body for a function; nil for methods that have none.
func (r *request) functionBody() ([]byte, error) {
	b, err := r.Body(nil)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 && r.Method != http.MethodPost && r.Method != http.MethodPut {
		return nil, nil
	}
	return b, nil
}

// oneName returns the segments of a path as functions see them. A tenant's functions
// find the name of what they take for a database in the first, as everywhere.
func (r *request) oneName(parts []string) []string {
	if r.scope.Tenant() == "" || len(parts) < r.below() || parts[1] != r.Path.Parts()[1] {
		return parts
	}
	return append([]string{r.scope.Name()}, parts[r.below():]...)
}

// requestedPath splits a target, its query too, as CouchDB does.
func requestedPath(target string, plus web.PlusMeans) (parts []string) {
	parts = []string{}
	for part := range strings.SplitSeq(target, "/") {
		if part != "" {
			parts = append(parts, web.Unquote(part, plus))
		}
	}
	return parts
}

// form returns the fields of a form that came as the body.
func (r *request) form(text []byte) web.Query {
	if !strings.HasPrefix(r.Header("Content-Type"), "application/x-www-form-urlencoded") {
		return nil
	}
	return web.ParseQuery(string(text))
}

func (r *request) cookies() (q web.Query) {
	for _, c := range r.HTTP.Cookies() {
		value, err := url.PathUnescape(c.Value)
		if err != nil {
			value = c.Value
		}
		q = append(q, web.Pair{Name: c.Name, Value: value})
	}
	return q
}

// appendHeaders appends the request's headers as an object.
func (r *request) appendHeaders(b []byte) []byte {
	q := web.Query{{Name: "Host", Value: r.HTTP.Host}}
	for name, values := range r.HTTP.Header {
		q = append(q, web.Pair{Name: name, Value: strings.Join(values, ", ")})
	}
	return appendPairs(b, q)
}

// appendPairs appends an object; of a name that comes twice the last counts.
func appendPairs(b []byte, q web.Query) []byte {
	b = append(b, '{')
	for i, p := range q {
		if _, again := q[i+1:].Get(p.Name); again {
			continue
		}
		b = appendMember(b, valid(p.Name))
		b = appendString(b, valid(p.Value))
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

package couchhttp

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/web"
)

// FunctionRequest is the request as design functions see it, their req.
type FunctionRequest struct {
	Id   document.ID // of the document that the path names; "" for none
	Body []byte      // JSON; nil: the raw bytes of text
	Text []byte      // as it came; nil for none
}

// noBody is how a request without a body shows its body.
const noBody = "undefined"

// FunctionJSON returns req as CouchDB passes it to functions: without what proves who asks, since whoever wrote the function is
// another person. A form of too many fields is an error.
func (r *Request) FunctionJSON(f FunctionRequest) ([]byte, error) {
	form, err := r.form(f.Text)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 1<<10), `{"info":`...)
	b, err = r.AppendInfo(b, r.Scope)
	if err != nil {
		return nil, err
	}
	b = AppendString(append(b, `,"uuid":`...), r.API.NewUUID())
	b = append(b, `,"id":`...)
	if f.Id == "" {
		b = append(b, "null"...)
	} else {
		b = AppendString(b, string(f.Id))
	}
	b = AppendString(append(b, `,"method":`...), r.MethodShown())
	b = appendTexts(append(b, `,"requested_path":`...), r.oneName(requestedPath(r.Target(), r.API.Settings.Value().Web.Plus)))
	b = appendTexts(append(b, `,"path":`...), r.oneName(r.Path.Parts()))
	b = AppendString(append(b, `,"raw_path":`...), Valid(r.Target()))
	b = appendPairs(append(b, `,"query":`...), r.Query)
	b = r.appendHeaders(append(b, `,"headers":`...))
	b = append(b, `,"body":`...)
	switch {
	case f.Body != nil:
		b = append(b, f.Body...)
	case f.Text == nil:
		b = AppendString(b, noBody)
	default:
		b = AppendString(b, Valid(string(f.Text)))
	}
	b = AppendString(append(b, `,"peer":`...), r.Peer())
	b = appendPairs(append(b, `,"form":`...), form)
	b = appendPairs(append(b, `,"cookie":`...), r.cookies())
	b = append(append(b, `,"userCtx":`...), admission.UserContext(r.Caller, r.Scope.Name())...)
	b = append(append(b, `,"secObj":`...), admission.SecurityObject(r.Scope)...)
	return append(b, '}'), nil
}

// FunctionBody reads the body for a function; nil for methods that have none.
func (r *Request) FunctionBody() ([]byte, error) {
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
func (r *Request) oneName(parts []string) []string {
	if r.Scope.Tenant() == "" || len(parts) < r.Below() || parts[1] != r.Path.Parts()[1] {
		return parts
	}
	return append([]string{r.Scope.Name()}, parts[r.Below():]...)
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
func (r *Request) form(text []byte) (web.Query, error) {
	if !strings.HasPrefix(r.Header("Content-Type"), "application/x-www-form-urlencoded") {
		return nil, nil
	}
	if web.CountParameters(string(text)) > web.MaxParameters {
		return nil, dberr.New(dberr.TooLarge, "too_large", "A form can have %d fields.", web.MaxParameters)
	}
	return web.ParseQuery(string(text)), nil
}

// cookies returns the cookies but the session.
func (r *Request) cookies() (q web.Query) {
	for _, c := range r.HTTP.Cookies() {
		if auth.IsSessionCookie(c.Name) {
			continue
		}
		value, err := url.PathUnescape(c.Value)
		if err != nil {
			value = c.Value
		}
		q = append(q, web.Pair{Name: c.Name, Value: value})
	}
	return q
}

// appendHeaders appends the request's headers as an object, but those that prove who asks.
func (r *Request) appendHeaders(b []byte) []byte {
	q := web.Query{{Name: "Host", Value: r.HTTP.Host}}
	for name, values := range r.HTTP.Header {
		if r.API.Auth.Proves(name) {
			continue
		}
		q = append(q, web.Pair{Name: name, Value: strings.Join(values, ", ")})
	}
	return appendPairs(b, q)
}

// appendPairs appends an object; of a name that comes twice the last counts.
func appendPairs(b []byte, q web.Query) []byte {
	last := make(map[string]int, len(q))
	for i, p := range q {
		last[p.Name] = i
	}
	b = append(b, '{')
	for i, p := range q {
		if last[p.Name] != i {
			continue
		}
		b = AppendMember(b, Valid(p.Name))
		b = AppendString(b, Valid(p.Value))
	}
	return append(b, '}')
}

func appendTexts(b []byte, list []string) []byte {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = Valid(s)
	}
	return AppendStrings(b, texts)
}

// Valid makes what came over the wire a text.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

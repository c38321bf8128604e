package legacy

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	paths "path"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

var errRewrites = dberr.New(dberr.Invalid, "bad_request", "Exceeded rewrite recursion limit")

// rewriteTarget is where a rewritten request goes.
type rewriteTarget struct {
	path    string // escaped, below the design document; may have a query
	query   string
	method  string // "": that of the request
	headers []web.Pair
	body    []byte // nil: that of the request
	rule    bool   // of a list of rules, not of a function
}

// rewriteRequest answers _rewrite: the design document's rules, or its
// function, say which request this one stands for, and that is answered.
func rewriteRequest(r *couchhttp.Request) error {
	if r.Rewrites >= r.API.Settings.Value().MaxRewrites {
		return errRewrites
	}
	d, err := r.DesignNamed(r.Arg("ddoc"))
	if err != nil {
		return err
	}
	rewrites, ok := jsonscan.Member(d.Body, "rewrites")
	if !ok {
		return dberr.New(dberr.NotFound, "rewrite_error", "Invalid path.")
	}
	if jsonscan.KindOf(rewrites) == jsonscan.String {
		return rewriteByFunction(r, d)
	}
	to, err := matchRewrite(r, rewrites)
	if err != nil {
		return err
	}
	return forward(r, to)
}

// rewritten returns the segments after _rewrite.
func rewritten(r *couchhttp.Request) []string {
	for i, part := range r.Path.Parts() {
		if i > r.Below()+1 && part == "_rewrite" {
			return r.Path.Parts()[i+1 : len(r.Path.Parts())]
		}
	}
	return nil
}

// forward answers the request that to names in the place of this one. The
// caller's rights are those that the other one asks for.
func forward(r *couchhttp.Request, to rewriteTarget) error {
	where, query, _ := strings.Cut(to.path, "?")
	if query != "" && to.query != "" {
		query += "&"
	}
	h := r.HTTP.Clone(r.HTTP.Context()) // in which nobody has been let in: a feed looks at rights as any other
	h.RequestURI = paths.Clean(escapedDesign(r) + "/" + where)
	if query += to.query; query != "" {
		h.RequestURI += "?" + query
	}
	u, err := url.ParseRequestURI(h.RequestURI)
	if err != nil {
		return dberr.New(dberr.Internal, "rewrite_error", "The path is none.")
	}
	h.URL = u
	h.Method = r.MethodShown()
	h.Header.Del("X-Http-Method-Override")
	if to.method != "" {
		h.Method = strings.ToUpper(to.method)
	}
	for _, p := range to.headers {
		if name := http.CanonicalHeaderKey(p.Name); isForwardable(name) {
			h.Header.Set(name, p.Value)
		}
	}
	if to.body != nil {
		h.Body, h.ContentLength = io.NopCloser(bytes.NewReader(to.body)), int64(len(to.body))
		h.Header.Del("Content-Encoding")
	}
	return r.Rewrite(h, to.rule)
}

// isForwardable reports whether a rewrites function may set a header. What says who asks, from
// where, and how the body is sent stays as it came.
func isForwardable(name string) bool {
	switch name {
	case "Authorization", "Cookie", "Proxy-Authorization", "Origin", "Referer", "Host", "Forwarded",
		"Content-Length", "Content-Encoding", "Transfer-Encoding", "X-Http-Method-Override":
		return false
	}
	for _, prefix := range []string{"Sec-", "X-Forwarded-", "X-Auth-", "X-Sectional-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// escapedDesign returns the path of the design document, escaped.
func escapedDesign(r *couchhttp.Request) string {
	return string(r.AppendAddress(nil, "_design", r.Arg("ddoc")))
}

// rewriteByFunction asks the rewrites function.
func rewriteByFunction(r *couchhttp.Request, d couchhttp.DesignFunctions) error {
	realm, err := r.Realm(d)
	if err != nil {
		return err
	}
	text, err := r.FunctionBody()
	if err != nil {
		return err
	}
	req, err := r.FunctionJSON(couchhttp.FunctionRequest{Text: text})
	if err != nil {
		return err
	}
	given, err := r.API.Scripts.Rewrite(r.Ctx(), realm, req)
	if err != nil {
		return err
	}
	switch jsonscan.KindOf(given) {
	case jsonscan.String:
		return forward(r, rewriteTarget{path: string(jsonscan.Text(nil, given)), query: rawQuery(r.Query), body: orEmpty(text)})
	case jsonscan.Object:
		return rewriteByObject(r, given, text)
	}
	return dberr.New(dberr.NotFound, "rewrite_error", "Invalid path.")
}

// orEmpty returns the body that was read for the request that stands for this
// one.
func orEmpty(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// rewriteByObject answers what a rewrites function gave: an answer, if it has
// a code, else a request.
func rewriteByObject(r *couchhttp.Request, given, text []byte) error {
	o := rewriteObject(given)
	if code, ok := jsonscan.Member(given, "code"); ok {
		return rewriteAnswer(r, code, o)
	}
	where, ok := jsonscan.Member(given, "path")
	if !ok || jsonscan.KindOf(where) != jsonscan.String {
		return dberr.New(dberr.Internal, "rewrite_error", "Rewrite result must produce a new path.")
	}
	to := rewriteTarget{path: string(jsonscan.Text(nil, where)), query: rawQuery(r.Query), method: o.text("method"),
		headers: o.pairs("headers"), body: orEmpty(text)}
	if _, ok := jsonscan.Member(given, "query"); ok {
		to.query = rawQuery(o.pairs("query"))
	}
	if _, ok := jsonscan.Member(given, "body"); ok {
		to.body = []byte(o.text("body"))
	}
	return forward(r, to)
}

// rewriteObject is what a rewrites function gave.
type rewriteObject []byte

// text returns a member as a text: "" if it is none.
func (o rewriteObject) text(name string) string {
	v, _ := jsonscan.Member(o, name)
	return textOf(v)
}

// pairs returns the members of an object in it.
func (o rewriteObject) pairs(name string) (q web.Query) {
	object, _ := jsonscan.Member(o, name)
	for m := jsonscan.MembersOf(object); ; {
		quoted, value, ok := m.Next()
		if !ok {
			return q
		}
		q = append(q, web.Pair{Name: string(jsonscan.Text(nil, quoted)), Value: textOf(value)})
	}
}

// textOf returns the text of a JSON string, and any other value as it is written.
func textOf(v []byte) string {
	if jsonscan.KindOf(v) == jsonscan.String {
		return string(jsonscan.Text(nil, v))
	}
	return string(v)
}

// rawQuery writes parameters as a query string.
func rawQuery(q web.Query) string {
	var b []byte
	for i, p := range q {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(append(append(b, url.QueryEscape(p.Name)...), '='), url.QueryEscape(p.Value)...)
	}
	return string(b)
}

// rewriteAnswer answers with what a rewrites function gave in full.
func rewriteAnswer(r *couchhttp.Request, code []byte, o rewriteObject) error {
	status := 0
	for _, c := range code {
		if c < '0' || c > '9' || status > 599 {
			status = 0
			break
		}
		status = 10*status + int(c-'0')
	}
	if status < 200 || status > 599 {
		return dberr.New(dberr.Internal, "rewrite_error", "code must be an integer between 200 and 599")
	}
	header := r.Answer()
	header["Content-Type"] = nil // the function's, or none
	for _, p := range o.pairs("headers") {
		if name := http.CanonicalHeaderKey(p.Name); settable(name, p.Value) {
			r.Set(name, p.Value)
		}
	}
	limitFunction(r)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		r.Begin(status, 0)
		return nil
	}
	body := o.text("body")
	r.Begin(status, len(body))
	if r.Head {
		return nil
	}
	return r.Write([]byte(body))
}

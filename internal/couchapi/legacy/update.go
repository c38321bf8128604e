package legacy

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/web"
)

// invalidPath refuses the path of a design function that names none.
func invalidPath(word string) couchhttp.Handler {
	return func(*couchhttp.Request) error { return dberr.New(dberr.NotFound, word, "Invalid path.") }
}

// called is what the path of a design function names: the function and, for
// shows and updates, a document.
type called struct {
	design couchhttp.DesignFunctions
	realm  script.Realm
	name   string
	id     document.ID // "" for none
}

// call finds the function that the path names among the members kind of its
// design document.
func call(r *couchhttp.Request, kind string) (c called, err error) {
	name, id, _ := strings.Cut(r.Arg("path"), "/")
	c.name, c.id = name, document.ID(id)
	if c.design, err = r.DesignNamed(r.Arg("ddoc")); err != nil {
		return c, err
	}
	if _, err = c.design.Function(kind, name); err != nil {
		return c, err
	}
	c.realm, err = r.Realm(c.design)
	return c, err
}

// callOn finds the function that the path names, and reads the body of the request and the document that the function is
// called for.
func callOn(r *couchhttp.Request, kind string) (c called, text []byte, doc input, err error) {
	if c, err = call(r, kind); err != nil {
		return c, nil, doc, err
	}
	if text, err = r.FunctionBody(); err != nil {
		return c, nil, doc, err
	}
	doc, err = functionInput(r, c.id)
	return c, text, doc, err
}

// updateFunction answers _update: the function makes a document of the one
// that the path names, or of none, and an answer.
func updateFunction(r *couchhttp.Request) error {
	if err := r.RequireReader(); err != nil {
		return err
	}
	c, text, doc, err := callOn(r, "updates")
	if err != nil {
		return err
	}
	req, err := r.FunctionJSON(couchhttp.FunctionRequest{Id: c.id, Text: text})
	if err != nil {
		return err
	}
	written, answer, err := r.API.Scripts.Update(r.Ctx(), c.realm, c.name, doc.json, req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if written != nil {
		id, rev, err := storeWritten(r, written)
		if err != nil {
			return err
		}
		status = http.StatusCreated
		r.Set("X-Couch-Id", string(web.AppendQuotedPath(nil, string(id))))
		r.Set("X-Couch-Update-Newrev", rev)
	}
	return answerFunction(r, &answer, status)
}

// storeWritten stores the document that an update function gave.
func storeWritten(r *couchhttp.Request, raw []byte) (id document.ID, rev string, err error) {
	d, err := couchwire.ParseDocument(raw, r.Rules())
	if err == nil {
		err = d.CheckComplete()
	}
	if err == nil && d.ID == "" {
		_, err = document.ParseID("", 0)
	}
	if err == nil {
		err = d.CheckSize(r.Rules())
	}
	if err != nil {
		return "", "", err
	}
	if d.ID.IsLocal() {
		n, err := r.StoreLocal(&d, d.Rev())
		return d.ID, couchhttp.LocalRev(n).String(), err
	}
	e := d.Edit(d.Rev())
	stored, err := r.StoreEdit(&e)
	return d.ID, stored.String(), err
}

// unsettable are headers that a function can't set: those that an answer's way decides, and those by which a browser
// treats the whole server otherwise from then on, and not this answer alone.
var unsettable = map[string]bool{
	"Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Trailer": true, "Upgrade": true,
	"Alt-Svc": true, "Clear-Site-Data": true, "Nel": true, "Report-To": true, "Reporting-Endpoints": true, "Service-Worker-Allowed": true, "Strict-Transport-Security": true,
	"X-Lighttpd-Send-File": true, "X-Lighttpd-Send-Tempfile": true, "X-Lighttpd-Send2-File": true, "X-Reproxy-Url": true, "X-Sendfile": true, "X-Sendfile2": true,
}

// settable reports whether a function can set a header, whose name is in canonical form, to a value: it can't say which other
// sites may read the answer, nor who the visitor is. Nor can it give orders to a proxy before the server, which sends a file
// of its host in the place of an answer that has X-Sendfile or X-Accel-Redirect.
func settable(name, value string) bool {
	for _, prefix := range []string{"Access-Control-", "X-Accel-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return !unsettable[name] && !(name == "Set-Cookie" && auth.SetsSession(value))
}

// functionHead sets the headers that a function gave, and returns its status, or
// the one given if it has none.
func functionHead(r *couchhttp.Request, a *script.Response, status int) (int, error) {
	if a.Code != 0 {
		status = a.Code
	}
	if status < http.StatusOK {
		return 0, dberr.New(dberr.Internal, "external_response_error", "%s", "A function can't answer with that status.")
	}
	for _, h := range a.Headers {
		switch name := http.CanonicalHeaderKey(h.Name); {
		case name == "Vary":
			r.Vary(h.Value)
		case settable(name, h.Value):
			r.Set(name, h.Value)
		}
	}
	limitFunction(r)
	return status, nil
}

// limitFunction keeps what a function makes from running as a page of this server:
// else whoever writes a design document could act as everybody who looks at it. A
// policy of the function's own comes second, which can but restrict it further.
func limitFunction(r *couchhttp.Request) {
	policy := r.API.Settings.Value().FunctionPolicy
	if policy == "" {
		return
	}
	h := r.Answer()
	h[couchhttp.PolicyHeader] = append([]string{policy}, h[couchhttp.PolicyHeader]...)
}

// answerFunction answers with what a function gave.
func answerFunction(r *couchhttp.Request, a *script.Response, status int) error {
	status, err := functionHead(r, a, status)
	if err != nil {
		return err
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		r.Begin(status, 0)
		return nil
	}
	return r.Bytes(status, a.Type, a.Body)
}

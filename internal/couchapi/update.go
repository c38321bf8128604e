package couchapi

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/web"
)

// invalidPath refuses the path of a design function that names none.
func invalidPath(word string) handler {
	return func(*request) error { return dberr.New(dberr.NotFound, word, "Invalid path.") }
}

// called is what the path of a design function names: the function and, for
// shows and updates, a document.
type called struct {
	design designFunctions
	realm  script.Realm
	name   string
	id     document.ID // "" for none
}

// call finds the function that the path names among the members kind of its
// design document.
func (r *request) call(kind string) (c called, err error) {
	name, id, _ := strings.Cut(r.arg("path"), "/")
	c.name, c.id = name, document.ID(id)
	if c.design, err = r.designNamed(r.arg("ddoc")); err != nil {
		return c, err
	}
	if _, err = c.design.function(kind, name); err != nil {
		return c, err
	}
	c.realm, err = r.realm(c.design)
	return c, err
}

// requireReader refuses who may write to the database and not read it:
// what the function answers may be made of documents.
func (r *request) requireReader() error {
	if r.scope.Restricted() || r.Caller.IsAdmin() {
		return nil // he reads the partition to which he may write
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	return s.Check(r.Caller, auth.Reader)
}

// updateFunction answers _update: the function makes a document of the one
// that the path names, or of none, and an answer.
func updateFunction(r *request) error {
	if err := r.requireReader(); err != nil {
		return err
	}
	c, err := r.call("updates")
	if err != nil {
		return err
	}
	text, err := r.functionBody()
	if err != nil {
		return err
	}
	doc, err := r.functionInput(c.id)
	if err != nil {
		return err
	}
	req, err := r.functionJSON(functionRequest{id: c.id, text: text})
	if err != nil {
		return err
	}
	written, answer, err := r.api.scripts.Update(r.Ctx(), c.realm, c.name, doc.json, req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if written != nil {
		id, rev, err := r.storeWritten(written)
		if err != nil {
			return err
		}
		status = http.StatusCreated
		r.Set("X-Couch-Id", string(web.AppendQuotedPath(nil, string(id))))
		r.Set("X-Couch-Update-Newrev", rev)
	}
	return r.answerFunction(&answer, status)
}

// storeWritten stores the document that an update function gave.
func (r *request) storeWritten(raw []byte) (id document.ID, rev string, err error) {
	d, err := couchwire.ParseDocument(raw, r.rules())
	if err == nil {
		err = d.CheckComplete()
	}
	if err == nil && d.ID == "" {
		_, err = document.ParseID("", 0)
	}
	if err == nil {
		err = d.CheckSize(r.rules())
	}
	if err != nil {
		return "", "", err
	}
	if d.ID.IsLocal() {
		n, err := r.storeLocal(&d, d.Rev())
		return d.ID, localRev(n).String(), err
	}
	e := d.Edit(d.Rev())
	stored, err := r.storeEdit(&e)
	return d.ID, stored.String(), err
}

// unsettable are headers that an answer's way decides, not a function.
var unsettable = map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Trailer": true, "Upgrade": true}

// functionHead sets the headers that a function gave, and gives its status, or
// the one given if it has none.
func (r *request) functionHead(a *script.Response, status int) (int, error) {
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
		case !unsettable[name]:
			r.Set(name, h.Value)
		}
	}
	r.limitFunction()
	return status, nil
}

// policyHeader tells browsers what the content of an answer may do.
const policyHeader = "Content-Security-Policy"

// limitFunction keeps what a function makes from running as a page of this server:
// else whoever writes a design document could act as everybody who looks at it. A
// policy of the function's own comes second, which can but restrict it further.
func (r *request) limitFunction() {
	policy := r.api.settings.Value().functionPolicy
	if policy == "" {
		return
	}
	h := r.Answer()
	h[policyHeader] = append([]string{policy}, h[policyHeader]...)
}

// answerFunction answers with what a function gave.
func (r *request) answerFunction(a *script.Response, status int) error {
	status, err := r.functionHead(a, status)
	if err != nil {
		return err
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		r.Begin(status, 0)
		return nil
	}
	return r.Bytes(status, a.Type, a.Body)
}

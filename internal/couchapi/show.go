package couchapi

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/script"
)

// noRender is why a function does not answer.
const noRender = "Show, list and rewrite functions are switched off."

// rendered makes the handler of a function that renders, which a setting may
// switch off.
func rendered(run handler) handler {
	return func(r *request) error {
		if !r.api.settings.Value().render {
			return notImplemented(noRender)
		}
		return run(r)
	}
}

// showFunction answers _show: the document that the path names, or none, as
// the function shows it.
func showFunction(r *request) error {
	c, err := r.call("shows")
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
	r.Vary("Accept")
	r.renderedTag(c.realm.Version, doc.rev, string(text))
	if r.Unmodified() {
		return nil
	}
	req, err := r.functionJSON(functionRequest{id: c.id, text: text})
	if err != nil {
		return err
	}
	answer, err := r.api.scripts.Show(r.Ctx(), c.realm, c.name, doc.json, req)
	if err != nil {
		return err
	}
	answer.Headers = slices.DeleteFunc(answer.Headers, func(h script.Header) bool {
		name := http.CanonicalHeaderKey(h.Name)
		return name == "Etag" || name == "Vary" // which were given before it was asked
	})
	return r.answerFunction(&answer, http.StatusOK)
}

// renderedTag sets an ETag that depends on what a function sees: the request,
// the caller and the parts that the handler knows.
func (r *request) renderedTag(parts ...string) {
	h := md5.New()
	seen := append([]string{r.Method, r.Target(), r.Header("Accept"), string(admission.UserContext(r.Caller, r.scope.Name()))}, parts...)
	for _, s := range seen {
		h.Write([]byte(s)) // never fails
		h.Write([]byte{0})
	}
	r.Etag(base64.RawURLEncoding.EncodeToString(h.Sum(nil)))
}

package legacy

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/script"
)

// NoRender is why a function does not answer.
const NoRender = "Show, list and rewrite functions are switched off."

// rendered makes the handler of a function that renders, which a setting may
// switch off.
func rendered(run couchhttp.Handler) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		if !r.API.Settings.Value().Render {
			return couchhttp.NotImplemented(NoRender)
		}
		return run(r)
	}
}

// showFunction answers _show: the document that the path names, or none, as
// the function shows it.
func showFunction(r *couchhttp.Request) error {
	c, text, doc, err := callOn(r, "shows")
	if err != nil {
		return err
	}
	r.Vary("Accept")
	renderedTag(r, c.realm.Version, doc.rev, string(text))
	if r.Unmodified() {
		return nil
	}
	req, err := r.FunctionJSON(couchhttp.FunctionRequest{Id: c.id, Text: text})
	if err != nil {
		return err
	}
	answer, err := r.API.Scripts.Show(r.Ctx(), c.realm, c.name, doc.json, req)
	if err != nil {
		return err
	}
	answer.Headers = slices.DeleteFunc(answer.Headers, func(h script.Header) bool {
		name := http.CanonicalHeaderKey(h.Name)
		return name == "Etag" || name == "Vary" // which were given before it was asked
	})
	return answerFunction(r, &answer, http.StatusOK)
}

// renderedTag sets an ETag that depends on what a function sees: the request,
// the caller and the parts that the handler knows.
func renderedTag(r *couchhttp.Request, parts ...string) {
	h := md5.New()
	seen := append([]string{r.Method, r.Target(), r.Header("Accept"), string(admission.UserContext(r.Caller, r.Scope.Name()))}, parts...)
	for _, s := range seen {
		h.Write([]byte(s)) // never fails
		h.Write([]byte{0})
	}
	r.Etag(base64.RawURLEncoding.EncodeToString(h.Sum(nil)))
}

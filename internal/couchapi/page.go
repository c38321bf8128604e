package couchapi

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dashboard"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// wantsPage reports whether somebody looks at the answer in a browser: it asks for
// HTML by that name, and not for JSON. Programs ask for JSON, or for anything.
func wantsPage(r *couchhttp.Request) bool {
	accept := strings.ToLower(r.Header("Accept"))
	return strings.Contains(accept, "text/html") && !strings.Contains(accept, "application/json")
}

// page is what is on the page that needs no scripts: a form to log in.
type page struct {
	Version, Compatible string
	Name                string // of the caller; "" for nobody
	Reason              string // why the caller was sent here to log in
	Next                string // where the login leads
	Style               template.CSS
}

const pageStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#222;background:#fff}` +
	`label{display:block;margin:.5rem 0}input{font:inherit;margin-left:.5rem}button{font:inherit}code{background:#f2f2f2;padding:0 .2rem}`

// pageTemplate needs nothing but itself: no scripts, no images, nothing of other hosts.
var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Sectional</title><style>{{.Style}}</style></head>
<body>
<h1>Sectional</h1>
<p>This database server runs: version {{.Version}}, with the HTTP API of CouchDB {{.Compatible}}. Its <a href="/_utils/">dashboard</a> needs scripts; this page does not.</p>
{{if .Reason}}<p><strong>{{.Reason}}</strong></p>
{{end}}{{if .Name}}<p>You are logged in as <strong>{{.Name}}</strong>. <a href="/_session">Session</a>, <a href="/_all_dbs">databases</a> (for administrators).</p>
{{else}}<form method="post" action="/_session?next={{.Next}}">
<p><label>Name <input name="name" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Log in</button></p>
</form>
{{end}}<p>Documentation: <a href="https://github.com/sectional/sectional/tree/main/docs" rel="noreferrer">github.com/sectional/sectional</a>.</p>
</body>
</html>
`))

// styleHash is how the page's policy names its style.
func styleHash() string {
	h := sha256.Sum256([]byte(pageStyle))
	return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}

// loginPage answers a browser with the page to log in.
func loginPage(r *couchhttp.Request) error {
	p := page{Version: r.API.Version, Compatible: compatible, Name: r.Caller.Name, Next: "/_utils/", Style: template.CSS(pageStyle)}
	if next, ok := r.Query.Get("return"); ok && isLocal(next) {
		p.Next = next
		p.Reason, _ = r.Query.Get("reason")
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return dberr.Wrap("couchapi.loginPage", err)
	}
	harden(r, "default-src 'none'; style-src "+styleHash()+"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	r.Set("Cache-Control", "no-store")
	return r.Bytes(http.StatusOK, "text/html; charset=utf-8", []byte(b.String()))
}

// harden sets the headers of what is made for browsers: what it may load and do, and that nobody shows it in a frame.
func harden(r *couchhttp.Request, policy string) {
	r.Set("Content-Security-Policy", policy)
	r.Set("X-Frame-Options", "DENY")
	r.Set("Referrer-Policy", "no-referrer")
}

// toDashboard sends a browser to the dashboard.
func toDashboard(r *couchhttp.Request, status int) error {
	_, query := web.TargetOf(r.HTTP)
	if query != "" {
		query = "?" + query
	}
	r.Set("Location", r.Host()+"/_utils/"+query)
	r.Begin(status, 0)
	return nil
}

// utils answers GET /_utils and what lies below it: the dashboard, and the page to log in.
func utils(r *couchhttp.Request) error {
	path, _ := web.TargetOf(r.HTTP)
	name := strings.TrimPrefix(r.Path.Rest(0), "_utils")
	switch {
	case name == "" && !strings.HasSuffix(path, "/"):
		return toDashboard(r, http.StatusMovedPermanently)
	case name == "":
		name = "/" + dashboard.Index
	case name == "/session.html":
		return loginPage(r)
	}
	file, err := dashboard.Find(strings.TrimPrefix(name, "/"))
	if err != nil {
		return err
	}
	if file == nil {
		return dberr.New(dberr.NotFound, "not_found", "missing")
	}
	return dashboardFile(r, file)
}

// dashboardFile answers with a file of the dashboard. What has a hash in its name is never asked for again.
func dashboardFile(r *couchhttp.Request, f *dashboard.File) error {
	harden(r, dashboard.Policy)
	r.Vary("Accept-Encoding")
	r.Set("Etag", f.ETag)
	if f.Hashed {
		r.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Unmodified() {
		return nil
	}
	body := f.Body
	if f.Gzip != nil && couchwire.Accepts(r.Header("Accept-Encoding"), couchwire.Gzip) {
		r.Set("Content-Encoding", couchwire.Gzip)
		body = f.Gzip
	}
	return r.Bytes(http.StatusOK, f.Type, body)
}

package couchapi

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// wantsPage reports whether somebody looks at the answer in a browser: it asks for
// HTML by that name, and not for JSON. Programs ask for JSON, or for anything.
func wantsPage(r *couchhttp.Request) bool {
	accept := strings.ToLower(r.Header("Accept"))
	return strings.Contains(accept, "text/html") && !strings.Contains(accept, "application/json")
}

// page is what is on the one page that there is for browsers as long as there is
// no dashboard.
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
<p>This database server runs: version {{.Version}}, with the HTTP API of CouchDB {{.Compatible}}. There is no dashboard; programs and <code>curl</code> use the API.</p>
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

// browserPage answers a browser with the page.
func browserPage(r *couchhttp.Request) error {
	p := page{Version: r.API.Version, Compatible: compatible, Name: r.Caller.Name, Next: "/_utils/", Style: template.CSS(pageStyle)}
	if next, ok := r.Query.Get("return"); ok && isLocal(next) {
		p.Next = next
		p.Reason, _ = r.Query.Get("reason")
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return dberr.Wrap("couchapi.browserPage", err)
	}
	r.Set("Content-Security-Policy", "default-src 'none'; style-src "+styleHash()+"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	r.Set("X-Content-Type-Options", "nosniff")
	r.Set("X-Frame-Options", "DENY")
	r.Set("Referrer-Policy", "no-referrer")
	r.Set("Cache-Control", "no-store")
	return r.Bytes(http.StatusOK, "text/html; charset=utf-8", []byte(b.String()))
}

// utils answers GET /_utils and what lies below it, where CouchDB has its dashboard.
func utils(r *couchhttp.Request) error {
	path, query := web.TargetOf(r.HTTP)
	switch r.Path.Rest(0) {
	case "_utils":
		if strings.HasSuffix(path, "/") {
			return browserPage(r)
		}
		if query != "" {
			query = "?" + query
		}
		r.Set("Location", r.Host()+"/_utils/"+query)
		r.Begin(http.StatusMovedPermanently, 0)
		return nil
	case "_utils/index.html", "_utils/session.html":
		return browserPage(r)
	}
	return dberr.New(dberr.NotFound, "not_found", "missing")
}

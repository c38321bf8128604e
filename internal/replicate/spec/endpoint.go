package spec

import (
	"encoding/base64"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// Endpoint is a source or target: something of this server, or a URL.
type Endpoint struct {
	// Local is the name of a database of this server, of a partition
	// ("db/_partition/p") or a tenant's endpoint ("db/_owner/p"); "" for a URL.
	Local string
	// Path is that of Local below the server, escaped.
	Path string
	// URL has no credentials and no slash at its end; "" for something local.
	URL string
	// User and Password are Basic credentials, from wherever they came.
	User, Password string
	// Header holds what else is to be sent, under canonical names.
	Header map[string]string
	// Proxy is the URL of the proxy, with its credentials; nil for none.
	Proxy *url.URL
}

// Shown returns the endpoint as anybody may see it who may see the replication.
func (e *Endpoint) Shown() string {
	if e.Local != "" {
		return e.Local
	}
	return e.URL + "/"
}

// ShownProxy returns the proxy without its credentials, "" for none.
func (e *Endpoint) ShownProxy() string {
	if e.Proxy == nil {
		return ""
	}
	return StripURL(e.Proxy.String())
}

// HasCredentials reports whether the endpoint brings its own.
func (e *Endpoint) HasCredentials() bool { return e.User != "" || e.Header["Authorization"] != "" }

var errURL = invalid("endpoint has an invalid url")

// parseEndpoint parses a source or target: a string, or an object with url,
// headers and auth.
func parseEndpoint(raw []byte, proxy string, s *Settings) (e Endpoint, err error) {
	address := raw
	switch js.KindOf(raw) {
	case js.String:
	case js.Object:
		var ok bool
		if address, ok = js.Member(raw, "url"); !ok {
			return e, errURL
		}
		if err := e.parseHeaders(raw); err != nil {
			return e, err
		}
	case js.Invalid, js.Null:
		return e, invalid("Missing replicator database")
	}
	where, ok := text(address)
	if !ok || where == "" {
		return e, errURL
	}
	if err := e.locate(where, s); err != nil {
		return e, err
	}
	if js.KindOf(raw) == js.Object {
		if err := e.parseAuth(raw); err != nil {
			return e, err
		}
	}
	if e.User != "" {
		delete(e.Header, "Authorization")
	}
	return e, e.goBy(proxy, s)
}

// locate reads where the endpoint is. Credentials in a URL give way to those of
// an auth object, and go before those in headers, as in CouchDB.
func (e *Endpoint) locate(where string, s *Settings) error {
	e.takeBasic()
	if !strings.Contains(where, "://") {
		return e.locateHere(where)
	}
	u, err := url.Parse(where)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") == "" {
		return errURL
	}
	if !slices.Contains(s.EndpointProtocols, u.Scheme) {
		return errURL
	}
	if u.User != nil {
		e.User = u.User.Username()
		e.Password, _ = u.User.Password()
		u.User = nil
	}
	e.URL = strings.TrimRight(u.String(), "/")
	return nil
}

// locateHere reads the name of something on this server. A database's name may
// hold slashes, escaped or not.
func (e *Endpoint) locateHere(name string) error {
	for _, endpoint := range []string{"/_partition/", "/_owner/"} {
		if database, rest, ok := strings.Cut(name, endpoint); ok {
			return e.hereAt(database, endpoint, rest)
		}
	}
	return e.hereAt(name, "", "")
}

func (e *Endpoint) hereAt(database, endpoint, rest string) error {
	database, err := url.PathUnescape(database)
	if err != nil {
		return errURL
	}
	if err := store.ParseName(database); err != nil {
		return err
	}
	e.Local, e.Path = database, "/"+url.PathEscape(database)
	if endpoint == "" {
		return nil
	}
	partition, err := url.PathUnescape(rest)
	if err != nil || partition == "" {
		return errURL
	}
	e.Local += endpoint + partition
	e.Path += endpoint + url.PathEscape(partition)
	return nil
}

// parseHeaders takes the member headers.
func (e *Endpoint) parseHeaders(raw []byte) error {
	headers, ok := js.Member(raw, "headers")
	if !ok || js.KindOf(headers) == js.Null {
		return nil
	}
	if js.KindOf(headers) != js.Object {
		return invalid("`headers` must be a JSON object")
	}
	e.Header = map[string]string{}
	for m := js.MembersOf(headers); ; {
		quoted, v, ok := m.Next()
		if !ok {
			return nil
		}
		name, value := string(js.Text(nil, quoted)), ""
		if value, ok = text(v); !ok || !token(name) || strings.ContainsAny(value, "\r\n\x00") {
			return invalid("`headers` must hold strings that can be sent")
		}
		e.Header[textproto.CanonicalMIMEHeaderKey(name)] = value
	}
}

// token reports whether a header may have that name.
func token(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// takeBasic takes Basic credentials out of the headers.
func (e *Endpoint) takeBasic() {
	scheme, rest, _ := strings.Cut(e.Header["Authorization"], " ")
	if !strings.EqualFold(scheme, "basic") {
		return
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	if user, password, ok := strings.Cut(string(pair), ":"); err == nil && ok {
		e.User, e.Password = user, password
		delete(e.Header, "Authorization")
	}
}

// parseAuth takes the member auth.
func (e *Endpoint) parseAuth(raw []byte) error {
	auth, ok := js.Member(raw, "auth")
	if !ok || js.KindOf(auth) == js.Null {
		return nil
	}
	if js.KindOf(auth) != js.Object {
		return invalid("`auth` must be a JSON object")
	}
	for m := js.MembersOf(auth); ; {
		quoted, v, ok := m.Next()
		if !ok {
			return nil
		}
		if !js.NameIs(quoted, "basic") {
			return invalid("`auth` knows `basic` with `username` and `password` only")
		}
		user, _ := js.Member(v, "username")
		password, _ := js.Member(v, "password")
		var isUser, isPassword bool
		e.User, isUser = text(user)
		e.Password, isPassword = text(password)
		if !isUser || !isPassword || e.User == "" {
			return invalid("`auth.basic` needs `username` and `password`")
		}
	}
}

// goBy sets the proxy.
func (e *Endpoint) goBy(proxy string, s *Settings) error {
	if proxy == "" {
		return nil
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Hostname() == "" || !slices.Contains(s.ProxyProtocols, u.Scheme) {
		return invalid("proxy has an invalid url")
	}
	e.Proxy = u
	return nil
}

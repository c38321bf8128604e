package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

const (
	connectWithin = 2 * time.Second
	answerWithin  = 10 * time.Second
	maxAnswer     = 16 << 20
	// Header is where a request of a server says what it is.
	Header = "X-Sectional-Server-Request"
)

// Peers sends requests to the other servers of a store, and takes theirs.
type Peers struct {
	store  *store.Store
	now    func() time.Time
	key    []byte
	client *http.Client
	used   seen
}

// New joins a server to the others of its store.
func New(s *store.Store) *Peers {
	return &Peers{store: s, now: s.Now, key: s.Secret("requests between servers"), client: &http.Client{
		Transport: &http.Transport{ // no proxy: it would see what is asked
			DialContext: (&net.Dialer{Timeout: connectWithin}).DialContext, TLSHandshakeTimeout: connectWithin,
			MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, MaxIdleConns: 16, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close ends the connections that wait for further requests.
func (p *Peers) Close() { p.client.CloseIdleConnections() }

// Request is what is asked of another server.
type Request struct {
	Method, Target string // the target as on the wire
	Header         http.Header
	Body           []byte
	Caller         *auth.Caller // in whose name
}

// Answer is what it said.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Ask sends a request to the server of a name. Errors: NotFound where the store has no server
// of the name; Unavailable ("nodedown") for one that does not live, has no address, can't be
// reached or gives no answer that can be passed on.
func (p *Peers) Ask(ctx context.Context, name string, r Request) (*Answer, error) {
	to, err := p.find(ctx, name)
	if err != nil {
		return nil, err
	}
	at, err := address(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	h, err := p.request(ctx, at, to, r)
	if err != nil {
		return nil, err
	}
	w, err := p.client.Do(h)
	if err != nil {
		return nil, away(name, "can't be reached", err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(io.LimitReader(w.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, away(name, "did not end its answer", err)
	case len(body) > maxAnswer:
		return nil, away(name, "answers with too much", nil)
	case w.StatusCode >= 300 && w.StatusCode < 400 && w.StatusCode != http.StatusNotModified:
		return nil, away(name, "answers with a redirect", nil)
	}
	return &Answer{Status: w.StatusCode, Header: w.Header, Body: body}, nil
}

// find looks for a server that lives in the rows of the store: no other name leads anywhere.
func (p *Peers) find(ctx context.Context, name string) (store.Server, error) {
	all, err := p.store.Servers(ctx)
	if err != nil {
		return store.Server{}, err
	}
	i := slices.IndexFunc(all, func(o store.Server) bool { return o.Name == name })
	switch {
	case i < 0:
		return store.Server{}, NoServer(name)
	case !all[i].Lives(p.now()):
		return store.Server{}, away(name, "is down", nil)
	}
	return all[i], nil
}

// address is where a server says that it is reached.
func address(to store.Server) (*url.URL, error) {
	if to.Address == "" {
		return nil, away(to.Name, "has no address yet", nil)
	}
	u, err := url.Parse(to.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, away(to.Name, "has an address that is none", err)
	}
	return u, nil
}

// request is what goes over the line.
func (p *Peers) request(ctx context.Context, at *url.URL, to store.Server, r Request) (*http.Request, error) {
	h, err := http.NewRequestWithContext(ctx, r.Method, at.Scheme+"://"+at.Host+r.Target, bytes.NewReader(r.Body))
	if err != nil || h.URL.Host != at.Host {
		return nil, errors.Join(dberr.New(dberr.Invalid, "bad_request", "The request can't be passed on to another server."), err)
	}
	for name, values := range r.Header {
		h.Header[name] = values
	}
	digest := sha256.Sum256(r.Body)
	t := token{To: to.Name, Holder: to.Holder, Method: r.Method, Target: h.URL.RequestURI(), Body: digest[:],
		Name: r.Caller.Name, Roles: r.Caller.Roles, Handler: r.Caller.Handler, Expires: p.now().Add(tokenLife).UnixMilli()}
	sealed, err := t.seal(p.key)
	h.Header.Set(Header, sealed)
	return h, err
}

// NoServer is the error for a name that no server of the store has.
func NoServer(name string) error {
	return dberr.New(dberr.NotFound, "not_found", "%s", "no such node: "+name)
}

func away(name, why string, cause error) error {
	return &dberr.Error{Kind: dberr.Unavailable, Code: "nodedown", Reason: name + " " + why + ".", Cause: cause}
}

package couchhttp

import (
	"io"
	"net/http"

	"github.com/sectional/sectional/internal/peers"
)

// maxPassedOn bounds the body of a request that is passed on to another server.
const maxPassedOn = 256 << 10

// passedOn are the headers that go with a request to another server, and those that come back.
var (
	passedOn   = []string{"Accept", "Content-Type", "X-Couch-Persist"}
	passedBack = []string{"X-Sectional-Warning", "X-Sectional-Replication"}
)

// AskServer answers with what another server of the store says to the same request. One that
// was passed on is not passed on again: the name is no server's then, as any that none has.
func (r *Request) AskServer(name string) error {
	from, err := r.Reader(maxPassedOn)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return r.AskServerFor(name, body)
}

// AskServerFor is AskServer for a request whose body has been read.
func (r *Request) AskServerFor(name string, body []byte) error {
	if r.API.peers == nil || peers.Entered(r.Ctx()) {
		return peers.NoServer(name)
	}
	ask := peers.Request{Method: r.Method, Target: r.Target(), Header: http.Header{}, Body: body, Caller: r.Caller}
	copyHeaders(ask.Header, r.HTTP.Header, passedOn)
	a, err := r.API.peers.Ask(r.Ctx(), name, ask)
	if err != nil {
		return err
	}
	copyHeaders(r.Answer(), a.Header, passedBack)
	return r.Bytes(a.Status, a.Header.Get("Content-Type"), a.Body)
}

func copyHeaders(to, from http.Header, names []string) {
	for _, name := range names {
		if v := from[http.CanonicalHeaderKey(name)]; v != nil {
			to[http.CanonicalHeaderKey(name)] = v
		}
	}
}

package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/auth"
)

type enteredKey struct{}

// entered is what Enter found out about a request.
type entered struct{ err error }

// Enter looks whether a request comes from another server of the store: then it is asked in
// the name of whoever asked there, and who has changed its body meets an error at its end. A
// request that only says so is refused (Refused). nil, and a request of anybody else, are
// left as they are.
func (p *Peers) Enter(h *http.Request) *http.Request {
	sealed := h.Header[Header]
	if sealed == nil || p == nil {
		return h
	}
	t, err := p.accept(sealed[0], h)
	ctx := context.WithValue(h.Context(), enteredKey{}, entered{err})
	if err != nil {
		return h.WithContext(ctx)
	}
	h = h.WithContext(auth.WithCaller(ctx, &auth.Caller{Name: t.Name, Roles: t.Roles, Handler: t.Handler}))
	h.Body = &checked{from: h.Body, sum: sha256.New(), want: t.Body}
	return h
}

// Entered reports whether a request was sent by another server, which is not passed on.
func Entered(ctx context.Context) bool {
	_, is := ctx.Value(enteredKey{}).(entered)
	return is
}

// Refused returns why a request is refused that says that a server has sent it; nil for all
// others.
func Refused(ctx context.Context) error {
	e, _ := ctx.Value(enteredKey{}).(entered)
	return e.err
}

// accept takes the token of a request.
func (p *Peers) accept(sealed string, h *http.Request) (t token, err error) {
	if t, err = open(p.key, sealed); err != nil {
		return t, err
	}
	self, now, until := p.store.Self(), p.now(), time.UnixMilli(t.Expires)
	switch {
	case self.Name == "" || t.To != self.Name || t.Holder != self.Holder:
	case t.Method != h.Method || t.Target != h.URL.RequestURI():
	case until.Before(now) || until.After(now.Add(2*tokenLife)):
	case !p.used.first(t.Nonce, until, now):
	default:
		return t, nil
	}
	return t, errToken
}

// checked is a body that has to have a digest.
type checked struct {
	from io.ReadCloser
	sum  hash.Hash
	want []byte
}

// Read implements io.Reader.
func (c *checked) Read(b []byte) (n int, err error) {
	n, err = c.from.Read(b)
	c.sum.Write(b[:n])
	if err == io.EOF && !bytes.Equal(c.sum.Sum(nil), c.want) {
		err = errToken
	}
	return n, err
}

// Close implements io.Closer.
func (c *checked) Close() error { return c.from.Close() }

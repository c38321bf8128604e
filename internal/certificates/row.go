package certificates

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/packed"
)

// Rows are those that the servers of a store share. Each has a kind and a name; what is in it
// is for this package to say. *store.Store implements it.
type Rows interface {
	// ACMERow returns a row, nil if there is none.
	ACMERow(ctx context.Context, kind, name string) ([]byte, error)
	// ACMERows returns all rows of a kind by their names.
	ACMERows(ctx context.Context, kind string) (map[string][]byte, error)
	// ChangeACMERow makes a row what change returns for it, nil for none, in one transaction.
	// change may be called several times; its errors are returned, and nothing is changed.
	ChangeACMERow(ctx context.Context, kind, name string, change func(row []byte) ([]byte, error)) error
}

// The kinds of row.
const (
	kindAccount     = "account"     // by the URL of the directory
	kindCertificate = "certificate" // by name
	kindChallenge   = "challenge"   // by name: the one that is under way
)

// rowVersion is that of all rows here.
const rowVersion = 1

// pair is a certificate with the ones between it and its root, and its key.
type pair struct {
	chain [][]byte
	key   []byte // PKCS #8
}

func (p pair) append(w *packed.Writer) {
	w.List(p.chain)
	w.Bytes(p.key)
}

func readPair(r *packed.Reader) pair { return pair{r.List(), r.Bytes()} }

// load makes of it what TLS serves.
func (p pair) load() (*tls.Certificate, error) {
	if len(p.chain) == 0 {
		return nil, errors.New("there is no certificate")
	}
	leaf, err := x509.ParseCertificate(p.chain[0])
	if err != nil {
		return nil, err
	}
	key, err := parseKey(p.key)
	if err != nil {
		return nil, err
	}
	if public, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || !public.Equal(key.Public()) {
		return nil, errors.New("the certificate is of another key")
	}
	return &tls.Certificate{Certificate: p.chain, PrivateKey: key, Leaf: leaf}, nil
}

// newKey makes a key, and its form in rows.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	return key, text, err
}

func parseKey(text []byte) (crypto.Signer, error) {
	key, err := x509.ParsePKCS8PrivateKey(text)
	if err != nil {
		return nil, err
	}
	if signer, ok := key.(*ecdsa.PrivateKey); ok {
		return signer, nil
	}
	return nil, errors.New("the key is of another kind")
}

// state is what the servers know of a name: its certificate, who is at getting another, and what
// became of the last attempts.
type state struct {
	pair
	directory     string    // that the certificate comes from
	renew         time.Time // when another is to be got
	holder        string    // who is at it, until
	until         time.Time
	failures      uint64    // since the last that succeeded
	lastDirectory string    // the directory that was asked at the last of them
	notBefore     time.Time // before which it is not asked

	unreadable bool // nobody knows what the row says
}

func (s state) row() []byte {
	var w packed.Writer
	w.Byte(rowVersion)
	s.append(&w)
	w.Text(s.directory)
	putTime(&w, s.renew)
	w.Text(s.holder)
	putTime(&w, s.until)
	w.Uint(s.failures)
	w.Text(s.lastDirectory)
	putTime(&w, s.notBefore)
	return w
}

// readState reads a row; none is that of a name of which nothing is known.
func readState(row []byte) (state, error) {
	if row == nil {
		return state{}, nil
	}
	r := packed.ReadVersion(row, rowVersion)
	s := state{pair: readPair(&r), directory: r.Text(), renew: readTime(&r), holder: r.Text(), until: readTime(&r)}
	s.failures, s.lastDirectory, s.notBefore = r.Uint(), r.Text(), readTime(&r)
	if err := r.Done(); err != nil {
		return state{}, err
	}
	return s, nil
}

// challenge is what is to be answered while a name is being authorized: to a request for the
// token, or to a handshake.
type challenge struct {
	until    time.Time
	token    string
	response string // to http-01; empty for the other
	pair            // of tls-alpn-01
}

func (c challenge) row() []byte {
	var w packed.Writer
	w.Byte(rowVersion)
	putTime(&w, c.until)
	w.Text(c.token)
	w.Text(c.response)
	c.append(&w)
	return w
}

func readChallenge(row []byte) (challenge, error) {
	r := packed.ReadVersion(row, rowVersion)
	c := challenge{until: readTime(&r), token: r.Text(), response: r.Text(), pair: readPair(&r)}
	return c, r.Done()
}

// account is who the ACME server knows.
type account struct {
	key   []byte // PKCS #8
	email string // that it was told
}

func (a account) row() []byte {
	var w packed.Writer
	w.Byte(rowVersion)
	w.Bytes(a.key)
	w.Text(a.email)
	return w
}

func readAccount(row []byte) (account, error) {
	r := packed.ReadVersion(row, rowVersion)
	a := account{r.Bytes(), r.Text()}
	return a, r.Done()
}

// putTime writes a time in milliseconds; 0 is none.
func putTime(w *packed.Writer, t time.Time) {
	if t.IsZero() {
		w.Uint(0)
		return
	}
	w.Uint(uint64(max(t.UnixMilli(), 1)))
}

func readTime(r *packed.Reader) time.Time {
	if n := r.UpTo(1 << 60); n != 0 {
		return time.UnixMilli(int64(n)).UTC()
	}
	return time.Time{}
}

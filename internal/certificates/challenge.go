package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/sectional/sectional/internal/config"
)

// answer puts what is to be answered to a challenge where all servers find it. end takes it away.
func (s *Service) answer(ctx context.Context, c *acme.Client, ch *acme.Challenge, name string) (end func(), err error) {
	is := challenge{until: s.o.Now().Add(s.o.Pace.Budget), token: ch.Token}
	if ch.Type == HTTP {
		is.response, err = c.HTTP01ChallengeResponse(ch.Token)
	} else {
		is.pair, err = handshake(c, ch.Token, name)
	}
	if err != nil {
		return nil, err
	}
	change := func(ctx context.Context, row []byte) error {
		ctx, cancel := context.WithTimeout(ctx, rowsTime)
		defer cancel()
		return s.o.Rows.ChangeACMERow(ctx, kindChallenge, name, func([]byte) ([]byte, error) { return row, nil })
	}
	if err := change(ctx, is.row()); err != nil {
		return nil, err
	}
	return func() {
		if err := change(context.WithoutCancel(ctx), nil); err != nil {
			s.o.Log.Debug("what was answered to a challenge could not be removed; it counts for minutes", "name", name, "err", err)
		}
	}, nil
}

// handshake makes the certificate that answers tls-alpn-01.
func handshake(c *acme.Client, token, name string) (pair, error) {
	key, text, err := newKey()
	if err != nil {
		return pair{}, err
	}
	made, err := c.TLSALPN01ChallengeCert(token, name, acme.WithKey(key))
	return pair{made.Certificate, text}, err
}

// challenges are those that are under way.
//
// Who asks is a stranger, and what he asks for may have come to be there a moment ago, at another
// server. So the rows are read anew, but by one at a time: whoever comes while they are read
// shares the next read with all others that do.
type challenges struct {
	rows  Rows
	now   func() time.Time
	begun atomic.Uint64 // reads

	mu   sync.Mutex // held while rows are read
	done uint64     // the last read that has ended
	last map[string]challenge
	err  error
}

// of returns the challenge for a name.
func (c *challenges) of(ctx context.Context, name string) (challenge, bool, error) {
	return c.after(ctx, c.begun.Load(), name)
}

// after is of for one who came when so many reads had begun.
func (c *challenges) after(ctx context.Context, came uint64, name string) (challenge, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done <= came {
		c.done = c.begun.Add(1)
		c.last, c.err = c.read(ctx)
	}
	is, found := c.last[name]
	return is, found && c.now().Before(is.until), c.err
}

func (c *challenges) read(ctx context.Context) (map[string]challenge, error) {
	// Others wait for it who may not leave.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rowsTime)
	defer cancel()
	rows, err := c.rows.ACMERows(ctx, kindChallenge)
	if err != nil {
		return nil, err
	}
	all := map[string]challenge{}
	for name, row := range rows {
		if is, err := readChallenge(row); err == nil { // others are answered whatever a row holds
			all[name] = is
		}
	}
	return all, nil
}

// Path is what the paths begin with that are asked by http-01; a token follows.
const Path = "/.well-known/acme-challenge/"

// isToken reports whether a text could be a token: base64 for URLs, of 128 bits and more.
func isToken(text string) bool {
	return len(text) >= 16 && len(text) <= 256 && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Response returns what is answered to a request for a path at a host: the token's, if one of the
// settings' names is asked about it now. Everybody else asks in vain.
func (s *Service) Response(ctx context.Context, host, path string) (string, bool) {
	token, asks := strings.CutPrefix(path, Path)
	name := config.Host(host)
	if !asks || !isToken(token) || !s.o.Settings().has(name) {
		return "", false
	}
	is, there, err := s.challenges.of(ctx, name)
	if err != nil || !there || is.response == "" || is.token != token {
		return "", false
	}
	return is.response, true
}

// Asked reports whether a client wants the answer to a challenge and nothing else (RFC 8737).
func Asked(hello *tls.ClientHelloInfo) bool {
	return slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto})
}

// Handshake returns what answers to a challenge by a handshake.
func (s *Service) Handshake(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	name := config.Host(hello.ServerName)
	if !s.o.Settings().has(name) {
		return nil, errors.New("no challenge for this name")
	}
	is, there, err := s.challenges.of(hello.Context(), name)
	if err != nil {
		return nil, err
	}
	if !there || len(is.chain) == 0 {
		return nil, errors.New("no challenge for this name")
	}
	key, err := parseKey(is.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(is.chain[0])
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: is.chain, PrivateKey: key, Leaf: leaf}},
		NextProtos:             []string{acme.ALPNProto},
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
	}, nil
}

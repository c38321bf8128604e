package certificates

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/acme"

	"github.com/sectional/sectional/internal/config"
)

// maxAuthorizations is how many an order for one name may have.
const maxAuthorizations = 4

// obtain gets a certificate for a name. Each kind of challenge has an order of its own, since one
// that fails spoils its order.
func (s *Service) obtain(ctx context.Context, set Settings, name string) (got pair, err error) {
	http, err := newClient(set.Roots)
	if err != nil {
		return pair{}, err
	}
	defer http.CloseIdleConnections()
	client, err := s.login(ctx, set, &acme.Client{HTTPClient: http, DirectoryURL: set.Directory, RetryBackoff: retryAfter, UserAgent: "Sectional"})
	if err != nil {
		return pair{}, err
	}
	var all error
	for _, kind := range set.Challenges {
		got, err = s.order(ctx, client, name, kind)
		if err == nil {
			return got, nil
		}
		all = errors.Join(all, fmt.Errorf("by %s: %w", kind, err))
		if !errors.Is(err, errUnproven) || ctx.Err() != nil {
			break
		}
	}
	return pair{}, all
}

// errUnproven says that a challenge did not show whose the name is; another one may.
var errUnproven = errors.New("the ACME server could not see that the name leads here")

// login makes sure of an account, one for all servers of the store.
func (s *Service) login(ctx context.Context, set Settings, c *acme.Client) (*acme.Client, error) {
	is, err := s.account(ctx, set)
	if err != nil {
		return nil, err
	}
	if c.Key, err = parseKey(is.key); err != nil {
		return nil, err
	}
	wanted := &acme.Account{}
	if set.Email != "" {
		wanted.Contact = []string{"mailto:" + set.Email}
	}
	if set.KeyID != "" {
		wanted.ExternalAccountBinding = &acme.ExternalAccountBinding{KID: set.KeyID}
		if wanted.ExternalAccountBinding.Key, err = set.mac(); err != nil {
			return nil, err
		}
	}
	_, err = c.Register(ctx, wanted, func(string) bool { return set.Accepted })
	if errors.Is(err, acme.ErrAccountAlreadyExists) {
		if err = nil; is.email != set.Email {
			_, err = c.UpdateReg(ctx, wanted)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the account at the ACME server: %w", explained(err))
	}
	if is.email == set.Email {
		return c, nil
	}
	return c, s.o.Rows.ChangeACMERow(ctx, kindAccount, set.Directory, func(row []byte) ([]byte, error) {
		now, err := readAccount(row)
		now.email = set.Email
		return now.row(), err
	})
}

// account returns the key that the ACME server knows the servers by, which is made where there is
// none yet. It is on disk before anybody is told.
func (s *Service) account(ctx context.Context, set Settings) (is account, err error) {
	_, key, err := newKey()
	if err != nil {
		return account{}, err
	}
	err = s.o.Rows.ChangeACMERow(ctx, kindAccount, set.Directory, func(row []byte) ([]byte, error) {
		if is = (account{key: key, email: set.Email}); row == nil {
			return is.row(), nil
		}
		is, err = readAccount(row)
		return row, err
	})
	return is, err
}

// order orders a certificate for a name, proves by a kind of challenge that the name leads here,
// and fetches it.
func (s *Service) order(ctx context.Context, c *acme.Client, name, kind string) (pair, error) {
	o, err := c.AuthorizeOrder(ctx, acme.DomainIDs(name))
	if err != nil {
		return pair{}, explained(err)
	}
	if len(o.AuthzURLs) > maxAuthorizations {
		return pair{}, fmt.Errorf("the ACME server wants %d authorizations for one name", len(o.AuthzURLs))
	}
	for _, url := range o.AuthzURLs {
		if err := s.authorize(ctx, c, url, name, kind); err != nil {
			return pair{}, explained(err)
		}
	}
	ready, err := c.WaitOrder(ctx, o.URI)
	if err != nil {
		return pair{}, explained(err)
	}
	key, text, err := newKey()
	if err != nil {
		return pair{}, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{name}}, key)
	if err != nil {
		return pair{}, err
	}
	chain, err := fetch(ctx, c, o.URI, ready.FinalizeURL, csr)
	if err != nil {
		return pair{}, explained(err)
	}
	got := pair{chain, text}
	return got, s.acceptable(got, name)
}

// fetch asks for the certificate of an order, and waits for it.
func fetch(ctx context.Context, c *acme.Client, order, finalize string, csr []byte) ([][]byte, error) {
	chain, _, err := c.CreateOrderCert(ctx, finalize, csr, true)
	if err == nil {
		return chain, nil
	}
	// It waits where a header says that not all servers send (Pebble does not); the order's own
	// address tells as well what became of it.
	made, failed := c.WaitOrder(ctx, order)
	if failed != nil || made.Status != acme.StatusValid {
		return nil, err
	}
	return c.FetchCert(ctx, made.CertURL, true)
}

// acceptable refuses a certificate that is not what was ordered.
func (s *Service) acceptable(got pair, name string) error {
	c, err := got.load()
	if err == nil {
		err = c.Leaf.VerifyHostname(name)
	}
	if err == nil && !s.o.Now().Before(c.Leaf.NotAfter) {
		err = fmt.Errorf("it ended at %s", c.Leaf.NotAfter)
	}
	if err != nil {
		return fmt.Errorf("what the ACME server sent as a certificate is of no use: %w", err)
	}
	return nil
}

// authorize passes a challenge of a kind, if one is needed.
func (s *Service) authorize(ctx context.Context, c *acme.Client, url, name, kind string) error {
	z, err := c.GetAuthorization(ctx, url)
	if err != nil {
		return err
	}
	if z.Status == acme.StatusValid {
		return nil
	}
	if z.Identifier.Type != "dns" || config.Host(z.Identifier.Value) != name {
		return fmt.Errorf("the ACME server asks about %.100q", z.Identifier.Value)
	}
	n := slices.IndexFunc(z.Challenges, func(ch *acme.Challenge) bool { return ch.Type == kind })
	if n < 0 || !isToken(z.Challenges[n].Token) {
		return fmt.Errorf("%w: it has no such challenge", errUnproven)
	}
	end, err := s.answer(ctx, c, z.Challenges[n], name)
	if err != nil {
		return err
	}
	defer end()
	if _, err := c.Accept(ctx, z.Challenges[n]); err != nil {
		return err
	}
	_, err = c.WaitAuthorization(ctx, url)
	var failed *acme.AuthorizationError
	if errors.As(err, &failed) {
		return fmt.Errorf("%w: %w", errUnproven, err)
	}
	return err
}

// explained adds what people can do about an error of the ACME server.
func explained(err error) error {
	var e *acme.Error
	if errors.As(err, &e) && strings.HasSuffix(e.ProblemType, ":userActionRequired") {
		return fmt.Errorf("the terms of the ACME server have changed; they must be accepted at %.300q: %w", e.Instance, err)
	}
	return err
}

// brief is a text of others as the log has it.
func brief(text string) string {
	const most = 600
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

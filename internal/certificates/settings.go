package certificates

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/config"
)

// The challenges that can be answered (RFC 8555, section 8.3; RFC 8737).
const (
	TLSALPN = "tls-alpn-01"
	HTTP    = "http-01"
)

// Settings say what certificates are wanted, and from whom.
type Settings struct {
	Names      []string // of hosts, as config.ParseHosts returns them; without any nothing is asked for
	Email      string   // whom the ACME server may tell; may be empty
	Directory  string   // of the ACME server
	Roots      string   // a file with the roots that it may have besides the system's; may be empty
	Accepted   bool     // whether its terms are accepted
	KeyID, MAC string   // by which it knows an account with it that is not ACME's, the second in base64 for URLs; empty: it needs none
	Challenges []string // in the order in which they are tried
}

// Check returns the settings with what they leave out. Errors say what can't be.
func (s Settings) Check() (Settings, error) {
	if len(s.Names) == 0 {
		return Settings{}, nil
	}
	if !s.Accepted {
		return Settings{}, errors.New("[ssl] acme_domains needs acme_accept_terms = true, which says that you accept the terms of the ACME server")
	}
	if err := config.CheckSecureURL(s.Directory); err != nil {
		return Settings{}, fmt.Errorf("[ssl] acme_directory: %w", err)
	}
	if at, err := mail.ParseAddress(s.Email); s.Email != "" && (err != nil || at.Address != s.Email) {
		return Settings{}, errors.New("[ssl] acme_email is not an address of mail")
	}
	if _, err := s.mac(); err != nil || (s.KeyID == "") != (s.MAC == "") {
		return Settings{}, errors.New("[ssl] acme_eab_key_id and acme_eab_key belong together, and the second is in base64")
	}
	if len(s.Challenges) == 0 {
		s.Challenges = []string{TLSALPN, HTTP}
	}
	for _, c := range s.Challenges {
		if c != TLSALPN && c != HTTP {
			return Settings{}, fmt.Errorf("[ssl] acme_challenges has %q; there are %s and %s", c, TLSALPN, HTTP)
		}
	}
	return s, nil
}

// mac is the key of an account that is not ACME's.
func (s Settings) mac() ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(s.MAC, "="))
}

// has reports whether a name is one of the settings.
func (s Settings) has(name string) bool { return slices.Contains(s.Names, name) }

package auth

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// cookieName is the cookie of a session.
const cookieName = "AuthSession"

// A session cookie is base64url of "name:time:signature": the time in
// hexadecimal seconds, the signature the HMAC of what comes before it, its key
// the HMAC of the user's salt under the key of session cookies. A new password brings
// a new salt and so ends all sessions of the user; nothing is stored.
type cookie struct {
	name      string
	issued    time.Time
	signed    string // what the signature is of
	signature string
}

// parseCookie reads the value of a session cookie. Its time may be nonsense,
// which no signature of ours covers.
func parseCookie(value string) (cookie, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(value, "="))
	parts := strings.SplitN(string(raw), ":", 3)
	if err != nil || len(parts) != 3 {
		return cookie{}, badRequest("Malformed AuthSession cookie. Please clear your cookies.")
	}
	seconds, _ := strconv.ParseInt(parts[1], 16, 64)
	return cookie{
		name:      parts[0],
		issued:    time.Unix(seconds, 0),
		signed:    parts[0] + ":" + parts[1],
		signature: parts[2],
	}, nil
}

// cookieOf returns the session cookie among those of a Cookie header.
func cookieOf(header string) string {
	for part := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.TrimSpace(name) == cookieName {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// authentic reports whether the server signed c for a user with this salt. A
// user without a salt has no password and so no session.
func (c cookie) authentic(s *settings, salt string) bool {
	if salt == "" || s.cookieKey == nil {
		return false
	}
	ok := false
	for _, d := range s.digests {
		if same(string(s.cookieSignature(d, salt, c.signed)), c.signature) {
			ok = true
		}
	}
	return ok
}

// left returns how long the session lasts yet.
func (c cookie) left(s *settings, now time.Time) time.Duration {
	return c.issued.Add(s.timeout).Sub(now)
}

// newCookie returns the value of a cookie for a user with this salt.
func (s *settings) newCookie(name, salt string, now time.Time) string {
	signed := name + ":" + strings.ToUpper(strconv.FormatInt(now.Unix(), 16))
	signature := s.cookieSignature(s.digests[0], salt, signed)
	return base64.RawURLEncoding.EncodeToString(append([]byte(signed+":"), signature...))
}

// cookieSignature signs what is before it in the cookie of a user with this salt.
func (s *settings) cookieSignature(d digest, salt, signed string) []byte {
	return d.sign(d.sign(s.cookieKey, salt), signed)
}

// setCookie returns the Set-Cookie header for a value; an empty value clears the
// cookie in the browser.
func (s *settings) setCookie(value string, secure bool, now time.Time) string {
	var b strings.Builder
	b.WriteString(cookieName + "=" + value + "; Version=1")
	if s.persistent {
		b.WriteString("; Expires=" + now.Add(s.timeout).UTC().Format("Mon, 02 Jan 2006 15:04:05") + " GMT")
		b.WriteString("; Max-Age=" + strconv.Itoa(int(s.timeout/time.Second)))
	}
	if secure {
		b.WriteString("; Secure")
	}
	if s.domain != "" {
		b.WriteString("; Domain=" + s.domain)
	}
	b.WriteString("; Path=/; HttpOnly")
	if s.sameSite != "" {
		b.WriteString("; SameSite=" + s.sameSite)
	}
	return b.String()
}

// Package sigv4 owns signatures version 4, by which clients of AWS's services prove that
// they know a secret without sending it: taking apart what a request says of its
// signature, and verifying it. The format is that of
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
//
// It must know neither HTTP's types nor who has which secret. Begin reading at Parse and
// Signature.Verify.
package sigv4

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	// timeForm is the form of X-Amz-Date, dayForm that of the day in a scope.
	timeForm = "20060102T150405Z"
	dayForm  = "20060102"
	// maxSigned bounds the headers that a signature covers.
	maxSigned = 64
)

// Window is how far the clock of a client may be from that of the server, as at AWS.
const Window = 5 * time.Minute

// Signature is what a request says of its signature.
type Signature struct {
	KeyID   string // the access key whose secret made it
	Day     string // of the scope: YYYYMMDD
	Region  string
	Service string
	Time    time.Time // X-Amz-Date, or Date

	stamp  string // Time in the form that was signed
	signed string // names of the headers that are covered, in order, lower case, with ";" between them
	value  string // hexadecimal
}

// ErrMissing is returned for a request that is not signed.
var ErrMissing = errors.New("Request is missing Authentication Token") //nolint:staticcheck // AWS's sentence

// Incomplete is what a header lacks, in AWS's words.
type Incomplete struct{ Reason string }

// Error implements error.
func (e *Incomplete) Error() string { return e.Reason }

// Invalid is what is wrong with a signature, in AWS's words.
type Invalid struct{ Reason string }

// Error implements error.
func (e *Invalid) Error() string { return e.Reason }

// Parse reads the header Authorization, and X-Amz-Date or Date. header returns the first
// value of a header, "" for none. Errors: ErrMissing, Incomplete and Invalid.
func Parse(header func(name string) string) (*Signature, error) {
	text := header("Authorization")
	if text == "" {
		return nil, ErrMissing
	}
	kind, rest, _ := strings.Cut(text, " ")
	if kind != algorithm {
		return nil, &Incomplete{fmt.Sprintf("Unsupported AWS 'algorithm': '%s' (only %s is known)", kind, algorithm)}
	}
	p := parametersOf(rest)
	s := &Signature{value: p.signature, stamp: header("X-Amz-Date")}
	if err := s.complete(&p, header, text); err != nil {
		return nil, err
	}
	if err := s.parseScope(p.credential); err != nil {
		return nil, err
	}
	return s, s.parseSigned(p.signed)
}

// parameters are those of the header Authorization, "" for what is not there.
type parameters struct{ credential, signature, signed string }

// parametersOf reads "name=value, name=value".
func parametersOf(text string) (p parameters) {
	for part := range strings.SplitSeq(text, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "Credential":
			p.credential = value
		case "Signature":
			p.signature = value
		case "SignedHeaders":
			p.signed = value
		}
	}
	return p
}

// complete says what is not there, all of it in one sentence as AWS does, and reads the
// time.
func (s *Signature) complete(p *parameters, header func(string) string, text string) (err error) {
	var lacks []string
	for _, one := range [...]struct{ name, value string }{{"Credential", p.credential}, {"Signature", p.signature}, {"SignedHeaders", p.signed}} {
		if one.value == "" {
			lacks = append(lacks, fmt.Sprintf("Authorization header requires '%s' parameter.", one.name))
		}
	}
	if s.stamp != "" {
		s.Time, err = time.Parse(timeForm, s.stamp)
	} else if date := header("Date"); date == "" {
		lacks = append(lacks, "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	} else if s.Time, err = time.Parse(timeForm, date); err != nil {
		s.Time, err = time.Parse(time.RFC1123, date)
	}
	if lacks != nil {
		return &Incomplete{strings.Join(lacks, " ") + " Authorization=" + text}
	}
	if err != nil {
		return &Incomplete{"Date must be in ISO-8601 'basic format'. Got '" + s.stamp + "'. See http://en.wikipedia.org/wiki/ISO_8601"}
	}
	if len(s.stamp) != len(timeForm) { // of Date, or with a part of a second
		s.stamp = s.Time.UTC().Format(timeForm)
	}
	return nil
}

func (s *Signature) parseScope(credential string) error {
	rest, last, _ := cutLast(credential)
	rest, s.Service, _ = cutLast(rest)
	rest, s.Region, _ = cutLast(rest)
	rest, day, some := cutLast(rest)
	s.KeyID, s.Day = rest, day // a key may have slashes
	if !some {
		return &Incomplete{fmt.Sprintf("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '%s'", credential)}
	}
	if last != terminator {
		return &Invalid{fmt.Sprintf("Credential should be scoped with a valid terminator: '%s', not '%s'.", terminator, last)}
	}
	if day := s.stamp[:len(dayForm)]; s.Day != day {
		return &Invalid{fmt.Sprintf("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s', from '%s'.", s.Day, day, s.stamp)}
	}
	return nil
}

// cutLast cuts a text at its last slash; some is false if there is none.
func cutLast(text string) (before, after string, some bool) {
	i := strings.LastIndexByte(text, '/')
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+1:], true
}

// parseSigned reads which headers are covered. The host must be: otherwise a request to
// one server could be sent to another.
func (s *Signature) parseSigned(names string) error {
	s.signed = strings.ToLower(names)
	if strings.Count(s.signed, ";") >= maxSigned {
		return &Invalid{"The signature covers too many headers."}
	}
	if s.covers("host") || s.covers(":authority") {
		return nil
	}
	return &Invalid{"'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."}
}

// covers reports whether the signature covers a header.
func (s *Signature) covers(header string) bool {
	for name := range strings.SplitSeq(s.signed, ";") {
		if strings.EqualFold(name, header) {
			return true
		}
	}
	return false
}

// CheckCovers refuses a signature that does not cover a header: whoever recorded the
// request could send it with another value.
func (s *Signature) CheckCovers(header string) error {
	if s.covers(header) {
		return nil
	}
	return &Invalid{"'" + header + "' must be a 'SignedHeader' in the AWS Authorization."}
}

// CheckTime refuses a signature that is older than Window, or that is from the future by
// more: whoever recorded a request can't send it for ever.
func (s *Signature) CheckTime(now time.Time) error {
	now = now.UTC()
	switch {
	case s.Time.Before(now.Add(-Window)):
		return &Invalid{fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - 5 min.)", s.stamp, now.Add(-Window).Format(timeForm), now.Format(timeForm))}
	case s.Time.After(now.Add(Window)):
		return &Invalid{fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 5 min.)", s.stamp, now.Add(Window).Format(timeForm), now.Format(timeForm))}
	}
	return nil
}

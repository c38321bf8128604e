package sigv4

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The requests and signatures of AWS's published test suite for signature version 4.
const (
	vectorKey    = "AKIDEXAMPLE"
	vectorSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	vectorScope  = "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request"
)

type vector struct {
	name, method, path, query, body string
	header                          http.Header
	signed, signature               string
}

var vectors = []vector{
	{name: "get-vanilla", method: "GET", path: "/", signed: "host;x-amz-date",
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "post-vanilla", method: "POST", path: "/", signed: "host;x-amz-date",
		signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{name: "get-vanilla-query-order-key-case", method: "GET", path: "/", query: "Param2=value2&Param1=value1", signed: "host;x-amz-date",
		signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{name: "get-vanilla-query", method: "GET", path: "/", signed: "host;x-amz-date",
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-header-value-trim", method: "GET", path: "/", signed: "host;my-header1;my-header2;x-amz-date",
		header:    http.Header{"My-Header1": {" value1"}, "My-Header2": {` "a   b   c"`}},
		signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	{name: "post-x-www-form-urlencoded", method: "POST", path: "/", body: "Param1=value1", signed: "content-type;host;x-amz-date",
		header:    http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
}

func (v *vector) parse(t *testing.T) (*Signature, *Request) {
	h := v.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("X-Amz-Date", "20150830T123600Z")
	h.Set("Authorization", "AWS4-HMAC-SHA256 "+vectorScope+", SignedHeaders="+v.signed+", Signature="+v.signature)
	s, err := Parse(h.Get)
	if err != nil {
		t.Fatal(err)
	}
	return s, &Request{Method: v.method, Path: v.path, Query: v.query, Host: "example.amazonaws.com",
		Header: h.Values, Payload: sha256.Sum256([]byte(v.body))}
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		s, r := v.parse(t)
		if s.KeyID != vectorKey || s.Region != "us-east-1" || s.Service != "service" {
			t.Errorf("%s: %+v", v.name, s)
		}
		if err := s.Verify(vectorSecret, r); err != nil {
			t.Errorf("%s: %v, of\n%s", v.name, err, s.appendCanonical(nil, r))
		}
	}
}

// TestAltered changes one thing at a time.
func TestAltered(t *testing.T) {
	v := &vectors[len(vectors)-1]
	keys := Keys{Secret: func(string) string { return vectorSecret }} // once it has kept the key too
	if s, r := v.parse(t); keys.Verify(s, r) != nil || len(keys.kept) != 1 {
		t.Fatal("the key is not kept")
	}
	for name, alter := range map[string]func(*Signature, *Request) string{
		"method":    func(_ *Signature, r *Request) string { r.Method = "PUT"; return vectorSecret },
		"path":      func(_ *Signature, r *Request) string { r.Path = "/a"; return vectorSecret },
		"query":     func(_ *Signature, r *Request) string { r.Query = "a=b"; return vectorSecret },
		"host":      func(_ *Signature, r *Request) string { r.Host = "example.com"; return vectorSecret },
		"body":      func(_ *Signature, r *Request) string { r.Payload[0]++; return vectorSecret },
		"header":    func(_ *Signature, r *Request) string { r.Header = http.Header{}.Values; return vectorSecret },
		"time":      func(s *Signature, _ *Request) string { s.stamp = "20150830T123601Z"; return vectorSecret },
		"region":    func(s *Signature, _ *Request) string { s.Region = "eu-west-1"; return vectorSecret },
		"signature": func(s *Signature, _ *Request) string { s.value = strings.ToUpper(s.value); return vectorSecret },
		"secret":    func(*Signature, *Request) string { return "another" },
	} {
		s, r := v.parse(t)
		secret := alter(s, r)
		if err := s.Verify(secret, r); !errors.Is(err, error(errMismatch)) {
			t.Errorf("another %s: %v", name, err)
		}
		if secret != vectorSecret {
			s.KeyID = "another" // that has this secret, and no key that is kept
			keys.Secret = func(string) string { return secret }
		}
		if err := keys.Verify(s, r); !errors.Is(err, error(errMismatch)) || len(keys.kept) != 1 {
			t.Errorf("another %s, with the key kept: %v", name, err)
		}
	}
}

// TestKeys: however many keys sign, a bounded number is kept, and each is made once.
func TestKeys(t *testing.T) {
	made := 0
	keys := Keys{Secret: func(id string) string { made++; return "secret of " + id }}
	s, r := vectors[0].parse(t)
	for n := range maxKeys + 10 {
		s.KeyID = strconv.Itoa(n)
		s.value = string(s.key("secret of "+s.KeyID).hashers.Get().(*hasher).sign(s, r))
		for range 2 {
			if err := keys.Verify(s, r); err != nil || made != n+1 {
				t.Fatal(made, err)
			}
		}
		if len(keys.kept) > maxKeys {
			t.Fatalf("%d keys are kept", len(keys.kept))
		}
	}
}

func TestParse(t *testing.T) {
	const all = "AWS4-HMAC-SHA256 " + vectorScope + ", SignedHeaders=host, Signature=0"
	for _, c := range []struct{ authorization, date, want string }{
		{"", "20150830T123600Z", "Request is missing Authentication Token"},
		{"Basic YTpi", "20150830T123600Z", "Unsupported AWS 'algorithm': 'Basic' (only AWS4-HMAC-SHA256 is known)"},
		{"AWS4-HMAC-SHA256 Signature=0", "", "Authorization header requires 'Credential' parameter. Authorization header requires 'SignedHeaders' parameter. " +
			"Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-HMAC-SHA256 Signature=0"},
		{all, "yesterday", "Date must be in ISO-8601 'basic format'. Got 'yesterday'. See http://en.wikipedia.org/wiki/ISO_8601"},
		{all, "20150831T000000Z", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20150830' != '20150831', from '20150831T000000Z'."},
		{strings.Replace(all, "/service/", "/", 1), "20150830T123600Z", "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'AKIDEXAMPLE/20150830/us-east-1/aws4_request'"},
		{strings.Replace(all, "aws4_request", "aws5", 1), "20150830T123600Z", "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5'."},
		{strings.Replace(all, "=host", "=x-amz-date", 1), "20150830T123600Z", "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."},
		{strings.Replace(all, "=host", "=host"+strings.Repeat(";a", maxSigned), 1), "20150830T123600Z", "The signature covers too many headers."},
	} {
		h := http.Header{"Authorization": {c.authorization}, "X-Amz-Date": {c.date}}
		if _, err := Parse(h.Get); err == nil || err.Error() != c.want {
			t.Errorf("%q at %q: %v", c.authorization, c.date, err)
		}
	}
	h := http.Header{"Authorization": {all}, "Date": {"Sun, 30 Aug 2015 12:36:00 UTC"}}
	if s, err := Parse(h.Get); err != nil || s.stamp != "20150830T123600Z" {
		t.Errorf("by Date: %+v, %v", s, err)
	}
}

func TestCheckTime(t *testing.T) {
	s := &Signature{Time: time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC), stamp: "20150830T123600Z"}
	for _, c := range []struct {
		off  time.Duration
		want string
	}{
		{0, ""}, {Window, ""}, {-Window, ""},
		{24 * time.Hour, "Signature expired: 20150830T123600Z is now earlier than 20150831T123100Z (20150831T123600Z - 5 min.)"},
		{-24 * time.Hour, "Signature not yet current: 20150830T123600Z is still later than 20150829T124100Z (20150829T123600Z + 5 min.)"},
	} {
		got := ""
		if err := s.CheckTime(s.Time.Add(c.off)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v later: %q", c.off, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 "+vectorScope+", SignedHeaders=host;x-amz-date, Signature=0", "20150830T123600Z", "a=b&c")
	f.Fuzz(func(t *testing.T, authorization, date, query string) {
		h := http.Header{"Authorization": {authorization}, "X-Amz-Date": {date}}
		if s, err := Parse(h.Get); err == nil {
			_ = s.Verify("secret", &Request{Method: "POST", Path: "/", Query: query, Header: h.Values})
		}
	})
}

// FuzzHeader: a value is covered with single spaces between its words.
func FuzzHeader(f *testing.F) {
	for _, v := range []string{"", " ", "a", " a", "a ", "a b", "a  b", "a\tb", "a\u00a0b", "a\u0085b", "\xff"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := &Request{Header: func(string) []string { return []string{value, "b"} }}
		want := strings.Join(strings.Fields(value), " ") + ",b"
		if got := (&Signature{}).appendHeader(nil, r, "x"); string(got) != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	keys := Keys{Secret: func(string) string { return vectorSecret }}
	v := &vectors[4]
	h := http.Header{"X-Amz-Date": {"20150830T123600Z"}, "My-Header1": {" value1"}, "My-Header2": {`"a   b   c"`},
		"Authorization": {"AWS4-HMAC-SHA256 " + vectorScope + ", SignedHeaders=" + v.signed + ", Signature=" + v.signature}}
	header := func(name string) []string { return h[http.CanonicalHeaderKey(name)] }
	b.ReportAllocs()
	for b.Loop() {
		s, err := Parse(h.Get)
		if err == nil {
			err = keys.Verify(s, &Request{Method: v.method, Path: v.path, Host: "example.amazonaws.com", Header: header, Payload: sha256.Sum256(nil)})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

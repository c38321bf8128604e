package dynamoapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/sigv4"
	"github.com/sectional/sectional/internal/web"
)

// service is what signatures are scoped to.
const service = "dynamodb"

// findKey finds the access key that the request says it is signed with. A key that is not
// there, a clock that is off and a signature that can't be right are refused before a
// byte of the body is read.
func (r *Request) findKey() (err error) {
	if r.signature, err = sigv4.Parse(r.Header); err != nil {
		return refusedSignature(err)
	}
	if r.signature.Service != service {
		return refusedSignature(&sigv4.Invalid{Reason: "Credential should be scoped to correct service: 'dynamodb'. "})
	}
	if err := r.signature.CheckCovers("X-Amz-Target"); err != nil {
		return refusedSignature(err)
	}
	if err := r.signature.CheckTime(r.api.Now()); err != nil {
		return refusedSignature(err)
	}
	r.key, r.signer, err = r.api.Auth.AccessKey(r.Ctx(), r.signature.KeyID)
	if err == nil && r.key == nil {
		err = errUnknownKey
	}
	return err
}

// refusedSignature gives an error of sigv4 AWS's name.
func refusedSignature(err error) error {
	var incomplete *sigv4.Incomplete
	switch {
	case errors.Is(err, sigv4.ErrMissing):
		return dberr.New(dberr.Unauthorized, "MissingAuthenticationTokenException", "%s", err.Error())
	case errors.As(err, &incomplete):
		return dberr.New(dberr.Unauthorized, "IncompleteSignatureException", "%s", err.Error())
	}
	return dberr.New(dberr.Unauthorized, "InvalidSignatureException", "%s", err.Error())
}

var errUnknownKey = dberr.New(dberr.Unauthorized, "UnrecognizedClientException", "The security token included in the request is invalid.")

// readBody reads the body as it came, verifies what signed it, and unpacks it.
func (r *Request) readBody() ([]byte, error) {
	if err := r.ExpectBody(); err != nil {
		return nil, err
	}
	raw, err := r.readAll(r.RawReader(r.Action.Body.Max), r.HTTP.ContentLength)
	if err != nil {
		return nil, err
	}
	if err := r.verify(raw); err != nil {
		return nil, err
	}
	switch encoding := strings.ToLower(r.Header("Content-Encoding")); encoding {
	case "", "identity":
		return raw, nil
	case "gzip":
		return r.unpack(raw)
	}
	return nil, web.ErrEncoding
}

// verify makes the caller the one who signed, if the signature is right.
func (r *Request) verify(raw []byte) error {
	if r.signature == nil {
		return nil // an open server, a session, or a request from within
	}
	path, query := web.TargetOf(r.HTTP)
	err := r.api.signingKeys.Verify(r.signature, &sigv4.Request{
		Method: r.HTTP.Method, Path: path, Query: query, Host: r.HTTP.Host, Header: r.headers, Payload: sha256.Sum256(raw),
	})
	if err != nil {
		return refusedSignature(err)
	}
	r.SetCaller(r.signer)
	return r.Known()
}

// headers returns the values of a header as the client sent them. What net/http keeps
// elsewhere is put together again.
func (r *Request) headers(name string) []string {
	if strings.EqualFold(name, "Content-Length") {
		return []string{r.Header("Content-Length")}
	}
	var room [maxPlainHeader]byte
	if canonical, ok := appendCanonical(room[:0], name); ok {
		return r.HTTP.Header[string(canonical)]
	}
	return r.HTTP.Header[http.CanonicalHeaderKey(name)]
}

// maxPlainHeader is how long names of headers are that appendCanonical takes.
const maxPlainHeader = 64

// appendCanonical appends the name of a header as http.CanonicalHeaderKey returns it,
// without making a text of it. ok is false for a name with other characters than letters,
// digits and "-".
func appendCanonical(dst []byte, name string) (canonical []byte, ok bool) {
	if len(name) > maxPlainHeader {
		return dst, false
	}
	begins := true // a word
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z' && begins:
			c -= 'a' - 'A'
		case 'A' <= c && c <= 'Z' && !begins:
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return dst, false
		}
		dst = append(dst, c)
		begins = c == '-'
	}
	return dst, true
}

// unpack unpacks a body of gzip, within the same limits.
func (r *Request) unpack(raw []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, errNoGzip
	}
	most := r.Action.Body.Max
	body, err := r.readAll(io.LimitReader(zip, most+1), 0)
	switch {
	case err != nil && dberr.KindOf(err) == dberr.Internal:
		return nil, errNoGzip
	case err == nil && int64(len(body)) > most:
		return nil, web.ErrBodyTooLarge
	}
	return body, err
}

var errNoGzip = dberr.New(dberr.Invalid, "SerializationException", "The request body is not gzip.")

// leastBody is the first room for a body, whatever length is declared.
const leastBody = 4 << 10

// readAll reads everything, charging the request for it as it comes.
func (r *Request) readAll(from io.Reader, declared int64) ([]byte, error) {
	room := int64(leastBody)
	if declared > 0 && declared < room {
		room = declared + 1
	}
	buf := make([]byte, 0, room)
	for {
		n, err := from.Read(buf[len(buf):cap(buf)])
		if held := r.Hold(r.Action.Body.Of(buf[len(buf) : len(buf)+n])); held != nil {
			return nil, held
		}
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
	}
}

// mayTable reports whether the key is for a table; as another user one can only read.
func (r *Request) mayTable(name string, write bool) bool {
	if write && r.Caller.By != nil {
		return false
	}
	return r.key == nil || r.key.Allows(name, write)
}

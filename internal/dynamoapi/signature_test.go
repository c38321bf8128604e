package dynamoapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// signed signs a request as AWS's clients do.
func signed(r *http.Request, body []byte, id, secret string, at time.Time) *http.Request {
	stamp := at.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	names, target := "host;x-amz-date", ""
	if operation := r.Header.Get("X-Amz-Target"); operation != "" {
		names, target = names+";x-amz-target", "x-amz-target:"+operation+"\n"
	}
	canonical := fmt.Sprintf("POST\n/\n\nhost:%s\nx-amz-date:%s\n%s\n%s\n%s", r.Host, stamp, target, names, sum(body))
	scope := stamp[:8] + "/eu-west-1/dynamodb/aws4_request"
	key := mac(mac(mac(mac([]byte("AWS4"+secret), stamp[:8]), "eu-west-1"), "dynamodb"), "aws4_request")
	signature := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+sum([]byte(canonical))))
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", id, scope, names, signature))
	return r
}

// newKey makes a user with an access key.
func (s *server) newKey(t *testing.T, name string, roles string, change func(*auth.AccessKey)) (id, secret string) {
	t.Helper()
	k, err := s.Auth.NewAccessKey(name)
	must(t, err)
	if change != nil {
		change(&k)
	}
	body, err := auth.WithAccessKeys(name, []byte(fmt.Sprintf(`{"type":"user","name":%q,"roles":%s}`, name, roles)), []auth.AccessKey{k})
	must(t, err)
	db, err := s.Store.Database(t.Context(), auth.UsersDB)
	must(t, err)
	results, err := db.Whole().Write(context.Background(), []document.Edit{{ID: document.ID(auth.UserPrefix + name), Body: body}}, store.WriteOptions{})
	must(t, err)
	must(t, results[0].Err)
	return k.ID, s.Auth.AccessSecret(k.ID)
}

// call signs and sends an operation, and returns the answer.
func (s *server) call(id, secret, operation, body string) string {
	w := s.send(signed(request(operation, body), []byte(body), id, secret, s.Store.Now()))
	return fmt.Sprintf("%d %s", w.Code, w.Body)
}

func TestSigned(t *testing.T) {
	s := newServer(t, false)
	id, secret := s.newKey(t, "jane", `[]`, nil)
	if got := s.call(id, secret, "DescribeEndpoints", "{}"); !strings.HasPrefix(got, "200 ") {
		t.Fatal(got)
	}
	packed := func(body string) *bytes.Buffer {
		b := &bytes.Buffer{}
		z := gzip.NewWriter(b)
		_, err := z.Write([]byte(body))
		must(t, err)
		must(t, z.Close())
		return b
	}
	b := packed(`{"Limit":0}`)
	r := signed(request("ListTables", b.String()), b.Bytes(), id, secret, time.Now())
	r.Header.Set("Content-Encoding", "gzip")
	if w := s.send(r); !strings.Contains(w.Body.String(), "Value '0' at 'limit'") {
		t.Error("gzip:", w.Body)
	}
	b = packed(strings.Repeat(" ", 2<<20))
	r = signed(request("ListTables", b.String()), b.Bytes(), id, secret, time.Now())
	r.Header.Set("Content-Encoding", "gzip")
	if w := s.send(r); w.Code != http.StatusRequestEntityTooLarge {
		t.Error("a bomb:", w.Code, w.Body)
	}
}

// TestRefusedSignatures: AWS's names for what can be wrong, before anything is done.
func TestRefusedSignatures(t *testing.T) {
	s := newServer(t, false)
	id, secret := s.newKey(t, "jane", `[]`, nil)
	const body = `{}`
	for name, c := range map[string]struct {
		request *http.Request
		want    string
	}{
		"none":           {request("ListTables", body), "MissingAuthenticationTokenException"},
		"another secret": {signed(request("ListTables", body), []byte(body), id, "x", time.Now()), "InvalidSignatureException"},
		"another body":   {signed(request("ListTables", `{"Limit":5}`), []byte(body), id, secret, time.Now()), "InvalidSignatureException"},
		"unknown key":    {signed(request("ListTables", body), []byte(body), "AKIAIOSFODNN7EXAMPLE", secret, time.Now()), "UnrecognizedClientException"},
		"yesterday":      {signed(request("ListTables", body), []byte(body), id, secret, time.Now().Add(-24*time.Hour)), "Signature expired"},
		"tomorrow":       {signed(request("ListTables", body), []byte(body), id, secret, time.Now().Add(24*time.Hour)), "Signature not yet current"},
	} {
		w := s.send(c.request)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	r := signed(request("ListTables", body), []byte(body), id, secret, time.Now())
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.DescribeLimits")
	if w := s.send(r); !strings.Contains(w.Body.String(), "InvalidSignatureException") {
		t.Error("another operation:", w.Body)
	}
	r = request("ListTables", body)
	r.Header.Del("X-Amz-Target")
	r = signed(r, []byte(body), id, secret, time.Now())
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.DescribeLimits")
	if w := s.send(r); !strings.Contains(w.Body.String(), "'X-Amz-Target' must be a 'SignedHeader'") {
		t.Error("an operation that is not signed:", w.Body)
	}
	r = signed(request("ListTables", body), []byte(body), id, secret, time.Now())
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "/dynamodb/", "/s3/", 1))
	if w := s.send(r); !strings.Contains(w.Body.String(), "Credential should be scoped to correct service") {
		t.Error("another service:", w.Body)
	}
}

// TestForeignHost: an open server asks nobody who he is, so a page whose site's name was
// made to point here must not get in.
func TestForeignHost(t *testing.T) {
	s := newServer(t, true)
	for host, code := range map[string]int{"127.0.0.1:8000": 200, "localhost:8000": 200, "localhost": 200, "[::1]:8000": 200,
		"example.com:8000": 400, "localhost.example.com": 400, "192.0.2.1:8000": 400, "": 400} {
		r := request("ListTables", "{}")
		r.Host = host
		if w := s.send(r); w.Code != code {
			t.Errorf("%s: %d %s", host, w.Code, w.Body)
		}
	}
	for origin, code := range map[string]int{"": 200, "http://localhost:3000": 200, "https://127.0.0.1": 200, "http://[::1]:8000": 200,
		"https://example.com": 400, "http://localhost.example.com": 400, "null": 400, "localhost": 400, "http://": 400, "%": 400} {
		r := request("ListTables", "{}")
		r.Header.Set("Origin", origin)
		if w := s.send(r); w.Code != code {
			t.Errorf("from %q: %d %s", origin, w.Code, w.Body)
		}
	}
}

// TestKeysAreBound: a key is for no more than its user may, and for its tables.
func TestKeysAreBound(t *testing.T) {
	s := newServer(t, false)
	const create = `{"TableName":%q,"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`
	boss, bossSecret := s.newKey(t, "adm", `[]`, nil)
	for _, name := range []string{"ours", "theirs"} {
		if got := s.call(boss, bossSecret, "CreateTable", fmt.Sprintf(create, name)); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
	if w := s.Do("PUT", "/ours/_security", `{"members":{"roles":["team"]},"partitions":[{"who":{"roles":["guest"]},"partition":"Smine!","access":"read"}]}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if w := s.Do("PUT", "/theirs/_security", `{"members":{"roles":["team"]}}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	member, memberSecret := s.newKey(t, "jane", `["team"]`, nil)
	bound, boundSecret := s.newKey(t, "bob", `["team"]`, func(k *auth.AccessKey) { k.Tables = []string{"ours"} })
	other, otherSecret := s.newKey(t, "eve", `[]`, nil)
	guest, guestSecret := s.newKey(t, "tom", `["guest"]`, nil)
	for _, c := range []struct{ id, secret, operation, body, want string }{
		{member, memberSecret, "ListTables", `{}`, `"TableNames":["ours","theirs"]`},
		{bound, boundSecret, "ListTables", `{}`, `"TableNames":["ours"]`},
		{other, otherSecret, "ListTables", `{}`, `"TableNames":[]`},
		{member, memberSecret, "DescribeTable", `{"TableName":"theirs"}`, `"ItemCount":0`},
		{bound, boundSecret, "DescribeTable", `{"TableName":"theirs"}`, `user/bob is not authorized to perform: dynamodb:DescribeTable on resource: arn:aws:dynamodb:sectional:000000000000:table/theirs`},
		{other, otherSecret, "DescribeTable", `{"TableName":"ours"}`, `AccessDeniedException`},
		{member, memberSecret, "PutItem", `{"TableName":"ours","Item":{"id":{"S":"a"}}}`, `200 {}`},
		{member, memberSecret, "DescribeTable", `{"TableName":"ours"}`, `"ItemCount":1`},
		{guest, guestSecret, "DescribeTable", `{"TableName":"ours"}`, `"TableSizeBytes":0,"ItemCount":0`},
		{guest, guestSecret, "GetItem", `{"TableName":"ours","Key":{"id":{"S":"a"}}}`, `AccessDeniedException`},
		{bound, boundSecret, "GetItem", `{"TableName":"nowhere","Key":{"id":{"S":"a"}}}`, `AccessDeniedException`},
		{member, memberSecret, "GetItem", `{"TableName":"nowhere","Key":{"id":{"S":"a"}}}`, `ResourceNotFoundException`},
		{member, memberSecret, "DeleteTable", `{"TableName":"ours"}`, `AccessDeniedException`},
		{member, memberSecret, "CreateTable", fmt.Sprintf(create, "more"), `AccessDeniedException`},
		{boss, bossSecret, "DeleteTable", `{"TableName":"ours"}`, `"TableStatus":"DELETING"`},
	} {
		if got := s.call(c.id, c.secret, c.operation, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.operation, c.body, got)
		}
	}
}

// TestThrottled: a user who asks too often is told so by AWS's exception, after the signature was verified.
func TestThrottled(t *testing.T) {
	s := newServer(t, false)
	id, secret := s.newKey(t, "jane", `[]`, nil)
	for key, value := range map[string]string{"per_user": "1", "burst": "1"} {
		_, err := s.Config.Set(config.Setting{Section: "rate_limits", Key: key, Value: value}, false)
		must(t, err)
	}
	throttled := 0
	for range 50 {
		if got := s.call(id, "wrong", "DescribeEndpoints", "{}"); !strings.Contains(got, "InvalidSignatureException") {
			t.Fatal("somebody else used her share: ", got)
		}
		if got := s.call(id, secret, "DescribeEndpoints", "{}"); got == `400 {"__type":"com.amazon.coral.availability#ThrottlingException","message":"Rate exceeded"}` {
			throttled++
		} else if !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
	}
	if throttled == 0 {
		t.Error("nothing was refused")
	}
}

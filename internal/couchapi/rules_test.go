package couchapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestBadRules puts rules that are none: each is told, and what was there stays.
func TestBadRules(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/parts?partitioned=true", "").want(201, "")
	a.do("PUT", "/plain", "").want(201, "")
	const good = `{"members":{"names":["mia"]},"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`
	a.do("PUT", "/parts/_security", good).want(200, "")
	for body, reason := range map[string]string{
		`{"partitions":{}}`:                              "partitions must be a JSON list of rules",
		`{"partitions":[{"who":"*","access":"read"}]}`:   "partitions[0]: partition is missing",
		`{"partitions":[` + rule("*", "p", "all") + `]}`: `partitions[0]: access must be \"read\" or \"write\"`,
	} {
		a.do("PUT", "/parts/_security", body).want(400, `{"error":"bad_request","reason":"`+reason+`"}`)
		a.do("GET", "/parts/_security", "").want(200, good)
	}
	a.do("PUT", "/plain/_security", good).want(400, `{"error":"bad_request","reason":"Rules in `+"`partitions`"+` need a partitioned database."}`)
	a.do("PUT", "/plain/_security", `{"partitions":[]}`).want(200, "")
}

func rule(who, partition, access string) string {
	return `{"who":"` + who + `","partition":"` + partition + `","access":"` + access + `"}`
}

// TestRulesByClaim lets callers in by the claims of their tokens.
func TestRulesByClaim(t *testing.T) {
	secret := []byte("secret")
	a := newTestAPI(t, config.Setting{Section: "jwt_keys", Key: "hmac:_default", Value: base64.StdEncoding.EncodeToString(secret)},
		config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}"})
	a.do("PUT", "/parts?partitioned=true", "").want(201, "")
	a.do("PUT", "/parts/_security", `{"partitions":[{"who":{"claim":"team"},"partition":"{claim}","access":"write"},
		{"who":{"claim":"sees"},"partition":"{claim}","access":"read"}]}`).want(200, "")
	bearer := func(claims string) string {
		text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
		m := hmac.New(sha256.New, secret)
		m.Write([]byte(text))
		return "Bearer " + text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
	ann := bearer(`{"sub":"ann","exp":4102444800,"team":["red",12],"sees":"news"}`)
	bob := bearer(`{"sub":"bob","exp":4102444800,"team":"blue"}`)
	a.do("PUT", "/parts/red:1", `{}`, "Authorization", ann).want(201, "")
	a.do("PUT", "/parts/12:1", `{}`, "Authorization", ann).want(201, "")
	a.do("PUT", "/parts/blue:1", `{}`, "Authorization", ann).want(403, "")
	a.do("GET", "/parts/_partition/news/_all_docs", "", "Authorization", ann).want(200, "")
	a.do("PUT", "/parts/news:1", `{}`, "Authorization", ann).want(403, `{"error":"forbidden","reason":"You are not allowed to write to this partition."}`)
	a.do("GET", "/parts/_partition/red/_all_docs", "", "Authorization", bob).want(403, "")
	a.do("GET", "/parts/red:1", "", "Authorization", bob).want(403, "")
	a.do("PUT", "/parts/blue:1", `{}`, "Authorization", bob).want(201, "")
	a.do("GET", "/parts/_all_docs", "", "Authorization", bob).want(403, "")
}

// TestOneRuleForTenants has a single rule let the members of many tenants into the
// partitions of their roles: nothing of another tenant is read, written or listed.
func TestOneRuleForTenants(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/parts?partitioned=true", "").want(201, "")
	a.do("PUT", "/parts/_security", `{"members":{"names":["service"]},"partitions":[{"who":{"role":"tenant-*"},"partition":"{role}","access":"write"},
		`+rule("*", "{name}-private", "write")+`,`+rule("*", "news", "read")+`]}`).want(200, "")
	for _, tenant := range []string{"a", "b", "c"} {
		a.do("PUT", "/parts/tenant-"+tenant+":1", `{"of":"`+tenant+`"}`).want(201, "")
	}
	a.do("PUT", "/parts/ann-private:1", `{}`).want(201, "")
	a.do("PUT", "/parts/kim-private:1", `{}`).want(201, "")
	for name, roles := range map[string]string{"ann": `["tenant-a","tenant-c","tenant-ghost","tenant-x:y","other"]`, "kim": `["tenant-b"]`, "sue": `[]`, "service": `[]`} {
		a.do("PUT", "/_users/org.couchdb.user:"+name, `{"name":"`+name+`","type":"user","password":"pw","roles":`+roles+`}`).want(201, "")
	}
	listed := func(names ...string) string {
		pattern := `^{"rows":\[`
		for i, name := range names {
			pattern += map[bool]string{true: "", false: ","}[i == 0] + `\n{"partition":"` + name + `",[^\n]*`
		}
		return pattern + `\n\],"bookmark":"(?P<b>[^"]*)"`
	}
	const none = `not allowed to access this db`
	a.ask([]asked{
		{"ann", `GET /parts/_owner/tenant-a/_all_docs`, 200, `"id":"1"`},
		{"ann", `GET /parts/_partition/tenant-c/_changes`, 200, `"tenant-c:1"`},
		{"ann", `PUT /parts/tenant-c:2 {}`, 201, ``},
		{"ann", `PUT /parts/_owner/ann-private/2 {}`, 201, ``},
		{"ann", `PUT /parts/_owner/tenant-ghost/1 {}`, 201, ``},
		{"ann", `GET /parts/_partition/news`, 200, ``},
		{"ann", `GET /parts/_partition/tenant-b`, 403, none},
		{"ann", `GET /parts/tenant-b:1`, 403, none},
		{"ann", `PUT /parts/tenant-b:2 {}`, 403, none},
		{"ann", `GET /parts/_partition/kim-private`, 403, none},
		{"ann", `GET /parts/_partition/tenant-x`, 403, none},
		{"ann", `GET /parts/_partition/other`, 403, none},
		{"ann", `POST /parts/_owner/tenant-a/_bulk_docs {"docs":[{"_id":"tenant-b:9"}]}`, 201, `"id":"tenant-b:9"`}, // a document of her own partition
		{"ann", `GET /parts/_all_docs`, 403, none},
		{"kim", `GET /parts/tenant-b:9`, 404, ``},
		{"kim", `GET /parts/_partition/tenant-a`, 403, none},

		{"ann", `GET /parts/_partitions`, 200, listed("ann-private", "tenant-a", "tenant-c", "tenant-ghost")},
		{"kim", `GET /parts/_partitions`, 200, listed("kim-private", "tenant-b") + `,"lag_ms":0}`},
		{"ann", `GET /parts/_partitions?limit=3`, 200, listed("ann-private", "tenant-a", "tenant-c")},
		{"ann", `GET /parts/_partitions?limit=3&bookmark=«b»`, 200, listed("tenant-ghost")},
		{"ann", `GET /parts/_partitions?descending=true&limit=1`, 200, listed("tenant-ghost")},
		{"ann", `GET /parts/_partitions?descending=true&limit=1&bookmark=«b»`, 200, listed("tenant-c")},
		{"ann", `GET /parts/_partitions?sort=docs&descending=true&limit=2`, 200, listed("tenant-c", "tenant-a")},
		{"ann", `GET /parts/_partitions?sort=docs&descending=true&limit=2&bookmark=«b»`, 200, listed("ann-private", "tenant-ghost")},
		{"ann", `GET /parts/_partitions?sort=docs&bookmark=Ym9i`, 400, `invalid_bookmark`},
		{"ann", `GET /parts/_partitions?bookmark=!`, 400, `invalid_bookmark`},
		{"ann", `GET /parts/_partitions?sort=evil`, 400, `query_parse_error`},
		{"sue", `GET /parts/_partitions`, 200, listed()},
		{"-", `GET /parts/_partitions`, 401, ``},
		{"service", `GET /parts/_partitions`, 200, listed()}, // her own, of whom there are none
		{"", `GET /parts/_partitions`, 200, listed("ann-private", "kim-private", "tenant-a", "tenant-b", "tenant-c", "tenant-ghost")},
	})
}

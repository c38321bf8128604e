package couchapi

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

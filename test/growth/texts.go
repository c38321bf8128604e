package main

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// inHeader is a text of any size in a header.
func inHeader(name string, value func(n int) string) input {
	return input{"header " + name, 1000, func(n int) request {
		return request{method: "GET", path: "/texts/d", header: []string{name, value(n)}}
	}}
}

// inQuery is a text of any size in the parameter of a query.
func inQuery(path, name string, value func(n int) string) input {
	return input{"query " + path + " " + name, 1000, func(n int) request {
		return request{method: "GET", path: path + url.Values{name: {value(n)}}.Encode()}
	}}
}

// fewer is an input with so few elements that the largest is not refused.
func fewer(in input) input {
	in.n /= 5
	return in
}

// text is many with another separator.
func text(form, separator string) func(n int) string {
	return func(n int) string { return strings.ReplaceAll(many(form)(n), ",", separator) }
}

// token is a bearer token with one part of any size.
func token(header, payload func(n int) string) func(n int) string {
	part := func(of func(int) string, n int) string { return base64.RawURLEncoding.EncodeToString([]byte(of(n))) }
	return func(n int) string { return "Bearer " + part(header, n) + "." + part(payload, n) + ".AAAA" }
}

// texts are inputs outside of bodies: headers, queries, and the languages in them. Their database is that of texts.
func texts(c *client) (all []input, err error) {
	err = c.prepare("texts", []request{
		{method: "PUT", path: "/texts/d", body: `{"geometry":{"type":"Point","coordinates":[1,2]}}`}, {method: "PUT", path: "/texts/_design/x", body: design},
	})
	fixed := func(s string) func(int) string { return func(int) string { return s } }
	same := func(s string) func(int) string { return func(n int) string { return strings.Repeat(s, n) } }
	revs := within(`["1-…"]`, `#","1-`)
	geo, search, nouveau, view := "/texts/_design/x/_geo/index?", "/texts/_design/x/_search/index?", "/texts/_design/x/_nouveau/index?", "/texts/_design/x/_view/view?"
	all = []input{
		inHeader("Cookie", text("x#=#", "; ")),
		inHeader("Cookie", func(n int) string { return "AuthSession=" + same("AAAA")(n) }),
		inHeader("Authorization", func(n int) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(same("x")(n)+":"+same("y")(n)))
		}),
		inHeader("Authorization", token(within(`{"alg":"HS256",…}`, `"x#":#`), fixed(`{}`))),
		inHeader("Authorization", token(fixed(`{"alg":"HS256"}`), within(`{…}`, `"x#":#`))),
		inHeader("Authorization", token(fixed(`{"alg":"HS256"}`), func(n int) string { return `{"x":` + deep(n) + `}` })),
		inHeader("Authorization", func(n int) string { return "Bearer " + same(".")(n) }),
		inHeader("Range", text("#-#", ",")), inHeader("Range", func(n int) string { return "bytes=" + many("#-#")(n) }),
		inHeader("If-None-Match", many(`"#"`)), inHeader("If-Match", many(`"#"`)), inHeader("Accept", many("a/b#;q=0.1")), inHeader("Accept-Encoding", many("x#;q=0.1")),
		inHeader("Content-Type", func(n int) string { return "application/json;" + text("x#=#", ";")(n) }),
		inHeader("X-Forwarded-For", many("10.0.0.1")), inHeader("Forwarded", many("for=10.0.0.1")), inHeader("Origin", func(n int) string { return "http://" + same("a.")(n) }), inHeader("X-Forwarded-Host", same("a.")),
		inHeader("Destination", same("x%20")), inHeader("Access-Control-Request-Headers", many("x-#")), inHeader("Traceparent", same("00-")), inHeader("X-HTTP-Method-Override", same("x")),
		{"query of many parameters", 1000, func(n int) request { return request{method: "GET", path: "/texts/_all_docs?" + text("x#=#", "&")(n)} }},
		{"query of one parameter, often", 1000, func(n int) request {
			return request{method: "GET", path: "/texts/_all_docs?" + text("limit=#", "&")(n)}
		}},
		{"query of a function", 1000, func(n int) request {
			return request{method: "GET", path: "/texts/_design/x/_show/path?" + text("x#=#", "&")(n)}
		}},
		{"query of an update", 1000, func(n int) request {
			return request{method: "POST", path: "/texts/_design/x/_update/path?" + text("x#=#", "&")(n)}
		}},
		{"path of many segments", 1000, func(n int) request { return request{method: "GET", path: "/texts" + strings.Repeat("/x", n)} }},
		{"path of escapes", 1000, func(n int) request { return request{method: "GET", path: "/texts/" + strings.Repeat("%C3%A9", n)} }},
		{"path of dots", 1000, func(n int) request {
			return request{method: "GET", path: "/texts/_design/x/_rewrite/" + strings.Repeat("../x/", n)}
		}},
		inQuery("/texts/d?", "open_revs", revs), inQuery("/texts/d?latest=true&", "open_revs", revs), inQuery("/texts/d?", "atts_since", revs),
		inQuery("/texts/_changes?filter=_doc_ids&", "doc_ids", within(`["x…"]`, `#","x`)), inQuery("/texts/_changes?", "since", same("1-")),
		inQuery("/texts/_all_docs?", "keys", within(`["x…"]`, `#","x`)), inQuery("/texts/_all_docs?", "startkey", deep), inQuery("/texts/_all_docs?", "key", within(`{…}`, `"x#":#`)),
		inQuery(view, "keys", within(`["x…"]`, `#","x`)), inQuery(view, "startkey", deep), inQuery(view, "key", within(`{…}`, `"x#":#`)),
		inQuery(geo, "g", func(n int) string { return "POLYGON((0 0," + many("1.# 1.#")(n) + ",1 0,0 0))" }),
		inQuery(geo, "g", func(n int) string { return "MULTIPOINT(" + many("1.# 1.#")(n) + ")" }),
		inQuery(geo, "g", func(n int) string { return "LINESTRING(" + many("1.# 1.#")(n) + ")" }),
		inQuery(geo, "g", func(n int) string { return "MULTIPOLYGON(" + many("((0.# 0,1 0.#,1 1,0.# 0))")(n/4) + ")" }),
		inQuery(geo, "g", func(n int) string {
			return strings.Repeat("GEOMETRYCOLLECTION(", n/8) + "POINT(1 2)" + strings.Repeat(")", n/8)
		}),
		inQuery(geo, "bbox", many("#")), inQuery(geo, "bookmark", same("AAAA")),
		inQuery(search, "q", text("a:x#", " OR ")), inQuery(search, "q", same("a:x AND NOT ")), inQuery(search, "q", same("+")), inQuery(search, "q", same(`\a`)), inQuery(search, "q", same("a*")),
		inQuery(search, "q", func(n int) string { return "[" + same("a TO ")(n) + "]" }), inQuery(search, "q", same(`"a" `)), inQuery(search, "q", same("a~")), inQuery(search, "q", same("a^2 ")),
		inQuery(search+"q=a:x&", "sort", within(`["f…"]`, `#<number>","f`)), inQuery(search+"q=a:x&", "counts", within(`["f…"]`, `#","f`)), fewer(inQuery(search+"q=a:x&", "ranges", within(`{"f":{…}}`, `"r#":"[0 TO #]"`))),
		inQuery(search+"q=a:x&", "drilldown", within(`["f",…]`, `"x#"`)), inQuery(search+"q=a:x&", "include_fields", within(`["f…"]`, `#","f`)), inQuery(search+"q=a:x&", "highlight_fields", within(`["f…"]`, `#","f`)),
		inQuery(search+"q=a:x&", "bookmark", same("AAAA")), inQuery(nouveau, "q", text("a:x#", " OR ")), inQuery(nouveau, "q", same("(")), inQuery(nouveau, "q", same("a AND ")),
	}
	return all, err
}

package script

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Header is one header of a response, in the order in which the function gave them.
type Header struct {
	Name, Value string
}

// Response is what a show, list or update function answers.
type Response struct {
	Code    int      // 0: the function did not say
	Type    string   // the media type: that of the headers, or what the form of the body implies
	Headers []Header // without Content-Type
	Body    []byte
	Stop    bool // a list function wants no rows
}

// parseResponse reads a response object: code, headers, stop, and the body as body, json or base64.
func parseResponse(object []byte) (Response, error) {
	r := Response{Type: "application/json"}
	stated := ""
	for m := jsonscan.MembersOf(object); ; {
		quoted, value, ok := m.Next()
		if !ok {
			break
		}
		name, _ := plain(quoted)
		read := responseMembers[name]
		if read == nil || !read(&r, &stated, value) {
			return Response{}, dberr.New(dberr.Internal, "external_response_error", "%s", "Invalid data from external server: {"+erlang(quoted)+","+erlang(value)+"}")
		}
	}
	if stated != "" {
		r.Type = stated
	}
	return r, nil
}

// responseMembers read the members of a response. They tell if the value is not as it should be.
var responseMembers = map[string]func(r *Response, stated *string, value []byte) bool{
	"code": func(r *Response, _ *string, value []byte) bool {
		n, err := strconv.Atoi(string(value))
		r.Code = n
		return err == nil && n >= 100 && n < 1000
	},
	"stop": func(r *Response, _ *string, value []byte) bool {
		r.Stop = string(value) == "true"
		return true
	},
	"json": func(r *Response, _ *string, value []byte) bool {
		r.Body, r.Type = value, "application/json"
		return true
	},
	"body": func(r *Response, _ *string, value []byte) bool {
		text, ok := plain(value)
		r.Body, r.Type = []byte(text), "text/html; charset=utf-8"
		return ok
	},
	"base64": func(r *Response, _ *string, value []byte) bool {
		text, ok := plain(value)
		b, err := base64.StdEncoding.DecodeString(text)
		r.Body, r.Type = b, "application/binary"
		return ok && err == nil
	},
	"headers": func(r *Response, stated *string, value []byte) bool {
		for m := jsonscan.MembersOf(value); ; {
			quoted, v, ok := m.Next()
			if !ok {
				return jsonscan.KindOf(value) == jsonscan.Object
			}
			name, _ := plain(quoted)
			text, isText := plain(v)
			if !isText {
				text = string(v)
			}
			if strings.EqualFold(name, "Content-Type") {
				*stated = text
				continue
			}
			r.Headers = append(r.Headers, Header{name, text})
		}
	},
}

// erlang writes a JSON value in CouchDB's language, in which it names a value that it does not take.
func erlang(value []byte) string {
	switch jsonscan.KindOf(value) {
	case jsonscan.String:
		text, _ := plain(value)
		return "<<" + strconv.Quote(text) + ">>"
	case jsonscan.Array:
		var parts []string
		for e := jsonscan.ElementsOf(value); ; {
			v, ok := e.Next()
			if !ok {
				return "[" + strings.Join(parts, ",") + "]"
			}
			parts = append(parts, erlang(v))
		}
	case jsonscan.Object:
		var parts []string
		for m := jsonscan.MembersOf(value); ; {
			name, v, ok := m.Next()
			if !ok {
				return "{[" + strings.Join(parts, ",") + "]}"
			}
			parts = append(parts, "{"+erlang(name)+","+erlang(v)+"}")
		}
	}
	return string(value)
}

// plain returns the text of a JSON string.
func plain(b []byte) (string, bool) {
	if len(b) == 0 {
		return "", true
	}
	var s string
	if b[0] != '"' || json.Unmarshal(b, &s) != nil {
		return "", false
	}
	return s, true
}

package legacy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// binding is a value that a rule has for a name: a part of the path, a
// parameter of the query. The value is JSON.
type binding struct {
	name  string
	value []byte
}

// bindings go before one another: the first of a name counts.
type bindings []binding

func (bs bindings) get(name string) ([]byte, bool) {
	for _, b := range bs {
		if b.name == name {
			return b.value, true
		}
	}
	return nil, false
}

// every is the name of the part that stands for the rest of the path.
const every = "*"

// keyNames are the parameters whose values are JSON.
var keyNames = map[string]bool{"key": true, "startkey": true, "start_key": true, "endkey": true, "end_key": true, "keys": true}

// maxUpwards is how many steps up from a design document are within its database.
const maxUpwards = 2

// matchRewrite finds the first rule that fits the request, and where it leads.
func matchRewrite(r *couchhttp.Request, rules []byte) (rewriteTarget, error) {
	given, err := queryBindings(r.Query)
	if err != nil {
		return rewriteTarget{}, err
	}
	for it := jsonscan.ElementsOf(rules); ; {
		rule, ok := it.Next()
		if !ok {
			return rewriteTarget{}, couchhttp.ErrMissing
		}
		o := rewriteObject(rule)
		if m := o.text("method"); m != "" && m != every && m != r.Method {
			continue
		}
		to := o.text("to")
		if _, has := jsonscan.Member(rule, "to"); !has {
			return rewriteTarget{}, dberr.New(dberr.Internal, "invalid_rewrite_target", "")
		}
		if upwards(to) > maxUpwards && r.API.Settings.Value().SecureRewrites {
			return rewriteTarget{}, dberr.New(dberr.Internal, "insecure_rewrite_rule", "too many ../.. segments")
		}
		bound, rest, fits := bindPath(segments(o.text("from")), rewritten(r))
		if !fits {
			continue
		}
		return rewriteBy(rule, to, append(bound, given...), rest), nil
	}
}

func queryBindings(q web.Query) (bs bindings, err error) {
	for _, p := range q {
		value := couchhttp.AppendString(nil, couchhttp.Valid(p.Value))
		if keyNames[p.Name] {
			if err := couchhttp.CheckJSON([]byte(p.Value)); err != nil {
				return nil, err
			}
			value = []byte(p.Value)
		}
		bs = append(bs, binding{p.Name, value})
	}
	return bs, nil
}

// segments splits a path of a rule.
func segments(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// upwards counts the steps to where a path is below.
func upwards(path string) (n int) {
	for _, s := range segments(path) {
		if s == ".." {
			n++
		}
	}
	return n
}

// bindPath holds a path to the pattern of a rule. The names it binds come with
// the last one first; rest is what "*" stands for.
func bindPath(pattern, parts []string) (bound bindings, rest []string, fits bool) {
	for i, p := range pattern {
		if i >= len(parts) {
			return nil, nil, false
		}
		name, isName := strings.CutPrefix(p, ":")
		switch {
		case p == every && i == len(pattern)-1:
			return slices.Insert(bound, 0, binding{every, couchhttp.AppendString(nil, couchhttp.Valid(parts[i]))}), parts[i:], true
		case isName:
			bound = slices.Insert(bound, 0, binding{name, couchhttp.AppendString(nil, couchhttp.Valid(parts[i]))})
		case p != parts[i]:
			return nil, nil, false
		}
	}
	return bound, nil, len(pattern) == len(parts)
}

// rewriteBy makes the target of a rule that fits.
func rewriteBy(rule []byte, to string, bound bindings, rest []string) rewriteTarget {
	args := ruleQuery(rule, bound)
	final := slices.DeleteFunc(slices.Clone(bound), func(b binding) bool {
		_, again := args.get(b.name)
		return again
	})
	final = append(final, args...)
	var path []string
	for _, p := range segments(to) {
		name, isName := strings.CutPrefix(p, ":")
		switch {
		case p == every:
			for _, part := range rest {
				path = append(path, escapedPart(part))
			}
		case p == "..":
			path = append(path, p)
		case isName:
			value, ok := final.get(name)
			if !ok {
				value = []byte(`"undefined"`)
			}
			path = append(path, escapedPart(flat(value)))
		default:
			path = append(path, escapedPart(p))
		}
	}
	return rewriteTarget{path: strings.Join(path, "/"), query: final.query(), rule: true}
}

// escapedPart writes a segment of a path. What a client gives must not lead
// out of where the rule leads.
func escapedPart(s string) string {
	if s == "." || s == ".." {
		return url.QueryEscape(strings.ReplaceAll(s, ".", "%2E"))
	}
	return string(web.AppendQuotedPath(nil, s))
}

// ruleQuery returns the parameters of a rule, the last one first, with what was
// bound in the place of names.
func ruleQuery(rule []byte, bound bindings) (args bindings) {
	object, _ := jsonscan.Member(rule, "query")
	formats, _ := jsonscan.Member(rule, "formats")
	for m := jsonscan.MembersOf(object); ; {
		quoted, value, ok := m.Next()
		if !ok {
			return args
		}
		args = slices.Insert(args, 0, binding{string(jsonscan.Text(nil, quoted)), replaced(value, bound, formats)})
	}
}

// replaced puts what was bound in the place of names: of a value, and of the
// elements of a list.
func replaced(value []byte, bound bindings, formats []byte) []byte {
	switch jsonscan.KindOf(value) {
	case jsonscan.String:
		name := string(jsonscan.Text(nil, value))
		if variable, ok := strings.CutPrefix(name, ":"); ok {
			return formatted(variable, value, bound, formats)
		}
		if name == every {
			return formatted(name, value, bound, formats)
		}
	case jsonscan.Array:
		list := []byte{'['}
		for it := jsonscan.ElementsOf(value); ; {
			e, ok := it.Next()
			if !ok {
				return append(list, ']')
			}
			if len(list) > 1 {
				list = append(list, ',')
			}
			if jsonscan.KindOf(e) == jsonscan.String {
				e = replaced(e, bound, formats)
			}
			list = append(list, e...)
		}
	}
	return value
}

// formatted returns what a name is bound to, as a number or truth value where
// the rule says so and the text is one.
func formatted(name string, otherwise []byte, bound bindings, formats []byte) []byte {
	value, ok := bound.get(name)
	if !ok {
		value = otherwise
	}
	format, _ := jsonscan.Member(formats, name)
	text := flat(value)
	switch {
	case jsonscan.NameIs(format, "int") && isInteger(text), jsonscan.NameIs(format, "bool") && (text == "true" || text == "false"):
		return []byte(text)
	}
	return value
}

func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0')
}

// flat returns a value as it is written in a path or query: texts as they are, lists
// as the texts one after the other.
func flat(value []byte) string {
	if jsonscan.KindOf(value) != jsonscan.Array {
		return textOf(value)
	}
	var b strings.Builder
	for it := jsonscan.ElementsOf(value); ; {
		e, ok := it.Next()
		if !ok {
			return b.String()
		}
		b.WriteString(flat(e))
	}
}

// query writes bindings as a query string, the last one first.
func (bs bindings) query() string {
	var q web.Query
	for _, b := range slices.Backward(bs) {
		switch {
		case b.name == every:
		case keyNames[b.name]:
			q = append(q, web.Pair{Name: b.name, Value: string(b.value)})
		default:
			q = append(q, web.Pair{Name: b.name, Value: flat(b.value)})
		}
	}
	return rawQuery(q)
}

package spec

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// parser is a text on its way to a Replication. Endpoints wait for their proxies.
type parser struct {
	s              *Settings
	r              *Replication
	source, target []byte

	proxy, sourceProxy, targetProxy string
}

// members is what a text may hold.
var members = map[string]func(*parser, []byte) error{
	"source":               func(p *parser, v []byte) error { p.source = v; return nil },
	"target":               func(p *parser, v []byte) error { p.target = v; return nil },
	"proxy":                parseProxy(func(p *parser) *string { return &p.proxy }),
	"source_proxy":         parseProxy(func(p *parser) *string { return &p.sourceProxy }),
	"target_proxy":         parseProxy(func(p *parser) *string { return &p.targetProxy }),
	"cancel":               parseBool("cancel", func(p *parser) *bool { return &p.r.Cancel }),
	"continuous":           parseBool("continuous", func(p *parser) *bool { return &p.r.Continuous }),
	"create_target":        parseBool("create_target", func(p *parser) *bool { return &p.r.CreateTarget }),
	"winning_revs_only":    parseBool("winning_revs_only", func(p *parser) *bool { return &p.r.WinnersOnly }),
	"use_checkpoints":      parseNegated("use_checkpoints", func(p *parser) *bool { return &p.r.NoCheckpoints }),
	"use_bulk_get":         parseNegated("use_bulk_get", func(p *parser) *bool { return &p.r.NoBulkGet }),
	"_local_id":            parseCancelID,
	"replication_id":       parseCancelID,
	"id":                   parseCancelID,
	"create_target_params": parseCreateParams,
	"doc_ids":              parseDocIDs,
	"selector":             parseSelector,
	"filter":               parseFilter,
	"query_params":         parseQueryParams,
	"since_seq":            parseSinceSeq,
	"worker_processes":     parseCount("worker_processes", workers, func(p *parser) *int { return &p.r.Workers }),
	"worker_batch_size":    parseCount("worker_batch_size", batches, func(p *parser) *int { return &p.r.Batch }),
	"http_connections":     parseCount("http_connections", connections, func(p *parser) *int { return &p.r.Connections }),
	"retries_per_request":  parseCount("retries_per_request", retries, func(p *parser) *int { return &p.r.Retries }),
	"connection_timeout":   parseSpan("connection_timeout", func(p *parser) *time.Duration { return &p.r.Timeout }),
	"checkpoint_interval":  parseSpan("checkpoint_interval", func(p *parser) *time.Duration { return &p.r.CheckpointEvery }),
	"owner":                func(p *parser, v []byte) error { p.r.Owner, _ = text(v); return nil },
	OwnerMember:            parseOwnerContext,
	"user_ctx":             parseUserContext,
}

// text returns the characters of a JSON string.
func text(v []byte) (string, bool) {
	if js.KindOf(v) != js.String {
		return "", false
	}
	return string(js.Text(nil, v)), true
}

func parseBool(name string, field func(*parser) *bool) func(*parser, []byte) error {
	return func(p *parser, v []byte) error {
		switch js.KindOf(v) {
		case js.True, js.False:
			*field(p) = js.KindOf(v) == js.True
			return nil
		}
		return invalid("parameter `%s` must be a boolean", name)
	}
}

func parseNegated(name string, field func(*parser) *bool) func(*parser, []byte) error {
	read := parseBool(name, field)
	return func(p *parser, v []byte) error {
		err := read(p, v)
		if err == nil {
			*field(p) = !*field(p)
		}
		return err
	}
}

// parseCount parses a whole number, which may be written as a string.
func parseCount(name string, l limit, field func(*parser) *int) func(*parser, []byte) error {
	return func(p *parser, v []byte) error {
		digits, isText := text(v)
		if !isText {
			digits = string(v)
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < l.min {
			return invalid("parameter `%s` must be an integer of at least %d", name, l.min)
		}
		*field(p) = l.clip(n)
		return nil
	}
}

func parseSpan(name string, field func(*parser) *time.Duration) func(*parser, []byte) error {
	return func(p *parser, v []byte) error {
		n := 0
		err := parseCount(name, limit{1, milliseconds.max}, func(*parser) *int { return &n })(p, v)
		if err == nil {
			*field(p) = time.Duration(milliseconds.clip(int64(n))) * time.Millisecond
		}
		return err
	}
}

func parseProxy(field func(*parser) *string) func(*parser, []byte) error {
	return func(p *parser, v []byte) (err error) {
		var ok bool
		if *field(p), ok = text(v); !ok && js.KindOf(v) != js.Null {
			return invalid("Invalid proxy url")
		}
		return nil
	}
}

// parseCancelID takes the id of a replication; a client that did not escape the
// plus in it sends a space.
func parseCancelID(p *parser, v []byte) error {
	id, ok := text(v)
	if !ok {
		return invalid("parameter `replication_id` must be a string")
	}
	p.r.CancelID = NormalizeID(id)
	return nil
}

// parseCreateParams takes what the request that makes the target is to say.
func parseCreateParams(p *parser, v []byte) error {
	if js.KindOf(v) != js.Object {
		return invalid("parameter `create_target_params` must be a JSON object")
	}
	p.r.CreateParams = values(v)
	return nil
}

// parseQueryParams takes what reaches the filter: strings as they are, anything
// else as JSON.
func parseQueryParams(p *parser, v []byte) error {
	switch js.KindOf(v) {
	case js.Null:
		return nil
	case js.Object:
		p.r.Params = values(v)
		return nil
	}
	return invalid("parameter `query_params` must be an object")
}

func values(object []byte) url.Values {
	vs := url.Values{}
	for m := js.MembersOf(object); ; {
		quoted, v, ok := m.Next()
		if !ok {
			return vs
		}
		s, isText := text(v)
		if !isText {
			s = string(v)
		}
		vs.Set(string(js.Text(nil, quoted)), s)
	}
}

// parseDocIDs takes a list of ids. CouchDB takes escaped ids for what they stand
// for; since a percent sign may be part of an id, such an id counts for both.
func parseDocIDs(p *parser, v []byte) error {
	switch js.KindOf(v) {
	case js.Null:
		return nil
	case js.Array:
	default:
		return invalid("parameter `doc_ids` must be an array")
	}
	ids := []string{}
	for e := js.ElementsOf(v); ; {
		element, ok := e.Next()
		if !ok {
			break
		}
		id, isText := text(element)
		if !isText || id == "" {
			return invalid("parameter `doc_ids` must be an array of strings")
		}
		ids = append(ids, id)
		if strings.Contains(id, "%") {
			if plain, err := url.PathUnescape(id); err == nil && plain != "" {
				ids = append(ids, plain)
			}
		}
	}
	slices.Sort(ids)
	p.r.DocIDs = slices.Compact(ids)
	return nil
}

func parseSelector(p *parser, v []byte) error {
	if js.KindOf(v) != js.Object {
		return invalid("parameter `selector` must be a JSON object")
	}
	if _, err := selector.Parse(v); err != nil {
		return err
	}
	p.r.Selector = slices.Clone(v)
	return nil
}

// parseFilter takes the name of a filter function, or of one that is built in.
func parseFilter(p *parser, v []byte) error {
	if js.KindOf(v) == js.Null {
		return nil
	}
	name, ok := text(v)
	design, function, both := strings.Cut(name, "/")
	if !ok || !both && !strings.HasPrefix(name, "_") || both && (design == "" || function == "") {
		return invalid("Invalid filter. Must match `ddocname/filtername`.")
	}
	p.r.Filter = name
	return nil
}

func parseSinceSeq(p *parser, v []byte) error {
	switch js.KindOf(v) {
	case js.Null:
	case js.String:
		p.r.SinceSeq, _ = text(v)
	case js.Number, js.Array:
		p.r.SinceSeq = string(v)
	default:
		return invalid("parameter `since_seq` must be a sequence")
	}
	return nil
}

// parseOwnerContext parses how a document's owner was known. What can't be read
// must not count as nothing: that would be an administrator's.
func parseOwnerContext(p *parser, v []byte) error {
	c, ok := ParseOwnerContext(v)
	if !ok {
		return invalid("The `%s` property is the replicator's own.", OwnerMember)
	}
	p.r.OwnerContext = c
	return nil
}

// parseUserContext parses in whose name a document's replication runs.
func parseUserContext(p *parser, v []byte) error {
	if js.KindOf(v) == js.Null {
		return nil
	}
	if js.KindOf(v) != js.Object {
		return invalid("The `user_ctx` property must be a non-null object.")
	}
	c := &UserContext{}
	if name, ok := js.Member(v, "name"); ok && js.KindOf(name) != js.Null {
		if c.Name, ok = text(name); !ok || c.Name == "" {
			return invalid("The `user_ctx.name` property must be a non-empty string or null.")
		}
	}
	if roles, ok := js.Member(v, "roles"); ok && js.KindOf(roles) != js.Null {
		c.HasRoles = true
		if js.KindOf(roles) != js.Array || json.Unmarshal(roles, &c.Roles) != nil || slices.Contains(c.Roles, "") {
			return invalid("The `user_ctx.roles` property must be an array of strings.")
		}
	}
	p.r.UserContext = c
	return nil
}

// proxies settles which endpoint goes by which proxy.
func (p *parser) proxies() error {
	if p.proxy == "" {
		return nil
	}
	if p.sourceProxy != "" {
		return invalid("`proxy` is mutually exclusive with `source_proxy`")
	}
	if p.targetProxy != "" {
		return invalid("`proxy` is mutually exclusive with `target_proxy`")
	}
	p.sourceProxy, p.targetProxy = p.proxy, p.proxy
	return nil
}

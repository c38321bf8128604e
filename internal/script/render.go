package script

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/sectional/sectional/internal/packed"
)

// render is the state of a show, list or update function that runs: what it has put out and what it promised.
type render struct {
	r     *realm
	types map[string][]string // media types by the key of registerType
	keys  map[string]string   // and back
	more  bool                // registerType was called

	chunks   []string
	size     int64      // of chunks
	response goja.Value // of start; nil: none
	restart  bool       // start was called since the last output
	provided []provision
	used     bool   // provides was called
	media    string // the media type that provides settled on

	list    bool // a list runs: getRow has rows to give
	began   bool // the first rows were asked for
	rows    [][]byte
	drained bool
}

// provision is one call of provides.
type provision struct {
	key  string
	call goja.Callable
}

func newRender(r *realm) *render {
	n := &render{r: r}
	n.begin()
	return n
}

// renew forgets the media types that the last unit registered.
func (n *render) renew() {
	if n.more {
		n.begin()
	}
}

// begin registers the media types that are known to everybody.
func (n *render) begin() {
	n.types, n.keys, n.more = map[string][]string{}, map[string]string{}, false
	for _, t := range [][]string{
		{"all", "*/*"},
		{"text", "text/plain; charset=utf-8", "txt"},
		{"html", "text/html; charset=utf-8"},
		{"xhtml", "application/xhtml+xml", "xhtml"},
		{"xml", "application/xml", "text/xml", "application/x-xml"},
		{"js", "text/javascript", "application/javascript", "application/x-javascript"},
		{"css", "text/css"},
		{"ics", "text/calendar"},
		{"csv", "text/csv"},
		{"rss", "application/rss+xml"},
		{"atom", "application/atom+xml"},
		{"yaml", "application/x-yaml", "text/yaml"},
		{"multipart_form", "multipart/form-data"},
		{"url_encoded_form", "application/x-www-form-urlencoded"},
		{"json", "application/json", "text/x-json"},
	} {
		n.register(t[0], t[1:])
	}
}

// reset forgets what the last function did.
func (n *render) reset() {
	n.chunks, n.response, n.restart, n.provided, n.used, n.media = nil, nil, false, nil, false, ""
	n.size = 0
	n.list, n.began, n.rows, n.drained = false, false, nil, false
}

func (n *render) register(key string, types []string) {
	n.types[key] = types
	for _, t := range types {
		n.keys[t] = key
	}
}

func (n *render) registerType(call goja.FunctionCall) goja.Value {
	var types []string
	for _, a := range call.Arguments[min(1, len(call.Arguments)):] {
		types = append(types, a.String())
	}
	n.register(call.Argument(0).String(), types)
	n.more = true
	return goja.Undefined()
}

func (n *render) provides(call goja.FunctionCall) goja.Value {
	f, ok := goja.AssertFunction(call.Argument(1))
	if !ok {
		panic(n.r.rt.NewTypeError("provides needs a function"))
	}
	n.used = true
	n.provided = append(n.provided, provision{call.Argument(0).String(), f})
	return goja.Undefined()
}

func (n *render) start(call goja.FunctionCall) goja.Value {
	n.response, n.restart = call.Argument(0), true
	return goja.Undefined()
}

func (n *render) send(call goja.FunctionCall) goja.Value {
	n.add(call.Argument(0).String())
	return goja.Undefined()
}

// add puts a chunk out, to be sent later.
func (n *render) add(chunk string) {
	n.chunks = append(n.chunks, chunk)
	if n.size += int64(len(chunk)); n.size > n.r.child.limits.Output {
		n.r.throw(processError, limitErrors[limitOutput].Reason)
	}
}

func (n *render) getRow(goja.FunctionCall) goja.Value {
	if !n.list {
		n.r.throw("render_error", "getRow is for list functions")
	}
	n.flush()
	if len(n.rows) == 0 {
		return goja.Null()
	}
	row := n.rows[0]
	n.rows = n.rows[1:]
	return n.r.parse(row, thawed)
}

// flush gets more rows if there are none at hand, and sends what was put out before; also if that is a lot.
func (n *render) flush() {
	wanting := len(n.rows) == 0 && !n.drained
	if !wanting && n.size < n.r.child.limits.Output/4 {
		return
	}
	rows, err := n.r.child.put(n.output(), wanting)
	if err != nil {
		panic(err)
	}
	if wanting {
		n.rows, n.drained = rows, len(rows) == 0
	}
}

// output takes what was put out: the head, the first time and when start was called since, and the chunks.
func (n *render) output() packed.Writer {
	var f packed.Writer
	head := !n.began || n.restart
	f.Flag(head)
	if head {
		f.Bytes(n.r.json(n.typed(n.response)))
	}
	n.began, n.restart = true, false
	f.Texts(n.chunks)
	n.chunks, n.size = nil, 0
	return f
}

// typed returns a response with the media type that provides settled on, unless it has one.
func (n *render) typed(response goja.Value) goja.Value {
	o, ok := response.(*goja.Object)
	if !ok {
		o = n.r.rt.NewObject()
	}
	headers, ok := o.Get("headers").(*goja.Object)
	if !ok {
		headers = n.r.rt.NewObject()
		n.set(o, "headers", headers)
	}
	if own := headers.Get("Content-Type"); n.media != "" && (own == nil || !own.ToBoolean()) {
		n.set(headers, "Content-Type", n.r.rt.ToValue(n.media))
	}
	return o
}

func (n *render) set(o *goja.Object, name string, v goja.Value) {
	if err := o.Set(name, v); err != nil {
		n.r.must(nil, err)
	}
}

// best runs the function given to provides that suits the request: by its format parameter, else by its Accept header,
// else the first one.
func (n *render) best(req *goja.Object) goja.Value {
	var format, accept string
	if q, ok := req.Get("query").(*goja.Object); ok {
		format = text(q.Get("format"))
	}
	if h, ok := req.Get("headers").(*goja.Object); ok {
		accept = text(h.Get("Accept"))
	}
	key := ""
	switch {
	case format != "":
		key = format
		n.media = n.first(key)
	case accept != "":
		var supported []string
		for i := len(n.provided) - 1; i >= 0; i-- {
			supported = append(supported, n.types[n.provided[i].key]...)
		}
		n.media = bestType(supported, accept)
		key = n.keys[n.media]
	default:
		key = n.provided[0].key
		n.media = n.first(key)
	}
	if key != "" {
		for _, p := range n.provided {
			if p.key == key {
				return n.r.must(p.call(n.r.design))
			}
		}
	}
	var names []string
	for i := len(n.provided) - 1; i >= 0; i-- {
		names = append(names, strings.Join(n.types[n.provided[i].key], ", "))
	}
	wanted := accept
	if wanted == "" {
		wanted = key
	}
	n.r.throw("not_acceptable", "Content-Type "+wanted+" not supported, try one of: "+strings.Join(names, ", "))
	return nil
}

// first returns the first media type of a key.
func (n *render) first(key string) string {
	if types := n.types[key]; len(types) > 0 {
		return types[0]
	}
	panic(n.r.rt.NewTypeError("no media type is registered for " + key))
}

// show runs a show function and returns its response as JSON.
func (n *render) show(f goja.Callable, doc, req goja.Value) []byte {
	r := n.r
	n.reset()
	given := r.must(f(r.design, doc, req))
	if !given.ToBoolean() {
		given = r.rt.NewObject()
	}
	response, ok := n.wrapped(given)
	if !ok {
		r.throw("render_error", "undefined response from show function")
	}
	n.started(response)
	if len(n.chunks) > 0 {
		n.set(response, "body", r.rt.ToValue(strings.Join(n.chunks, "")+text(response.Get("body"))))
		n.chunks = nil
	}
	if n.used {
		given := n.best(req.ToObject(r.rt))
		body := text(response.Get("body")) + strings.Join(n.chunks, "")
		if part, ok := n.wrapped(given); ok {
			body += text(part.Get("body"))
		}
		n.set(response, "body", r.rt.ToValue(body))
		n.typed(response)
	}
	return r.json(response)
}

// started puts what a show gave to start into its response: the code, and headers, as a list function gives them or, as in
// CouchDB, one by one.
func (n *render) started(response *goja.Object) {
	head, ok := n.response.(*goja.Object)
	if !ok {
		return
	}
	headers, ok := response.Get("headers").(*goja.Object)
	if !ok {
		headers = n.r.rt.NewObject()
		n.set(response, "headers", headers)
	}
	for _, name := range head.Keys() {
		switch v := head.Get(name); several := v.(type) {
		case *goja.Object:
			if name == "headers" {
				for _, name := range several.Keys() {
					n.set(headers, name, several.Get(name))
				}
				continue
			}
			n.set(headers, name, v)
		default:
			if name == "code" {
				n.set(response, name, v)
			} else {
				n.set(headers, name, v)
			}
		}
	}
}

// wrapped makes an object of a response: a string is its body.
func (n *render) wrapped(v goja.Value) (*goja.Object, bool) {
	if goja.IsString(v) {
		o := n.r.rt.NewObject()
		n.set(o, "body", v)
		return o, true
	}
	o, ok := v.(*goja.Object)
	return o, ok && o.ClassName() != "Array" && o.ClassName() != "Function"
}

// update runs an update function and returns the document and the response.
func (n *render) update(f goja.Callable, doc, req goja.Value) []byte {
	r := n.r
	n.reset()
	if method := text(req.ToObject(r.rt).Get("method")); method == "GET" || method == "HEAD" {
		r.throw("method_not_allowed", "Update functions do not allow GET")
	}
	pair := r.must(f(r.design, doc, req)).ToObject(r.rt) // throws for undefined and null
	written := pair.Get("0")
	answer := pair.Get("1")
	if answer == nil {
		answer = goja.Undefined()
	}
	response, ok := n.wrapped(answer)
	if !ok {
		r.throw("render_error", "undefined response from update function")
	}
	var out packed.Writer
	out.Bytes(r.json(written))
	out.Bytes(r.json(response))
	return out
}

// tabulate runs a list function; what it puts out goes with its asking for rows, the rest with the outcome.
func (n *render) tabulate(f goja.Callable, head, req goja.Value) []byte {
	r := n.r
	n.reset()
	n.list = true
	end := r.must(f(r.design, head, req))
	if n.used {
		end = n.best(req.ToObject(r.rt))
	}
	if !goja.IsUndefined(end) {
		n.add(end.String())
	}
	return n.output()
}

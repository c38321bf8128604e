package script

import (
	"context"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/packed"
)

// absent stands for a document that is not there.
func absent(doc []byte) []byte {
	if doc == nil {
		return []byte("null")
	}
	return doc
}

func arguments(values ...[]byte) []byte {
	var f packed.Writer
	for _, v := range values {
		f.Bytes(v)
	}
	return f
}

// has checks that a design document has a function; the error is CouchDB's.
func (r Realm) has(way ...string) error {
	for i := range way {
		if _, ok := member(r.Document, way[:i+1]...); !ok {
			return dberr.New(dberr.NotFound, "", "missing json key: %s", way[i])
		}
	}
	return nil
}

// Write is what a validator looks at: a document that someone wants to write over another.
type Write struct {
	New, Old []byte // JSON; Old is nil for a new document
	User     []byte // userCtx
	Security []byte // secObj
}

// Validate runs the realm's validate_doc_update over writes and returns an error for each that is refused: Forbidden or
// Unauthorized with the function's reason, or what else it threw. A reason that is no string has *Thrown as its cause. When the
// function has to be stopped for a write, those after it are refused for the same reason without being tried.
func (p *Pool) Validate(ctx context.Context, realm Realm, writes []Write) ([]error, error) {
	refusals := make([]error, len(writes))
	if len(writes) == 0 {
		return refusals, nil
	}
	j := &job{op: opValidate, flavour: flavourDesign, realm: realm, function: []string{"validate_doc_update"}, width: 1}
	for _, w := range writes {
		j.inputs = append(j.inputs, arguments(w.New, absent(w.Old), w.User, w.Security))
	}
	outcomes, _, err := p.run(ctx, j)
	if err != nil {
		return nil, err
	}
	for i, o := range outcomes {
		if o.failure != nil {
			refusals[i] = o.failure.err()
		}
	}
	return refusals, nil
}

// Filter runs a filter function over documents and reports which ones pass. A failure is an error.
func (p *Pool) Filter(ctx context.Context, realm Realm, name string, docs [][]byte, req []byte) ([]bool, error) {
	if err := realm.has("filters", name); err != nil {
		return nil, err
	}
	return p.verdicts(ctx, &job{op: opFilter, flavour: flavourDesign, realm: realm, function: []string{"filters", name},
		inputs: docs, shared: [][]byte{req}})
}

// Update runs an update function. Doc is nil if there is none. It returns the document to write, nil for none, and the answer.
func (p *Pool) Update(ctx context.Context, realm Realm, name string, doc, req []byte) (written []byte, answer Response, err error) {
	if err := realm.has("updates", name); err != nil {
		return nil, answer, err
	}
	out, err := p.one(ctx, &job{op: opUpdate, flavour: flavourDesign, realm: realm, function: []string{"updates", name},
		inputs: [][]byte{arguments(absent(doc), req)}})
	if err != nil {
		return nil, answer, err
	}
	c := packed.Read(out)
	written, response := c.Bytes(), c.Bytes()
	if len(written) == 0 || written[0] != '{' {
		written = nil
	}
	answer, err = parseResponse(response)
	return written, answer, err
}

// Show runs a show function. Doc is nil if there is none.
func (p *Pool) Show(ctx context.Context, realm Realm, name string, doc, req []byte) (Response, error) {
	if err := realm.has("shows", name); err != nil {
		return Response{}, err
	}
	out, err := p.one(ctx, &job{op: opShow, flavour: flavourDesign, realm: realm, function: []string{"shows", name},
		inputs: [][]byte{arguments(absent(doc), req)}})
	if err != nil {
		return Response{}, err
	}
	return parseResponse(out)
}

// Rewrite runs the design document's rewrites function, and returns what it returned as JSON: null for nothing.
func (p *Pool) Rewrite(ctx context.Context, realm Realm, req []byte) ([]byte, error) {
	if err := realm.has("rewrites"); err != nil {
		return nil, err
	}
	return p.one(ctx, &job{op: opRewrite, flavour: flavourDesign, realm: realm, function: []string{"rewrites"}, inputs: [][]byte{arguments(req)}})
}

// Source is a function of a design document, to be checked.
type Source struct {
	View string // the view, for map and reduce functions
	Kind string // "map", "reduce", or the way to the function, such as "filters.mine"
	Code string
}

func (s Source) name() string {
	if s.View != "" {
		return "the " + s.Kind + " function in the '" + s.View + "' view"
	}
	return "the function " + s.Kind
}

// Check compiles the functions of a design document, in a slot of tenants for a tenant's. The first that does not compile is an Invalid error.
func (p *Pool) Check(ctx context.Context, tenant bool, sources []Source) error {
	if len(sources) == 0 {
		return nil
	}
	j := &job{op: opCheck, flavour: flavourMap, realm: Realm{Database: "\x00", Tenant: tenant, Document: []byte("{}")}, width: 1}
	for _, s := range sources {
		j.inputs = append(j.inputs, []byte(s.Code))
		j.function = append(j.function, s.name())
	}
	outcomes, _, err := p.run(ctx, j)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.failure == nil {
			continue
		}
		e := o.failure.err()
		if e.Kind == dberr.NotFound {
			return e
		}
		return dberr.New(dberr.Invalid, "compilation_error", "%s", "Compilation of "+sources[i].name()+" failed: "+e.Reason)
	}
	return nil
}

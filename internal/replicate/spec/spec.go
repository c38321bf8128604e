package spec

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	js "github.com/sectional/sectional/internal/jsonscan"
)

// DatabaseName is the name of the database whose documents are replications.
const DatabaseName = "_replicator"

// IsReplicator reports whether the documents of a database are replications: by
// its name or the last part of it.
func IsReplicator(database string) bool {
	return database == DatabaseName || strings.HasSuffix(database, "/"+DatabaseName)
}

// Replication is what is to be done, parsed. It is not changed once Parse has
// given it.
type Replication struct {
	Source, Target Endpoint

	Continuous   bool
	CreateTarget bool
	CreateParams url.Values // of the request that makes the target

	// At most one of DocIDs (not nil), Selector and Filter is set.
	DocIDs   []string // sorted
	Selector json.RawMessage
	Filter   string     // "design/name", or a built-in one such as "_view"
	Params   url.Values // query_params: they reach the filter

	SinceSeq    string // as text: a string's characters, or the JSON of a number or array
	WinnersOnly bool

	NoCheckpoints   bool
	NoBulkGet       bool
	CheckpointEvery time.Duration
	Timeout         time.Duration
	Batch           int
	Workers         int
	Connections     int
	Retries         int // 0: none

	// Cancel asks to end a replication: the one that CancelID names, or the one
	// that the rest describes.
	Cancel   bool
	CancelID string

	// Owner and UserContext are in documents: who wrote it, and in whose name it
	// runs.
	Owner        string
	OwnerContext *OwnerContext // nil: an administrator wrote it, by a password
	UserContext  *UserContext
}

// OwnerMember is the member of a document that has its OwnerContext.
const OwnerMember = "owner_ctx"

// OwnerContext says who vouched for the owner's name when the document was
// written, and which roles the owner had.
type OwnerContext struct {
	From  string   `json:"from"` // as auth.Caller.VouchedBy returns it
	Roles []string `json:"roles"`
}

// OwnerFrom says who vouched for the owner's name.
func (r *Replication) OwnerFrom() string {
	if r.OwnerContext == nil {
		return "password"
	}
	return r.OwnerContext.From
}

// ParseOwnerContext parses the member of that name; not ok for anything else than
// an object as it is written.
func ParseOwnerContext(v []byte) (c *OwnerContext, ok bool) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.DisallowUnknownFields()
	c = &OwnerContext{}
	if js.KindOf(v) != js.Object || d.Decode(c) != nil || !slices.Contains([]string{"password", "jwt", "proxy"}, c.From) {
		return nil, false
	}
	return c, true
}

// UserContext is the member user_ctx of a document.
type UserContext struct {
	Name  string // "" for null or none
	Roles []string
	// HasRoles says that roles are listed: none but these count then.
	HasRoles bool
}

// Parse parses a JSON object that is valid. Members that it does not know are
// overlooked, as CouchDB does. Errors: Invalid bad_request, with CouchDB's
// sentences where it has one. A cancellation by id has no endpoints.
func Parse(body []byte, s *Settings) (*Replication, error) {
	p := parser{s: s, r: s.defaults()}
	if err := p.parseMembers(body, func(string) bool { return true }); err != nil {
		return nil, err
	}
	if p.r.Cancel && p.r.CancelID != "" {
		return p.r, nil
	}
	return p.finish()
}

// ParseDocument parses the body of a document of a _replicator database, as Parse
// does. What only a request can ask for is overlooked.
func ParseDocument(body []byte, s *Settings) (*Replication, error) {
	p := parser{s: s, r: s.defaults()}
	err := p.parseMembers(body, func(name string) bool { return !slices.Contains(requestOnly, name) })
	if err != nil {
		return nil, err
	}
	return p.finish()
}

// requestOnly are the members that end a replication, which a document does by
// being deleted.
var requestOnly = []string{"cancel", "_local_id", "replication_id", "id"}

// parseMembers takes those members that count.
func (p *parser) parseMembers(body []byte, counts func(name string) bool) error {
	for m := js.MembersOf(body); ; {
		quoted, value, ok := m.Next()
		if !ok {
			return nil
		}
		name := string(js.Text(nil, quoted))
		if read := members[name]; read != nil && counts(name) {
			if err := read(p, value); err != nil {
				return err
			}
		}
	}
}

// finish checks what depends on several members.
func (p *parser) finish() (*Replication, error) {
	chosen := 0
	for _, given := range []bool{p.r.DocIDs != nil, p.r.Selector != nil, p.r.Filter != ""} {
		if given {
			chosen++
		}
	}
	if chosen > 1 {
		return nil, invalid("`doc_ids`,`filter`,`selector` are mutually exclusive")
	}
	if err := p.proxies(); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		raw []byte
		dst *Endpoint
		via string
	}{{p.source, &p.r.Source, p.sourceProxy}, {p.target, &p.r.Target, p.targetProxy}} {
		parsed, err := parseEndpoint(e.raw, e.via, p.s)
		if err != nil {
			return nil, err
		}
		*e.dst = parsed
	}
	return p.r, nil
}

// Equal reports whether two replications are the same in every respect, also in
// their credentials.
func (r *Replication) Equal(o *Replication) bool { return reflect.DeepEqual(r, o) }

func invalid(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", reason, args...)
}

package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// getExpiry answers GET /{db}/_expiry and /{db}/_partition/{partition}/_expiry:
// by what documents expire, whether those from before the setting have been
// looked at, and of how many nobody can read when they do.
func getExpiry(r *couchhttp.Request) error {
	e, err := r.Scope.Expiry(r.Ctx())
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = appendExpiry(append(b, '{'), e.Holds)
		if r.Scope.Partition() != "" {
			b = append(b, `,"inherited":`...)
			b = strconv.AppendBool(b, !e.Own)
		}
		b = append(b, `,"ready":`...)
		b = strconv.AppendBool(b, e.Ready)
		return append(appendUnreadable(b, e), '}')
	})
}

func appendExpiry(b []byte, e store.Expiry) []byte {
	b = append(b, `"field":`...)
	if e.Field == "" {
		b = append(b, "null"...)
	} else {
		b = couchhttp.AppendString(b, e.Field)
	}
	if e.TTLField != "" {
		b = append(b, `,"ttl_field":`...)
		b = couchhttp.AppendString(b, e.TTLField)
	}
	if e.TTL > 0 {
		b = append(b, `,"ttl":`...)
		b = strconv.AppendUint(b, e.TTL, 10)
	}
	if e.Seconds {
		b = append(b, `,"seconds_only":true`...)
	}
	return b
}

func appendUnreadable(b []byte, e store.ExpiryState) []byte {
	if e.Unreadable == 0 {
		return b
	}
	b = append(b, `,"unreadable":`...)
	b = strconv.AppendInt(b, int64(e.Unreadable), 10)
	b = append(b, `,"examples":[`...)
	for i, id := range e.Examples {
		if i > 0 {
			b = append(b, ',')
		}
		b = couchhttp.AppendString(b, string(id))
	}
	return append(b, ']')
}

// putExpiry answers PUT of the same paths: an object with field, ttl_field and
// ttl, or some of them; null in place of each or of everything for none.
func putExpiry(r *couchhttp.Request) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	e, err := parseExpiry(raw)
	if err != nil {
		return err
	}
	if err := r.Scope.SetExpiry(r.Ctx(), e); err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}

// deleteExpiry answers DELETE of the same paths: a partition then follows its
// database, and nothing expires in a database.
func deleteExpiry(r *couchhttp.Request) error {
	if err := r.Scope.SetExpiry(r.Ctx(), store.Expiry{}); err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}

func parseExpiry(raw []byte) (store.Expiry, error) {
	e := store.Expiry{Own: true}
	if isNull(raw) {
		return e, nil
	}
	members, err := couchhttp.MembersOf(raw)
	if err != nil {
		return e, err
	}
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.Name] {
			return e, badExpiry()
		}
		seen[m.Name] = true
		if err := setExpiryMember(&e, m.Name, m.Value); err != nil {
			return e, err
		}
	}
	if len(members) == 0 {
		return e, badExpiry()
	}
	return e, nil
}

func badExpiry() error {
	return couchhttp.BadRequest("The body must be null, or an object with `field`, `ttl_field` and `ttl`, or some of them.")
}

// setExpiryMember reads one member of a setting.
func setExpiryMember(e *store.Expiry, name string, value []byte) error {
	text := map[string]*string{"field": &e.Field, "ttl_field": &e.TTLField}[name]
	switch {
	case text == nil && name != "ttl":
		return badExpiry()
	case isNull(value):
		return nil
	case text != nil:
		if json.Unmarshal(value, text) != nil || *text == "" {
			return couchhttp.BadRequest("`%s` must be the name of a member, or null.", name)
		}
		return nil
	}
	if json.Unmarshal(value, &e.TTL) != nil || e.TTL == 0 {
		return couchhttp.BadRequest("`ttl` must be a number of seconds from 1 to %d, or null.", uint64(store.MaxTTL))
	}
	return nil
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// onlyMember reads an object that has one member, name, and returns its value;
// nil if that is null, or the whole is.
func onlyMember(raw []byte, name string) (value []byte, err error) {
	if isNull(raw) {
		return nil, nil
	}
	members, err := couchhttp.MembersOf(raw)
	if err != nil {
		return nil, err
	}
	if len(members) != 1 || members[0].Name != name {
		return nil, couchhttp.BadRequest("The body must be an object with the member `%s` alone, or null.", name)
	}
	if isNull(members[0].Value) {
		return nil, nil
	}
	return members[0].Value, nil
}

// getAutoPurge answers GET /{db}/_auto_purge.
func getAutoPurge(r *couchhttp.Request) error {
	p := r.DB.DeletedTTL()
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = append(b, '{')
		if p.Text != "" {
			b = append(b, `"deleted_document_ttl":`...)
			if json.Valid([]byte(p.Text)) {
				b = append(b, p.Text...) // seconds
			} else {
				b = couchhttp.AppendString(b, p.Text)
			}
		}
		return append(b, '}')
	})
}

// putAutoPurge answers PUT /{db}/_auto_purge: the age at which tombstones are
// dropped. An empty object, or null, takes the setting away.
func putAutoPurge(r *couchhttp.Request) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	p, err := parseAutoPurge(raw)
	if err != nil {
		return err
	}
	if err := r.DB.SetDeletedTTL(r.Ctx(), p); err != nil {
		return err
	}
	return r.OK(http.StatusAccepted)
}

func parseAutoPurge(raw []byte) (p store.Period, err error) {
	if members, err := couchhttp.MembersOf(raw); err == nil && len(members) == 0 {
		return p, nil
	}
	value, err := onlyMember(raw, "deleted_document_ttl")
	if err != nil || value == nil {
		return p, err
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	p, err = store.ParsePeriod(text)
	if err != nil {
		return p, dberr.New(dberr.Invalid, "bad_request", "`deleted_document_ttl` must be a number of seconds, a number and a unit (\"90_days\"), or \"infinity\".")
	}
	return p, nil
}

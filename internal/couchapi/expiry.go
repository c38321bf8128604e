package couchapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// getExpiry answers GET /{db}/_expiry and /{db}/_partition/{partition}/_expiry:
// by which member documents expire, and whether those from before the setting
// have been looked at.
func getExpiry(r *request) error {
	e, err := r.scope.Expiry(r.ctx())
	if err != nil {
		return err
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"field":`...)
		if e.Field == "" {
			b = append(b, "null"...)
		} else {
			b = appendString(b, e.Field)
		}
		if r.scope.Partition() != "" {
			b = append(b, `,"inherited":`...)
			b = strconv.AppendBool(b, !e.Own)
		}
		b = append(b, `,"ready":`...)
		return append(strconv.AppendBool(b, e.Ready), '}')
	})
}

// putExpiry answers PUT of the same paths: {"field": name}, or null in place of
// the name or of everything for no expiry.
func putExpiry(r *request) error {
	raw, err := r.jsonBody()
	if err != nil {
		return err
	}
	e, err := parseExpiry(raw)
	if err != nil {
		return err
	}
	if err := r.scope.SetExpiry(r.ctx(), e); err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}

// deleteExpiry answers DELETE of the same paths: a partition then follows its
// database, and nothing expires in a database.
func deleteExpiry(r *request) error {
	if err := r.scope.SetExpiry(r.ctx(), store.Expiry{}); err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}

func parseExpiry(raw []byte) (store.Expiry, error) {
	e := store.Expiry{Own: true}
	value, err := onlyMember(raw, "field")
	if err != nil || value == nil {
		return e, err
	}
	if json.Unmarshal(value, &e.Field) != nil || e.Field == "" {
		return e, badRequest("`field` must be the name of a member, or null.")
	}
	return e, nil
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// onlyMember reads an object that has one member, name, and gives its value;
// nil if that is null, or the whole is.
func onlyMember(raw []byte, name string) (value []byte, err error) {
	if isNull(raw) {
		return nil, nil
	}
	members, err := membersOf(raw)
	if err != nil {
		return nil, err
	}
	if len(members) != 1 || members[0].Name != name {
		return nil, badRequest("The body must be an object with the member `%s` alone, or null.", name)
	}
	if isNull(members[0].Value) {
		return nil, nil
	}
	return members[0].Value, nil
}

// getAutoPurge answers GET /{db}/_auto_purge.
func getAutoPurge(r *request) error {
	p := r.db.DeletedTTL()
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = append(b, '{')
		if p.Text != "" {
			b = append(b, `"deleted_document_ttl":`...)
			if json.Valid([]byte(p.Text)) {
				b = append(b, p.Text...) // seconds
			} else {
				b = appendString(b, p.Text)
			}
		}
		return append(b, '}')
	})
}

// putAutoPurge answers PUT /{db}/_auto_purge: the age at which tombstones are
// dropped. An empty object, or null, takes the setting away.
func putAutoPurge(r *request) error {
	raw, err := r.jsonBody()
	if err != nil {
		return err
	}
	p, err := parseAutoPurge(raw)
	if err != nil {
		return err
	}
	if err := r.db.SetDeletedTTL(r.ctx(), p); err != nil {
		return err
	}
	return r.ok(http.StatusAccepted)
}

func parseAutoPurge(raw []byte) (p store.Period, err error) {
	if members, err := membersOf(raw); err == nil && len(members) == 0 {
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

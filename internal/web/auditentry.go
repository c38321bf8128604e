package web

import (
	"encoding/json"
	"time"
)

// AuditEntry is what an administrator did, or tried to do, for the audit log.
type AuditEntry struct {
	Time             time.Time
	Request          string // its name
	User, Peer       string
	Method, Route    string
	Database, Object string // what it is about; Object is a partition, a setting, a user; "" for none
	Status           int    // what came of it
}

// AuditPage is a part of the acts that there are, the newest first.
type AuditPage struct {
	Entries []json.RawMessage
	Next    string // what the page of those before is asked for with; "": there are none
}

// writeAuditEntry has the audit log know of the request, if it is an act, right before its answer goes out: what
// was acknowledged is in the log. Of those who are nobody it is not told, for anybody could fill the log by it.
func (r *Request) writeAuditEntry(status int) {
	tell := r.frame.Audit
	if tell == nil || !r.Action.Audited || r.Caller == nil || r.Caller.Name == "" {
		return
	}
	tell(AuditEntry{Time: r.frame.Now(), Request: r.id, User: r.Caller.Name, Peer: r.Peer(), Method: r.MethodShown(), Route: r.Action.Name,
		Database: r.Database, Object: r.Subject, Status: status})
}

package couchhttp

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/web"
)

// isAct reports whether the requests of a row are told to the audit log: those that change databases, settings and rights.
func (row *Route) isAct() bool {
	return row.Class == ClassAdmin && !strings.Contains(row.Methods, http.MethodGet) && !strings.HasSuffix(row.Pattern, "_ensure_full_commit")
}

// noteAct notes what an act is about. Writes to the database of users are acts too, whose object is the user
// where the path names one.
func (r *Request) noteAct() {
	if r.Method == http.MethodGet {
		r.Action.Audited = false
		return
	}
	if r.namesDatabase() && r.route.Class == ClassWrite && r.API.Auth.IsUsersDB(r.args[0]) {
		r.Action.Audited = true
	}
	if !r.Action.Audited {
		return
	}
	args := r.args[:len(r.node.Names)]
	if r.namesDatabase() {
		args = args[1:]
	}
	r.Subject = strings.Join(args, "/")
}

// actionOf returns what the frame knows of a row.
func (row *Route) actionOf(counted Classes) web.Action {
	return web.Action{Name: row.Pattern, Class: counted[row.Class], Body: bodyCosts[row.Body], Unlimited: row.Often, Audited: row.isAct(), Bounded: row.Class == ClassLookup}
}

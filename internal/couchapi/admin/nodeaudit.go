package admin

import (
	"encoding/json"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// How many acts one answer has, without a limit and at most.
const (
	defaultActs = 100
	maxActs     = 1000
)

type auditQuery struct {
	limit    int
	bookmark string
}

var auditParams = couchhttp.Params[auditQuery]{
	"limit":    couchhttp.CountParam(func(q *auditQuery) *int { return &q.limit }),
	"bookmark": couchhttp.TextParam(func(q *auditQuery) *string { return &q.bookmark }),
}

// nodeAudit answers GET /_node/{node}/_audit: what administrators have done at this server, the newest first.
func nodeAudit(r *couchhttp.Request) error {
	q := auditQuery{limit: defaultActs}
	if err := auditParams.Read(r.Query, &q); err != nil {
		return err
	}
	if q.limit < 1 || q.limit > maxActs {
		return couchhttp.QueryError("`limit` must be from 1 to %d.", maxActs)
	}
	answer := struct {
		Acts     []json.RawMessage `json:"acts"`
		Bookmark string            `json:"bookmark,omitempty"`
	}{Acts: []json.RawMessage{}}
	if r.API.ReadActs != nil {
		p, err := r.API.ReadActs(q.bookmark, q.limit)
		if err != nil {
			return err
		}
		answer.Acts, answer.Bookmark = append(answer.Acts, p.Entries...), p.Next
	}
	return r.Marshal(http.StatusOK, answer)
}

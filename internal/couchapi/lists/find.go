package lists

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	mango "github.com/sectional/sectional/internal/query"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// find answers POST _find: documents of a selector, or what they amount to.
func find(r *couchhttp.Request) error {
	if err := r.MayQuery(); err != nil {
		return err
	}
	req, scope, err := parseFind(r)
	if err != nil {
		return err
	}
	setRequestClass(r, scope)
	q := mango.New(req, scope, r.API.Indexes)
	s := &findSink{pager: newPager(r, couchhttp.DocForm{}, scope.Partition(), &r.API.Stats.PartitionTimeouts), fields: req.Fields}
	defer noteReading(r, q)
	s.To(r.Stream(http.StatusOK, web.JSON))
	s.Buf = append(s.Buf, '{')
	if !req.Summarizes() {
		s.Buf = append(s.Buf, `"docs":[`...)
	}
	if err := q.Run(r.Ctx(), s); err != nil {
		return err
	}
	switch {
	case req.Count:
		s.Buf = strconv.AppendInt(append(s.Buf, `"count":`...), int64(q.Count()), 10)
	case req.Group != nil:
		s.Buf = appendGroups(s.Buf, req.Group, q)
	case q.Empty(): // nothing was looked for, so there is no place to go on from: CouchDB returns none
		s.Buf = append(s.Buf, ']')
	default:
		s.Buf = couchhttp.AppendString(append(s.Buf, "\n],\n\"bookmark\":"...), q.Bookmark())
	}
	if req.Stats {
		s.Buf = appendFindStats(s.Buf, q.Stats())
	}
	if w := q.Warning(); w != "" {
		s.Buf = couchhttp.AppendString(append(s.Buf, ",\n\"warning\":"...), w)
	}
	s.Buf = append(s.Buf, "}\n"...)
	return s.End()
}

// noteReading has the log tell of a slow query what it read.
func noteReading(r *couchhttp.Request, q *mango.Query) {
	if !r.IsSlow() {
		return
	}
	did := q.Stats()
	r.Read.Partition = string(r.Scope.Partition())
	r.Read.Index, r.Read.Plan = q.Plan()
	r.Read.Keys, r.Read.Documents, r.Read.Rows = did.Keys, did.Docs, did.Results
}

// parseFind parses the request of _find and _explain, and the scope it is about:
// that of the path, narrowed by a parameter or a member.
func parseFind(r *couchhttp.Request) (*mango.Request, store.Scope, error) {
	raw, err := mangoBody(r)
	if err != nil {
		return nil, r.Scope, err
	}
	req, err := mango.Parse(raw)
	if err != nil {
		return nil, r.Scope, err
	}
	req.Steps, req.ExtraMembers = r.API.Settings.Value().SelectorSteps, extraMembers
	if p, ok := r.Query.Get("partition"); ok {
		if r.Scope, err = narrowed(r, &p); err != nil {
			return nil, r.Scope, err
		}
	}
	scope, err := narrowed(r, req.Partition)
	return req, scope, err
}

// mangoBody reads a body that must be a JSON object.
func mangoBody(r *couchhttp.Request) ([]byte, error) {
	raw, err := r.JSONBody()
	if err != nil {
		return nil, err
	}
	if err := couchhttp.CheckJSON(raw); err != nil {
		return nil, err
	}
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return nil, dberr.New(dberr.Invalid, "bad_request", "Request body must be a JSON object")
	}
	return jsonscan.Trim(raw), nil
}

// setRequestClass says, as Cloudant does, what sort of request this counts as:
// one that reads one partition only is a look-up.
func setRequestClass(r *couchhttp.Request, scope store.Scope) {
	if scope.Partition() != "" {
		r.Set("X-Cloudant-Request-Class", "lookup")
	} else {
		r.Set("X-Cloudant-Request-Class", "query")
	}
}

// findSink appends documents to the answer. Rows come within a snapshot and go
// out between two.
type findSink struct {
	pager
	fields selector.Fields
}

// Row implements query.Sink.
func (s *findSink) Row(row *mango.Row) (full bool, err error) {
	if s.between("\n"); row.Rev == nil || !s.fields.All() {
		s.Buf = append(s.Buf, s.fields.Project(&row.Doc)...)
	} else {
		s.Buf = couchwire.AppendDocument(s.Buf, &couchwire.Revision{
			ID: row.Rev.ID, Rev: row.Rev.Rev, Body: row.Rev.Body, Attachments: row.Rev.Attachments, Conflicts: row.Conflicts,
		}, couchwire.Form{})
	}
	return s.Full(), nil
}

// Page implements query.Sink.
func (s *findSink) Page() error {
	if err := s.inTime(); err != nil {
		return err
	}
	return s.Spill()
}

// extraMembers is query.Request's Beside: the members as CouchDB shows them.
func extraMembers(rev *store.Revision, conflicts []document.Rev) (all []selector.Member) {
	if len(rev.Attachments) > 0 {
		all = append(all, selector.Member{Name: "_attachments", Value: couchwire.AppendAttachments(nil, rev.Attachments, couchwire.Form{})})
	}
	if len(conflicts) > 0 {
		all = append(all, selector.Member{Name: "_conflicts", Value: couchwire.AppendRevs(nil, conflicts)})
	}
	return all
}

// appendGroups appends what the documents of each group amount to.
func appendGroups(b []byte, of *mango.Group, q *mango.Query) []byte {
	b = append(b, `"groups":[`...)
	first := true
	for key, values := range q.Groups() {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, "\n{\"key\":["...), bytes.Join(key, []byte{','})...)
		b = append(b, `],"value":{`...)
		for i, c := range of.Compute {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(jsonscan.AppendQuoted(b, c.Name), ':'), values[i]...)
		}
		b = append(b, "}}"...)
	}
	return append(b, "\n]"...)
}

func appendFindStats(b []byte, s mango.Stats) []byte {
	b = couchhttp.AppendCount(append(b, ",\n\"execution_stats\":{"...), `"total_keys_examined":`, uint64(s.Keys))
	b = couchhttp.AppendCount(b, `,"total_docs_examined":`, uint64(s.Docs))
	b = couchhttp.AppendCount(b, `,"total_quorum_docs_examined":0,"results_returned":`, uint64(s.Results))
	b = couchhttp.AppendCount(b, `,"partitions":`, uint64(s.Partitions))
	b = couchhttp.AppendCount(b, `,"bytes":`, uint64(s.Bytes))
	b = append(b, `,"execution_time_ms":`...)
	return append(strconv.AppendFloat(b, float64(s.Took.Microseconds())/1000, 'f', 3, 64), '}')
}

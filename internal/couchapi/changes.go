package couchapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/changes"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// changesQuery is what _changes takes of a query string.
type changesQuery struct {
	feed     string
	since    string
	hasSince bool
	filter   string
	view     string
	docIDs   *string
	interval int // tell the sequence of each interval-th row only
	form     docForm
	changes.Feed
}

func badChanges(reason string) error { return dberr.New(dberr.Invalid, "bad_request", reason) }

// changesParams are the parameters of _changes. A truth value is true if it is
// "true" and false otherwise, as in CouchDB.
var changesParams = params[changesQuery]{
	"feed":          textParam(func(q *changesQuery) *string { return &q.feed }),
	"filter":        textParam(func(q *changesQuery) *string { return &q.filter }),
	"view":          textParam(func(q *changesQuery) *string { return &q.view }),
	"since":         (*changesQuery).setSince,
	"last-event-id": (*changesQuery).setSince,
	"doc_ids": func(q *changesQuery, v string) error {
		q.docIDs = &v
		return nil
	},
	"style": func(q *changesQuery, v string) error {
		q.Leaves = v == "all_docs"
		return nil
	},
	"descending":        trueParam(func(q *changesQuery) *bool { return &q.Descending }),
	"include_docs":      trueParam(func(q *changesQuery) *bool { return &q.form.include }),
	"conflicts":         trueParam(func(q *changesQuery) *bool { return &q.form.conflicts }),
	"attachments":       trueParam(func(q *changesQuery) *bool { return &q.form.data }),
	"att_encoding_info": trueParam(func(q *changesQuery) *bool { return &q.form.encoding }),
	"limit": func(q *changesQuery, v string) (err error) {
		if q.Limit, err = strconv.Atoi(v); err != nil {
			return badChanges("The limit value should be a non-negative integer")
		}
		return nil
	},
	"seq_interval": func(q *changesQuery, v string) (err error) {
		if q.interval, err = strconv.Atoi(v); err != nil || q.interval < 1 {
			return badChanges("invalid_seq_interval")
		}
		return nil
	},
	"timeout": func(q *changesQuery, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil {
			return badChanges("Invalid timeout value. Expecting a positive integer value (in milliseconds).")
		}
		q.Timeout = milliseconds(n)
		return nil
	},
	"heartbeat": (*changesQuery).setHeartbeat,
}

func textParam[T any](field func(*T) *string) func(*T, string) error {
	return func(dst *T, value string) error {
		*field(dst) = value
		return nil
	}
}

func trueParam[T any](field func(*T) *bool) func(*T, string) error {
	return func(dst *T, value string) error {
		*field(dst) = value == "true"
		return nil
	}
}

// milliseconds converts a number of milliseconds, however large.
func milliseconds(n int) time.Duration {
	const most = int(time.Hour / time.Millisecond)
	return time.Duration(max(0, min(n, most))) * time.Millisecond
}

func (q *changesQuery) setSince(v string) error {
	q.since, q.hasSince = v, true
	return nil
}

// leastHeartbeat is the shortest time between the heartbeats of a feed: each wakes the
// feed and the client for nothing.
const leastHeartbeat = time.Second

func (q *changesQuery) setHeartbeat(v string) error {
	if v == "true" {
		q.Heartbeat = time.Hour // cut to the longest silence allowed
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return badChanges("Invalid heartbeat value. Expecting a positive integer value (in milliseconds).")
	}
	if n <= 0 {
		return badChanges("The heartbeat value should be a positive integer (in milliseconds).")
	}
	q.Heartbeat = max(milliseconds(n), leastHeartbeat)
	return nil
}

// changesFeed is a way to send a feed.
type changesFeed struct {
	mode    changes.Mode
	layout  *changesLayout
	content string
}

var changesFeeds = map[string]changesFeed{
	"normal":      {changes.Once, objectLayout, web.JSON},
	"longpoll":    {changes.First, objectLayout, web.JSON},
	"continuous":  {changes.Endless, lineLayout, web.JSON},
	"live":        {changes.Endless, lineLayout, web.JSON},
	"eventsource": {changes.Endless, eventLayout, "text/event-stream"},
}

// databaseChanges answers GET and POST /{db}/_changes and the same of a
// partition.
func databaseChanges(r *request) error {
	var raw []byte
	var body []document.Member
	if r.Method == http.MethodPost {
		var err error
		if raw, body, err = r.rawMembers(); err != nil {
			return err
		}
	}
	q := changesQuery{feed: "normal", interval: 1, Feed: changes.Feed{Limit: -1, Timeout: time.Hour, Done: r.api.Done}}
	if err := changesParams.read(r.Query, &q); err != nil {
		return err
	}
	feed, ok := changesFeeds[q.feed]
	if !ok {
		return badChanges("Supported `feed` types: normal, continuous, live, longpoll, eventsource")
	}
	q.Mode = feed.mode
	longest := r.api.settings.Value().changesTimeout
	q.Heartbeat, q.Timeout = min(q.Heartbeat, longest), min(q.Timeout, longest)
	rows := &changesRows{q: &q, layout: feed.layout, rowStream: rowStream{r: r, form: q.form}}
	if err := r.changesFilter(&q, rows, raw, body); err != nil {
		return err
	}
	if err := r.changesSince(&q); err != nil {
		return err
	}
	if r.Head {
		q.Mode, q.Limit = changes.Once, 0
	}
	if q.feed == "normal" {
		if done, err := r.changesTag(); done || err != nil {
			return err
		}
	}
	rows.Stream = r.Stream(http.StatusOK, feed.content)
	return r.runChanges(&q, rows)
}

func (r *request) runChanges(q *changesQuery, rows *changesRows) error {
	if q.Mode != changes.Once {
		defer r.api.stats.feedOpened()()
	}
	if err := r.stay(); err != nil {
		return err
	}
	if r.grant != nil {
		q.Until, q.Doubt = r.grant.Until(), r.doubt
	}
	rows.Buf = append(rows.Buf, rows.layout.begin...)
	end, err := q.Run(r.Ctx(), changes.Of(r.scope), rows)
	if err == nil {
		rows.Wake()
		rows.Buf = rows.layout.end(rows.Buf, r.scope, end)
		err = rows.End()
	}
	if err != nil && r.Ctx().Err() != nil && q.Mode != changes.Once {
		return r.Ctx().Err() // the client has gone, which is how such feeds end
	}
	return err
}

// changesSince finds the place to begin at.
func (r *request) changesSince(q *changesQuery) (err error) {
	if id := r.Header("Last-Event-Id"); id != "" && q.feed == "eventsource" {
		q.since, q.hasSince = id, true
	}
	switch {
	case !q.hasSince:
	case q.since == "now":
		q.Since, err = lastSeq(r.Ctx(), r.scope)
	case q.since == "":
		err = badChanges("Malformed sequence supplied in 'since' parameter.")
	default:
		q.Since, err = r.scope.ParseSeq(sequenceText(q.since))
	}
	return err
}

// lastSeq returns the newest sequence of a scope.
func lastSeq(ctx context.Context, s store.Scope) (q store.Seq, err error) {
	err = s.View(ctx, func(v *store.Reader) error {
		q, err = v.LastSeq()
		return err
	})
	return q, err
}

// sequenceText takes the sequence out of the other forms that clients send: a
// JSON string, or the array [N,"opaque"] of old Cloudant clusters.
func sequenceText(s string) string {
	var text string
	if json.Unmarshal([]byte(s), &text) == nil {
		return text
	}
	var pair []json.RawMessage
	if json.Unmarshal([]byte(s), &pair) != nil || len(pair) != 2 {
		return s
	}
	if json.Unmarshal(pair[1], &text) != nil {
		return s
	}
	return string(pair[0]) + "-" + text
}

// changesTag sets the ETag of a normal feed, which changes with the feed, and
// answers 304 if the client has seen it.
func (r *request) changesTag() (done bool, err error) {
	t := store.Totals{}
	err = r.scope.View(r.Ctx(), func(v *store.Reader) error {
		t, err = v.Totals()
		return err
	})
	if err != nil {
		return false, err
	}
	r.Etag(r.scope.FormatSeq(t.Seq) + "-" + strconv.FormatUint(t.PurgeSeq, 10))
	return r.Unmodified(), nil
}

// stringsOf returns the elements of a JSON array of strings.
func stringsOf(raw []byte) (list []string, ok bool) {
	if jsonscan.KindOf(raw) != jsonscan.Array {
		return nil, false
	}
	list = []string{}
	for it := jsonscan.ElementsOf(raw); ; {
		e, more := it.Next()
		if !more {
			return list, true
		}
		if jsonscan.KindOf(e) != jsonscan.String {
			return nil, false
		}
		list = append(list, string(jsonscan.Text(nil, e)))
	}
}

package couchapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/changes"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
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
	form     couchhttp.DocForm
	changes.Feed
}

func badChanges(reason string) error { return dberr.New(dberr.Invalid, "bad_request", reason) }

// changesParams are the parameters of _changes. A truth value is true if it is
// "true" and false otherwise, as in CouchDB.
var changesParams = couchhttp.Params[changesQuery]{
	"feed":          couchhttp.TextParam(func(q *changesQuery) *string { return &q.feed }),
	"filter":        couchhttp.TextParam(func(q *changesQuery) *string { return &q.filter }),
	"view":          couchhttp.TextParam(func(q *changesQuery) *string { return &q.view }),
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
	"descending":        couchhttp.TrueParam(func(q *changesQuery) *bool { return &q.Descending }),
	"include_docs":      couchhttp.TrueParam(func(q *changesQuery) *bool { return &q.form.Include }),
	"conflicts":         couchhttp.TrueParam(func(q *changesQuery) *bool { return &q.form.Conflicts }),
	"attachments":       couchhttp.TrueParam(func(q *changesQuery) *bool { return &q.form.Data }),
	"att_encoding_info": couchhttp.TrueParam(func(q *changesQuery) *bool { return &q.form.Encoding }),
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
		q.Timeout = couchhttp.Milliseconds(n)
		return nil
	},
	"heartbeat": (*changesQuery).setHeartbeat,
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
	q.Heartbeat = max(couchhttp.Milliseconds(n), leastHeartbeat)
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
func databaseChanges(r *couchhttp.Request) error {
	var raw []byte
	var body []document.Member
	if r.Method == http.MethodPost {
		var err error
		if raw, body, err = r.RawMembers(); err != nil {
			return err
		}
	}
	q := changesQuery{feed: "normal", interval: 1, Feed: changes.Feed{Limit: -1, Timeout: time.Hour, Done: r.API.Done}}
	if err := changesParams.Read(r.Query, &q); err != nil {
		return err
	}
	feed, ok := changesFeeds[q.feed]
	if !ok {
		return badChanges("Supported `feed` types: normal, continuous, live, longpoll, eventsource")
	}
	q.Mode = feed.mode
	longest := r.API.Settings.Value().ChangesTimeout
	q.Heartbeat, q.Timeout = min(q.Heartbeat, longest), min(q.Timeout, longest)
	rows := &changesRows{q: &q, layout: feed.layout, RowStream: couchhttp.RowStream{R: r, Form: q.form}}
	if err := changesFilter(r, &q, rows, raw, body); err != nil {
		return err
	}
	if q.form.Include || q.Filter != nil || q.Judge != nil {
		q.Ahead = store.Ahead{Bytes: couchhttp.PageBytes, Heads: q.form.Conflicts || q.Judge != nil}
	}
	if err := r.KeepGrant(); err != nil { // before anything is read, while what let the request in has not been looked at
		return err
	}
	if err := changesSince(r, &q); err != nil {
		return err
	}
	if r.Head {
		q.Mode, q.Limit = changes.Once, 0
	}
	if done, err := changesTag(r, &q); done || err != nil {
		return err
	}
	rows.Stream = r.Stream(http.StatusOK, feed.content)
	return runChanges(r, &q, rows)
}

func runChanges(r *couchhttp.Request, q *changesQuery, rows *changesRows) error {
	if q.Mode != changes.Once {
		defer r.API.Stats.FeedOpened()()
	}
	if r.Grant != nil {
		q.Until, q.WatchGrant = r.Grant.Until(), r.WatchGrant
	}
	rows.Buf = append(rows.Buf, rows.layout.begin...)
	rows.looked = r.Unconfirmed() && q.Judge == nil // each page of a judge is shown at a later snapshot
	end, err := q.Run(r.Ctx(), changes.Of(r.Scope), rows)
	if err == nil {
		rows.Wake()
		rows.Buf = rows.layout.end(rows.Buf, r.Scope, end)
		err = rows.End()
	}
	if err != nil && r.Ctx().Err() != nil && q.Mode != changes.Once {
		return r.Ctx().Err() // the client has gone, which is how such feeds end
	}
	return err
}

// changesSince finds the place to begin at.
func changesSince(r *couchhttp.Request, q *changesQuery) (err error) {
	if id := r.Header("Last-Event-Id"); id != "" && q.feed == "eventsource" {
		q.since, q.hasSince = id, true
	}
	switch {
	case !q.hasSince:
	case q.since == "now":
		q.Since, err = couchhttp.LastSeq(r.Ctx(), r.Scope)
	case q.since == "":
		err = badChanges("Malformed sequence supplied in 'since' parameter.")
	default:
		q.Since, err = r.Scope.ParseSeq(couchhttp.SequenceText(q.since))
	}
	return err
}

// changesTag has a normal feed set its ETag, which changes with the feed. Only for a client that may have
// seen it that is looked at before the rows are read: who has is answered 304.
func changesTag(r *couchhttp.Request, q *changesQuery) (done bool, err error) {
	if q.feed != "normal" {
		return false, nil
	}
	q.Opened = func(t store.Totals) {
		r.Etag(r.Scope.FormatSeq(t.Seq) + "-" + strconv.FormatUint(t.PurgeSeq, 10))
	}
	if r.Header("If-None-Match") == "" {
		return false, nil
	}
	var t store.Totals
	err = r.Scope.View(r.Ctx(), func(v *store.Reader) (err error) {
		t, err = v.Totals()
		return err
	})
	if err != nil {
		return false, err
	}
	q.Opened(t)
	return r.Unmodified(), nil
}

package couchapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
	"github.com/sectional/sectional/internal/worktime"
)

// updatesFeed is what _db_updates takes of a query.
type updatesFeed struct {
	feed       string
	since      uint64
	now        bool
	limit      int
	limited    bool
	timeout    time.Duration
	heartbeat  time.Duration
	descending bool
}

var updatesParams = couchhttp.Params[updatesFeed]{
	"feed": func(f *updatesFeed, v string) error {
		f.feed = v
		return nil
	},
	"since":      (*updatesFeed).parseSince,
	"descending": couchhttp.BoolParam(func(f *updatesFeed) *bool { return &f.descending }),
	"limit": func(f *updatesFeed, v string) (err error) {
		f.limited = true
		f.limit, err = couchhttp.ParseCount(v)
		return err
	},
	"timeout": func(f *updatesFeed, v string) (err error) {
		f.timeout, err = millis(v)
		return err
	},
	"heartbeat": func(f *updatesFeed, v string) (err error) {
		switch v {
		case "true":
			f.heartbeat = time.Minute
		case "false":
		default:
			if f.heartbeat, err = millis(v); f.heartbeat > 0 {
				f.heartbeat = max(f.heartbeat, leastHeartbeat)
			}
		}
		return err
	},
}

func millis(v string) (time.Duration, error) {
	n, err := couchhttp.ParseCount(v)
	return time.Duration(n) * time.Millisecond, err
}

// parseSince reads a sequence as the feed gives it: "N-…", or a number.
func (f *updatesFeed) parseSince(v string) error {
	if v == "now" {
		f.now = true
		return nil
	}
	digits, _, _ := strings.Cut(strings.Trim(v, `"`), "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil && digits != "" {
		return couchhttp.QueryError("Invalid value for since: \"%s\"", v)
	}
	f.since = n
	return nil
}

// dbUpdates answers GET /_db_updates: the databases that were created, written
// to or dropped.
func dbUpdates(r *couchhttp.Request) error {
	f := updatesFeed{feed: "normal", timeout: time.Minute}
	if id := r.Header("Last-Event-Id"); id != "" {
		if err := f.parseSince(id); err != nil {
			return err
		}
	}
	if err := updatesParams.Read(r.Query, &f); err != nil {
		return err
	}
	if err := r.KeepGrant(); err != nil {
		return err
	}
	if f.now {
		_, last, _, err := r.API.Store.Updates(r.Ctx(), 1<<63-1)
		if err != nil {
			return err
		}
		f.since = last
	}
	switch f.feed {
	case "normal", "longpoll":
		return updatesOnce(r, &f)
	case "continuous", "eventsource":
		return updatesForever(r, &f)
	}
	return dberr.New(dberr.Invalid, "bad_request", "Supported `feed` types: normal, continuous, live, longpoll, eventsource")
}

// updatesOnce answers the feeds that end by themselves. A longpoll waits for
// the first entry; while it does the client may get blank lines.
func updatesOnce(r *couchhttp.Request, f *updatesFeed) error {
	s := r.Stream(http.StatusOK, web.JSON)
	us, last, err := nextUpdates(r, f, s, f.feed == "longpoll")
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, "{\"results\":["...)
	for i, u := range us {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		s.Buf = appendUpdate(append(s.Buf, '\n'), u)
		if err := s.Spill(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\n],\"last_seq\":\""...)
	s.Buf = strconv.AppendUint(s.Buf, last, 10)
	s.Buf = append(s.Buf, "\"}\n"...)
	return s.End()
}

// updatesForever writes entries as they come, until the client or the server
// has enough.
func updatesForever(r *couchhttp.Request, f *updatesFeed) error {
	defer r.API.Stats.FeedOpened()()
	contentType := web.JSON
	if f.feed == "eventsource" {
		contentType = "text/event-stream"
	}
	s := r.Stream(http.StatusOK, contentType)
	sent := 0
	for {
		us, last, err := nextUpdates(r, f, s, true)
		if err != nil || len(us) == 0 {
			return endUpdates(r, s, last, err)
		}
		for _, u := range us {
			s.Buf = f.appendEvent(s.Buf, u)
			if err := s.Spill(); err != nil {
				return err
			}
			if sent++; f.limited && sent >= f.limit {
				return endUpdates(r, s, u.Seq, nil)
			}
		}
		if err := s.Flush(); err != nil {
			return err
		}
		f.since = last
	}
}

func endUpdates(r *couchhttp.Request, s *web.Stream, last uint64, err error) error {
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, `{"last_seq":"`...)
	s.Buf = strconv.AppendUint(s.Buf, last, 10)
	s.Buf = append(s.Buf, "\"}\n"...)
	return s.End()
}

// nextUpdates returns the entries after f.since, cut to the limit. If wait is
// set and there are none it waits for one: until the timeout, or with a
// heartbeat for as long as the client listens.
func nextUpdates(r *couchhttp.Request, f *updatesFeed, s *web.Stream, wait bool) ([]store.Update, uint64, error) {
	deadline := time.NewTimer(r.AtMost(f.timeout))
	defer deadline.Stop()
	for {
		us, last, more, err := r.API.Store.Updates(r.Ctx(), f.since)
		if err == nil {
			if err = r.Reauthorize(); err != nil && s.Begun() {
				return nil, f.since, nil // the client comes again, and is told
			}
		}
		if err != nil || len(us) > 0 || !wait {
			return f.cut(us), last, err
		}
		if over, err := awaitUpdate(r, f, s, more, deadline.C); over || err != nil {
			return nil, last, err
		}
	}
}

// awaitUpdate waits until there may be another entry, or the caller may have lost his
// right to it. over says that the feed's time is up.
func awaitUpdate(r *couchhttp.Request, f *updatesFeed, s *web.Stream, more <-chan struct{}, expired <-chan time.Time) (over bool, err error) {
	defer worktime.Pause(r.Ctx())()
	doubt, forget := r.WatchGrant()
	defer forget()
	var beat <-chan time.Time
	if f.heartbeat > 0 {
		beat, expired = time.After(f.heartbeat), nil
	}
	select {
	case <-more:
	case <-doubt:
	case <-beat:
		s.Buf = append(s.Buf, '\n')
		return false, s.Flush()
	case <-expired:
		return true, nil
	case <-r.API.Done:
		return true, nil
	case <-r.Ctx().Done():
		return true, r.Ctx().Err()
	}
	return false, nil
}

// cut applies order and limit.
func (f *updatesFeed) cut(us []store.Update) []store.Update {
	if f.descending {
		slices.Reverse(us)
	}
	if f.limited && len(us) > f.limit {
		us = us[:f.limit]
	}
	return us
}

func (f *updatesFeed) appendEvent(b []byte, u store.Update) []byte {
	if f.feed != "eventsource" {
		return append(appendUpdate(b, u), '\n')
	}
	b = appendUpdate(append(b, "data: "...), u)
	b = append(b, "\nid: "...)
	return append(strconv.AppendUint(b, u.Seq, 10), "\n\n"...)
}

func appendUpdate(b []byte, u store.Update) []byte {
	b = couchhttp.AppendString(append(b, `{"db_name":`...), u.Name)
	b = couchhttp.AppendString(append(b, `,"type":`...), u.Type)
	b = append(b, `,"seq":"`...)
	return append(strconv.AppendUint(b, u.Seq, 10), `"}`...)
}

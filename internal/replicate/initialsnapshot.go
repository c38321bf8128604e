package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
	"github.com/sectional/sectional/internal/snapshot"
)

const (
	defaultSnapshotFrom  = 1000
	defaultSnapshotBytes = 32 << 20
	// loadSilence is how long a target that loads may say and take nothing: it
	// stores six megabytes at a time, which its validation functions judge.
	loadSilence = 5 * time.Minute
)

// snapshotMark is how far a snapshot has come, as the local document ID.snapshot
// of the target.
type snapshotBookmark struct {
	Rev   string `json:"_rev,omitempty"`
	After string `json:"after"`
	Seq   string `json:"seq"` // from which the changes are to be read
	// Documents and Refused are the figures so far.
	Documents int64 `json:"documents"`
	Refused   int64 `json:"refused"`
	// Target says since when there is the target that all of it went to; nil in
	// bookmarks of older versions.
	Target json.RawMessage `json:"target,omitempty"`
}

// loaded is what a target answers that was given a part of a snapshot.
type loaded struct {
	Seq, After string
	More       bool
	Documents  int64
	Revisions  int64
	Refused    int64
	Refusals   []refusal
}

// first carries the source over by a snapshot if the two are Sectionals that
// share no checkpoint and the target holds little, and lets the feed begin where
// the snapshot did. A snapshot that was interrupted goes on.
func (r *run) first(ctx context.Context) error {
	if !r.wantsSnapshot() {
		return nil
	}
	for _, p := range []*peer{r.source, r.target} {
		if able, err := p.hasSnapshots(ctx); err != nil || !able {
			return err
		}
	}
	m, err := r.readBookmark(ctx)
	if err != nil || m.After == "" && 2*r.targetCount > r.sourceCount {
		return err // the target may have most of it: asking what it lacks is cheaper
	}
	r.pending(ctx)
	r.count(func(s *Stats) { s.carried(m.Documents) })
	if whole, err := r.carrySnapshot(ctx, m); err != nil || !whole {
		return err
	}
	r.start = jsonscan.AppendQuoted(nil, m.Seq)
	r.order = newOrder(r.start, r.task.workers()*openPerWorker)
	r.count(func(s *Stats) { s.ThroughSeq = r.start })
	if err := r.checkpoint(ctx); err != nil {
		return err // of a target that was dropped under way, too: no checkpoint says what went with it
	}
	err = r.target.ask(ctx, &call{method: http.MethodDelete, path: r.bookmarkPath()}, taken)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// wantsSnapshot reports whether the task takes all that the source has, from the
// beginning, and that is enough.
func (r *run) wantsSnapshot() bool {
	t := r.task
	from := t.SnapshotFrom
	if from <= 0 {
		from = defaultSnapshotFrom
	}
	return r.start == nil && !t.NoCheckpoints && !t.WinnersOnly && t.DocIDs == nil && t.Selector == nil && t.Filter == "" && r.sourceCount >= from
}

// hasSnapshots reports whether a peer says that it gives and takes snapshots at this
// endpoint. One that refuses has none: the protocol finds better words for what
// is wrong.
func (p *peer) hasSnapshots(ctx context.Context) (able bool, err error) {
	err = p.ask(ctx, &call{method: http.MethodHead, path: "/_snapshot", accept: snapshot.ContentType}, func(a *answer) error {
		able = a.header.Get("Content-Type") == snapshot.ContentType
		return nil
	})
	if e := (*PeerError)(nil); errors.As(err, &e) && !e.retryable {
		return false, nil
	}
	return able, err
}

func (r *run) bookmarkPath() string { return r.task.localPath() + ".snapshot" }

// readMark returns where a snapshot goes on: at the beginning if there is none
// under way to the target as it is now.
func (r *run) readBookmark(ctx context.Context) (*snapshotBookmark, error) {
	m := &snapshotBookmark{}
	err := r.target.json(ctx, &call{method: http.MethodGet, path: r.bookmarkPath()}, m)
	if err != nil && statusOf(err) != http.StatusNotFound {
		return nil, err
	}
	if m.Target != nil && !bytes.Equal(m.Target, r.targetTime) {
		*m = snapshotBookmark{Rev: m.Rev}
	}
	if m.Target = r.targetTime; m.After != "" {
		r.note("snapshot: going on after %d documents", m.Documents)
	}
	return m, nil
}

func (r *run) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.log.Info(text, "task", r.task.ID)
	if r.task.Note != nil {
		r.task.Note(text)
	}
}

// carrySnapshot carries part after part from m on. One that fails is tried again,
// but not for ever without getting any further. It reports false when there is
// no snapshot to be had after all.
func (r *run) carrySnapshot(ctx context.Context, m *snapshotBookmark) (bool, error) {
	n := retries{}
	for more := true; more; {
		before := m.After
		part, err := r.part(ctx, m.After)
		if e := r.applyPart(ctx, m, part); e != nil {
			return false, e
		}
		if m.After != before {
			n = retries{}
		}
		var e *PeerError
		switch {
		case err == nil:
			if more = part.More; more && m.After == before {
				return false, errors.New("the source's snapshot does not get any further")
			}
			continue
		case ctx.Err() != nil || !errors.As(err, &e):
			return false, err
		case e.Code == "invalid_bookmark" && m.After != "":
			r.note("snapshot: the source was made anew; beginning again")
			*m = snapshotBookmark{Rev: m.Rev, Target: m.Target}
			continue
		case m.After == "" && (unknownRequest(e) || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
			return false, nil
		case !e.retryable && e.Code != "bad_snapshot":
			return false, err
		}
		r.note("snapshot: %v; trying again", err)
		if err := n.next(ctx, r.source, e); err != nil {
			return false, err
		}
	}
	return true, nil
}

// applyPart counts what became of a part and moves the bookmark on.
func (r *run) applyPart(ctx context.Context, m *snapshotBookmark, p loaded) error {
	if p.Seq == "" || p.After == m.After {
		return nil
	}
	if m.After != "" && m.Seq != p.Seq {
		return errors.New("the source changed the sequence of its snapshot under way")
	}
	m.Seq, m.After = p.Seq, p.After
	m.Documents += p.Documents
	m.Refused += p.Refused
	for _, f := range p.Refusals {
		r.fail(Failure{ID: f.ID, Rev: f.Rev, Code: f.Error, Reason: textOf(f.Reason)})
	}
	r.count(func(s *Stats) {
		s.RevisionsChecked += p.Revisions
		s.MissingFound += p.Revisions
		s.DocsRead += p.Revisions
		s.DocsWritten += p.Revisions - p.Refused
		s.DocWriteFailures += p.Refused - int64(len(p.Refusals)) // of many refusals only some are named
		s.Snapshot.Documents = m.Documents
		s.Snapshot.Written += p.Revisions - p.Refused
		s.carried(p.Documents)
	})
	// A run that is killed goes on there.
	return r.target.putLocal(ctx, r.bookmarkPath(), &m.Rev, func() any { return m })
}

// carried takes documents of a snapshot from what is pending.
func (s *Stats) carried(documents int64) {
	if s.ChangesPending != nil {
		left := max(0, *s.ChangesPending-documents)
		s.ChangesPending = &left
	}
}

// part asks the source for a part and hands it to the target as it comes. What
// the target says comes beside an error, too.
func (r *run) part(ctx context.Context, after string) (told loaded, err error) {
	get := &call{method: http.MethodGet, path: r.partPath(after), accept: snapshot.ContentType}
	if !r.source.local() || !r.target.local() {
		get.header = []string{"Accept-Encoding", snapshot.Zstd}
	}
	err = r.source.once(ctx, get, &answer{}, func(a *answer) error {
		stream := &cutStream{from: a.body}
		post := &call{method: http.MethodPost, path: "/_snapshot", stream: stream, length: -1, silence: loadSilence,
			contentType: a.header.Get("Content-Type")}
		if packed := a.header.Get("Content-Encoding"); packed != "" {
			post.header = []string{"Content-Encoding", packed}
		}
		err := r.target.once(ctx, post, &answer{}, told.decode)
		if e := (*PeerError)(nil); errors.As(err, &e) && e.answer != nil {
			_ = json.Unmarshal(e.answer, &told) // that it is JSON is known; of another form it says nothing
		}
		if stream.failed != nil {
			return stream.failed // the target was right to miss the rest
		}
		if err != nil {
			return stop{err}
		}
		return nil
	})
	if s := (stop{}); errors.As(err, &s) {
		err = s.error
	}
	return told, err
}

func (r *run) partPath(after string) string {
	most := r.task.SnapshotBytes
	if most <= 0 {
		most = defaultSnapshotBytes
	}
	v := url.Values{"max_bytes": {strconv.FormatInt(most, 10)}}
	if after != "" {
		v.Set("after", after)
	}
	return query("/_snapshot", v)
}

// decode decodes the answer of a target.
func (l *loaded) decode(a *answer) error {
	raw, err := io.ReadAll(io.LimitReader(a.body, largestRefusal))
	if err == nil && json.Unmarshal(raw, l) != nil {
		err = jsonstream.ErrForm
	}
	return err
}

// local reports whether the peer is in this process, where packing is of no use.
func (p *peer) local() bool {
	_, ok := p.client.Transport.(*Local)
	return ok
}

// cutStream is a stream on its way. If the source breaks off it ends as if that
// were all: the target then says how far it came.
type cutStream struct {
	from   io.Reader
	failed error
}

// Read implements io.Reader.
func (c *cutStream) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	if err != nil && err != io.EOF {
		c.failed, err = err, io.EOF
	}
	return n, err
}

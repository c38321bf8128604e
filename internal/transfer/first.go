package transfer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/snapshot"
)

// place is how far a snapshot has come, as a local document of the target.
type place struct {
	After string `json:"after"`
	Seq   string `json:"seq"`
	// Documents and Refused are the figures so far.
	Documents int64 `json:"documents"`
	Refused   int64 `json:"refused"`
	// Target tells since when there is the target that all of it went to; "" for
	// places of older versions, and where a server does not say.
	Target string `json:"target,omitempty"`
}

func (r *run) placeID() string { return r.task.ID + ".snapshot" }

// first carries the source over by a snapshot if that can be done and has not
// been, and leaves the checkpoints from which the task goes on.
func (r *run) first(ctx context.Context) error {
	if err := r.createTarget(ctx); err != nil {
		return err
	}
	wanted, err := r.wantsSnapshot(ctx)
	if err != nil || !wanted {
		return err
	}
	made, err := r.target.made(ctx)
	if err != nil {
		return err
	}
	var p place
	if _, err := r.target.local(ctx, r.placeID(), &p); err != nil {
		return err
	}
	if p.Target != "" && p.Target != made {
		p = place{} // of what has gone since
	}
	p.Target = made
	if p.After != "" {
		r.say("snapshot: going on after %d documents", p.Documents)
	}
	r.Snapshot = true
	if err := r.carry(ctx, &p); errors.Is(err, errStandard) {
		r.Snapshot = false
		return nil
	} else if err != nil {
		return err
	}
	r.Documents, r.Refused = p.Documents, p.Refused
	if err := r.sameTarget(ctx, p.Target); err != nil {
		return err
	}
	if err := r.checkpoint(ctx, &p); err != nil {
		return err
	}
	return r.target.forget(ctx, r.placeID())
}

// sameTarget refuses to go on with a target that was dropped under way, or made
// anew: no checkpoint may say that what went with it is there. The next run begins
// with nothing, for the place is of the former target.
func (r *run) sameTarget(ctx context.Context, made string) error {
	now, err := r.target.made(ctx)
	if err == nil && now != made {
		err = dberr.New(dberr.Conflict, "restarted", "The target was dropped or made anew under way; begin again.")
	}
	return err
}

// createTarget makes the target, of the source's kind, if it is to be made.
func (r *run) createTarget(ctx context.Context) error {
	if !r.CreateTarget {
		return nil
	}
	var info struct{ Props struct{ Partitioned bool } }
	if err := r.source.ask(ctx, http.MethodGet, r.source.URL, nil, &info); err != nil {
		return err
	}
	address := r.target.URL
	if info.Props.Partitioned {
		address += "?partitioned=true"
	}
	switch err := r.target.ask(ctx, http.MethodPut, address, nil, nil); statusOf(err) {
	case http.StatusPreconditionFailed, http.StatusUnauthorized, http.StatusForbidden:
		return nil // it is there, or can't be made by this user and may be there
	default:
		return err
	}
}

// wantsSnapshot reports whether both are Sectionals that have not met yet.
func (r *run) wantsSnapshot(ctx context.Context) (bool, error) {
	for _, s := range []*side{r.source, r.target} {
		if able, err := s.isSectional(ctx); !able {
			return false, err
		}
	}
	var met struct {
		SourceReadOnly bool `json:"source_read_only"`
	}
	ours, err := r.target.local(ctx, r.task.ID, &met)
	if err != nil {
		return false, err
	}
	theirs, err := r.source.local(ctx, r.task.ID, nil)
	return !(ours && (theirs || met.SourceReadOnly)), err
}

// carry carries part after part from p on. One that fails is tried again, but
// not for ever without getting any further.
func (r *run) carry(ctx context.Context, p *place) error {
	failures := 0
	for more := true; more; {
		before := p.After
		answer, err := r.part(ctx, p.After)
		if answer != nil && answer.Seq != "" {
			if before != "" && p.Seq != answer.Seq {
				return errors.New("the source changed the sequence of its snapshot under way")
			}
			p.Seq, p.After = answer.Seq, answer.After
			p.Documents += answer.Documents
			p.Refused += answer.Refused
			for _, f := range answer.Refusals {
				r.say("refused: %s %s: %s: %s", f.ID, f.Rev, f.Error, f.Reason)
			}
		}
		if p.After != before {
			failures = 0
			if err := r.remember(ctx, p); err != nil {
				return err
			}
			r.Line.Show("snapshot: %d documents, %d refused", p.Documents, p.Refused)
		}
		if err == nil {
			if more = answer.More; more && p.After == before {
				return errors.New("the source's snapshot does not get any further")
			}
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var e *refused
		switch {
		case !errors.As(err, &e):
		case e.code == "invalid_bookmark" && p.After != "":
			// The database was made anew: so is the snapshot.
			r.say("snapshot: the source was made anew; beginning again")
			if *p = (place{Target: p.Target}); r.target.forget(ctx, r.placeID()) == nil {
				continue
			}
		case e.status == http.StatusNotFound && p.After == "", e.status == http.StatusMethodNotAllowed, e.status == http.StatusNotImplemented:
			return errStandard
		case e.lasting() && e.code != "bad_snapshot":
			return err
		}
		if failures++; failures >= attempts {
			return err
		}
		r.say("snapshot: %v; trying again", err)
		if err := r.wait(ctx, pause(failures)); err != nil {
			return err
		}
	}
	return nil
}

// remember notes the place, so that a sync that is killed goes on there.
func (r *run) remember(ctx context.Context, p *place) error {
	return r.target.keep(ctx, r.placeID(), map[string]any{"after": p.After, "seq": p.Seq, "documents": p.Documents, "refused": p.Refused, "target": p.Target})
}

// loaded is what the target answers.
type loaded struct {
	Seq, After string
	More       bool
	Documents  int64
	Refused    int64
	Refusals   []struct{ ID, Rev, Error, Reason string }
}

// part asks the source for a part and hands it to the target as it comes. The
// answer comes beside an error, too, if the target told how far it got.
func (r *run) part(ctx context.Context, after string) (*loaded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Who says and takes nothing for too long is given up.
	idle := time.AfterFunc(silence, cancel)
	defer idle.Stop()
	query := url.Values{"max_bytes": {strconv.FormatInt(r.partBytes, 10)}}
	if after != "" {
		query.Set("after", after)
	}
	get, err := r.source.request(ctx, http.MethodGet, r.source.URL+"/_snapshot?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	get.Header.Set("Accept", snapshot.ContentType)
	get.Header.Set("Accept-Encoding", snapshot.Zstd)
	stream, err := r.source.client.Do(get)
	if err != nil {
		return nil, err
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		return nil, refusal(stream)
	}
	body := &passed{from: stream.Body, alive: func() { idle.Reset(silence) }}
	post, err := r.target.request(ctx, http.MethodPost, r.target.URL+"/_snapshot", body)
	if err != nil {
		return nil, err
	}
	post.ContentLength = -1
	post.Header.Set("Content-Type", stream.Header.Get("Content-Type"))
	if packed := stream.Header.Get("Content-Encoding"); packed != "" {
		post.Header.Set("Content-Encoding", packed)
	}
	answer, err := r.target.client.Do(post)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return nil, err
	}
	var told struct {
		loaded
		Error, Reason string
	}
	if err := json.Unmarshal(raw, &told); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusCreated {
		err = &refused{method: http.MethodPost, url: post.URL.String(), status: answer.StatusCode, code: told.Error, reason: told.Reason}
		if body.failed != nil {
			err = body.failed // the target was right to miss the rest
		}
	}
	return &told.loaded, err
}

// passed is a stream on its way. If the source breaks off it ends as if that
// were all: the target then tells how far it came.
type passed struct {
	from   io.Reader
	alive  func()
	failed error
}

// Read implements io.Reader.
func (p *passed) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	p.alive()
	if err != nil && err != io.EOF {
		p.failed, err = err, io.EOF
	}
	return n, err
}

// checkpoint leaves on both sides what a replication would that came as far as
// the snapshot's sequence.
func (r *run) checkpoint(ctx context.Context, p *place) error {
	var id [16]byte
	rand.Read(id[:]) // never fails
	seq, err := json.Marshal(p.Seq)
	if err != nil {
		return err
	}
	now := r.now().UTC().Format(http.TimeFormat)
	session := replicate.Session{SessionID: hex.EncodeToString(id[:]), StartTime: now, EndTime: now, EndLastSeq: seq, RecordedSeq: seq,
		DocsRead: p.Documents, DocsWritten: p.Documents, DocWriteFailures: p.Refused}
	doc := map[string]any{"session_id": session.SessionID, "source_last_seq": p.Seq, "replication_id_version": 4, "history": []replicate.Session{session}}
	switch err := r.source.keep(ctx, r.task.ID, doc); statusOf(err) {
	case http.StatusUnauthorized, http.StatusForbidden:
		doc["source_read_only"] = true
	default:
		if err != nil {
			return err
		}
	}
	delete(doc, "_rev")
	return r.target.keep(ctx, r.task.ID, doc)
}

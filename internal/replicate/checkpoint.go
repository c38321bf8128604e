package replicate

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// historyVersion is CouchDB's number for the form of checkpoints and of ids of
// replications.
const historyVersion = 4

// maxHistory is how many sessions a checkpoint remembers.
const maxHistory = 50

// Checkpoint is the document _local/ID on both sides.
type Checkpoint struct {
	SessionID  string `json:"session_id"`
	SourceLast Seq    `json:"source_last_seq"`
	Version    int    `json:"replication_id_version"`

	// Totals are those of the last run, which are beside the history when
	// doc_ids chose the documents, as old clients expect; nil otherwise.
	*Totals

	History []Session `json:"history"` // newest first, at most 50

	// SourceReadOnly says that the source took no checkpoint: this one, of the
	// target, counts alone then. Ours.
	SourceReadOnly bool `json:"source_read_only,omitempty"`
}

// Totals are what a run did in short.
type Totals struct {
	StartTime        string `json:"start_time"`
	EndTime          string `json:"end_time"`
	DocsRead         int64  `json:"docs_read"`
	DocsWritten      int64  `json:"docs_written"`
	DocWriteFailures int64  `json:"doc_write_failures"`
}

// Session is what one run did, as checkpoints tell it.
type Session struct {
	SessionID        string `json:"session_id"`
	StartTime        string `json:"start_time"`
	EndTime          string `json:"end_time"`
	StartLastSeq     Seq    `json:"start_last_seq"`
	EndLastSeq       Seq    `json:"end_last_seq"`
	RecordedSeq      Seq    `json:"recorded_seq"`
	MissingChecked   int64  `json:"missing_checked"`
	MissingFound     int64  `json:"missing_found"`
	DocsRead         int64  `json:"docs_read"`
	DocsWritten      int64  `json:"docs_written"`
	DocWriteFailures int64  `json:"doc_write_failures"`
	BulkGetDocs      int64  `json:"bulk_get_docs"`
	BulkGetAttempts  int64  `json:"bulk_get_attempts"`
}

// log is a checkpoint as one side stores it: ours and CouchDB's, or PouchDB's,
// which has other names for the sequences.
type log struct {
	found bool
	rev   string // of the local document

	session  string
	last     Seq
	history  []Session
	readOnly bool
	whole    Checkpoint
}

// UnmarshalJSON reads a stored checkpoint. What is not of the expected type
// counts as absent: a checkpoint that can't be read is none.
func (l *log) UnmarshalJSON(raw []byte) error {
	var doc struct {
		Rev     string            `json:"_rev"`
		History []json.RawMessage `json:"history"`
	}
	if json.Unmarshal(raw, &doc) != nil {
		_ = json.Unmarshal(raw, &struct {
			Rev *string `json:"_rev"`
		}{&doc.Rev}) // enough to write over it
	}
	l.found, l.rev = true, doc.Rev
	var pouch struct {
		Last Seq `json:"last_seq"`
	}
	if json.Unmarshal(raw, &pouch) != nil {
		return nil
	}
	var c Checkpoint
	if json.Unmarshal(raw, &c) != nil {
		return nil
	}
	l.session, l.last, l.readOnly, l.history = c.SessionID, c.SourceLast, c.SourceReadOnly, c.History
	if l.last.beginning() {
		l.last = pouch.Last
	}
	for i, entry := range doc.History {
		pouch.Last = nil
		if json.Unmarshal(entry, &pouch) == nil && l.history[i].RecordedSeq.beginning() {
			l.history[i].RecordedSeq = pouch.Last
		}
	}
	l.whole = c
	return nil
}

// common finds the last session that both sides know: how far it came, and the
// history from it on. Both sides wrote that session, so everything up to there
// is on the target.
//
// A session writes to one side after the other, so one may know a later step of
// it; the earlier one is taken.
func common(source, target *log) (Seq, []Session) {
	if target.readOnly && !source.found {
		return target.last, target.history
	}
	if source.session != "" && source.session == target.session {
		return earlier(source.last, target.last), source.history
	}
	known := make(map[string]int, len(target.history))
	for i, s := range target.history {
		if _, ok := known[s.SessionID]; !ok && s.SessionID != "" {
			known[s.SessionID] = i
		}
	}
	for i, s := range source.history {
		j, ok := known[s.SessionID]
		if !ok {
			continue
		}
		return earlier(s.RecordedSeq, target.history[j].RecordedSeq), source.history[i:]
	}
	return nil, nil
}

func earlier(a, b Seq) Seq {
	if b.number() < a.number() {
		return b
	}
	return a
}

// localPath is the checkpoint's path below an endpoint.
func (t *Task) localPath() string { return "/_local/" + escape(t.ID) }

// readLog reads one side's checkpoint.
func (t *Task) readLog(ctx context.Context, p *peer) (*log, error) {
	l := &log{}
	err := p.json(ctx, &call{method: http.MethodGet, path: t.localPath()}, l)
	if statusOf(err) == http.StatusNotFound {
		return &log{}, nil
	}
	return l, err
}

// writeLog writes one side's checkpoint over the revision that l knows.
func (t *Task) writeLog(ctx context.Context, p *peer, l *log, c *Checkpoint) error {
	err := p.putLocal(ctx, t.localPath(), &l.rev, func() any {
		return struct {
			ID  string `json:"_id"`
			Rev string `json:"_rev,omitempty"`
			*Checkpoint
		}{"_local/" + t.ID, l.rev, c}
	})
	l.found = l.found || err == nil
	return err
}

// putLocal writes a local document, which doc makes with the revision that rev
// knows. Another revision that is stored by now is gone over: what is in it is
// lost to the history, not to safety.
func (p *peer) putLocal(ctx context.Context, path string, rev *string, doc func() any) error {
	for attempt := 0; ; attempt++ {
		body, err := json.Marshal(doc())
		if err != nil {
			return err
		}
		var answer struct{ Rev string }
		err = p.json(ctx, &call{method: http.MethodPut, path: path, body: func() []byte { return body }}, &answer)
		if err == nil {
			*rev = answer.Rev
			return nil
		}
		if statusOf(err) != http.StatusConflict || attempt >= 3 {
			return err
		}
		var now struct {
			Rev string `json:"_rev"`
		}
		if err := p.json(ctx, &call{method: http.MethodGet, path: path}, &now); err != nil && statusOf(err) != http.StatusNotFound {
			return err
		}
		*rev = now.Rev
	}
}

// checkpoint makes the document for what the session has done so far.
func (t *Task) checkpoint(s Session, earlier []Session, last Seq) *Checkpoint {
	c := &Checkpoint{SessionID: s.SessionID, SourceLast: last, Version: historyVersion}
	c.History = append(make([]Session, 0, len(earlier)+1), s)
	c.History = append(c.History, earlier...)
	c.History = slices.Clip(c.History[:min(len(c.History), maxHistory)])
	if t.DocIDs != nil {
		c.Totals = &Totals{StartTime: s.StartTime, EndTime: s.EndTime, DocsRead: s.DocsRead, DocsWritten: s.DocsWritten,
			DocWriteFailures: s.DocWriteFailures}
	}
	return c
}

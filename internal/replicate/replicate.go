// Package replicate owns one replication: it carries the revisions that a
// target lacks from a source to it, by CouchDB's HTTP API on both sides, so that
// a CouchDB is as good a peer as another Sectional. A database of this server, a
// partition or a tenant's endpoint is reached by the same requests: Local hands them
// to the server's own handler, with the caller in the context, so that access
// rules, validation and endpoints hold without being written a second time.
//
// The first run between two Sectionals is a snapshot (first.go): the source's
// stream goes to the target as it comes, and the feed is read from where the
// snapshot began.
//
// It promises that a checkpoint never passes a change whose revisions are not
// on the target's disk (or refused by it, and told), that a revision is written
// under the id and the history that its source sent for it or not at all, and
// that memory is bounded by the batch, never by an attachment.
//
// It must not know of replication documents, ids of replications, schedules or
// users: those are above. Begin reading at Task.Run.
package replicate

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Task is one replication, ready to run. Run may be called again when it has
// returned; a Task is not changed by it.
type Task struct {
	// ID names the checkpoint: _local/ID on both sides. Two tasks that carry
	// other documents or other endpoints need other ids.
	ID             string
	Source, Target Address

	Continuous   bool       // go on until the context ends
	CreateTarget bool       // PUT the target first; that it is there already is fine
	CreateAlike  bool       // partitioned if the source is, whatever CreateParams say
	CreateParams url.Values // of that PUT: q, n, partitioned

	// At most one of DocIDs (not nil), Selector and Filter chooses documents.
	DocIDs       []string
	Selector     json.RawMessage
	Filter       string     // "design/name", "_design", "_view"
	FilterParams url.Values // reach the filter as parameters of the request

	SinceSeq        string        // begin here when the checkpoints agree on nothing; "": the beginning
	WinnersOnly     bool          // winning revisions only, not their conflicts
	NoCheckpoints   bool          // neither read nor write checkpoints
	CheckpointEvery time.Duration // 0: 30 s

	Batch     int  // changes at once; 0: 500
	Workers   int  // batches at once; 0: 4
	NoBulkGet bool // fetch document by document

	// SnapshotFrom is how many documents and tombstones a source has at least for
	// a snapshot to be worth its requests; 0: 1000.
	SnapshotFrom  int64
	SnapshotBytes int64 // of a snapshot in one request, before packing; 0: 32 MB

	// Report is told the figures after every step of every batch, and must not
	// block; nil: nobody. Calls do not overlap.
	Report func(Stats)
	// Failed is told each revision that could not be read or written; nil:
	// nobody. It must not block. Calls do not overlap.
	Failed func(Failure)
	// Note is told in words what becomes of a snapshot on its way; nil: nobody.
	Note func(text string)
	Log  *slog.Logger // nil: no log
}

// Address is where an endpoint is and how to get in.
type Address struct {
	// URL is that of the database, the partition or the tenant's endpoint, without
	// credentials. It is named in errors.
	URL string
	// Header is sent with every request.
	Header http.Header
	// User and Password are sent as Basic credentials when User is not "" and
	// Header has no Authorization.
	User, Password string
	// Transport carries the requests: a Local for this server's databases, or
	// one made by NewTransport. It is not closed by Run.
	Transport http.RoundTripper

	Timeout     time.Duration // of silence within a request; 0: 30 s
	Retries     int           // of a request; 0: 5; less: none
	Connections int           // requests at once; 0: 20
}

// Stats are the figures of a run, with the names of _active_tasks. They marshal
// as the `info` of a scheduler document does.
type Stats struct {
	RevisionsChecked   int64  `json:"revisions_checked"`
	MissingFound       int64  `json:"missing_revisions_found"`
	DocsRead           int64  `json:"docs_read"`
	DocsWritten        int64  `json:"docs_written"`
	ChangesPending     *int64 `json:"changes_pending"` // nil: not known
	DocWriteFailures   int64  `json:"doc_write_failures"`
	BulkGetDocs        int64  `json:"bulk_get_docs"`
	BulkGetAttempts    int64  `json:"bulk_get_attempts"`
	CheckpointedSource Seq    `json:"checkpointed_source_seq"` // as far as the checkpoints say
	SourceSeq          Seq    `json:"source_seq"`              // the source's last, as far as known
	ThroughSeq         Seq    `json:"through_seq"`             // as far as the target is complete

	// Of the figures above, what came by a snapshot; Documents counts those of
	// earlier runs that it goes on from, too.
	Snapshot struct{ Documents, Written int64 } `json:"-"`
}

// Failure is a revision that could not be carried over.
type Failure struct {
	ID      string // of the document
	Rev     string // "" when the source named none
	Reading bool   // the source could not give it; else the target refused it
	Status  int    // of HTTP, 0 when the answer was not of a status
	Code    string // the API's word, such as "forbidden"
	Reason  string // a sentence
	Time    time.Time
}

// Result is how a replication that ended by itself ended. AppendJSON appends what
// _replicate answers.
type Result struct {
	NoChanges     bool        // the feed had nothing new
	NoCheckpoints bool        // the task kept none
	Checkpoint    *Checkpoint // nil: there is none, not even of earlier runs
	Stats         Stats
}

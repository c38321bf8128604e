package replicate

import "encoding/json"

// Seq is a sequence of a feed as JSON: a string of CouchDB 2 and later, a number
// of CouchDB 1 and PouchDB, an array of old Cloudant clusters. It is not taken
// apart. nil: the beginning.
type Seq json.RawMessage

// MarshalJSON gives the sequence as it came, 0 for the beginning.
func (s Seq) MarshalJSON() ([]byte, error) {
	if len(s) == 0 {
		return []byte("0"), nil
	}
	return s, nil
}

// Checkpoint is the document _local/ID on both sides.
type Checkpoint struct {
	SessionID  string    `json:"session_id"`
	SourceLast Seq       `json:"source_last_seq"`
	Version    int       `json:"replication_id_version"`
	History    []Session `json:"history"` // newest first, at most 50
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

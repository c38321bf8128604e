package operate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Explained is how a Mango query is answered.
type Explained struct {
	Plan        []Step          `json:"plan"`
	Index       json.RawMessage `json:"index"`
	Candidates  json.RawMessage `json:"index_candidates"`
	Range       *Range          `json:"mrargs,omitempty"` // what is read of an index, where the plan has one branch
	Query       string          `json:"query,omitempty"`  // what a full-text index is asked
	Covering    *bool           `json:"covering,omitempty"`
	Run         *Examined       `json:"execution_stats,omitempty"` // nil: it was not run
	Warning     string          `json:"warning,omitempty"`
	Partitioned bool            `json:"partitioned"`
}

// Range is a part of an index.
type Range struct {
	Start     json.RawMessage `json:"start_key"`
	End       json.RawMessage `json:"end_key"`
	Direction string          `json:"direction"`
}

// Step is a branch of a plan: the ranges of one index that are read.
type Step struct {
	Index     string   `json:"index"`
	Direction string   `json:"direction"`
	Covering  bool     `json:"covering"`
	Ranges    []string `json:"ranges"`
	Rows      int      `json:"rows"`
	Exact     bool     `json:"exact"`
}

// Examined is what a query has read.
type Examined struct {
	Keys         int64   `json:"total_keys_examined"`
	Documents    int64   `json:"total_docs_examined"`
	Returned     int64   `json:"results_returned"`
	Partitions   int64   `json:"partitions"`
	Bytes        int64   `json:"bytes"`
	Milliseconds float64 `json:"execution_time_ms"`
}

var errQuery = errors.New(`a query is a JSON object such as {"selector":{"type":"order"}}`)

// Explain returns the plan of a query to a database, or to one partition of it, and with run what it reads: the query is
// answered once, with the limit that it has, and the documents are left out. Errors: for a query that is no JSON object;
// what the server says.
func (s *Server) Explain(ctx context.Context, database, partition string, query []byte, run bool) (e Explained, err error) {
	var body map[string]json.RawMessage
	if json.Unmarshal(query, &body) != nil || body == nil {
		return e, errQuery
	}
	at := []string{database}
	if partition != "" {
		at = append(at, "_partition", partition)
	}
	if err := s.ask(ctx, http.MethodPost, body, &e, append(at, "_explain")...); err != nil || !run {
		return e, err
	}
	body["execution_stats"] = json.RawMessage("true")
	var found struct {
		Run     *Examined `json:"execution_stats"`
		Warning string
	}
	err = s.ask(ctx, http.MethodPost, body, &found, append(at, "_find")...)
	e.Run, e.Warning = found.Run, found.Warning
	return e, err
}

package operate

import (
	"context"
	"net/http"
)

// Task is work that is under way.
type Task struct {
	Type     string   `json:"type"`
	Database string   `json:"database,omitempty"`
	Target   string   `json:"target,omitempty"` // of a replication
	Progress *float64 `json:"progress,omitempty"`
}

// Tasks returns what is under way.
func (s *Server) Tasks(ctx context.Context) (all []Task, err error) {
	err = s.ask(ctx, http.MethodGet, nil, &all, "_active_tasks")
	return all, err
}

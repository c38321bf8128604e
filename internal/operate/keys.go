package operate

import (
	"context"
	"net/http"
	"time"
)

// AccessKey is a key of a user for the DynamoDB API.
type AccessKey struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Tables   []string  `json:"tables,omitempty"` // nil: all that the user may
	ReadOnly bool      `json:"read_only"`
	Secret   string    `json:"secret,omitempty"` // only of a new key
}

// The path of the keys of users.
const accessKeys = "_access_keys"

// NewKey makes an access key for a user: for some tables, nil for all, and for reading
// alone. Errors: what the server says.
func (s *Server) NewKey(ctx context.Context, user string, tables []string, readOnly bool) (k AccessKey, err error) {
	body := map[string]any{"read_only": readOnly}
	if len(tables) > 0 {
		body["tables"] = tables
	}
	err = s.ask(ctx, http.MethodPost, body, &k, accessKeys, user)
	return k, err
}

// Keys returns the access keys of a user, without their secrets.
func (s *Server) Keys(ctx context.Context, user string) ([]AccessKey, error) {
	var answer struct {
		Keys []AccessKey `json:"access_keys"`
	}
	err := s.ask(ctx, http.MethodGet, nil, &answer, accessKeys, user)
	return answer.Keys, err
}

// RevokeKey ends an access key.
func (s *Server) RevokeKey(ctx context.Context, user, id string) error {
	return s.ask(ctx, http.MethodDelete, nil, nil, accessKeys, user, id)
}

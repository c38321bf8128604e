package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// upWithin is how long a server may take to say that it is up.
const upWithin = 5 * time.Second

// Up returns what the server says of itself in `_up`: "ok", or "full" when only reads are
// answered. Errors: what it says when it is not to be sent requests, or why it can't be asked.
func (s *Server) Up(ctx context.Context) (status string, err error) {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.JoinPath("_up").String(), http.NoBody)
	if err != nil {
		return "", err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", s.unreached(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	var said struct{ Status string }
	if json.Unmarshal(text, &said) != nil || said.Status == "" {
		return "", errAnswer
	}
	if a.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server is not up: %s", said.Status)
	}
	return said.Status, nil
}

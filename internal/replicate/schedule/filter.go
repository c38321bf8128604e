package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// hasFunction reports whether a replication is filtered by a function, whose text
// is a part of its id.
func hasFunction(r *spec.Replication) bool {
	return r.Filter != "" && !strings.HasPrefix(r.Filter, "_")
}

// maxDesign bounds the design document that a filter is taken from.
const maxDesign = 16 << 20

// filterCode fetches the text of a replication's filter function from its source.
// Errors: NotFound not_found, in CouchDB's words.
func (s *Scheduler) filterCode(ctx context.Context, r *spec.Replication, caller func(context.Context) *auth.Caller) (string, error) {
	if !hasFunction(r) {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	a, err := s.address(&r.Source, r, caller, caller(ctx).IsAdmin())
	if err != nil {
		return "", err
	}
	defer closeIdle(a)
	name, function, _ := strings.Cut(r.Filter, "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/_design/"+url.PathEscape(name), http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header = a.Header.Clone()
	request.Header.Set("Accept", "application/json")
	if a.User != "" {
		request.SetBasicAuth(a.User, a.Password)
	}
	refused := func(what string) error {
		return dberr.New(dberr.NotFound, "not_found", "Couldn't open document `_design/%s` from source database `%s`: {error,<<\"%s\">>}", name, r.Source.Shown(), what)
	}
	answer, err := a.Transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("%w: %w", refused("no answer"), err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxDesign))
	if err != nil {
		return "", fmt.Errorf("%w: %w", refused("the answer broke off"), err)
	}
	var design struct {
		Error   string
		Filters map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &design); err != nil {
		return "", refused("no JSON")
	}
	if answer.StatusCode != http.StatusOK {
		return "", refused(design.Error)
	}
	code, ok := design.Filters[function]
	if !ok {
		return "", dberr.New(dberr.NotFound, "not_found", "missing json key: %s", function)
	}
	return string(code), nil
}

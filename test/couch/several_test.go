package couch

import (
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// severalOf starts three servers over one engine, in this process, which requests are dealt out to at random.
func severalOf(t *testing.T) string {
	t.Helper()
	engine := kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Key: 24 << 10}})
	listener := httptest.NewServer(apitest.With(t, apitest.Options{Engine: engine, Servers: 3}))
	t.Cleanup(listener.Close)
	return listener.Listener.Addr().(*net.TCPAddr).String()
}

// oneOf returns which scenarios are replayed once more elsewhere: one of n, another one each time, as all of them are replayed at
// databases of one server; or all of them, where make test-long asks for that.
func oneOf(n int) func(i int) bool {
	chosen := int(time.Now().UnixNano() % int64(n))
	return func(i int) bool { return i%n == chosen || testrun.IsLong() }
}

// TestTranscriptsOfSeveral replays recorded scenarios against several servers: nobody can tell.
func TestTranscriptsOfSeveral(t *testing.T) { replayAll(t, severalOf, oneOf(4)) }

// TestTenantEndpointOfSeveral does that at tenants' endpoints.
func TestTenantEndpointOfSeveral(t *testing.T) { replayTenants(t, severalOf, oneOf(8)) }

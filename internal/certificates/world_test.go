package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/acmetest"
)

// memory are rows in memory, that several services share.
type memory struct {
	mu    sync.Mutex
	rows  map[string][]byte
	reads atomic.Int64
	away  atomic.Bool
	full  atomic.Bool // nothing can be written
}

var errAway = errors.New("the store is away")

func (m *memory) ACMERow(_ context.Context, kind, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.rows[kind+" "+name]), nil
}

func (m *memory) ACMERows(_ context.Context, kind string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads.Add(1); m.away.Load() {
		return nil, errAway
	}
	of := map[string][]byte{}
	for key, row := range m.rows {
		if name, ok := strings.CutPrefix(key, kind+" "); ok {
			of[name] = bytes.Clone(row)
		}
	}
	return of, nil
}

func (m *memory) ChangeACMERow(_ context.Context, kind, name string, change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away.Load() || m.full.Load() {
		return errAway
	}
	row, err := change(bytes.Clone(m.rows[kind+" "+name]))
	switch {
	case err != nil:
		return err
	case row == nil:
		delete(m.rows, kind+" "+name)
	default:
		m.rows[kind+" "+name] = row
	}
	return nil
}

// kinds counts the rows of each kind.
func (m *memory) kinds() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[string]int{}
	for key := range maps.Keys(m.rows) {
		kind, _, _ := strings.Cut(key, " ")
		n[kind]++
	}
	return n
}

// logged is a log that goroutines share.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// world is an ACME server, and a service with listeners to which its names lead. Nothing is done but in turn.
type world struct {
	*Service
	t     *testing.T
	ca    *acmetest.CA
	rows  *memory
	log   *logged
	ahead *atomic.Int64 // of the clock
	set   *atomic.Pointer[Settings]
	at    acmetest.Addresses
}

// newWorld makes one whose names are those given.
func newWorld(t *testing.T, names ...string) *world {
	ca := acmetest.New(t)
	set := Settings{Names: names, Email: "ops@example.com", Directory: ca.Directory(), Roots: ca.RootFile(), Accepted: true}
	w := join(t, ca, &memory{rows: map[string][]byte{}}, new(atomic.Int64), set)
	for _, name := range names {
		ca.Lead(name, w.at)
	}
	return w
}

// join makes a further server of a store.
func join(t *testing.T, ca *acmetest.CA, rows *memory, ahead *atomic.Int64, set Settings) *world {
	t.Helper()
	w := &world{t: t, ca: ca, rows: rows, log: &logged{}, ahead: ahead, set: new(atomic.Pointer[Settings])}
	w.configure(set)
	w.Service = New(Options{
		Settings: func() Settings { return *w.set.Load() }, Rows: rows, Now: w.now,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	t.Cleanup(w.Close)
	plain := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if text, ok := w.Response(r.Context(), r.Host, r.URL.Path); ok {
			_, _ = io.WriteString(rw, text)
			return
		}
		http.NotFound(rw, r)
	}))
	t.Cleanup(plain.Close)
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	secured.Listener = tls.NewListener(secured.Listener, &tls.Config{
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := w.Certificate(h.ServerName); c != nil {
				return c, nil
			}
			return nil, errors.New("none")
		},
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			if Asked(h) {
				return w.Handshake(h)
			}
			return nil, nil
		},
	})
	secured.Start()
	t.Cleanup(secured.Close)
	w.at = acmetest.Addresses{HTTP: plain.Listener.Addr().String(), TLS: secured.Listener.Addr().String()}
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// configure changes the settings.
func (w *world) configure(s Settings) {
	w.t.Helper()
	s, err := s.Check()
	if err != nil {
		w.t.Fatal(err)
	}
	w.set.Store(&s)
}

// with changes one thing of the settings.
func (w *world) with(change func(*Settings)) {
	s := *w.set.Load()
	change(&s)
	w.configure(s)
}

// pass lets time go by, here and at the ACME server, which has these faults then.
func (w *world) pass(d time.Duration, f acmetest.Faults) {
	f.Ahead = time.Duration(w.ahead.Add(int64(d)))
	w.ca.Set(f)
}

// turn looks at what is due, waits until that is done, and takes over what came of it.
func (w *world) turn() {
	w.look()
	w.all.Wait()
	w.look()
	w.all.Wait()
}

// serves makes a handshake for a name, verifies the certificate and returns its serial number.
func (w *world) serves(name string) string {
	w.t.Helper()
	d := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{ServerName: name, RootCAs: w.ca.Roots, Time: w.now}}
	c, err := d.DialContext(w.t.Context(), "tcp", w.at.TLS)
	if err != nil {
		w.t.Errorf("%s: %v\n%s", name, err, w.log.text.String())
		return ""
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

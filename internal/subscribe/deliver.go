package subscribe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/outgoing"
)

// sender sends requests; it is made for one answer to the question which
// addresses are allowed, so that no connection outlives a change of it.
type sender struct{ client http.Client }

// newSender makes a sender. lookup resolves names in the place of the system's
// resolver; nil for that.
func newSender(allowed func(netip.Addr) bool, lookup func(ctx context.Context, host string) (netip.Addr, error)) *sender {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: outgoing.Guard(allowed, errPrivate)}
	dial := dialer.DialContext
	if lookup != nil {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			at, err := lookup(ctx, host)
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, net.JoinHostPort(at.String(), port))
		}
	}
	return &sender{http.Client{
		// No proxy: the guard would look at the proxy's address.
		Transport: &http.Transport{
			DialContext: dial, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second,
			MaxIdleConns: 256, MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// verdict says what became of an attempt.
type verdict uint8

const (
	taken  verdict = iota // the receiver has it
	failed                // try again, up to the limit of attempts
	putOff                // the receiver asks for time: this is no attempt
	over                  // the receiver wants nothing any more
)

// String is the word for traces.
func (v verdict) String() string { return [...]string{"taken", "failed", "put off", "over"}[v] }

// outcome is what an attempt came to.
type outcome struct {
	verdict
	reason string        // for people, without anything that the receiver wrote
	after  time.Duration // putOff: how long, if said
	said   bool
}

// maxAnswer is how much of an answer is read, so that its connection can be
// used again.
const maxAnswer = 64 << 10

// send sends a message and says what came of it.
func (s *sender) send(ctx context.Context, d *definition, id string, body []byte, now time.Time, agent string) outcome {
	ctx, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{verdict: failed, reason: "The URL can't be used."}
	}
	timestamp := strconv.FormatInt(now.Unix(), 10)
	r.Header.Set("User-Agent", agent)
	for _, h := range d.Headers {
		r.Header.Set(h.Name, h.Value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", timestamp)
	r.Header.Set("Webhook-Signature", sign(d.Secrets, id, timestamp, body))
	answer, err := s.client.Do(r)
	if err != nil {
		return outcome{verdict: failed, reason: unreachable(err)}
	}
	defer answer.Body.Close()
	// What it says is nobody's business: the receiver may be one that whoever
	// set the URL could not have asked.
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	return judge(answer.StatusCode, answer.Header.Get("Retry-After"), now)
}

// unreachable says why there was no answer, in words that say nothing of the
// network that the server is in.
func unreachable(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errPrivate):
		return "The receiver's address is a private one, which [subscriptions] allow_private must allow."
	case errors.As(err, &dns):
		return "The receiver's name can't be resolved."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "The receiver did not answer in time."
	}
	return "The receiver can't be reached."
}

// judge says what an answer means.
func judge(status int, retryAfter string, now time.Time) outcome {
	o := outcome{reason: "The receiver answered " + strconv.Itoa(status) + "."}
	after, said := outgoing.RetryAfter(retryAfter, now, longestPause)
	switch {
	case status >= 200 && status < 300:
		return outcome{verdict: taken}
	case status == http.StatusGone:
		o.verdict = over
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && said:
		o.verdict, o.after, o.said = putOff, after, said
	default:
		o.verdict = failed
	}
	return o
}

// ours are headers that a definition can't set.
var ours = map[string]bool{
	"Host": true, "Content-Length": true, "Content-Type": true, "Content-Encoding": true, "Transfer-Encoding": true, "Connection": true,
	"Keep-Alive": true, "Te": true, "Trailer": true, "Upgrade": true, "Expect": true,
}

// sendable reports whether a header may go out with a request.
func (h *header) sendable() bool {
	if h.Name == "" || len(h.Name)+len(h.Value) > maxText {
		return false
	}
	for _, c := range []byte(h.Name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	for _, c := range []byte(h.Value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	name := http.CanonicalHeaderKey(h.Name)
	return !ours[name] && !strings.HasPrefix(name, "Webhook-") && !strings.HasPrefix(name, "Proxy-")
}

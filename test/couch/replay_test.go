package couch

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// answerLimit is how long the server may take for one answer; the longest recorded feeds wait for less. Only a fault
// takes as long, however busy the machine is.
const answerLimit = 2 * time.Minute

// replayer sends the scenarios of recordings to one server.
type replayer struct {
	address string // host:port
	// tenant puts a tenant's endpoint of a fresh partition in the place of every database.
	tenant bool
}

// answer is what came back.
type answer struct {
	status  int
	headers http.Header
	body    []byte
}

// mismatch says at which step, counted from 1, an answer was not the recorded one.
type mismatch struct {
	step int
	err  error
}

// Error returns step and difference.
func (m *mismatch) Error() string { return fmt.Sprintf("step %d %s", m.step, m.err) }

// replay runs a scenario on fresh databases and removes them. The first answer that is neither the recorded one nor
// departs as listed ends it.
func (r replayer) replay(s scenario, listed departures) (err error) {
	run := make([]byte, 6)
	// crypto/rand never fails.
	_, _ = rand.Read(run)
	bound := bindings{"host": r.address}
	for n := range 10 {
		bound[fmt.Sprintf("db%d", n)] = fmt.Sprintf("t%s%d", hex.EncodeToString(run), n) + r.endpoint()
	}
	bound["db"] = bound["db0"]
	defer func() { err = errors.Join(err, r.remove(s, bound)) }()
	for i, step := range s.Steps {
		got, done, err := r.manage(step, bound)
		if done && err == nil {
			continue
		}
		if err == nil {
			got, err = r.send(step.Request, bound)
		}
		if err == nil {
			err = compare(step.Response, got, bound)
			if err != nil {
				bound.gather(step.Response, got)
			}
			err = listed.judge(i+1, err)
		}
		if err != nil {
			return &mismatch{i + 1, fmt.Errorf("%s %s: %w", step.Request.Method, bound.fill(step.Request.Path), err)}
		}
	}
	return nil
}

// remove drops the databases that the scenario may have made.
func (r replayer) remove(s scenario, bound bindings) error {
	for n := range 10 {
		name := fmt.Sprintf("db%d", n)
		if !s.uses(name) && !(n == 0 && s.uses("db")) {
			continue
		}
		got, err := r.send(request{Method: "DELETE", Path: "/" + r.database(bound[name])}, bound)
		if err != nil {
			return err
		}
		if !slices.Contains([]int{200, 202, 404}, got.status) {
			return fmt.Errorf("DELETE /%s answered %d", r.database(bound[name]), got.status)
		}
	}
	return nil
}

// compare holds an answer to the recorded one.
func compare(want response, got answer, bound bindings) error {
	if got.status != want.Status {
		return fmt.Errorf("want %d, got %d %.200s", want.Status, got.status, got.body)
	}
	for name, value := range want.Headers {
		if err := bound.match(value, strings.Join(got.headers.Values(name), ", "), "header "+name); err != nil {
			return err
		}
	}
	switch {
	case want.JSON != nil:
		return compareJSON(want.JSON, got.body, bound, "body")
	case want.Lines != nil:
		return compareLines(want.Lines, got.body, bound)
	case want.Text != nil:
		return bound.match(*want.Text, string([]rune(string(got.body))), "body")
	}
	return nil
}

func compareJSON(want, got []byte, bound bindings, where string) error {
	expected, err := decode(want)
	if err != nil {
		return fmt.Errorf("the recording: %w", err)
	}
	answered, err := decode(got)
	if err != nil {
		return fmt.Errorf("%s: not JSON: %w: %.120s", where, err, got)
	}
	return bound.match(expected, answered, where)
}

// compareLines compares a feed of one JSON object a line; empty lines are heartbeats.
func compareLines(want []json.RawMessage, body []byte, bound bindings) error {
	var lines [][]byte
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) != len(want) {
		return fmt.Errorf("body: want %d lines, got %d: %.200s", len(want), len(lines), body)
	}
	for i := range want {
		if err := compareJSON(want[i], lines[i], bound, fmt.Sprintf("line %d", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// send makes one request on a connection of its own. It writes the request itself: the paths of the recordings must
// arrive byte for byte, which net/http's client does not promise.
func (r replayer) send(q request, bound bindings) (got answer, err error) {
	connection, err := net.DialTimeout("tcp", r.address, answerLimit)
	if err != nil {
		return answer{}, err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := connection.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return answer{}, err
	}
	message, err := r.message(q, bound)
	if err != nil {
		return answer{}, err
	}
	if _, err := connection.Write(message); err != nil {
		return answer{}, err
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: q.Method})
	if err != nil {
		return answer{}, fmt.Errorf("no answer: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("the answer broke off: %w: %.200s", err, body)
	}
	return answer{response.StatusCode, response.Header, body}, response.Body.Close()
}

// message is the request as bytes.
func (r replayer) message(q request, bound bindings) ([]byte, error) {
	headers := map[string]string{"Host": r.address, "Accept-Encoding": "identity"}
	body, given := q.Base64, q.Base64 != nil
	switch {
	case q.JSON != nil:
		body, given = bound.fillJSON(q.JSON), true
		headers["Content-Type"] = "application/json"
	case q.Text != nil:
		body, given = []byte(bound.fill(*q.Text)), true
	}
	if given || slices.Contains([]string{"PUT", "POST", "PATCH"}, q.Method) {
		headers["Content-Length"] = fmt.Sprint(len(body))
	}
	if err := authorize(headers, q.Auth, bound); err != nil {
		return nil, err
	}
	for name, value := range q.Headers {
		headers[http.CanonicalHeaderKey(name)] = bound.fill(value)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", q.Method, bound.fill(q.Path))
	for name, value := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", name, value)
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes(), nil
}

// authorize adds the credentials of a request: the administrator's where it says nothing, none, or its own.
func authorize(headers map[string]string, auth json.RawMessage, bound bindings) error {
	pair := []string{process.User, process.Password}
	if auth != nil {
		if string(auth) == `"none"` {
			return nil
		}
		if err := json.Unmarshal(bound.fillJSON(auth), &pair); err != nil || len(pair) != 2 {
			return fmt.Errorf("the recording's auth is %s", auth)
		}
	}
	headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair[0]+":"+pair[1]))
	return nil
}

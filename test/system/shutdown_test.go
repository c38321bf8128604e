package system

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// TestTerminationEndsWhateverRuns sends SIGTERM while functions hang, a query has work for minutes, feeds wait, a
// client does not read and another does not send: the process ends, its children too, and what was acknowledged
// is there afterwards.
func TestTerminationEndsWhateverRuns(t *testing.T) {
	dir := t.TempDir()
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	c.must(t, 201, "PUT", "/db", "", nil)
	c.must(t, 201, "PUT", "/hung", "", nil)
	c.must(t, 201, "PUT", "/db/hard", `{"l":[`+strings.Repeat(`"a",`, 100_000)+`"a"]}`, nil)
	c.must(t, 201, "PUT", "/db/_design/hung", `{"views":{"v":{"map":"function(doc){while(true){}}"}}}`, nil)
	c.must(t, 201, "PUT", "/hung/_design/v", `{"validate_doc_update":"function(){while(true){}}"}`, nil)
	c.must(t, 201, "PUT", "/db/big/file", strings.Repeat("x", 8<<20), nil)

	var under sync.WaitGroup
	for _, q := range [][3]string{
		{"POST", "/db/_find", `{"selector":{"$nor":[` + strings.Repeat(`{"l":{"$elemMatch":{"$eq":"b"}}},`, 9000) + `{"n":1}]}}`},
		{"GET", "/db/_design/hung/_view/v", ""}, {"PUT", "/hung/doc", `{}`}, {"GET", "/db/_changes?feed=longpoll&since=now", ""},
	} {
		under.Go(func() { _, _, _ = c.do(q[0], q[1], []byte(q[2])) }) // cut, or told of the end
	}
	feed := openFeed(t, c, "/db/_changes?feed=continuous&heartbeat=1000")
	defer feed.close()
	head := "HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + base64.StdEncoding.EncodeToString([]byte(process.User+":"+process.Password)) + "\r\n"
	for _, text := range []string{
		"GET /db/big/file " + head + "\r\n", // and is never read
		"PUT /db/slow/file " + head + "Content-Length: 1000000\r\n\r\nbegun", "PUT /db/slow " + head + "Content-Length: 1000\r\n\r\n{",
	} {
		connection, err := net.Dial("tcp", s.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		fmt.Fprint(connection, text)
	}

	acknowledged := 0
	for acknowledged < 100 {
		c.must(t, 201, "PUT", fmt.Sprintf("/db/doc%d", acknowledged), `{}`, nil)
		acknowledged++
	}
	children := childrenOf(t, s.PID)
	signalled := time.Now()
	if err := s.Interrupt(); err != nil {
		t.Fatal(err)
	}
	for { // goes on until the endpoint is shut
		status, _, err := c.do("PUT", fmt.Sprintf("/db/doc%d", acknowledged), []byte(`{}`))
		if err != nil || status != 201 {
			break
		}
		acknowledged++
	}
	// It ends within 5 seconds where nobody else needs the processors.
	if code, err := s.Wait(time.Minute); err != nil || code != 0 {
		t.Errorf("exit code %d, %v\n%s", code, err, s.Output())
	}
	t.Logf("it took %v", time.Since(signalled))
	for _, pid := range children {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("the child %d goes on", pid)
		}
	}
	under.Wait()
	check(t, dir)
	again := ask(process.Start(t, process.Options{Dir: dir}))
	for i := range acknowledged {
		again.must(t, 200, "GET", fmt.Sprintf("/db/doc%d", i), "", nil)
	}
}

// childrenOf returns the processes that a process has started, of which there must be some.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		t.Fatal("children can't be listed", err)
	}
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	if len(children) == 0 {
		t.Error("no function is running")
	}
	return children
}

package replicate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// bulkOf makes a body of _bulk_docs with documents of n bytes.
func bulkOf(from, to, n int) string {
	var b strings.Builder
	b.WriteString(`{"docs":[`)
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"_id":"doc%06d","n":%d,"text":"%s"}`, i, i, strings.Repeat("x", n))
	}
	b.WriteString(`]}`)
	return b.String()
}

func TestCarriesEverything(t *testing.T) {
	w := newWorld(t)
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, 1500, 100))
	w.OK("POST", "/a/_bulk_docs", `{"new_edits":false,"docs":[
		{"_id":"conflict","_revisions":{"start":2,"ids":["aa","00"]},"s":1},
		{"_id":"conflict","_revisions":{"start":3,"ids":["cc","bb","00"]},"s":2},
		{"_id":"gone","_revisions":{"start":2,"ids":["ff","ee"]},"_deleted":true},
		{"_id":"odd/ id+%41?","_rev":"1-11","s":"\u00e9"},
		{"_id":"_design/d","_rev":"1-11","views":{}}]}`)
	w.OK("PUT", "/a/file/x.bin?", "some bytes", "Content-Type", "application/octet-stream")
	w.OK("PUT", "/a/file2/some%2Fname+x.txt", strings.Repeat("some text ", 5000), "Content-Type", "text/plain")
	var r record
	result := w.run(w.task(&r))
	if len(r.failures) > 0 {
		t.Fatalf("failures:\n%s", r.summary())
	}
	w.same("a", "b")
	h := result.Checkpoint.History[0]
	if h.DocsWritten != 1507 || h.DocsRead != 1507 || h.MissingFound != 1507 || h.MissingChecked != 1507 || h.DocWriteFailures != 0 {
		t.Errorf("history: %+v", h)
	}
	source, target := w.OK("GET", "/a/_local/test", ""), w.OK("GET", "/b/_local/test", "")
	if source != target {
		t.Errorf("checkpoints differ:\n%s%s", source, target)
	}
	// Once more: nothing.
	answer, err := w.run(w.task(&r)).AppendJSON(nil)
	must(t, err)
	var m map[string]any
	must(t, json.Unmarshal(answer, &m))
	if m["no_changes"] != true || m["ok"] != true || m["session_id"] != result.Checkpoint.SessionID {
		t.Errorf("the second run: %s", answer)
	}
	w.OK("PUT", "/a/more", `{}`)
	if result = w.run(w.task(&r)); len(result.Checkpoint.History) != 2 || result.Checkpoint.History[0].DocsWritten != 1 ||
		result.Checkpoint.History[0].MissingChecked != 1 {
		t.Errorf("the third run: %+v", result.Checkpoint)
	}
}

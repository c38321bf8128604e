package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// tabulated runs a list function over rows 1 to n, three at a time, and writes what it puts out.
func tabulated(t *testing.T, p *Pool, source string, n int) string {
	t.Helper()
	var out strings.Builder
	next := 1
	err := p.List(t.Context(), document(t, map[string]any{"lists": map[string]any{"l": source}}), &List{
		Name: "l", Head: []byte(`{"total_rows":4,"offset":0}`), Req: []byte(`{"query":{},"headers":{"Accept":"application/json"}}`),
		Rows: func() (rows [][]byte, err error) {
			for ; len(rows) < 3 && next <= n; next++ {
				rows = append(rows, fmt.Appendf(nil, `{"id":"%d","key":%d,"value":null}`, next, next))
			}
			return rows, nil
		},
		Start: func(r Response) error {
			fmt.Fprintf(&out, "%s\n", answered(r, nil))
			return nil
		},
		Send: func(chunk []byte) error {
			fmt.Fprintf(&out, "%s|", chunk)
			return nil
		},
	})
	if err != nil {
		fmt.Fprintf(&out, "error %s", err)
	}
	return out.String()
}

func TestList(t *testing.T) {
	// What ends in time may take the usual time, on a busy machine too.
	usual, quick := newPool(t, Options{Limits: Limits{Output: small().Output}, Children: 1}), newPool(t, Options{Limits: small(), Children: 1})
	for _, c := range []struct{ name, source, want string }{
		{"csv", "function(head, req){ start({headers: {'Content-Type': 'text/csv'}}); send('id;n'); var row; while (row = getRow()) send(row.id + ';' + row.key); return 'end'; }", "0 text/csv [] \nid;n|1;1|2;2|3;3|4;4|end|"},
		{"head", "function(head, req){ send(toJSON(head)); getRow(); }", "0 application/json [] \n{\"total_rows\":4,\"offset\":0}|"},
		{"no rows", "function(head, req){ return 'no rows read'; }", "0 application/json [] \nno rows read|"},
		{"no output", "function(head, req){ while (getRow()); }", "0 application/json [] \n"},
		{"some", "function(head, req){ var a = getRow(), b = getRow(); send(a.key + '-' + b.key); }", "0 application/json [] \n1-2|"},
		{"beyond the end", "function(head, req){ while (getRow()); return String(getRow()) }", "0 application/json [] \nnull|"},
		{"head set late", "function(head, req){ send('a'); start({code: 404}); return 'b'; }", "404 application/json [] \na|b|"},
		{"head set after a row", "function(head, req){ getRow(); start({code: 400, headers: {'X-A': 'b'}}); send('bad'); }", "400 application/json [{X-A b}] \nbad|"},
		{"head set twice", "function(head, req){ start({code: 202, headers: {'X-A': 'b'}}); while (getRow()); start({code: 404}); }", "404 application/json [] \n"},
		{"head set too late", "function(head, req){ send('a'); getRow(); start({code: 404}); return 'b'; }", "0 application/json [] \na|b|"},
		{"bad head, too late", "function(head, req){ send('a'); getRow(); start({what: 404}); return 'b'; }", "0 application/json [] \na|b|"},
		{"throws before output", "function(head, req){ getRow(); throw ['error', 'mine', 'because'] }", "error mine: because"},
		{"redirection", "function(head, req){ start({code: 302, headers: {Location: '/'}}); }", "302 application/json [{Location /}] \n"},
		{"provides", "function(head, req){ provides('html', function(){ return 'h' }); provides('json', function(){ var row, a = []; while (row = getRow()) a.push(row.key); return toJSON(a); }); }", "0 application/json [] \n[1,2,3,4]|"},
		{"throws", "function(head, req){ throw ['error', 'mine', 'because']; }", "error mine: because"},
		{"throws late", "function(head, req){ send('x'); getRow(); throw 'y' }", "0 application/json [] \nx|error render_error: *"},
		{"hangs", "function(head, req){ for (;;); }", "error os_process_error: The function did not end in time."},
		{"hangs late", "function(head, req){ send('x'); getRow(); for (;;); }", "0 application/json [] \nx|error os_process_error: The function did not end in time."},
		{"too much", "function(head, req){ for (;;) send('0123456789'); }", "error os_process_error: The function gave back more than it may."},
		{"much, row by row", "function(head, req){ var n = 0; while (getRow()) { for (var i = 0; i < 10; i++) send('0123456789'.repeat(6000)); n++ } return n }", "0 application/json [] \n01234567890*"},
		{"bad head", "function(head, req){ start({what: 1}) }", `error external_response_error: *`},
	} {
		p := usual
		if strings.HasPrefix(c.name, "hangs") {
			p = quick
		}
		if got := tabulated(t, p, c.source, 4); !matches(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	if got := tabulated(t, usual, "function(head, req){ var n = 0; while (getRow()) n++; return n }", 10_000); got != "0 application/json [] \n10000|" {
		t.Error(got)
	}
}

// TestListEnds has the caller's ends fail.
func TestListEnds(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := document(t, map[string]any{"lists": map[string]any{"l": "function(head, req){ send('x'); getRow(); send('y'); while (getRow()); }"}})
	broken := errors.New("broken")
	whole := List{Name: "l", Head: []byte(`{}`), Req: []byte(`{}`), Rows: func() ([][]byte, error) { return nil, nil },
		Start: func(Response) error { return nil }, Send: func([]byte) error { return nil }}
	for name, change := range map[string]func(*List){
		"rows":  func(l *List) { l.Rows = func() ([][]byte, error) { return nil, broken } },
		"start": func(l *List) { l.Start = func(Response) error { return broken } },
		"send":  func(l *List) { l.Send = func([]byte) error { return broken } },
	} {
		l := whole
		change(&l)
		if err := p.List(t.Context(), realm, &l); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.List(t.Context(), realm, &whole); err != nil {
		t.Error("afterwards:", err)
	}
}

package replicate

import (
	"encoding/json"
	"testing"
)

func TestCommon(t *testing.T) {
	const couch = `{"_id":"_local/x","_rev":"0-3","session_id":"s3","source_last_seq":"30-c","replication_id_version":4,"history":[
		{"session_id":"s3","recorded_seq":"30-c","end_last_seq":"30-c"},{"session_id":"s2","recorded_seq":"20-b"},{"session_id":"s1","recorded_seq":10}]}`
	for name, c := range map[string]struct{ source, target, want string }{
		"none":             {``, ``, `0`},
		"one side":         {couch, ``, `0`},
		"equal":            {couch, couch, `"30-c"`},
		"target is behind": {couch, `{"session_id":"s2","source_last_seq":"20-b","history":[{"session_id":"s2","recorded_seq":"20-b"},{"session_id":"s1","recorded_seq":10}]}`, `"20-b"`},
		"source is behind": {`{"session_id":"s1","source_last_seq":10,"history":[{"session_id":"s1","recorded_seq":10}]}`, couch, `10`},
		"another way since": {couch, `{"session_id":"z9","source_last_seq":"99-z","history":[{"session_id":"z9","recorded_seq":"99-z"},{"session_id":"s1","recorded_seq":"10-a"}]}`,
			`10`},
		"a step less of the same session": {couch, `{"session_id":"s3","source_last_seq":"25-x","history":[{"session_id":"s3","recorded_seq":"25-x"}]}`, `"25-x"`},
		"strangers":                       {couch, `{"session_id":"q","source_last_seq":"9-q","history":[{"session_id":"q","recorded_seq":"9-q"}]}`, `0`},
		"PouchDB": {`{"session_id":"p2","last_seq":7,"replicator":"pouchdb","version":1,"history":[{"last_seq":7,"session_id":"p2"},{"last_seq":3,"session_id":"p1"}]}`,
			`{"session_id":"p2","last_seq":7,"replicator":"pouchdb","version":1,"history":[{"last_seq":7,"session_id":"p2"}]}`, `7`},
		"PouchDB, apart": {`{"session_id":"p2","last_seq":7,"history":[{"last_seq":7,"session_id":"p2"},{"last_seq":3,"session_id":"p1"}]}`,
			`{"session_id":"p1","last_seq":3,"history":[{"last_seq":3,"session_id":"p1"}]}`, `3`},
		"no sessions":         {`{"source_last_seq":5}`, `{"source_last_seq":5}`, `0`},
		"nonsense":            {`{"session_id":7,"history":"x"}`, couch, `0`},
		"only read":           {``, `{"session_id":"s","source_last_seq":"5-x","source_read_only":true,"history":[{"session_id":"s","recorded_seq":"5-x"}]}`, `"5-x"`},
		"read only no longer": {couch, `{"session_id":"s","source_last_seq":"5-x","source_read_only":true,"history":[{"session_id":"s","recorded_seq":"5-x"}]}`, `0`},
		"an old cluster":      {`{"session_id":"s","source_last_seq":[5,"x"]}`, `{"session_id":"s","source_last_seq":[5,"x"]}`, `[5,"x"]`},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(raw string) *log {
				l := &log{}
				if raw == "" {
					return l
				}
				if err := json.Unmarshal([]byte(raw), l); err != nil {
					t.Fatal(err)
				}
				return l
			}
			seq, _ := common(read(c.source), read(c.target))
			if got, err := json.Marshal(seq); err != nil || string(got) != c.want {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestSequences(t *testing.T) {
	for text, want := range map[string]string{`"12-abc"`: "12-abc", `12`: "12", `[12,"x"]`: `[12,"x"]`, `0`: "0", `null`: "0", `"0"`: "0", `{}`: "0"} {
		var s Seq
		if err := json.Unmarshal([]byte(text), &s); err != nil && text != "null" {
			t.Fatal(err)
		}
		if got := s.param(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"12-abc": `"12-abc"`, `"12-abc"`: `"12-abc"`, "12": "12", "": "0", "0": "0", `[1,"x"]`: `[1,"x"]`, "now": `"now"`} {
		if got, err := json.Marshal(seqOf(text)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, c := range []struct {
		from, to string
		want     bool
	}{{"", "0-a", false}, {"", "1-a", true}, {"5-a", "5-b", true}, {"5-a", "5-a", false}, {"", "0", false}, {"5-a", "6-a", true}, {"x", "y", true}, {"x", "x", false}} {
		if got := moved(seqOf(c.from), seqOf(c.to)); got != c.want {
			t.Errorf("from %q to %q: %v", c.from, c.to, got)
		}
	}
}

func TestHistoryHasAnEnd(t *testing.T) {
	var earlier []Session
	for range 60 {
		earlier = (&Task{}).checkpoint(Session{SessionID: "s"}, earlier, nil).History
	}
	if len(earlier) != 50 {
		t.Errorf("%d sessions", len(earlier))
	}
}

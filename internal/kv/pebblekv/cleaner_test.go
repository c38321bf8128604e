package pebblekv

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
)

// TestLogsAreNotKept fills many memtables: of their logs only those of rows that
// are in no table yet stay on the disk.
func TestLogsAreNotKept(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, Options{FS: fs})
	defer e.Close()
	for n := range 10 {
		err := e.Update(context.Background(), func(tx kv.Txn) error { return tx.Put(fmt.Append(nil, n), make([]byte, 1<<20)) })
		if err != nil {
			t.Fatal(err)
		}
		if err := e.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if m := e.db.Metrics(); m.WAL.ObsoleteFiles > 0 {
		t.Errorf("%d logs are kept for use again", m.WAL.ObsoleteFiles)
	}
	if err := e.Close(); err != nil { // which waits until files are removed
		t.Fatal(err)
	}
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	var logs []string
	for _, name := range names {
		if path.Ext(name) == ".log" || strings.HasPrefix(name, "archive") {
			logs = append(logs, name)
		}
	}
	if len(logs) != 1 {
		t.Errorf("on the disk are %q, want the last log", logs)
	}
}

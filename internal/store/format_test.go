package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// firstVersions are the versions of rows in the first format that are not 1: rows that are
// written in several forms. Kinds of row that come later have 1 when their step adds them.
var firstVersions = map[string]byte{
	"doc": 3, "feed": 2, "partition-feed": 2, "partition": 2, "due": 2, "field-row": 2, "text-chunk": 2, "view-node": 2,
}

// TestFormatSteps holds that each change of a row's version raised the store's
// format, by a step that the documents name.
func TestFormatSteps(t *testing.T) {
	text, err := os.ReadFile("../../docs/formats/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]byte{}
	for _, space := range keyspace.Spaces {
		versions[space.Name] = max(1, firstVersions[space.Name])
	}
	for _, step := range formatSteps {
		for name, version := range step.rows {
			if version == 1 {
				delete(versions, name)
			}
		}
	}
	for i, step := range formatSteps {
		if want := byte(firstFormat + 1 + i); step.version != want {
			t.Errorf("step %d leads to format %d, want %d", i, step.version, want)
		}
		if line := fmt.Sprintf("\n| %d | ", step.version); !bytes.Contains(text, []byte(line)) {
			t.Errorf("docs/formats/versions.md has no line for format %d (%s)", step.version, step.what)
		}
		if step.waits && step.migrate != nil {
			t.Errorf("format %d waits until all servers read it, and rewrites rows", step.version)
		}
		for name, version := range step.rows {
			if version != versions[name]+1 {
				t.Errorf("format %d takes %s from version %d to %d", step.version, name, versions[name], version)
			}
			versions[name] = version
		}
	}
	for _, space := range keyspace.Spaces {
		if space.Version != versions[space.Name] {
			t.Errorf("%s has version %d in keyspace and %d by the steps of the format: a change of a row needs a step", space.Name, space.Version, versions[space.Name])
		}
	}
}

// oldRow is the key of a row that the steps of these tests rewrite.
func oldRow(i int) []byte { return metaKey(fmt.Sprintf("old%02d", i)) }

// testSteps rewrites forty rows, four a page. stop ends a page with an error.
func testSteps(stop func(page int) error) []formatStep {
	pages := 0
	migrate := func(tx kv.Txn, from []byte) ([]byte, bool, error) {
		pages++
		if err := stop(pages); err != nil {
			return nil, false, err
		}
		first := 0
		if from != nil {
			first = int(from[0])
		}
		for i := first; i < first+4; i++ {
			value, err := tx.GetForUpdate(oldRow(i))
			if err != nil {
				return nil, false, err
			}
			if err := tx.Put(oldRow(i), append(value, '!')); err != nil {
				return nil, false, err
			}
		}
		return []byte{byte(first + 4)}, first+4 >= 40, nil
	}
	return []formatStep{{version: 2, what: "readers know both"}, {version: 3, what: "rows get a mark", migrate: migrate}, {version: 4, what: "another"}}
}

func never(int) error { return nil }

func oldStore(t *testing.T) kv.Engine {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	closeStore(t, e, nil)
	err = e.Update(ctx, func(tx kv.Txn) error {
		for i := range 40 {
			if err := tx.Put(oldRow(i), []byte("row")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closeStore(t *testing.T, e kv.Engine, steps []formatStep) {
	t.Helper()
	s, err := openWith(ctx, e, Options{Idle: true}, steps)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func formatOf(t *testing.T, e kv.Engine) (format byte, marked int) {
	t.Helper()
	err := e.View(ctx, func(v kv.Snapshot) error {
		value, err := v.Get(metaKey("store"))
		if err != nil {
			return err
		}
		format = value[0]
		for i := range 40 {
			value, err := v.Get(oldRow(i))
			if err != nil {
				return err
			}
			marked += strings.Count(string(value), "!")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return format, marked
}

// TestUpgradeGoesOn stops an upgrade at each of its pages: the next one goes on
// there, and each row is rewritten once.
func TestUpgradeGoesOn(t *testing.T) {
	e := oldStore(t)
	stopped := errors.New("stopped")
	for run := range 4 {
		stop := func(page int) error {
			if page > 2 {
				return stopped
			}
			return nil
		}
		if _, err := openWith(ctx, e, Options{Idle: true}, testSteps(stop)); !errors.Is(err, stopped) {
			t.Fatalf("run %d: %v", run, err)
		}
		if format, marked := formatOf(t, e); format != 3 || marked != 8*(run+1) {
			t.Errorf("run %d: format %d, %d rows rewritten", run, format, marked)
		}
		if _, err := openWith(ctx, e, Options{Idle: true}, testSteps(never)[:1]); !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("a build that does not know the format opens the half of it: %v", err)
		}
		if _, err := openWith(ctx, e, Options{Idle: true, KeepFormat: true}, testSteps(never)); !dberr.Is(err, dberr.Unavailable) {
			t.Errorf("who keeps the format opens the half of it: %v", err)
		}
	}
	closeStore(t, e, testSteps(never))
	if format, marked := formatOf(t, e); format != 4 || marked != 40 {
		t.Errorf("in the end: format %d, %d rows rewritten", format, marked)
	}
	closeStore(t, e, testSteps(func(int) error { return stopped }))
}

// TestKeepFormat opens older data without changing it, where that can be.
func TestKeepFormat(t *testing.T) {
	e := oldStore(t)
	if _, err := openWith(ctx, e, Options{Idle: true, KeepFormat: true}, testSteps(never)); !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "older version") {
		t.Errorf("rows of an older format: %v", err)
	}
	s, err := openWith(ctx, e, Options{Idle: true, KeepFormat: true}, testSteps(never)[:1])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if format, marked := formatOf(t, e); format != 1 || marked != 0 {
		t.Errorf("format %d, %d rows rewritten", format, marked)
	}
}

// TestNewerFormat refuses data of a newer build, whatever its rows look like, in
// words that say what to do.
func TestNewerFormat(t *testing.T) {
	e := oldStore(t)
	newer := []byte{currentFormat(formatSteps) + 1, 0xff, 'w', 'h', 'a', 't'}
	if err := e.Update(ctx, func(tx kv.Txn) error { return tx.Put(metaKey("store"), newer) }); err != nil {
		t.Fatal(err)
	}
	_, err := Open(ctx, e, Options{Idle: true})
	if !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "start the newer version") {
		t.Errorf("Open: %v", err)
	}
}

package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
)

// contents tells all files of a directory.
func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			all = append(all, path)
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, fmt.Sprintf("%s %x", path, sha256.Sum256(data)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stoppedData makes the data of a server with two databases of a hundred documents each, beside those of its own.
func stoppedData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	r := start(t, Options{Data: data, User: "adm", Password: "pass"})
	call := func(method, path, body string) {
		q, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.SetBasicAuth("adm", "pass")
		q.Header.Set("Content-Type", "application/json")
		w, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if w.Body.Close(); w.StatusCode > 201 {
			t.Fatal(method, path, w.Status)
		}
	}
	for _, name := range []string{"/one", "/two"} {
		call("PUT", name, "")
		var docs []string
		for i := range 100 {
			docs = append(docs, fmt.Sprintf(`{"_id":"doc%d"}`, i))
		}
		call("POST", name+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCheckChangesNothing compares the data directory with what it was before a check.
func TestCheckChangesNothing(t *testing.T) {
	data := stoppedData(t)
	before := contents(t, data)
	if err := Check(context.Background(), data, EngineOptions{}, io.Discard, nil); err != nil {
		t.Fatal(err)
	}
	if after := contents(t, data); !slices.Equal(before, after) {
		t.Errorf("before the check:\n%s\nafter it:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// cutManifest cuts the last bytes off the manifests, and returns the bytes that are left.
func cutManifest(t *testing.T, data string) {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(data, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, path := range manifests {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, info.Size()-20); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedData has the manifest lose its end: a server and a check refuse the data and name the way out, by which all of it
// comes back.
func TestDamagedData(t *testing.T) {
	data := stoppedData(t)
	cutManifest(t, data)
	before := contents(t, data)
	ctx := context.Background()
	for what, do := range map[string]func() error{
		"check": func() error { return Check(ctx, data, EngineOptions{}, io.Discard, nil) },
		"serve": func() error { return Run(ctx, Options{Data: data, Listen: "127.0.0.1:0", Log: io.Discard}) },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), "sectional salvage "+data) {
			t.Errorf("%s: %v", what, err)
		}
	}
	to := filepath.Join(t.TempDir(), "new")
	var out bytes.Buffer
	if err := Salvage(ctx, SalvageOptions{From: data, To: to, Out: &out, Err: &out}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if said := out.String(); !strings.Contains(said, " 201 documents in 3 databases") || !strings.Contains(said, "its copy has the rest") || !strings.HasSuffix(said, "They are sound.\n") {
		t.Errorf("salvage says\n%s", said)
	}
	if after := contents(t, data); !slices.Equal(before, after) {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if err := Salvage(ctx, SalvageOptions{From: data, To: to, Out: io.Discard}); err == nil || !strings.Contains(err.Error(), "has data already") {
		t.Errorf("into a directory with data: %v", err)
	}
	r := start(t, Options{Data: to})
	w, err := http.Get(strings.Replace(r.base, "://", "://adm:pass@", 1) + "/two/doc99")
	if err != nil {
		t.Fatal(err)
	}
	if w.Body.Close(); w.StatusCode != http.StatusOK {
		t.Errorf("a document of the new data: %s", w.Status)
	}
}

// damagedTables flips a bit in the middle of each table of the data of a stopped server.
func damagedTables(t *testing.T) (data string) {
	t.Helper()
	data = stoppedData(t)
	e, err := pebblekv.Open(pebblekv.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Compact(t.Context(), kv.Range{}), e.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(data, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, path := range tables {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/3] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// TestCheckOfDamagedTables has a check name the ways out where a block of a table cannot be read.
func TestCheckOfDamagedTables(t *testing.T) {
	data := damagedTables(t)
	before := contents(t, data)
	err := Check(t.Context(), data, EngineOptions{}, io.Discard, nil)
	if err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), "`sectional restore`") || !strings.Contains(err.Error(), "`sectional salvage "+data+" NEW-DIRECTORY`") {
		t.Error(err)
	}
	if after := contents(t, data); !slices.Equal(before, after) {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// TestRefusalSaysWhatIsTrue removes a table, which Pebble finds when it opens: where the error says that nothing was changed,
// nothing was.
func TestRefusalSaysWhatIsTrue(t *testing.T) {
	data := damagedTables(t)
	tables, err := filepath.Glob(filepath.Join(data, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tables[0]); err != nil {
		t.Fatal(err)
	}
	before := contents(t, data)
	err = Run(t.Context(), Options{Data: data, Listen: "127.0.0.1:0", Log: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), "sectional salvage "+data) {
		t.Fatal(err)
	}
	if after := contents(t, data); strings.Contains(err.Error(), "nothing in it was changed") && !slices.Equal(before, after) {
		t.Errorf("%v\nbefore:\n%s\nafter:\n%s", err, strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// TestRowsWithoutMeta opens an engine that has rows of a database, but not the row that says in which format.
func TestRowsWithoutMeta(t *testing.T) {
	data := stoppedData(t)
	e, err := pebblekv.Open(pebblekv.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	err = e.Update(ctx, func(tx kv.Txn) error {
		seal := keyspace.Meta.Key(0, keyspace.T("store"))
		if _, err := tx.Get(seal); err != nil {
			t.Fatal(err)
		}
		return tx.Delete(seal)
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, e, store.Options{Idle: true})
	if err == nil {
		s.Close()
		t.Fatal("opened as a new store")
	}
	if !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
}

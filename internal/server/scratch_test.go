package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/store"
)

// TestScratch opens data where a server was killed while it merged, on a machine whose
// directory for such files is not there, and has a full-text index merge its segments.
func TestScratch(t *testing.T) {
	data, ctx := t.TempDir(), t.Context()
	scratch := filepath.Join(data, "scratch")
	must(t, os.Mkdir(scratch, 0o700))
	must(t, os.WriteFile(filepath.Join(data, lockName), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(scratch, "sectional-merge-1"), []byte("half"), 0o600))
	var log bytes.Buffer
	a := &instance{o: Options{Data: data, Config: configured(t, ""), Log: &log}}
	t.Cleanup(func() { must(t, a.close()) })
	t.Setenv("TMPDIR", filepath.Join(data, "none"))
	must(t, a.open(ctx))
	empty(t, scratch)

	d, err := a.Store.Create(ctx, "db", store.Creation{})
	must(t, err)
	write := func(id document.ID, body string) {
		t.Helper()
		results, err := d.Whole().Write(ctx, []document.Edit{{ID: id, Body: []byte(body)}}, store.WriteOptions{})
		must(t, err)
		must(t, results[0].Err)
		must(t, a.Indexes.Run(ctx, d)) // which merges, and says if that fails
	}
	write("_design/d", `{"language":"query","indexes":{"i":{"analyzer":"keyword","index":{"fields":[{"name":"a","type":"string"}]}}}}`)
	for i := range 20 {
		write(document.ID(fmt.Sprint(i)), `{"a":"x"}`)
	}
	must(t, d.Whole().View(ctx, func(r *store.Reader) error {
		set, err := index.Of(r)
		if err != nil {
			return err
		}
		named := set.Lookup("_design/d", text.KindName, "i")
		if named == nil {
			return errors.New("there is no index")
		}
		i, err := a.API.Texts.InfoOf(r, named.Index)
		if i.Docs != 20 || i.Segments >= 20 {
			t.Errorf("%d documents in %d segments", i.Docs, i.Segments)
		}
		return err
	}))
	a.Indexes.Close() // and with it what merges in the background
	empty(t, scratch)
}

// empty fails the test if something lies in a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("%s holds %v: %v", dir, found, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// engine is a directory that changes as an engine's does: tables come and go and never change, other files do.
type engine struct {
	r     *rand.Rand
	dir   string
	files map[string]string
	next  int
}

// change does a few of the things that happen between two backups.
func (e *engine) change(t *testing.T) {
	t.Helper()
	for range e.r.IntN(5) {
		e.next++
		e.files[fmt.Sprintf("%06d.sst", e.next)] = fmt.Sprint(e.r.Int64())
	}
	tables := slices.DeleteFunc(slices.Sorted(maps.Keys(e.files)), func(n string) bool { return !strings.HasSuffix(n, ".sst") })
	for _, name := range tables {
		switch e.r.IntN(6) {
		case 0:
			delete(e.files, name)
		case 1: // its number is given again, as after a restore
			e.files[name] = fmt.Sprint(e.r.Int64())
			if err := os.Remove(filepath.Join(e.dir, name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	e.files["MANIFEST"] = fmt.Sprint(e.r.Int64())
	e.files["CURRENT"] = "same"
	e.write(t)
}

func (e *engine) write(t *testing.T) {
	t.Helper()
	there, err := os.ReadDir(e.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if _, kept := e.files[f.Name()]; !kept || !strings.HasSuffix(f.Name(), ".sst") {
			if err := os.Remove(filepath.Join(e.dir, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range e.files {
		path := filepath.Join(e.dir, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		e.next++
		made := time.Date(2026, 1, 1, 0, 0, e.next, e.r.IntN(1e9), time.UTC)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, made, made)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are a directory's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

// TestChains: whatever happens between backups, whole ones and increments in any order, each gives back what there was at
// its moment, also from a copy of the directory, and nothing else after a file of it was changed or lost.
func TestChains(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 16))
		e := &engine{r: r, dir: t.TempDir(), files: map[string]string{}}
		target := filepath.Join(t.TempDir(), "backups")
		begin := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
		model := map[time.Time]map[string]string{}
		for i := range 2 + r.IntN(6) {
			e.change(t)
			s := Source{Checkpoint: e.dir, Increment: i > 0 && r.IntN(4) > 0}
			now := begin.Add(time.Duration(i) * time.Minute)
			if r.IntN(4) == 0 { // one that fails leaves nothing
				if _, err := Make(t.Context(), s, target, now.Add(-time.Second), noProgress, func(string) error { return errors.New("no") }); err == nil {
					t.Fatal("a backup that is not sound counts")
				}
			}
			whole := func(dir string) error {
				if got := contents(t, dir); !maps.Equal(got, e.files) {
					return fmt.Errorf("to be checked are %v, want %v", got, e.files)
				}
				return nil
			}
			b, err := Make(t.Context(), s, target, now, noProgress, whole)
			if err != nil {
				t.Fatal(seed, err)
			}
			if (b.After != nil) != s.Increment {
				t.Errorf("%d: %+v", seed, b)
			}
			model[now] = maps.Clone(e.files)
		}
		moved := filepath.Join(t.TempDir(), "moved") // without links
		if err := os.CopyFS(moved, os.DirFS(target)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(target); err != nil {
			t.Fatal(err)
		}
		restoresAll(t, seed, moved, begin, model)
		spoils(t, seed, r, moved, begin, model)
	}
}

// restoresAll restores what there was at each moment, and between them.
func restoresAll(t *testing.T, seed uint64, target string, begin time.Time, model map[time.Time]map[string]string) {
	t.Helper()
	oldest, err := At(target, slices.MinFunc(slices.Collect(maps.Keys(model)), time.Time.Compare))
	if err != nil {
		t.Fatal(seed, err)
	}
	if b, err := At(oldest.Path, begin.Add(-time.Second)); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "later") {
		t.Errorf("a backup of later, that was named: %+v %v", b, err)
	}
	if _, err := At(target, begin.Add(-time.Second)); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "later") {
		t.Errorf("%d: before the first: %v", seed, err)
	}
	for now, want := range model {
		b, err := At(target, now.Add(30*time.Second))
		if err != nil {
			t.Fatal(seed, err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		if err := Restore(t.Context(), b, dir, noProgress, sound); err != nil {
			t.Fatal(seed, err)
		}
		if got := contents(t, dir); !maps.Equal(got, want) {
			t.Errorf("%d: at %s there is %v, want %v", seed, now, got, want)
		}
	}
}

// spoils changes or removes one file: a restore gives back what there was, or is refused and leaves nothing.
func spoils(t *testing.T, seed uint64, r *rand.Rand, target string, begin time.Time, model map[time.Time]map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(target, "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	described, err := filepath.Glob(filepath.Join(target, "*", description))
	if err != nil {
		t.Fatal(err)
	}
	victim := append(files, described...)[r.IntN(len(files)+len(described))]
	text, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	if i := r.IntN(len(text) + 1); i == len(text) {
		err = os.Remove(victim)
	} else {
		text[i] ^= 1 << r.IntN(7)
		err = os.WriteFile(victim, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for now, want := range model {
		b, err := At(target, now)
		if err != nil || !b.Made.Equal(now) {
			refused++ // its description is gone or is none
			continue
		}
		dir := filepath.Join(t.TempDir(), "data")
		if err := Restore(context.Background(), b, dir, noProgress, sound); err != nil {
			refused++
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%d: %v is left", seed, left)
			}
			continue
		}
		if got := contents(t, dir); !maps.Equal(got, want) && !strings.HasSuffix(victim, description) {
			t.Errorf("%d: after %s was spoiled there is %v, want %v", seed, victim, got, want)
		}
	}
	if refused == 0 && !strings.HasSuffix(victim, description) {
		t.Errorf("%d: nobody missed %s", seed, victim)
	}
}

// TestIncrementNeedsOneBefore: there is nothing to follow in an empty directory, and none of the first format.
func TestIncrementNeedsOneBefore(t *testing.T) {
	source, target := checkpoint(t, map[string]string{"000001.sst": "one"}), t.TempDir()
	make := func() error {
		_, err := Make(t.Context(), Source{Checkpoint: source, Increment: true}, target, time.Date(2026, 11, 22, 8, 0, 9, 0, time.UTC), noProgress, sound)
		return err
	}
	if err := make(); err == nil || !strings.Contains(err.Error(), "make a whole one first") {
		t.Error(err)
	}
	b := made(t, source, target, 1)
	if err := os.WriteFile(filepath.Join(b.Path, description), []byte(`{"version":"0.1.0","made":"2026-11-22T08:00:01Z","files":1,"bytes":3,"copied_bytes":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := make(); err == nil || !strings.Contains(err.Error(), "older version") {
		t.Error(err)
	}
	old, err := Latest(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), old, filepath.Join(t.TempDir(), "data"), noProgress, sound); err != nil {
		t.Errorf("a backup of the first format: %v", err)
	}
}

// TestDescriptionsOfOthers: a description names files of its directory of backups alone, and is not of a later version.
func TestDescriptionsOfOthers(t *testing.T) {
	source, target := checkpoint(t, map[string]string{"000001.sst": "one"}), t.TempDir()
	b := made(t, source, target, 1)
	for _, text := range []string{
		`{"format":2,"files":1,"bytes":3,"list":[{"name":"../../etc/passwd","bytes":3}]}`,
		`{"format":2,"files":1,"bytes":3,"list":[{"name":"a","in":"..","bytes":3}]}`,
		`{"format":2,"after":{"name":"a/b"},"files":0,"bytes":0}`,
		`{"format":3,"files":0,"bytes":0}`,
	} {
		if err := os.WriteFile(filepath.Join(b.Path, description), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Latest(target); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

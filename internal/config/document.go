package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// document is an ini file as lines, so that comments and order survive a
// change.
//
// The dialect is CouchDB's. A line is a section "[name]", a comment beginning
// with ";" (or "#"), or a setting "key = value". The first " = " divides key
// from value, else the first "="; so a key may hold ":" and "=", and a value
// anything. A ";" after a space or tab begins a comment that runs to the end of
// the line. What lies before the first section, or is none of these, is
// ignored. An empty value deletes what lower layers say.
type document struct {
	lines []string
}

// readDocument reads a file; a missing one is empty unless it must exist.
func readDocument(name string, must bool) (*document, error) {
	if name == "" {
		return &document{}, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return &document{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return parse(string(text)), nil
}

func parse(text string) *document {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff"))
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return &document{}
	}
	return &document{lines: strings.Split(text, "\n")}
}

// layer returns the settings; of two with the same name the later wins.
func (d *document) layer() layer {
	out := layer{}
	section := ""
	for _, line := range d.lines {
		if name, ok := sectionOf(line); ok {
			section = name
		} else if key, value, ok := settingOf(line); ok && section != "" {
			out.apply(Setting{section, key, value})
		}
	}
	return out
}

func sectionOf(line string) (string, bool) {
	line = stripComment(line)
	if len(line) < 3 || line[0] != '[' || strings.IndexByte(line, ']') != len(line)-1 {
		return "", false
	}
	return line[1 : len(line)-1], true
}

func settingOf(line string) (key, value string, ok bool) {
	line = stripComment(line)
	if strings.HasPrefix(line, "[") {
		return "", "", false
	}
	key, value, ok = strings.Cut(line, " = ")
	if !ok {
		key, value, ok = strings.Cut(line, "=")
	}
	key = strings.TrimSpace(key)
	return key, strings.TrimSpace(value), ok && key != ""
}

// stripComment returns the line without its comment and the space around it.
func stripComment(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, ";") || strings.HasPrefix(line, "#") {
		return ""
	}
	for i := 1; i < len(line); i++ {
		if line[i] == ';' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return strings.TrimSpace(line[:i])
		}
	}
	return line
}

// with returns the document with s set: in the place of the last setting of that
// name, else at the end of its section, else in a new section at the end.
func (d *document) with(s Setting) *document {
	found, end := d.find(s)
	line := strings.TrimSpace(s.Key + " = " + s.Value)
	out := &document{}
	switch {
	case found >= 0:
		out.lines = append(out.lines, d.lines...)
		out.lines[found] = line
	case end >= 0:
		out.lines = append(append(append(out.lines, d.lines[:end]...), line), d.lines[end:]...)
	default:
		out.lines = append(out.lines, d.lines...)
		if len(out.lines) > 0 {
			out.lines = append(out.lines, "")
		}
		out.lines = append(out.lines, "["+s.Section+"]", line)
	}
	return out
}

// without returns the document without the lines that hold s.
func (d *document) without(s Setting) *document {
	out := &document{lines: slices.Clone(d.lines)}
	for {
		found, _ := out.find(s)
		if found < 0 {
			return out
		}
		out.lines = slices.Delete(out.lines, found, found+1)
	}
}

// find returns the line that holds s, and the line after the last line of its
// section that is not blank; -1 where there is none.
func (d *document) find(s Setting) (found, end int) {
	found, end = -1, -1
	section := ""
	for i, line := range d.lines {
		if name, ok := sectionOf(line); ok {
			section = name
		}
		if section != s.Section {
			continue
		}
		if strings.TrimSpace(line) != "" {
			end = i + 1
		}
		if key, _, ok := settingOf(line); ok && key == s.Key {
			found = i
		}
	}
	return found, end
}

// write replaces the file: after a crash it holds the old lines or the new
// ones. An empty name keeps changes in memory.
func (d *document) write(name string) error {
	if name == "" {
		return nil
	}
	dir := filepath.Dir(name)
	tmp, err := os.CreateTemp(dir, filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it is renamed, as it should
	if err := fill(tmp, strings.Join(d.lines, "\n")+"\n"); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	return syncDir(dir)
}

// fill writes text to f, syncs and closes it. The mode is 0600 by CreateTemp:
// the file holds secrets.
func fill(f *os.File, text string) error {
	_, err := f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

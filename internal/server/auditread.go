package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

// Acts can be read over HTTP: those in the file, from its end, or without one the last that the process remembers. The
// file is a setting, which may name any file: what is read of it is given out only where it is an act.

// maxRead is how much of the file one page looks at.
const maxRead = 4 << 20

var errNoActs = dberr.New(dberr.Invalid, "bad_request", "`bookmark` is none of this log: its file may be another one by now. Begin again without it.")

// page implements web.Shared.ReadActs. The place before which it reads is an offset in the file, or the number of an act that is remembered.
func (a *audit) page(before string, most int) (web.AuditPage, error) {
	place := int64(-1)
	if before != "" {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil || n < 0 {
			return web.AuditPage{}, errNoActs
		}
		place = n
	}
	if name := a.file(); name != "" {
		return a.readFile(name, place, most)
	}
	return a.recent.page(place, most)
}

// readFile reads the acts of a file that end before a place, -1 for its end.
func (a *audit) readFile(name string, place int64, most int) (p web.AuditPage, err error) {
	size, err := a.size(name)
	if errors.Is(err, fs.ErrNotExist) {
		size, err = 0, nil // there was no act yet, or it was renamed
	}
	if err != nil {
		return p, err
	}
	if place > size {
		return p, errNoActs
	}
	if place < 0 {
		place = size
	}
	if place == 0 {
		return p, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return p, err
	}
	defer file.Close()
	from := max(0, place-maxRead)
	text := make([]byte, place-from)
	if _, err := file.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	for len(text) > 0 && len(p.Entries) < most {
		text = bytes.TrimSuffix(text, []byte{'\n'})
		begin := bytes.LastIndexByte(text, '\n') + 1
		if begin == 0 && from > 0 && len(text) < maxRead-1 {
			break // its beginning is for the next page
		}
		if act, ok := parseEntry(text[begin:]); ok {
			text, err := json.Marshal(act)
			if err != nil {
				return p, err
			}
			p.Entries = append(p.Entries, text)
		}
		text = text[:begin]
	}
	if next := from + int64(len(text)); next > 0 {
		p.Next = strconv.FormatInt(next, 10)
	}
	return p, nil
}

// size returns that of the file, in which no line is being written then.
func (a *audit) size(name string) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, dberr.New(dberr.Invalid, "bad_request", "[audit] file is not a file that can be read.")
	}
	return info.Size(), nil
}

// parseEntry returns the act that a line is, if it is one.
func parseEntry(text []byte) (l line, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&l) != nil || l.User == "" || l.Route == "" || l.Status == 0 {
		return l, false
	}
	_, err := time.Parse(time.RFC3339Nano, l.Time)
	return l, err == nil
}

// maxRecent is how many acts are remembered.
const maxRecent = 1000

// recentEntries are the last acts of the process, by their numbers from 0 up.
type recentEntries struct {
	mu   sync.Mutex
	ring [maxRecent]line
	all  int64 // that there were
}

func (k *recentEntries) add(l line) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ring[k.all%maxRecent] = l
	k.all++
}

// page returns acts before the one of a number, -1 for all.
func (k *recentEntries) page(before int64, most int) (p web.AuditPage, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before > k.all {
		return p, errNoActs
	}
	if before < 0 {
		before = k.all
	}
	oldest := max(0, k.all-maxRecent)
	for before > oldest && len(p.Entries) < most {
		before--
		act, err := json.Marshal(k.ring[before%maxRecent])
		if err != nil {
			return p, err
		}
		p.Entries = append(p.Entries, act)
	}
	if before > oldest {
		p.Next = strconv.FormatInt(before, 10)
	}
	return p, nil
}

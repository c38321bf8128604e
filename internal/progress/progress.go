// Package progress owns the line of a terminal that shows how far a long command has
// come: one line, written over in place, taken away at the end. Where nobody looks on
// (a log, a file, a pipe) nothing is written: a nil *Line shows nothing.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// after is how long a command runs before it shows anything.
	after = time.Second
	// pause is how long a line is shown at least.
	pause = 100 * time.Millisecond
	// width is what fits any terminal: a longer line would wrap, and could not be
	// written over.
	width = 79
	// erase goes to the beginning of the line and empties it.
	erase = "\r\x1b[K"
)

// Line is the line of a terminal. Its methods may be called by several goroutines.
type Line struct {
	out   io.Writer
	now   func() time.Time
	begun time.Time
	state struct {
		sync.Mutex
		shown string
		at    time.Time
	}
}

// New returns the line of what is known to be a terminal, for a command that began at a time.
func New(out io.Writer, begun time.Time) *Line { return &Line{out: out, now: time.Now, begun: begun} }

// On returns the line of a terminal, for a command that begins now, and nil for a file that is none.
func On(f *os.File) *Line {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return New(f, time.Now())
}

// Show writes the line, unless the command has just begun or another came just before. What can't be written is
// missed by nobody.
func (l *Line) Show(format string, args ...any) {
	if l == nil {
		return
	}
	l.state.Lock()
	defer l.state.Unlock()
	if now := l.now(); now.Sub(l.state.at) >= pause && now.Sub(l.begun) >= after {
		text := []rune(Shown(fmt.Sprintf(format, args...)))
		l.state.shown, l.state.at = string(text[:min(len(text), width)]), now
		_, _ = io.WriteString(l.out, erase+l.state.shown)
	}
}

// Clear takes the line away.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.clear()
	l.state.shown = ""
}

func (l *Line) clear() {
	if l.state.shown != "" {
		_, _ = io.WriteString(l.out, erase)
	}
}

// Above returns a writer of whole lines to the same terminal: they are above this one.
func (l *Line) Above(w io.Writer) io.Writer {
	if l == nil {
		return w
	}
	return above{l, w}
}

type above struct {
	line *Line
	w    io.Writer
}

// Write implements io.Writer.
func (a above) Write(p []byte) (int, error) {
	a.line.state.Lock()
	defer a.line.state.Unlock()
	a.line.clear()
	n, err := a.w.Write(p)
	_, _ = io.WriteString(a.line.out, a.line.state.shown)
	return n, err
}
